"""Deletion in cascades: a rule that reads one fact of its own relation runs round after round in one loop.

A chain of a thousand facts is a thousand rounds, and a round of a few facts takes as long as some hundred instances.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS
from holdfast.backends.memory.execution.compiling import runnable
from holdfast.backends.memory.execution.join import JoinStep, ScanStep
from holdfast.backends.memory.execution.run import CompiledPlan
from holdfast.backends.memory.execution.views import NO_STATUS, Seen
from holdfast.backends.memory.facts import FactSet
from holdfast.backends.memory.truth import NO_IDS
from holdfast.plans.instances import named_rule
from holdfast.plans.model import GOAL, Join, Plan, Scan
from holdfast.program.model import Const, Var

if TYPE_CHECKING:
    from holdfast.backends.memory.store import MemoryBackend

_FAN_OUT = 4.0  # facts that one joins with, from which on equal heads are better counted together
_BINDINGS, _HEADS = 512, 1_024  # at once
_FIRST, _MOST, _GROWTH = 1 << 12, 1 << 18, 4  # counters that are moved before the watch is asked


def worth_cascade(backend: MemoryBackend, plan: Plan) -> bool:
    """Whether a plan can run in a cascade, and should."""
    predicate, head = plan.outputs[0]
    match plan.steps:
        case (Scan(), Join(atom=atom, key=key)) if len(key) < len(atom.arguments):
            is_plain = all(isinstance(term, Var | Const) for term in head)
            is_virtual = predicate in backend.virtual or atom.predicate in backend.virtual
            fan_out = backend.statistics.fanout(atom.predicate, key, len(atom.arguments))
            return is_plain and not is_virtual and fan_out < _FAN_OUT
    return False


class MemoryCascade:
    """One plan that begins with facts of its head's relation, and joins them with facts that stay as they are."""

    def __init__(self, backend: MemoryBackend, pipeline: CompiledPlan) -> None:
        plan, self._backend, self._pipeline = pipeline.plan, backend, pipeline
        (scan, join), (self._predicate, head), before = plan.steps, plan.outputs[0], (*plan.live[0], GOAL)
        first = runnable(scan, (), before, backend.tables, backend.dictionary)
        last = runnable(join, before, (*head, GOAL), backend.tables, backend.dictionary)
        assert isinstance(first, ScanStep)
        assert isinstance(last, JoinStep)
        self._scan, self._join, self._rule = first, last, named_rule(plan.rule)
        sizes = (_BINDINGS, len(before)), (_HEADS, len(head) + 1), (_HEADS, len(head))
        self._buffers = tuple(np.empty(size, np.int64) for size in sizes)

    def run(
        self, facts: Ids, inputs: FactSet, other: MemoryCounters | None, count: Callable[[int], None]
    ) -> tuple[Ids, int]:
        """Facts have gone; gives them and what goes by that, and how often a fact was kept."""
        backend, predicate, place = self._backend, self._predicate, self._join.place
        begun, instances, kept, size = perf_counter(), 0, 0, _FIRST
        work, state = np.empty(backend.tables[predicate].size + 1, np.int32), np.zeros(8, np.int64)
        work[: len(facts)] = facts
        state[1], state[4] = len(facts), -1
        try:
            with Seen((), (place,), (), {place[0]: inputs}) as views:
                self._join.prepare(views)
                Cr, Cw, arrays = backend.recursive, backend.ranking.founded, self._arrays(other)
                while state[0] < state[1] or state[3] < state[2]:
                    moved, founded = np.empty(size, np.int32), np.empty(size + 1, np.int32)
                    state = state.copy()  # what is undone is what this one says
                    state[5:] = 0
                    Cr.remember(partial(self._put_back, Cr, moved, state, 5))
                    if other is Cw:
                        Cw.remember(partial(self._put_back, Cw, founded, state, 6))
                    kernels.cascade(work, state, backend.deleted.bit, *arrays, self._buffers, moved, founded)
                    instances, kept, size = instances + int(state[5]), kept + int(state[7]), min(_MOST, _GROWTH * size)
                    count(int(state[5]))
                    backend.watch.batch(0)
        finally:  # also if the watch raises
            backend.deleted.listed(predicate, work[len(facts) : state[1]])
        if self._pipeline.figures is not None:
            figures, _ = self._pipeline.figures
            figures.record(begun, instances, 0)
        return work[: state[1]], kept

    def _arrays(self, other: MemoryCounters | None) -> tuple[object, ...]:
        """The table, what keeps its facts, the scan and the join, as the kernel takes them."""
        predicate, ranking, scan = self._predicate, self._backend.ranking, self._scan.shape
        table, is_ranked = self._backend.tables[predicate], other is ranking.founded
        known, spans = table.membership, ranking.spans(self._rule) if is_ranked else ()
        keeping = table.nonrecursive if other is None else other.of(predicate)
        ranks = ranking.of_rows(predicate) if is_ranked else NO_IDS
        return (
            (table.rows, table.status, known.slots, known.grid),
            (table.nonrecursive, table.recursive, keeping, ranks, np.array(spans, np.int64).ravel()),
            (NO_STATUS, scan.constants, scan.key, self._scan.pattern, scan.outputs),
            (*self._join.facts(), self._join.shape.outputs, NO_IDS),
        )

    def _put_back(self, counters: MemoryCounters, ids: Ids, state: NDArray[np.int64], place: int) -> None:
        """Undoes what the kernel did to a counter; `state` says how often it was moved."""
        kernels.count(ids[: state[place]], NO_WEIGHTS, counters.of(self._predicate), 1)
