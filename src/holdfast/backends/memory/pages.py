"""Memory in pages of the usual size.

NumPy requests huge pages for large arrays.  Our arrays grow by being copied, and many are soon freed; the system then
spends more time on finding and clearing huge pages than they save (docs/decisions/0011).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

_P = ParamSpec("_P")
_T = TypeVar("_T")

# NumPy's own switch is private: a version without it works too, without this tuning
_numpy = getattr(np, "_core", None)
_set_huge_pages: Callable[[bool], bool] | None = getattr(
    getattr(_numpy, "multiarray", None), "_set_madvise_hugepage", None
)


def in_small_pages(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A decorator: arrays made by the function do not request huge pages."""
    if (switch := _set_huge_pages) is None:
        return function

    @wraps(function)
    def inside(*arguments: _P.args, **named: _P.kwargs) -> _T:
        before = switch(False)
        try:
            return function(*arguments, **named)
        finally:
            switch(before)

    return inside
