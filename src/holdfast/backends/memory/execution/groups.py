"""A plan that begins with changed facts, of which many agree in all columns that the later steps read.

`vp(v, p) :- load(v, w, f), vp(w, o), hp(o, f, p)` from changed facts of hp looks the same up for each p.  So the later
steps run once for each group of facts that agree in o and f, and then each result stands for all facts of its group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids, RowNumbers, Rows
from holdfast.backends.memory.execution import buffers
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.execution.ranked_join import Highest
from holdfast.backends.memory.execution.run import CompiledPlan, entered, naming_the_rule
from holdfast.backends.memory.execution.steps import ProjectStep
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.plans.literals import step_variables, variables
from holdfast.plans.model import Plan, Scan
from holdfast.program.model import Var
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

_GROUP = Var("group#", Type.NUMBER)
_ENOUGH = 64  # changed facts


class GroupedPlan:
    """A plan that emits the head and then the body's facts that have ranks, by groups of the facts it begins with."""

    def __init__(self, pipeline: CompiledPlan, dictionary: Dictionary) -> None:
        plan, (scan, *later) = pipeline.plan, pipeline.plan.steps
        assert isinstance(scan, Scan)
        first, (predicate, head), changed = plan.live[0], plan.outputs[0], (scan.atom.predicate, scan.atom.arguments)
        read_later = set[Var]().union(*map(step_variables, later))
        self._pipeline, self._predicate, self._heads = pipeline, predicate, pipeline.tables[predicate]
        self._key = [place for place, variable in enumerate(first) if variable in read_later]
        own = [place for place, variable in enumerate(first) if variable not in read_later]
        wanted = {variable for term in head for variable in variables(term)}
        shared = tuple(wanted - {first[place] for place in own})
        self._own = np.array([place for place in own if first[place] in wanted], np.int64)
        self._head = ProjectStep((*shared, *(first[place] for place in self._own)), head, dictionary)
        self._changed = [
            (name, ProjectStep(first, terms, dictionary))
            for name, terms in plan.outputs[1:]
            if (name, terms) == changed
        ]
        self._others = [output for output in plan.outputs[1:] if output != changed]
        live = tuple((*(variable for variable in one if variable in read_later), _GROUP) for one in plan.live[1:])
        outputs = ((predicate, (*shared, _GROUP)), *self._others)
        rest = Plan(plan.rule, plan.pivot, plan.order, outputs, tuple(later), live)
        before = (*(first[place] for place in self._key), _GROUP)
        self._later = CompiledPlan(rest, pipeline.tables, dictionary, pipeline.watch, before)
        self._later.counts = pipeline.counts

    def heads(self, views: ReadViews) -> Iterator[tuple[str, Ids, Weights]]:
        """The heads of all instances, as the pipeline gives them."""
        with naming_the_rule(self._pipeline.plan.rule):
            for rows, _ in self.run(views, _no_ranks):
                yield self._predicate, entered(self._heads, rows, self._pipeline.watch), NO_WEIGHTS

    def run(self, views: ReadViews, highest: Highest) -> Iterator[tuple[Rows, RowNumbers]]:
        """The heads of all instances, each with the highest rank of its body."""
        for changed in self._pipeline.first(views):
            yield from self._expanded(views, changed, highest)

    def _expanded(self, views: ReadViews, changed: Rows, highest: Highest) -> Iterator[tuple[Rows, RowNumbers]]:
        keys = changed[:, self._key]
        order = np.lexsort(keys.T)
        changed, keys = changed[order], keys[order]
        starts = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]).any(axis=1)])
        counts = np.diff(np.r_[starts, len(changed)])
        ranks = highest([(name, project.run(changed)[0]) for name, project in self._changed], len(changed))
        groups = np.column_stack((keys[starts], np.arange(len(starts))))
        self._later.weights = counts
        for heads, *bodies in self._later.continued(views, groups, 0):
            group = heads[:, -1]
            above = highest([(name, rows) for (name, _), rows in zip(self._others, bodies, strict=True)], len(heads))
            ends, done = np.cumsum(counts[group]), 0
            for begin, end in _parts(ends):
                rows, done = int(ends[end - 1]) - done, int(ends[end - 1])
                bindings = np.empty((rows, len(self._head.before)), np.int64)
                ranked = np.empty(rows, np.int32)
                some = heads[begin:end], starts, counts, changed, self._own, above[begin:end], ranks
                kernels.spread_groups(*some, bindings, ranked)
                yield self._head.run(bindings)[0], ranked


def grouped(pipeline: CompiledPlan, views: ReadViews, dictionary: Dictionary) -> GroupedPlan | None:
    """A plan that may group, by groups, if there are enough facts for them."""
    place = pipeline.walked[0]
    if len(views.walks[place].ids(place[1])) < _ENOUGH:
        return None
    if pipeline.by_groups is None:
        pipeline.by_groups = GroupedPlan(pipeline, dictionary)
    return pipeline.by_groups


def _no_ranks(_: Sequence[tuple[str, Rows]], count: int) -> RowNumbers:
    return np.zeros(count, np.int32)


def _parts(ends: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Iterator[tuple[int, int]]:
    """Ranges of results that give about as many instances as a batch has."""
    begin, done = 0, 0
    while begin < len(ends):
        end = max(begin + 1, int(np.searchsorted(ends, done + buffers.BATCH, side="right")))
        yield begin, end
        begin, done = end, int(ends[end - 1])
