"""What the planner knows of the facts."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Protocol

from holdfast.quick_dataclass import dataclass


class SizeStatistics(Protocol):
    """Sizes, as far as they are known."""

    @property
    def many(self) -> float:
        """A rule with more instances in a round may wait for rounds of the others; infinite where rounds are dear."""
        ...

    def size(self, predicate: str) -> float:
        """How many facts a predicate has."""
        ...

    def smallest(self, predicate: str, column: int) -> float:
        """A lower bound of the numbers in some column of a predicate; minus infinity if unknown."""
        ...

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        """How many facts of a predicate share their values in some columns, on average."""
        ...

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        """How many facts an index on some columns would have to take in before it can be used."""
        ...


@dataclass(frozen=True)
class Guess:
    """Statistics without facts: every relation is middling, one that is still being computed becomes large."""

    growing: Collection[str] = ()
    many: float = math.inf

    def size(self, predicate: str) -> float:
        """A round number."""
        return 1e6 if predicate in self.growing else 1e3

    def smallest(self, predicate: str, column: int) -> float:
        """Nothing is known."""
        return -math.inf

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        """As if the columns were independent and each had equally many values."""
        return float(self.size(predicate) ** (1 - len(columns) / arity)) if arity else 1.0

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        """As if all indexes were there."""
        return 0.0
