"""The one variable of the environment that the library sets, while it imports NumPy.  It reads none for itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"
_SHORTEST = "4"


@contextmanager
def idle_threads() -> Iterator[None]:
    """Let the threads of OpenBLAS, which NumPy starts, sleep at once: at first they spin, for a third of a start.

    OpenBLAS reads the variable when it is loaded.  Processes that are started later do not inherit it.
    """
    if _VARIABLE in os.environ or "numpy" in sys.modules:
        yield
        return
    os.environ[_VARIABLE] = _SHORTEST
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)
