"""How many updates to compute in one pass: all that wait, or one by one where that was quicker."""

from __future__ import annotations

_FORGETS = 0.7  # how much of the past remains in an average
_SAMPLE = 2  # updates one by one at first, to compare with
_FEWEST = 4  # updates in a window: with fewer there is little to gain, and on recursive rules something to lose
_TRIAL = 4  # updates in the first window, and in the next one after windows did not pay
_LATE = 1.0  # of the time that the updates would take alone, and a window is given up
_LEAST = 0.05  # seconds that a window has in any case: the first one makes plans
_PATIENCE = 16  # updates one by one before windows that did not pay are tried again; twice as many each time
_BUSY = 5e6  # instances a second: an update that meets so many spends its time joining, which is quicker alone
_WINDOWS = 16  # after so many there is another look at an update by itself


class WindowSize:
    """Compares the seconds of an update alone with those of one in a window.  They fall with the window's size, so
    windows of about the same size are averaged together."""

    def __init__(self, most: int, *, always: bool = False) -> None:
        self._most = most
        self._always = always
        self._alone: float | None = None
        self._together: dict[int, float] = {}  # by the binary logarithm of the size
        self._is_trial = True
        self._rest, self._patience, self._windows = _SAMPLE, _PATIENCE, 0
        self._instances = self._seconds = 0.0  # of updates alone, the last ones most

    def next(self, there: int) -> int:
        """How many of the updates that are there to use now."""
        size = min(there, self._most)
        if self._always or size < _FEWEST:
            return size if self._always else 1
        if self._rest or self._instances > _BUSY * self._seconds:
            self._rest = max(0, self._rest - 1)
            return 1
        return min(size, _TRIAL) if self._is_trial else size

    def budget(self, updates: int) -> float | None:
        """The seconds after which a window of so many updates is given up."""
        return None if self._always or self._alone is None else max(_LEAST, _LATE * updates * self._alone)

    def took_alone(self, seconds: float, instances: int = 0) -> None:
        """An update was applied by itself; the first of a stream often loads much, so a quicker one counts at once."""
        self._alone = min(seconds, _averaged(self._alone, seconds))
        self._instances, self._seconds = _FORGETS * self._instances + instances, _FORGETS * self._seconds + seconds

    def took_together(self, updates: int, seconds: float) -> None:
        """Updates were applied in one pass, and took so much each."""
        self._windows += 1
        if self._is_trial:
            self._is_trial = False  # it made the plans, and was in time
            return
        kind = updates.bit_length()
        self._together[kind] = _averaged(self._together.get(kind), seconds)
        if self._alone is not None and self._together[kind] > self._alone:
            self.gave_up()
        elif self._windows % _WINDOWS == 0:
            self._rest = 1

    def gave_up(self) -> None:
        """Windows do not pay at present."""
        self._rest, self._patience, self._is_trial, self._together = self._patience, 2 * self._patience, True, {}


def _averaged(past: float | None, now: float) -> float:
    return now if past is None else _FORGETS * past + (1 - _FORGETS) * now
