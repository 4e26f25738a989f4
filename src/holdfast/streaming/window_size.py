"""How many updates to compute in one pass: all that wait, or one by one if that was faster."""

from __future__ import annotations

import sys

_FORGETS = 0.7  # weight of the past in an average
_SAMPLE = 2  # updates applied alone at first, for comparison
_WORTH = 0.02  # seconds that waiting updates must take alone to justify the first window, whose plans take longer than
# a few quick updates
_LOADING = 0.015  # seconds more if its code is not loaded yet
_PLANNING = 0.0003  # seconds more per rule to plan, up to `_PLANNED` rules: updates concern few of many rules
_PLANNED = 100
_CODE = "holdfast.maintenance.window_transaction"
_PAST = 0.25  # weight of past updates beside waiting ones: a long stream justifies a window even if few wait at a time
_FEWEST = 4  # updates in a window: with fewer there is little to gain, and with recursive rules something to lose
_LATE = 1.0  # share of the updates' time alone after which a window is abandoned
_LEAST = 0.1  # seconds that every window gets, because the first one plans
_PATIENCE = 4  # a failed window makes as many updates run alone; each further one, this many times as many
_BUSY = 300_000  # instances: a larger update spends its time joining, which is faster alone
_FADES = 0.97  # weight of past deletions after each update
_WINDOWS = 16  # windows after which an update runs alone for comparison


class WindowSize:
    """Compares the processor time of an update alone with that of one in a window.

    Processor time does not depend on the machine's load.  It falls with the window's size, so windows of similar size
    are averaged together, and none is made smaller than it could be.
    """

    def __init__(self, most: int, *, rules: int = 0, always: bool = False) -> None:
        self._most = most
        self._worth = _WORTH + _PLANNING * min(rules, _PLANNED)
        self._always = always
        self._alone: float | None = None
        self._together: dict[int, float] = {}  # by the binary logarithm of the size
        self._makes_plans = True
        self._rest, self._patience, self._singles, self._windows = _SAMPLE, 1, 0, 0
        self._instances = 0.0  # of an update alone, recent ones weighing most
        self._deletion = 0.0  # the largest recent work in deletion: windows delete as in DRed

    def next(self, there: int) -> int:
        """The number of available updates to use now."""
        size = min(there, self._most)
        if self._always or size < _FEWEST:
            return size if self._always else 1
        if self._rest or self._alone is None or max(self._instances, self._deletion) > _BUSY:
            self._rest = max(0, self._rest - 1)
            return 1
        worth = self._worth if _CODE in sys.modules else self._worth + _LOADING
        return size if not self._makes_plans or (there + _PAST * self._singles) * self._alone > worth else 1

    def budget(self, updates: int) -> float | None:
        """The seconds after which a window of this many updates is abandoned."""
        return None if self._always or self._alone is None else max(_LEAST, _LATE * updates * self._alone)

    def took_alone(self, seconds: float, instances: int = 0, deletion: int = 0) -> None:
        """Record an update applied alone; the first of a stream is often slow, so a faster one counts at once."""
        self._singles += 1
        self._instances = instances if self._alone is None else _averaged(self._instances, instances)
        self._deletion = max(_FADES * self._deletion, deletion)
        self._alone = min(seconds, _averaged(self._alone, seconds))

    def took_together(self, updates: int, seconds: float) -> None:
        """Record updates applied in one pass, with their seconds each."""
        self._windows += 1
        if self._makes_plans:
            self._makes_plans = False  # the first window includes planning, so its time says little
            return
        kind = updates.bit_length()
        self._together[kind] = _averaged(self._together.get(kind), seconds)
        if self._alone is not None and self._together[kind] > self._alone:
            self.gave_up(updates)
        elif self._windows % _WINDOWS == 0:
            self._rest = 1

    def gave_up(self, updates: int) -> None:
        """Back off after a window that did not pay, so that a long stream loses little."""
        self._rest, self._patience, self._together = self._patience * updates, _PATIENCE * self._patience, {}


def _averaged(past: float | None, now: float) -> float:
    return now if past is None else _FORGETS * past + (1 - _FORGETS) * now
