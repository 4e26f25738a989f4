"""Memory in pages of the usual size.

NumPy asks the system for huge pages when an array is large.  Our arrays grow by being copied, and many are soon gone;
the system then spends more time on finding and clearing huge pages than their use saves (docs/decisions/0011).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

# NumPy's own switch: not public, so a version may be without it, and everything works as well
_numpy = getattr(np, "_core", None)
_set_huge_pages: Callable[[bool], bool] | None = getattr(
    getattr(_numpy, "multiarray", None), "_set_madvise_hugepage", None)


@contextmanager
def small_pages() -> Iterator[None]:
    """Arrays made meanwhile are not asked to be in huge pages; also a decorator."""
    if _set_huge_pages is None:
        yield
        return
    before = _set_huge_pages(False)
    try:
        yield
    finally:
        _set_huge_pages(before)
