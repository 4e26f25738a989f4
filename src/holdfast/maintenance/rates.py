"""Measured times of algorithms by the size of updates, and estimates from them."""

from __future__ import annotations

from bisect import bisect
from math import exp, inf, log

_FORGETS = 0.7  # the weight of the past in an average
_DOUBTS = 0.9  # an estimate that keeps an algorithm from being tried shrinks by this factor each time
_WORSE = 1.5  # times as long as it took until it was abandoned
POWER = 0.8  # of the facts, by which seconds grow; measured in decision 0080
SINGLE_POWER = 0.5  # where facts have one derivation each: what many deletions take away is mostly the same; see 0088
_LEAST = 1e-6  # seconds; shorter times are rounded up


class Rates:
    """The seconds that an algorithm took, by the number of changed facts."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, float]] = {}  # by magnitude: facts and seconds, averages of logarithms
        self._doubts: dict[int, int] = {}  # by magnitude: how often it was not tried

    def took(self, facts: int, seconds: float) -> None:
        """Record the time of an update."""
        size, new = _magnitude(facts), (log(max(1, facts)), log(max(_LEAST, seconds)))
        past = self._known.get(size, new)
        self._known[size] = mixed(past[0], new[0]), mixed(past[1], new[1])
        self._doubts.pop(size, None)

    def abandoned(self, facts: int, seconds: float, power: float = POWER) -> None:
        """Record that an update was abandoned, and takes longer than that."""
        self.took(facts, max(_WORSE * seconds, self.expected(facts, power)))

    def doubt(self, facts: int) -> None:
        """Record that it was not tried, so that eventually it is tried again."""
        self._doubts[_magnitude(facts)] = self._doubts.get(_magnitude(facts), 0) + 1

    def expected(self, facts: int, power: float = POWER) -> float:
        """The estimated seconds for this number of facts; 0 if nothing is known.  They shrink with each doubt."""
        return self._estimate(facts, power) * _DOUBTS ** self._doubts.get(_magnitude(facts), 0)

    def _estimate(self, facts: int, power: float) -> float:
        """Between known sizes, seconds are a power of the facts; below them they are proportional; above them they grow
        by `power`.  As between the last two would be wrong: updates of one size differ too much.
        """
        if not self._known:
            return 0.0
        x, points = log(max(1, facts)), sorted(self._known.values())
        place = bisect(points, (x, inf))
        near, far = points[max(0, place - 1)], points[min(place, len(points) - 1)]
        power = power if place == len(points) else _slope(near, far)
        return exp(near[1] + power * (x - near[0]))

    def up_to(self, facts: int) -> float | None:
        """The seconds of the largest recorded size up to this one, if there is one."""
        size = max((size for size in self._known if size <= _magnitude(facts)), default=None)
        return None if size is None else exp(self._known[size][1])


def _slope(near: tuple[float, float], far: tuple[float, float]) -> float:
    """The slope between two points; 1 if they coincide."""
    return (far[1] - near[1]) / (far[0] - near[0]) if far[0] > near[0] else 1.0


def mixed(past: float, new: float) -> float:
    """A moving average: the weight of the past shrinks with each new number."""
    return _FORGETS * past + (1 - _FORGETS) * new


def _magnitude(facts: int) -> int:
    """The size class of an update."""
    return facts.bit_length() // 2
