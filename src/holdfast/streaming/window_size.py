"""How many updates to compute in one pass: more as long as that pays, one by one while it does not."""

from __future__ import annotations

_FIRST = 4
_FORGETS = 0.7  # how much of the past remains in an average
_SAMPLE = 2  # updates one by one at first, to compare with
_PATIENCE = 8  # updates one by one before windows are tried again; twice as many each time
_WINDOWS = 16  # after so many there is another look at an update by itself


class WindowSize:
    """Compares the seconds of an update in a window with those of one alone."""

    def __init__(self, most: int, fixed: int | None = None) -> None:
        self._most = most
        self._fixed = fixed
        self._size = min(_FIRST, most)
        self._alone: float | None = None
        self._together: float | None = None
        self._rest, self._patience, self._windows = _SAMPLE, _PATIENCE, 0

    def next(self) -> int:
        """The size to use now; 1 is none."""
        if self._fixed is not None:
            return self._fixed
        if self._rest:
            self._rest -= 1
            return 1
        return self._size

    def took_alone(self, seconds: float) -> None:
        """An update was applied by itself; the first of a stream often loads much, so a quicker one counts at once."""
        self._alone = min(seconds, _averaged(self._alone, seconds))

    def took_together(self, updates: int, seconds: float) -> None:
        """Updates were applied in one pass, and took so much each."""
        self._windows += 1
        if self._windows == 1:
            return  # it made the plans
        self._together = _averaged(self._together, seconds)
        if self._alone is not None and self._together > self._alone:
            self._rest, self._patience, self._together = self._patience, 2 * self._patience, None
            self._size = max(2, self._size // 2)
        elif updates == self._size:
            self._size = min(2 * self._size, self._most)
        if not self._rest and self._windows % _WINDOWS == 0:
            self._rest = 1


def _averaged(past: float | None, now: float) -> float:
    return now if past is None else _FORGETS * past + (1 - _FORGETS) * now
