"""The smallest set that has an element of each of some sets: fewest deletions that break every proof, say."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)
_STEPS = 5_000  # of the search, after which the best that is known is taken


def smallest_hitting_set(
    sets: Sequence[frozenset[T]], look: Callable[[], None] = lambda: None
) -> tuple[frozenset[T], bool]:
    """A set that meets all of some sets that are not empty, and whether it is known that there is no smaller one.

    `look` is called at each step, and may raise.
    """
    search = _HittingSets(sets, look)
    search.branch(frozenset(), frozenset())
    return search.best, search.steps < _STEPS


class _HittingSets(Generic[T]):
    """Branch and bound: some element of each set is in, so branch on those of a smallest set that is not met yet."""

    def __init__(self, sets: Sequence[frozenset[T]], look: Callable[[], None]) -> None:
        self._look = look
        self._sets = sorted(set(sets), key=lambda each: (len(each), str(sorted(map(str, each)))))
        self.best = self._greedy()
        self.steps = 0

    def _greedy(self) -> frozenset[T]:
        """Again and again the element of most sets that are not met yet."""
        chosen: set[T] = set()
        while left := [each for each in self._sets if not each & chosen]:
            met = {element: sum(element in each for each in left) for element in left[0]}
            chosen.add(max(met, key=lambda element: (met[element], str(element))))
        return frozenset(chosen)

    def branch(self, chosen: frozenset[T], without: frozenset[T]) -> None:
        """Improve the best by sets that have some elements and lack others."""
        self.steps += 1
        self._look()
        left = [each - without for each in self._sets if not each & chosen]
        if not left and len(chosen) < len(self.best):
            self.best = chosen
        if not left or self.steps >= _STEPS or len(chosen) + _disjoint(left) >= len(self.best):
            return
        smallest: frozenset[T] = min(left, key=len)
        for element in sorted(smallest, key=str):
            self.branch(chosen | {element}, without)
            without |= {element}


def _disjoint(sets: Sequence[frozenset[T]]) -> int:
    """How many of some sets have no element in common: each needs an element of its own."""
    used: set[T] = set()
    number = 0
    for each in sorted(sets, key=len):
        if not each & used:
            used |= each
            number += 1
    return number
