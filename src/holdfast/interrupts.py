"""Signals wait while shared state changes and are handled at checkpoints: Ctrl-C leaves the old state or the new one.

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
"""Signals whose handlers are known to raise; the most frequent is last."""

# The C functions behind `signal`, where available: the wrappers look up names, which takes 20 times as long.
_functions: Any = sys.modules.get("_signal", signal)
_get: Callable[[int], Any] = _functions.getsignal
_set: Callable[[int, Any], Any] = _functions.signal


class _Foreign(threading.local):
    """How deeply this thread is nested in user functions that holdfast called, and which thread it helps."""

    depth = 0
    caller = 0


_foreign: Final = _Foreign()


class foreign:  # noqa: N801  used like a function
    """Inside a `with`, a user's function runs: a signal handler or a functor."""

    __slots__ = ()

    def __enter__(self) -> None:
        _foreign.depth += 1

    def __exit__(self, *_: object) -> None:
        _foreign.depth -= 1


def foreign_depth() -> int:
    """How deeply this thread is nested in user functions."""
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
    """The thread that this one helps, or 0."""
    return _foreign.caller


class _Main:
    """Pending signals of the main thread, the only one in which handlers run.

    A handler may run, raise, and use holdfast while ours is being installed or removed.  So each of the user's handlers
    is recorded before ours replaces it; installing ours twice changes nothing; and if ours is left over when nothing is
    deferred, it restores the user's handler and passes the signal on.
    """

    def __init__(self) -> None:
        self.depth = 0  # nesting of `deferred`
        self.open = 0  # nesting of `allowed`
        self.shields = 0  # nesting of `shielded`
        self.installed = False  # ours is installed for all signals
        self.handlers: dict[int, Handler] = {}  # the user's own, which ours replaces or replaced
        self.waiting: dict[int, FrameType | None] = {}
        self.raised: BaseException | None = None  # by a handler, where it may raise

    def note(self, number: int, frame: FrameType | None) -> None:
        """Our handler: record the signal, or deliver it if signals are allowed."""
        self.waiting[number] = frame
        if not self.depth:
            self.end()
        elif self.open and not self.shields:
            self.deliver()

    def deliver(self) -> None:
        """Run the handlers of pending signals; if one raises, the others stay pending."""
        while self.waiting:
            number, frame = self.waiting.popitem()
            try:
                with foreign():
                    self.handlers[number](number, frame)
            except BaseException as error:
                self.raised = error
                raise

    def install(self) -> None:
        """Replace the handlers that are Python functions by ours."""
        for number in SIGNALS:
            handler = _get(number)
            if callable(handler) and handler != self.note:
                self.handlers[number] = handler
                _set(number, self.note)
        self.installed = True

    def uninstall(self, left: list[int]) -> None:
        """Restore the user's handlers even if one raises; a handler replaced in the meantime is left as it is."""
        self.installed = False
        try:
            while left:
                if _get(left[-1]) == self.note:
                    _set(left[-1], self.handlers[left[-1]])
                left.pop()  # only now, so that an interrupted one is restored again
        finally:
            if left:
                self.uninstall(left)

    def end(self) -> None:
        """Leave the outermost `deferred`: nothing stays pending, even if a handler raises."""
        self.raised = None
        try:
            self.uninstall(list(self.handlers))
        finally:
            self.flush()

    def flush(self) -> None:
        """Run the handlers of all pending signals, even if one raises."""
        try:
            self.deliver()
        finally:
            if self.waiting:
                self.flush()


_main: Final = _Main()
PENDING: Final = _main.waiting
"""Signals that wait for a checkpoint; nothing is to be done at one while there are none."""


def _is_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident


class deferred:  # noqa: N801  used like a function
    """Inside a `with`, signals wait for a checkpoint or for the end.  Other threads receive no signals."""

    __slots__ = ("_defers",)

    def __enter__(self) -> None:
        self._defers = _is_main()
        if self._defers:
            _main.depth += 1
            try:
                if not _main.installed:
                    _main.install()
            except BaseException:  # raised by a handler not yet replaced
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
    """Inside a `with`, signals do not wait: for long work that changes nothing, such as a Spark job."""

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
    """Inside a `with` within `deferred`, signals wait for the end, whatever is called."""

    __slots__ = ("_shields",)

    def __enter__(self) -> None:
        self._shields = _is_main()
        _main.shields += self._shields

    def __exit__(self, *_: object) -> None:
        _main.shields -= self._shields


def checkpoint() -> None:
    """Run the handlers of pending signals, which may raise here."""
    if _main.waiting and _is_main() and not _main.shields:
        _main.deliver()


def was_heeded(error: BaseException) -> bool:
    """Whether a handler raised this error at a checkpoint, where it interrupts nothing."""
    return _main.raised is error and _is_main()
