"""One thread at a time in a knowledge base, and no signals between its checkpoints.

An exception that comes from anywhere else than a check of ours, such as a lack of memory, or one that another thread
put into this one, may have cut a change of several arrays short.  Then what can be computed again is, before anybody
uses it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from holdfast.boundary import public
from holdfast.errors import Diagnostic, HoldfastError, UsageError
from holdfast.interrupts import deferred, foreign_depth, helped_thread, was_heeded

_P = ParamSpec("_P")
_T = TypeVar("_T")


class InterruptedCommitError(Exception):
    """A commit was interrupted and cannot be repeated."""


class Guard:
    """Of one knowledge base.  `with guard.lock, guard:`; the lock by itself, since only what is written in C cannot be
    interrupted between taking a lock and knowing that it has to be released."""

    def __init__(self, mend: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self._mend = mend
        self._depth = 0
        self._foreign = 0  # functions of the user that the thread was in at the outermost call
        self._thread = 0  # that is inside
        self._deferred = deferred()
        self._broken: BaseException | None = None

    @property
    def is_mine(self) -> bool:
        """Whether this thread has the lock."""
        return self.lock._is_owned()  # type: ignore[attr-defined, no-any-return]

    def __enter__(self) -> None:
        if self._broken is not None:
            raise _unusable(self._broken)
        if not self._depth:
            self._deferred = deferred()
            self._deferred.__enter__()
            self._foreign, self._thread = foreign_depth(), threading.get_ident()
        elif foreign_depth() > self._foreign:
            raise _inside_itself()
        self._depth += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        try:
            if error is not None and not isinstance(error, HoldfastError) and not was_heeded(error):
                self._after(error)
        finally:
            self._deferred.__exit__()

    def refuse_helpers(self) -> None:
        """A functor that runs in a helper's thread would wait for the lock of the thread that waits for it."""
        if self._depth and helped_thread() == self._thread:
            raise _inside_itself()

    def _after(self, error: BaseException) -> None:
        """Repair the state after an interrupted call; if that fails, refuse all later calls."""
        self._broken = error
        if isinstance(error, InterruptedCommitError):
            raise _unusable(error) from error
        self._mend()
        self._broken = None


class Guarded(Protocol):
    """What has a guard."""

    @property
    def _guard(self) -> Guard: ...


_G = TypeVar("_G", bound=Guarded)


def exclusive(method: Callable[Concatenate[_G, _P], _T]) -> Callable[Concatenate[_G, _P], _T]:
    """A method that reads or changes shared state: only one at a time, and whole."""

    @wraps(method)
    def inside(self: _G, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        guard = self._guard
        guard.refuse_helpers()
        with guard.lock, guard:
            return method(self, *arguments, **named)

    return public(inside)


def _inside_itself() -> UsageError:
    message = "a signal handler or functor used a knowledge base inside one of its own calls"
    help = "set a flag, and act on it when the call has returned"
    return UsageError(Diagnostic("E0928", message, help=help))


def _unusable(error: BaseException) -> HoldfastError:
    message = "an interrupted update could not be rolled back, so the knowledge base can no longer be used"
    error = error.__cause__ or error
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return HoldfastError(Diagnostic("E0922", message, notes=(f"it was interrupted by {why}",), help="open it again"))
