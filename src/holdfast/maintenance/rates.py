"""What algorithms took so far, by the size of updates, and what that lets one expect."""

from __future__ import annotations

from bisect import bisect
from math import exp, inf, log

_FORGETS = 0.7  # how much of the past remains in an average
_DOUBTS = 0.9  # each time an estimate keeps an algorithm from being tried, it is believed less
_LEAST = 1e-6  # seconds: less is not measured


class Rates:
    """Seconds that an algorithm took, by the number of changed facts."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, float]] = {}  # by magnitude: facts and seconds, averages of logarithms
        self._doubts: dict[int, int] = {}  # by magnitude, how often it was not tried

    def took(self, facts: int, seconds: float) -> None:
        """An update of so many facts took so long."""
        size, new = _magnitude(facts), (log(max(1, facts)), log(max(_LEAST, seconds)))
        past = self._known.get(size, new)
        self._known[size] = mixed(past[0], new[0]), mixed(past[1], new[1])
        self._doubts.pop(size, None)

    def doubt(self, facts: int) -> None:
        """It was not tried: in time it is again."""
        self._doubts[_magnitude(facts)] = self._doubts.get(_magnitude(facts), 0) + 1

    def expected(self, facts: int) -> float:
        """The seconds that so many facts should take; 0 if nothing is known.

        Between sizes that are known, seconds are a power of the facts; below them they are in proportion; above them
        they grow as between the last two, but not faster than the facts nor slower than their root.
        """
        if not self._known:
            return 0.0
        x, points = log(max(1, facts)), sorted(self._known.values())
        place = bisect(points, (x, inf))
        near, far = points[max(0, place - 1)], points[min(place, len(points) - 1)]
        power = _slope(near, far)
        if place == len(points):
            power = min(1.0, max(0.5, _slope(points[-2], near) if place > 1 else 0.0))
        return exp(near[1] + power * (x - near[0])) * _DOUBTS ** self._doubts.get(_magnitude(facts), 0)

    def up_to(self, facts: int) -> float | None:
        """The seconds of the largest update that had no more facts, if there was one."""
        size = max((size for size in self._known if size <= _magnitude(facts)), default=None)
        return None if size is None else exp(self._known[size][1])


def _slope(near: tuple[float, float], far: tuple[float, float]) -> float:
    """Between two points; 1 if they are one."""
    return (far[1] - near[1]) / (far[0] - near[0]) if far[0] > near[0] else 1.0


def mixed(past: float, new: float) -> float:
    """An average in which the past counts less with each new number."""
    return _FORGETS * past + (1 - _FORGETS) * new


def _magnitude(facts: int) -> int:
    """Updates of a similar size."""
    return facts.bit_length() // 2
