"""One thread at a time changes a knowledge base, beside any number that read it, and no signals between checkpoints.

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

    def __init__(self, mend: Callable[[], None], *, allows_readers: bool = False) -> None:
        self.lock = threading.RLock()
        self.allows_readers = allows_readers  # beside a thread that has the lock
        self.reading = ReadGuard(self)
        self._mend = mend
        self._depth = 0
        self._owner = 0  # the thread that is inside
        self._foreign = 0  # functions of the user that the thread was in at the outermost call
        self._deferred = deferred()
        self._broken: BaseException | None = None
        self._is_beyond_repair = False

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
            self._foreign, self._owner = foreign_depth(), threading.get_ident()
        elif foreign_depth() > self._foreign:
            raise _inside_itself()
        self._depth += 1

    def check_readable(self) -> None:
        """Raise if an interrupted call left something that could not be repaired; a repair does not disturb readers."""
        if self._is_beyond_repair and self._broken is not None:
            raise _unusable(self._broken)

    @property
    def is_inside_itself(self) -> bool:
        """Whether this thread runs a function of the user that a call with the lock has called."""
        return bool(self._depth) and self._owner == threading.get_ident() and foreign_depth() > self._foreign

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
        if self._depth and helped_thread() == self._owner:
            raise _inside_itself()

    def _after(self, error: BaseException) -> None:
        """Repair the state after an interrupted call; if that fails, refuse all later calls."""
        self._broken = error
        try:
            if isinstance(error, InterruptedCommitError):
                raise _unusable(error) from error
            self._mend()
        except BaseException:
            self._is_beyond_repair = True
            raise
        self._broken = None


class ReadGuard(threading.local):
    """Inside a `with`, a thread reads committed facts.  It takes no lock, and its signals wait for a checkpoint."""

    def __init__(self, guard: Guard) -> None:
        self._guard, self._depth, self._foreign = guard, 0, 0
        self._deferred = deferred()

    def __enter__(self) -> None:
        self._guard.check_readable()
        if self._guard.is_inside_itself or (self._depth and foreign_depth() > self._foreign):
            raise _inside_itself()
        if not self._depth:
            self._deferred = deferred()
            self._deferred.__enter__()
            self._foreign = foreign_depth()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._deferred.__exit__()


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


def reading(method: Callable[Concatenate[_G, _P], _T]) -> Callable[Concatenate[_G, _P], _T]:
    """A method that reads committed facts: beside others, where the guard allows that, else only one at a time."""

    @wraps(method)
    def inside(self: _G, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        guard = self._guard
        if guard.allows_readers:
            with guard.reading:
                return method(self, *arguments, **named)
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
