"""How an update and the look-ups of other threads take turns.

Python lets a thread run until it waits for something, or for 5 ms.  A look-up takes a tenth of a millisecond, so it
must not wait for a whole update; and an update must not wait 5 ms at each of its steps while look-ups follow one
another.  So an update gives way between its steps, and look-ups give way to an update that has waited for a while.
"""

from __future__ import annotations

import time

_MOMENT = 20e-6  # seconds: enough for another thread to begin
_PATIENCE = 300e-6  # seconds that an update waits before a look-up gives way to it: as long as a few of them take


class Turns:
    """Of the threads of one knowledge base."""

    def __init__(self) -> None:
        self._lookups = set[LookUp]()  # a set: threads add to it and take away from it at the same time
        self._waiting_since = 0.0  # when the update gave way; 0 while no update waits

    def give_way(self) -> None:
        """Of an update: let look-ups that have begun go first."""
        if self._lookups:
            self._waiting_since = time.perf_counter()
            try:
                time.sleep(_MOMENT)
            finally:
                self._waiting_since = 0.0

    def look_up(self) -> LookUp:
        """A look-up, as a context."""
        return LookUp(self)

    def begin(self, lookup: LookUp) -> None:
        """It begins."""
        self._lookups.add(lookup)

    def end(self, lookup: LookUp) -> None:
        """It is over.  While it gives way it still counts: the update must return the favour at its next step."""
        try:
            if self._waiting_since and time.perf_counter() - self._waiting_since > _PATIENCE:
                time.sleep(_MOMENT)
        finally:
            self._lookups.discard(lookup)


class LookUp:
    """One look-up, inside a `with`.  A class: a generator takes longer to begin."""

    __slots__ = ("_turns",)

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def __enter__(self) -> None:
        self._turns.begin(self)

    def __exit__(self, *_: object) -> None:
        self._turns.end(self)
