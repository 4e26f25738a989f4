"""Signals wait while shared state changes, and are heeded at checkpoints: Ctrl-C leaves the old state or the new one.

Python runs signal handlers between any two instructions of the main thread, and a handler may raise: Ctrl-C does.
Inside `deferred` a handler only notes the signal.  The user's own handler runs at the next `checkpoint`, inside
`allowed`, or at the end, whichever comes first.  Checkpoints are where a limit may stop the work as well
(`maintenance/watch.py`); a commit has none.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

Handler = Callable[[int, FrameType | None], Any]

_NAMES = ("HUP", "QUIT", "TERM", "ALRM", "VTALRM", "PROF", "USR1", "USR2", "XCPU", "BREAK", "INT")
SIGNALS: Final = tuple(number for name in _NAMES if (number := getattr(signal, f"SIG{name}", None)) is not None)
"""Those whose handlers people let raise; the one that comes most last."""

# The functions that `signal` wraps, where there are: the wrappers look up names, which takes 20 times as long.
_functions: Any = sys.modules.get("_signal", signal)
_get: Callable[[int], Any] = _functions.getsignal
_set: Callable[[int, Any], Any] = _functions.signal


class _Foreign(threading.local):
    """How many functions of the user this thread is in, which holdfast called while it works; and for which thread it
    works, if it is a helper."""

    depth = 0
    caller = 0


_foreign: Final = _Foreign()


class foreign:  # noqa: N801  used like a function
    """Inside a `with`, a function of the user runs: a signal handler or a functor."""

    __slots__ = ()

    def __enter__(self) -> None:
        _foreign.depth += 1

    def __exit__(self, *_: object) -> None:
        _foreign.depth -= 1


def foreign_depth() -> int:
    """How many functions of the user this thread is in."""
    return _foreign.depth


class helping:  # noqa: N801
    """Inside a `with`, this thread works for another one, which waits for it."""

    __slots__ = ("_caller",)

    def __init__(self, caller: int) -> None:
        self._caller = caller

    def __enter__(self) -> None:
        _foreign.caller = self._caller

    def __exit__(self, *_: object) -> None:
        _foreign.caller = 0


def helped_thread() -> int:
    """The thread that this one works for, 0 if it helps none."""
    return _foreign.caller


class _Main:
    """What waits in the main thread, the only one in which handlers run.

    A handler may run, and raise, while ours is put in its place or taken away, and may use holdfast itself.  So the
    user's handlers are noted one by one, before ours takes the place; to put ours there twice changes nothing; and
    ours, if it is left somewhere when nothing is deferred, gives the place back and passes the signal on.
    """

    def __init__(self) -> None:
        self.depth = 0  # of `deferred`
        self.open = 0  # of `allowed`
        self.shields = 0  # of `shielded`
        self.installed = False  # ours is in all places
        self.handlers: dict[int, Handler] = {}  # the user's own, in whose places ours is or was
        self.waiting: dict[int, FrameType | None] = {}
        self.raised: BaseException | None = None  # by a handler, where it was allowed to

    def note(self, number: int, frame: FrameType | None) -> None:
        """Our handler."""
        self.waiting[number] = frame
        if not self.depth:
            self.end()
        elif self.open and not self.shields:
            self.deliver()

    def deliver(self) -> None:
        """Run the handlers of what waits; if one raises, the others wait on."""
        while self.waiting:
            number, frame = self.waiting.popitem()
            try:
                with foreign():
                    self.handlers[number](number, frame)
            except BaseException as error:
                self.raised = error
                raise

    def install(self) -> None:
        """Put our handler in the place of others, if they are Python's."""
        for number in SIGNALS:
            handler = _get(number)
            if callable(handler) and handler != self.note:
                self.handlers[number] = handler
                _set(number, self.note)
        self.installed = True

    def uninstall(self, left: list[int]) -> None:
        """Give each its place back, whatever one of them raises; one that was replaced meanwhile stays so."""
        self.installed = False
        try:
            while left:
                if _get(left[-1]) == self.note:
                    _set(left[-1], self.handlers[left[-1]])
                left.pop()  # now, or one whose turn was interrupted would be forgotten
        finally:
            if left:
                self.uninstall(left)

    def end(self) -> None:
        """The work is done: nothing waits any more, whatever a handler raises."""
        self.raised = None
        try:
            self.uninstall(list(self.handlers))
        finally:
            self.flush()

    def flush(self) -> None:
        """Run the handlers of all that waits, the rest of them too if one raises."""
        try:
            self.deliver()
        finally:
            if self.waiting:
                self.flush()


_main: Final = _Main()


def _is_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident


class deferred:  # noqa: N801  used like a function
    """Inside a `with`, signals wait for a checkpoint or for the end.  In other threads there are none."""

    __slots__ = ("_defers",)

    def __enter__(self) -> None:
        self._defers = _is_main()
        if self._defers:
            _main.depth += 1
            try:
                if not _main.installed:
                    _main.install()
            except BaseException:  # by a handler that had not been replaced yet
                _main.depth -= 1
                if not _main.depth:
                    _main.end()
                raise

    def __exit__(self, *_: object) -> None:
        if self._defers:
            _main.depth -= 1
            if not _main.depth:
                _main.end()


class allowed:  # noqa: N801
    """Inside a `with`, signals do not wait: around something long that changes nothing, such as a job of Spark."""

    __slots__ = ("_allows",)

    def __enter__(self) -> None:
        self._allows = _is_main() and _main.depth > 0 and not _main.shields
        if self._allows:
            _main.open += 1
            try:
                _main.deliver()
            except BaseException:
                _main.open -= 1
                raise

    def __exit__(self, *_: object) -> None:
        if self._allows:
            _main.open -= 1


class shielded:  # noqa: N801
    """Inside a `with`, and inside `deferred`, signals wait for the end, whatever is called."""

    __slots__ = ("_shields",)

    def __enter__(self) -> None:
        self._shields = _is_main()
        _main.shields += self._shields

    def __exit__(self, *_: object) -> None:
        _main.shields -= self._shields


def checkpoint() -> None:
    """Heed the signals that wait: their handlers may raise here."""
    if _main.waiting and _is_main() and not _main.shields:
        _main.deliver()


def was_heeded(error: BaseException) -> bool:
    """Whether a handler raised this at a checkpoint, so that nothing was interrupted."""
    return _main.raised is error and _is_main()
