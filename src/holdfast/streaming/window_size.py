"""How many updates to compute in one pass: all that wait, or one by one where that was quicker."""

from __future__ import annotations

import sys

_FORGETS = 0.7  # how much of the past remains in an average
_SAMPLE = 2  # updates one by one at first, to compare with
_WORTH = 0.02  # seconds that updates which wait must take one by one before the first window is made: it makes plans,
# which takes longer than a few quick updates
_LOADING = 0.015  # more, if its code is not loaded yet
_PLANNING = 0.0003  # and more for each rule that plans are made for: of many rules, updates concern few
_PLANNED = 100
_CODE = "holdfast.maintenance.window_transaction"
_PAST = 0.25  # a second that the stream has taken counts as so much: a long one is worth it, however few wait at a time
_FEWEST = 4  # updates in a window: with fewer there is little to gain, and on recursive rules something to lose
_LATE = 1.0  # of the time that the updates would take alone, and a window is given up
_LEAST = 0.1  # seconds that a window has in any case: the first one makes plans
_PATIENCE = 4  # after a window that did not pay, as many updates run one by one; after the next one, 4 times as many
_BUSY = 300_000  # instances: an update with more spends its time joining, which is faster alone
_FADES = 0.97  # how much of what once was deleted remains from one update to the next
_WINDOWS = 16  # windows after which an update runs alone for comparison


class WindowSize:
    """Compares the seconds of an update alone with those of one in a window, of processor time, so that it does not
    matter what else the machine does.  They fall with the window's size, so windows of about the same size
    are averaged together, and none is made smaller than it could be."""

    def __init__(self, most: int, *, rules: int = 0, always: bool = False) -> None:
        self._most = most
        self._worth = _WORTH + _PLANNING * min(rules, _PLANNED)
        self._always = always
        self._alone: float | None = None
        self._together: dict[int, float] = {}  # by the binary logarithm of the size
        self._makes_plans = True
        self._rest, self._patience, self._singles, self._windows = _SAMPLE, 1, 0, 0
        self._instances = 0.0  # of an update alone, the last ones most
        self._deletion = 0.0  # the most that one met while deleting: a window deletes as DRed does, whatever others do

    def next(self, there: int) -> int:
        """How many of the updates that are there to use now."""
        size = min(there, self._most)
        if self._always or size < _FEWEST:
            return size if self._always else 1
        if self._rest or self._alone is None or max(self._instances, self._deletion) > _BUSY:
            self._rest = max(0, self._rest - 1)
            return 1
        worth = self._worth if _CODE in sys.modules else self._worth + _LOADING
        return size if not self._makes_plans or (there + _PAST * self._singles) * self._alone > worth else 1

    def budget(self, updates: int) -> float | None:
        """The seconds after which a window of this number of updates is abandoned."""
        return None if self._always or self._alone is None else max(_LEAST, _LATE * updates * self._alone)

    def took_alone(self, seconds: float, instances: int = 0, deletion: int = 0) -> None:
        """An update was applied alone; the first of a stream is often slow, so a faster one counts at once."""
        self._singles += 1
        self._instances = instances if self._alone is None else _averaged(self._instances, instances)
        self._deletion = max(_FADES * self._deletion, deletion)
        self._alone = min(seconds, _averaged(self._alone, seconds))

    def took_together(self, updates: int, seconds: float) -> None:
        """Updates were applied in one pass, and took so much each."""
        self._windows += 1
        if self._makes_plans:
            self._makes_plans = False  # it says nothing of the next, and was in time
            return
        kind = updates.bit_length()
        self._together[kind] = _averaged(self._together.get(kind), seconds)
        if self._alone is not None and self._together[kind] > self._alone:
            self.gave_up(updates)
        elif self._windows % _WINDOWS == 0:
            self._rest = 1

    def gave_up(self, updates: int) -> None:
        """A window of this number of updates did not pay; back off, so that a long stream loses little."""
        self._rest, self._patience, self._together = self._patience * updates, _PATIENCE * self._patience, {}


def _averaged(past: float | None, now: float) -> float:
    return now if past is None else _FORGETS * past + (1 - _FORGETS) * now
