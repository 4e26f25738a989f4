"""How an update and the look-ups of other threads take turns.

Python lets a thread run until it waits for something, or for 5 ms.  A look-up takes less than a tenth of a millisecond,
so it must not wait for a whole update; and an update must not wait 5 ms at each of its steps while look-ups follow one
another.  So an update gives way between its steps.  When two hundred look-ups went first, it is its turn: they give
way, and it goes on for a millisecond.  So one look-up in two hundred waits for so long, and the others hardly at all.

Look-ups of several threads give way to each other at their end, now and then.  If Python stopped one instead while it
holds a lock, the next one would wait for the lock, get it without Python's, and make the first one wait in its turn:
from then on each look-up would wait for another.
"""

from __future__ import annotations

import time

_MOMENT = 20e-6  # seconds: enough for another thread to begin
_GO_FIRST = 200  # look-ups, before they give way to an update
_LONG = 500e-6  # seconds that an update waits only while look-ups follow one another
_TURN = 1e-3  # seconds that it then goes on


class Turns:
    """Of the threads of one knowledge base."""

    def __init__(self) -> None:
        self._lookups = set[LookUp]()  # a set: threads add to it and take away from it at the same time
        self._is_waiting = False  # an update gave way
        self._went_first = 0  # look-ups that have ended since
        self._until = 0.0  # the end of the update's turn
        self._others_next = 0.0  # when a look-up gives way to those of other threads

    def give_way(self) -> None:
        """Of an update: let look-ups that have begun go first, unless it is the update's turn."""
        if not self._lookups or (begun := time.perf_counter()) < self._until:
            return
        self._is_waiting, self._went_first = True, 0
        try:
            time.sleep(_MOMENT)
        finally:
            self._is_waiting = False
        if (now := time.perf_counter()) - begun > _LONG:
            self._until = now + _TURN

    def look_up(self) -> LookUp:
        """A look-up, as a context."""
        return LookUp(self)

    def begin(self, lookup: LookUp) -> None:
        """It begins."""
        self._lookups.add(lookup)

    def end(self, lookup: LookUp) -> None:
        """It is over.  While it gives way it still counts: the update gives way to it when its turn is over."""
        try:
            if self._is_waiting:
                self._went_first += 1
                if self._went_first > _GO_FIRST:
                    time.sleep(_MOMENT)
            elif len(self._lookups) > 1 and (now := time.perf_counter()) > self._others_next:
                self._others_next = now + _TURN
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
