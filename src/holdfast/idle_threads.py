"""The only environment variable that the library sets, while it imports NumPy.  It reads none itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"
_SHORTEST = "4"


@contextmanager
def idle_threads() -> Iterator[None]:
    """Let the OpenBLAS threads that NumPy starts sleep at once; they spin at first, for a third of the startup time.

    OpenBLAS reads the variable when it is loaded.  Processes started later do not inherit it.
    """
    if _VARIABLE in os.environ or "numpy" in sys.modules:
        yield
        return
    os.environ[_VARIABLE] = _SHORTEST
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)
