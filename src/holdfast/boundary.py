"""The boundary between a user's code and ours: errors that cross it show one frame of holdfast."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import ParamSpec, TypeVar

from holdfast.errors import HoldfastError, out_of_memory

_P = ParamSpec("_P")
_T = TypeVar("_T")


def public(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wrap a function that users call: its errors carry none of our frames; `error.original` has them all.

    Calls from within holdfast, including the command line, pass through unchanged.
    """

    @wraps(function)
    def outermost(*arguments: _P.args, **named: _P.kwargs) -> _T:
        __tracebackhide__ = True  # makes IPython and pytest point at the caller
        try:
            return function(*arguments, **named)
        except HoldfastError as error:
            if _is_ours(sys._getframe(1).f_globals.get("__name__", "")):
                raise
            raise _without_frames(error) from None
        except MemoryError as error:
            if _is_ours(sys._getframe(1).f_globals.get("__name__", "")):
                raise
            failure = out_of_memory(error)
        raise failure  # here, so that the arrays in the frames of the call are freed

    return outermost


def _is_ours(module: str) -> bool:
    return module == "holdfast" or module.startswith("holdfast.")


def _without_frames(error: HoldfastError) -> HoldfastError:
    shown = copy(error)
    shown.original = error
    return shown
