"""Where a user's code calls ours: an error raised in there shows one frame of holdfast, and keeps the others."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import ParamSpec, TypeVar

from holdfast.errors import HoldfastError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def public(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """A function that users call.  Its errors carry no frames of ours; `error.original` is the one that has them.

    A call from within holdfast, be it from the command line, is left alone.
    """

    @wraps(function)
    def outermost(*arguments: _P.args, **named: _P.kwargs) -> _T:
        __tracebackhide__ = True  # IPython and pytest show the caller then
        try:
            return function(*arguments, **named)
        except HoldfastError as error:
            if _is_ours(sys._getframe(1).f_globals.get("__name__", "")):
                raise
            raise _without_frames(error) from None

    return outermost


def _is_ours(module: str) -> bool:
    return module == "holdfast" or module.startswith("holdfast.")


def _without_frames(error: HoldfastError) -> HoldfastError:
    shown = copy(error)
    shown.original = error
    return shown
