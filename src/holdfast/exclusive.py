"""One thread at a time changes a knowledge base, any number may read it, and signals wait for checkpoints.

Our own checks raise between changes.  Any other exception, such as a lack of memory or one raised by another thread,
may interrupt a change to several arrays.  What can be recomputed is then recomputed before the next use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from traceback import clear_frames
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from holdfast.boundary import public
from holdfast.errors import Diagnostic, HoldfastError, UsageError
from holdfast.interrupts import deferred, foreign_depth, helped_thread, was_heeded

_P = ParamSpec("_P")
_T = TypeVar("_T")


class InterruptedCommitError(Exception):
    """A commit was interrupted and cannot be repeated."""


class Guard:
    """Guards one knowledge base: `with guard.lock, guard:`.

    The lock is taken separately because only C code cannot be interrupted between acquiring a lock and noting that it
    must be released.
    """

    def __init__(self, mend: Callable[[], None], *, allows_readers: bool = False) -> None:
        self.lock = threading.RLock()
        self.allows_readers = allows_readers  # while another thread holds the lock
        self.reading = ReadGuard(self)
        self._mend = mend
        self._depth = 0
        self._owner = 0  # the thread that is inside
        self._foreign = 0  # depth of user functions at the outermost call
        self._deferred = deferred()
        self._broken: BaseException | None = None
        self._is_beyond_repair = False

    @property
    def is_mine(self) -> bool:
        """Whether this thread holds the lock."""
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
        """Raise if an interrupted call left damage that could not be repaired; readers may go on during a repair."""
        if self._is_beyond_repair and self._broken is not None:
            raise _unusable(self._broken)

    @property
    def is_inside_itself(self) -> bool:
        """Whether this thread is running a user's function that was called while holding the lock."""
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
        """Refuse a functor on a helper thread: it would wait for the lock of a thread that waits for it."""
        if self._depth and helped_thread() == self._owner:
            raise _inside_itself()

    def _after(self, error: BaseException) -> None:
        """Repair the state after an interrupted call; if that fails, refuse all later calls."""
        self._broken = error
        try:
            if isinstance(error, InterruptedCommitError):
                raise _unusable(error) from error
            if isinstance(error, MemoryError):
                clear_frames(error.__traceback__)  # they hold arrays of the call
            self._mend()
        except BaseException:
            self._is_beyond_repair = True
            raise
        self._broken = None


class ReadGuard(threading.local):
    """Inside a `with`, a thread reads committed facts.  It takes no lock; signals wait for a checkpoint."""

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
    """An object with a guard."""

    @property
    def _guard(self) -> Guard: ...


_G = TypeVar("_G", bound=Guarded)


def exclusive(method: Callable[Concatenate[_G, _P], _T]) -> Callable[Concatenate[_G, _P], _T]:
    """Decorate a method that reads or changes shared state: one thread at a time, and atomically."""

    @wraps(method)
    def inside(self: _G, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        guard = self._guard
        guard.refuse_helpers()
        with guard.lock, guard:
            return method(self, *arguments, **named)

    return public(inside)


def reading(method: Callable[Concatenate[_G, _P], _T]) -> Callable[Concatenate[_G, _P], _T]:
    """Decorate a method that reads committed facts: concurrently if the guard allows it, else one thread at a time."""

    @wraps(method)
    def inside(self: _G, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        guard = self._guard
        if guard.allows_readers:
            with guard.reading:
                return method(self, *arguments, **named)
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
