"""Interrupts at a chosen call event: a signal, which waits where it has to, or an exception, which does not."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType

GUARDS = ("/holdfast/exclusive.py", "/holdfast/interrupts.py")
"""Only a signal comes there; an exception would have to be put there by another thread within a microsecond."""
CALLED_FROM_C = ("/numpy/_core/_internal.py",)
"""NumPy's C code calls these functions, and puts another exception in the place of any that they raise."""


class RaisedError(BaseException):
    """Stands for any exception that no code expects: a lack of memory, or one put in by another thread."""


class Shot:
    """A profile function that fires once, at a call event with a certain number."""

    def __init__(self, number: int, fire: Callable[[], None], counts: Callable[[FrameType, str, object], bool]) -> None:
        self.number, self.fire, self.counts, self.met = number, fire, counts, 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if self.counts(frame, event, argument):
            self.met += 1
            if self.met == self.number:
                sys.setprofile(None)
                self.fire()


def by_signal(number: int) -> Shot:
    """Ctrl-C at a call of a function, in Python or C."""
    return Shot(number, lambda: signal.raise_signal(signal.SIGINT), _may_be_signalled)


def _may_be_signalled(_: FrameType, event: str, called: object) -> bool:
    """Not where a `with` releases a lock: Python heeds signals after that call, and only a profile function before."""
    return event == "call" or (event == "c_call" and getattr(called, "__name__", "") != "__exit__")


def by_exception(number: int) -> Shot:
    """An exception at the beginning of a function in Python."""
    return Shot(number, _raise, _may_raise)


def _may_raise(frame: FrameType, event: str, _: object) -> bool:
    return event == "call" and not frame.f_code.co_filename.endswith(GUARDS + CALLED_FROM_C)


def _raise() -> None:
    raise RaisedError


def shot_at(shot: Callable[[FrameType, str, object], None], action: Callable[[], object]) -> None:
    """Do something until the shot, or until it hears of the signal at its end."""
    sys.setprofile(shot)
    try:
        action()
    except (KeyboardInterrupt, RaisedError):
        pass
    finally:
        sys.setprofile(None)
