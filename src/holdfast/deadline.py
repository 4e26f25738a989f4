"""The deadline of a call: set where its limits are known, checked wherever work is done.

Parsing, checking and planning are many small functions without access to the limits, so the deadline is kept per
thread instead of being passed through all of them.  Evaluation has a `Watch`, which reads the same clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from holdfast.errors import Diagnostic, LimitReached

_NEVER = (float("inf"), float("inf"))
_end: ContextVar[tuple[float, float]] = ContextVar("end", default=_NEVER)  # the time, and the limit in seconds


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Set a deadline for the block, unless an earlier one is already set."""
    if seconds is None:
        yield
        return
    before = _end.set(min(_end.get(), (time.monotonic() + seconds, seconds)))
    try:
        yield
    finally:
        _end.reset(before)


def look_at_the_clock() -> None:
    """Raise `LimitReached` if the deadline has passed."""
    end, seconds = _end.get()
    if time.monotonic() > end:
        message = f"limit reached: the run takes more than {seconds:g} seconds"
        note = "no result of this run was kept"
        raise LimitReached(
            Diagnostic("E0803", message, notes=(note,), help="raise the limit, or bound the values in the rules")
        )
