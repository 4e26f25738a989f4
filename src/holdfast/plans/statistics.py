"""The planner's statistics of facts."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Protocol

from holdfast.quick_dataclass import dataclass


class SizeStatistics(Protocol):
    """The sizes of relations, as far as known."""

    @property
    def many(self) -> float:
        """A rule with more instances in a round may wait for the others; infinite where rounds are expensive."""
        ...

    def size(self, predicate: str) -> float:
        """The number of facts of a predicate."""
        ...

    def smallest(self, predicate: str, column: int) -> float:
        """A lower bound of the numbers in some column of a predicate; minus infinity if unknown."""
        ...

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        """The average number of facts of a predicate that share their values in these columns."""
        ...

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        """The number of facts to be entered into an index on these columns before it can be used."""
        ...


@dataclass(frozen=True)
class Guess:
    """Statistics without facts: every relation is of medium size, and one still being computed becomes large."""

    growing: Collection[str] = ()
    many: float = math.inf

    def size(self, predicate: str) -> float:
        """A constant."""
        return 1e6 if predicate in self.growing else 1e3

    def smallest(self, predicate: str, column: int) -> float:
        """Always unknown."""
        return -math.inf

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        """Assumes that columns are independent and have equally many values."""
        return float(self.size(predicate) ** (1 - len(columns) / arity)) if arity else 1.0

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        """Assumes that all indexes exist."""
        return 0.0
