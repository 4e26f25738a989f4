"""The last join of a plan with ranks: the heads of all instances, and of the founded ones.

Where bindings match many facts and most heads exist already, instances are not written: the join counts the heads as it
runs, and one pass over an index of the heads replaces a lookup for each instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids, RowNumbers, Rows
from holdfast.backends.memory.execution import buffers
from holdfast.backends.memory.execution.compiling import runnable
from holdfast.backends.memory.execution.join import JoinStep, grouped
from holdfast.backends.memory.execution.run import CompiledPlan
from holdfast.backends.memory.execution.steps import ProjectStep, Runnable
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.index import Index, ListIndex
from holdfast.plans.model import Join
from holdfast.program.model import Const, Var
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

Judged = tuple[Ids, RowNumbers, RowNumbers]
"""Row ids of heads, each with the numbers of its instances and of its founded instances."""
Others = tuple[Rows, RowNumbers]
"""Unknown heads, one for each instance, with the highest rank of the body."""

WORTH = 64  # bindings
FAN_OUT = 4  # facts that a binding must match
_OTHERS = 4  # known heads of a group to skip, for each instance
_PLACES = 1 << 20  # values that are counted in place; pages of larger ones stay untouched
_CAPACITY = 1 << 16  # initial capacity for known heads
_MOST_GROUPS = 1 << 31

Highest = Callable[[Sequence[tuple[str, Rows]], int], RowNumbers]
"""Looks up the highest rank in each row of facts, given the number of rows."""
_RANK = Var("rank#", Type.NUMBER)

_tally: Callable[..., tuple[int, int, int, int, int]] = kernels.tally_ranked


class RankedJoin:
    """The last step of a plan that emits the head and then the body's facts that have ranks.

    Where it pays, heads are `counted`.  Otherwise, if the joined facts have no ranks, the highest rank of a binding is
    looked up before the join, and `carried` through it to each of its instances.
    """

    def __init__(self, pipeline: CompiledPlan, dictionary: Dictionary) -> None:
        plan, last = pipeline.plan, pipeline.plan.steps[-1]
        assert isinstance(last, Join)
        (predicate, head), before, joined = plan.outputs[0], plan.live[-2], (last.atom.predicate, last.atom.arguments)
        self.heads, self.joined = pipeline.tables[predicate], last.atom.predicate
        self.joins_ranked = joined in plan.outputs[1:]
        self.before = [
            (predicate, ProjectStep(before, terms, dictionary))
            for predicate, terms in plan.outputs[1:]
            if (predicate, terms) != joined
        ]
        self.carried: Runnable | None = None
        if not self.joins_ranked:
            self.carried = runnable(last, (*before, _RANK), (*head, _RANK), pipeline.tables, dictionary)
        self.counted = _counting(runnable(last, before, head, pipeline.tables, dictionary))
        self.column = -1 if self.counted is None else int(self.counted.shape.fact_columns[0])
        self.key = tuple(place for place in range(len(head)) if place != self.column)
        self._known: tuple[Any, ...] = ()
        self._out: Rows = np.empty((0, len(head)), np.int64)

    @classmethod
    def of(cls, pipeline: CompiledPlan, dictionary: Dictionary) -> RankedJoin | None:
        """The ranked join of a plan, or None if the last step is not a join or does not write the head."""
        plan = pipeline.plan
        if len(plan.steps) < 2 or not isinstance(plan.steps[-1], Join):
            return None
        if not all(isinstance(term, Var | Const) for term in plan.outputs[0][1]):
            return None
        return cls(pipeline, dictionary)

    def prepare(self, views: ReadViews) -> None:
        """Read the facts as they are now."""
        if self.counted is not None:
            self.counted.fan_out = 0.0
            self.counted.prepare(views)
        if self.carried is not None:
            self.carried.prepare(views)

    @property
    def listed(self) -> ListIndex | None:
        """The changed facts that it joins with, if they have ranks and an index of their own."""
        return self.counted.listed if self.counted is not None and self.joins_ranked else None

    @property
    def compares_all(self) -> bool:
        """Whether the ranks that it compares are those of all facts of a table, as they are."""
        return self.joins_ranked and self.listed is None

    def carry(self, bindings: Rows, step: Runnable, highest: Highest) -> Iterator[Others]:
        """Yields the heads of the instances of some bindings, each with the highest rank of its body."""
        with_rank = np.empty((len(bindings), bindings.shape[1] + 1), np.int64)
        with_rank[:, :-1] = bindings
        with_rank[:, -1] = self._highest(bindings, highest)
        for rows in step.run(with_rank):
            yield np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int32)

    def _highest(self, bindings: Rows, highest: Highest) -> RowNumbers:
        return highest([(predicate, project.run(bindings)[0]) for predicate, project in self.before], len(bindings))

    def worthwhile(self, bindings: Rows) -> tuple[Rows, JoinStep, Index] | None:
        """The bindings sorted by group, the join and the index of the heads, if counting is worth it."""
        join = self.counted
        if join is None or len(bindings) < WORTH or join.fan_out < FAN_OUT or join.table.fetch is not None:
            return None
        index = self.heads.present_index(self.key)
        if index is None or not index.settled:
            return None
        bindings = np.ascontiguousarray(grouped(bindings, join.shape.group))
        values = bindings[:, join.shape.group]
        groups = 1 + np.count_nonzero((values[1:] != values[:-1]).any(axis=1))
        passed = groups * index.settled / max(1, index.keys)
        return (bindings, join, index) if passed <= _OTHERS * len(bindings) * join.fan_out else None

    def count(
        self, bindings: Rows, join: JoinStep, index: Index, highest: Highest, ranks: Callable[[], tuple[Any, ...]]
    ) -> Iterator[tuple[Judged, Others]]:
        """Counts the heads of worthwhile bindings.  `highest` looks up ranks of facts, `ranks` has those to compare."""
        of_bindings, i, cursor = self._highest(bindings, highest), 0, -1
        while i < len(bindings):
            known, (out, highs) = self._prepared()
            heads = index.key, index.slots, index.entries[: index.keys], index.ids, index.values
            n, m, i, cursor, is_short = _tally(
                bindings,
                len(bindings),
                i,
                cursor,
                *join.facts(),
                join.shape.outputs,
                join.shape.group,
                self.column,
                heads,
                (of_bindings, *ranks()),
                known,
                out,
                highs,
            )
            _, ids, _, weights, founded = known
            yield (ids[:n].copy(), weights[:n].copy(), founded[:n].copy()), (out[:m], highs[:m])
            if is_short:
                self._allocate(2 * len(ids))

    def _prepared(self) -> tuple[tuple[Any, ...], Others]:
        if not self._known:
            self._allocate(_CAPACITY)
            self._out = np.empty((buffers.BATCH, self._out.shape[1]), np.int64)
            self._highs = np.empty(buffers.BATCH, np.int32)
        elif self._known[0][-1] > _MOST_GROUPS:
            self._known[0][:] = 0
        return self._known, (self._out, self._highs)

    def _allocate(self, capacity: int) -> None:
        places = self._known[0] if self._known else np.zeros(_PLACES + 1, np.uint64)
        self._known = places, *(np.empty(capacity, np.int32) for _ in range(4))


def _counting(step: Runnable) -> JoinStep | None:
    """A join that writes a single column of the head, by which heads can be counted."""
    if not isinstance(step, JoinStep) or not step.shape.can_tally or len(step.shape.outputs) < 2:
        return None
    return step if len(step.shape.fact_columns) == 1 else None
