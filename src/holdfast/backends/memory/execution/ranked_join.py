"""The last join of a plan with ranks: heads are counted, and those of founded instances, without writing instances.

It pays where bindings meet many facts, and most heads are there already: then one pass over an index of the heads
replaces a look-up for each instance.
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
from holdfast.backends.memory.execution.steps import ProjectStep
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.index import Index
from holdfast.plans.model import Join
from holdfast.program.model import Const, Var
from holdfast.values.dictionary import Dictionary

Judged = tuple[Ids, RowNumbers, RowNumbers]
"""Row ids of heads, each with how many instances and how many founded ones it has."""
Others = tuple[Rows, RowNumbers]
"""Heads that are not known, one for each instance, with the highest rank of the body."""

WORTH = 64  # bindings
FAN_OUT = 4  # facts that a binding must meet
_OTHERS = 4  # known heads of a group that are passed over, for each instance
_PLACES = 1 << 20  # values that are counted in their own places; pages of larger ones are not touched
_CAPACITY = 1 << 16  # known heads at a time, at first
_MOST_GROUPS = 1 << 31

_tally: Callable[..., tuple[int, int, int, int, int]] = kernels.tally_ranked


class RankedJoin:
    """The last step of a plan that emits the head and then the body's facts that have ranks."""

    def __init__(self, pipeline: CompiledPlan, join: JoinStep, dictionary: Dictionary) -> None:
        plan = pipeline.plan
        self.join, self.heads = join, pipeline.tables[plan.outputs[0][0]]
        last = plan.steps[-1]
        assert isinstance(last, Join)
        joined = last.atom.predicate, last.atom.arguments
        self.joins_ranked = joined in plan.outputs[1:]
        self.before = [
            (predicate, ProjectStep(plan.live[-2], terms, dictionary))
            for predicate, terms in plan.outputs[1:]
            if (predicate, terms) != joined
        ]
        [self.column] = join.shape.fact_columns.tolist()
        self.key = tuple(place for place in range(len(join.shape.outputs)) if place != self.column)
        self._known: tuple[Any, ...] = ()
        self._out: Rows = np.empty((0, len(join.shape.outputs)), np.int64)

    @classmethod
    def of(cls, pipeline: CompiledPlan, dictionary: Dictionary) -> RankedJoin | None:
        """None if the last step is none that can count: it must join, and give the head one column."""
        plan, tables = pipeline.plan, pipeline.tables
        head = plan.outputs[0][1]
        if len(plan.steps) < 2 or not isinstance(plan.steps[-1], Join) or len(head) < 2:
            return None
        if not all(isinstance(term, Var | Const) for term in head):
            return None
        join = runnable(plan.steps[-1], plan.live[-2], head, tables, dictionary)
        if not isinstance(join, JoinStep) or not join.shape.can_tally or len(join.shape.fact_columns) != 1:
            return None
        return cls(pipeline, join, dictionary)

    def prepare(self, views: ReadViews) -> None:
        """Read the facts as they are now."""
        self.join.fan_out = 0.0
        self.join.prepare(views)

    def worthwhile(self, bindings: Rows) -> tuple[Rows, Index] | None:
        """The bindings, those of a group side by side, and the index of the heads, if it is worth to count by it."""
        if len(bindings) < WORTH or self.join.fan_out < FAN_OUT or self.join.table.fetch is not None:
            return None
        index = self.heads.present_index(self.key)
        if index is None or not index.settled:
            return None
        bindings = np.ascontiguousarray(grouped(bindings, self.join.shape.group))
        values = bindings[:, self.join.shape.group]
        groups = 1 + np.count_nonzero((values[1:] != values[:-1]).any(axis=1))
        passed = groups * index.settled / max(1, index.keys)
        return (bindings, index) if passed <= _OTHERS * len(bindings) * self.join.fan_out else None

    def run(
        self,
        bindings: Rows,
        index: Index,
        highest: Callable[[Sequence[tuple[str, Rows]], int], RowNumbers],
        ranks: Callable[[], tuple[Any, ...]],
    ) -> Iterator[tuple[Judged, Others]]:
        """What worthwhile bindings give.  `highest` looks ranks of facts up, `ranks` has those to compare with."""
        bodies = [(predicate, project.run(bindings)[0]) for predicate, project in self.before]
        of_bindings, i, cursor = highest(bodies, len(bindings)), 0, -1
        while i < len(bindings):
            known, (out, out_rank) = self._prepared()
            heads = index.key, index.slots, index.entries[: index.keys], index.ids, index.values
            n, m, i, cursor, is_short = _tally(
                bindings,
                len(bindings),
                i,
                cursor,
                *self.join.facts(),
                self.join.shape.outputs,
                self.join.shape.group,
                self.column,
                heads,
                (of_bindings, *ranks()),
                known,
                out,
                out_rank,
            )
            _, ids, _, weights, founded = known
            yield (ids[:n].copy(), weights[:n].copy(), founded[:n].copy()), (out[:m], out_rank[:m])
            if is_short:
                self._allocate(2 * len(ids))

    def _prepared(self) -> tuple[tuple[Any, ...], Others]:
        if not self._known:
            self._allocate(_CAPACITY)
            self._out = np.empty((buffers.BATCH, self._out.shape[1]), np.int64)
            self._out_rank = np.empty(buffers.BATCH, np.int32)
        elif self._known[0][-1] > _MOST_GROUPS:
            self._known[0][:] = 0
        return self._known, (self._out, self._out_rank)

    def _allocate(self, capacity: int) -> None:
        places = self._known[0] if self._known else np.zeros(_PLACES + 1, np.uint64)
        self._known = places, *(np.empty(capacity, np.int32) for _ in range(4))
