"""`expand` on one shard: Π of backward plans with a quota for each goal.

The shard of a goal's primary numbers it.  A binding that leaves that shard carries the number and the shard.  Each
shard has its own quota for each goal, and reports the goals that reached it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.bags import MemoryBag
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.facts import FactSet, Momentary
from holdfast.backends.parted.partition import PartedPlan
from holdfast.backends.parted.rounds import Round, SegmentRun
from holdfast.plans.model import GOAL, Read

if TYPE_CHECKING:
    from holdfast.backends.parted.shard import Shard


class Expansion(Round):
    """One call of `expand` on one shard."""

    def __init__(self, shard: Shard, sources: Mapping[Read, FactSet], most: int, goals: int) -> None:
        """`goals` is the number of goals on all shards."""
        super().__init__(shard, sources)
        self._most, self._numbers = most, goals * shard.parts
        self._goals = shard.only_primaries(sources[Read.DELTA])
        self._left = {name: np.ones(len(ids), np.bool_) for name, ids in self._goals.rows.items()}
        self._cut: list[list[tuple[str, NDArray[np.int64]]]] = [[] for _ in range(shard.parts)]

    def expanded(self, plans: Sequence[PartedPlan]) -> tuple[MemoryBag, Momentary]:
        """The outputs that belong to this shard, and its goals without further instances."""
        self._moving = [(parted, self.shard.pieces(parted)) for parted in plans]
        self._run()
        for box in self.shard.exchanged(self._cut):
            for predicate, numbers in box:
                self._left[predicate][numbers] = False
        left = {name: ids[self._left[name]] for name, ids in self._goals.rows.items() if self._left[name].any()}
        return self._bag(self._heads), Momentary(self.shard.tables, left)

    def _instances(
        self, number: int, parted: PartedPlan, piece: SegmentRun, phase: int, views: ReadViews
    ) -> Iterator[list[Rows]]:
        if phase < len(parted.segments) - 1:
            yield from self._numbered(Round._instances(self, number, parted, piece, phase, views), piece, phase)
            return
        quota: Ids = np.full(self._numbers, self._most, np.int32)
        with piece.limited(quota):
            yield from Round._instances(self, number, parted, piece, phase, views)
        self._note(parted.plan.rule.predicate, np.flatnonzero(quota <= 0), phase)

    def _numbered(self, found: Iterable[list[Rows]], piece: SegmentRun, phase: int) -> Iterator[list[Rows]]:
        """Outgoing bindings, with goal numbers that are valid on all shards."""
        carried = piece.plan.outputs[0][1]
        for [rows] in found:
            if phase == 0 and GOAL in carried:
                rows = rows.copy()
                column = carried.index(GOAL)
                rows[:, column] = rows[:, column] * self.shard.parts + self.shard.number
            yield [rows]

    def _note(self, predicate: str, cut: NDArray[np.int64], phase: int) -> None:
        """Record goals that may have more instances."""
        parts = self.shard.parts
        for part, box in enumerate(self._cut):
            if phase == 0:
                numbers = cut if part == self.shard.number else cut[:0]
            else:
                numbers = cut[cut % parts == part] // parts
            if len(numbers):
                box.append((predicate, numbers))
