"""Π with ranks: the heads of all instances, and those of founded instances, whose bodies have lower ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Ids, RowNumbers, Rows
from holdfast.backends.memory.bags import HeadBuffer, MemoryBag
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.execution.groups import grouped
from holdfast.backends.memory.execution.ranked_join import Judged, Others, RankedJoin
from holdfast.backends.memory.execution.run import CompiledPlan, naming_the_rule
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.pages import in_small_pages
from holdfast.backends.memory.truth import as_bytes
from holdfast.backends.protocol import Facts
from holdfast.plans.model import Plan, Read
from holdfast.plans.profile import Counted, profiled

if TYPE_CHECKING:
    from holdfast.backends.memory.ranks import MemoryRanking
    from holdfast.backends.memory.store import MemoryBackend

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Ranks that a rule saw together: from the first to the last."""
Weighted: TypeAlias = tuple[Ids, Weights]
"""Heads, each with the number of its instances; without weights, one each."""
Bodies: TypeAlias = Sequence[tuple[str, Rows]]
"""Facts in the bodies of some instances, by predicate."""
_NO_RANKS: RowNumbers = np.empty(0, np.int32)


class FoundedHeads:
    """Compares instances with ranks: during the last join where that pays, else instance by instance."""

    def __init__(self, backend: MemoryBackend, ranking: MemoryRanking) -> None:
        self._backend, self._ranking = backend, ranking
        self._joins: WeakKeyDictionary[CompiledPlan, RankedJoin | None] = WeakKeyDictionary()

    @in_small_pages
    def of(self, plans: Sequence[Plan], sources: Mapping[Read, Facts]) -> tuple[MemoryBag, MemoryBag]:
        """The heads of all instances of some plans, and of the founded ones."""
        found, founded = defaultdict[str, HeadBuffer](HeadBuffer), defaultdict[str, HeadBuffer](HeadBuffer)
        pipelines = self._backend.pipelines(plans)
        with self._backend.seen(pipelines, sources) as views:
            for pipeline in pipelines:
                head = pipeline.plan.outputs[0][0]
                with naming_the_rule(pipeline.plan.rule):
                    for (ids, weights), grounded in self._profiled(pipeline, views):
                        found[head].add(ids, weights)
                        founded[head].add(*grounded)
        return self._bag(found), self._bag(founded)

    def _profiled(self, pipeline: CompiledPlan, views: ReadViews) -> Iterator[tuple[Weighted, Weighted]]:
        found = self._instances(pipeline, views)
        return found if pipeline.figures is None else profiled(found, *pipeline.figures, _all_instances)

    def _instances(self, pipeline: CompiledPlan, views: ReadViews) -> Iterator[tuple[Weighted, Weighted]]:
        """Yields the heads of all instances and of the founded ones, a batch at a time."""
        plan, spans = pipeline.plan, self._ranking.spans(pipeline.plan.rule)
        if pipeline.may_group and (by_groups := grouped(pipeline, views, self._backend.dictionary)) is not None:
            for rows, highest in by_groups.run(views, self._highest_of):
                yield self._carried(plan, spans, rows, highest)
            return
        join = self._join(pipeline)
        if join is None:
            for rows, *bodies in pipeline.instances(views):
                yield self._judged(plan, spans, rows, bodies)
            return
        join.prepare(views)
        compare, seen = partial(self._compared, plan, join, spans), partial(self._seen_highest, join, spans)
        for bindings in pipeline.before_last(views):
            if (worthwhile := join.worthwhile(bindings)) is not None:
                yield from self._counted(plan, join.count(*worthwhile, seen, compare))
            elif join.carried is not None:
                for rows, highest in join.carry(bindings, join.carried, self._highest_of):
                    yield self._carried(plan, spans, rows, highest)
            else:
                for rows, *bodies in pipeline.last(bindings):
                    yield self._judged(plan, spans, rows, bodies)

    def _counted(self, plan: Plan, parts: Iterable[tuple[Judged, Others]]) -> Iterator[tuple[Weighted, Weighted]]:
        """Yields the heads that the join counted, then the instances of unknown heads."""
        for (ids, weights, grounded), others in parts:
            self._backend.watch.batch(0)
            is_grounded = grounded > 0
            yield (ids, weights), (ids[is_grounded], grounded[is_grounded])
            if len(others[0]):
                yield self._carried(plan, (), *others)  # the join has accounted for the spans already

    def _carried(self, plan: Plan, spans: Spans, rows: Rows, highest: RowNumbers) -> tuple[Weighted, Weighted]:
        """The heads of instances whose highest ranks are known."""
        ids = self._intern(plan, rows)
        some = self._there(plan, ids)
        heads = ids[some]
        above = self._ranking.is_above(plan.outputs[0][0], spans, heads, highest[some])
        return (ids, NO_WEIGHTS), (heads[above], NO_WEIGHTS)

    def _join(self, pipeline: CompiledPlan) -> RankedJoin | None:
        """The last step of a pipeline, if it can count; determined once."""
        if pipeline not in self._joins:
            self._joins[pipeline] = RankedJoin.of(pipeline, self._backend.dictionary)
        return self._joins[pipeline]

    def _compared(self, plan: Plan, join: RankedJoin, spans: Spans) -> tuple[object, ...]:
        """What the kernel compares: ranks of joined facts and of heads, and spans.

        Heads that are not in (I \\ D) ∪ A may be counted as founded: their Cw is set when they enter.
        """
        fact_ranks = self._ranking.of_rows(join.joined) if join.joins_ranked else _NO_RANKS
        if join.listed is not None:
            fact_ranks = as_seen(fact_ranks[join.listed.ids], spans)
        left = spans if join.compares_all else ()
        return fact_ranks, self._ranking.of_rows(plan.outputs[0][0]), np.array(left, np.int64).ravel()

    def _seen_highest(self, join: RankedJoin, spans: Spans, bodies: Bodies, count: int) -> RowNumbers:
        """The highest ranks as a rule saw them, unless the kernel has to look at spans for each instance anyway."""
        highest = self._highest_of(bodies, count)
        return highest if join.compares_all else as_seen(highest, spans)

    def _highest_of(self, bodies: Bodies, count: int) -> RowNumbers:
        """The highest rank in each row of facts; `bodies` lists the facts of the instances by predicate."""
        highest: RowNumbers = np.zeros(count, np.int32)
        for predicate, facts in bodies:
            np.maximum(highest, self._ranking.highest(predicate, facts), out=highest)
        return highest

    def _intern(self, plan: Plan, rows: Rows) -> Ids:
        table = self._backend.tables[plan.outputs[0][0]]
        before, ids = table.size, table.intern(rows)
        self._backend.watch.batch(table.size - before)
        return ids

    def _there(self, plan: Plan, ids: Ids) -> NDArray[np.integer] | slice:
        """Those in (I \\ D) ∪ A; the Cw of others is set when they enter."""
        backend = self._backend
        J = (backend.materialisation - backend.deleted) | backend.added
        there = as_bytes(J.truth({}))[backend.tables[plan.outputs[0][0]].status[ids]].view(np.bool_)
        return slice(None) if there.all() else np.flatnonzero(there)

    def _judged(self, plan: Plan, spans: Spans, rows: Rows, bodies: Sequence[Rows]) -> tuple[Weighted, Weighted]:
        """The heads of a batch of instances, and of the founded ones."""
        (head, _), *atoms = plan.outputs
        ids = self._intern(plan, rows)
        some = self._there(plan, ids)
        heads = ids[some]
        named = [(predicate, body[some]) for (predicate, _), body in zip(atoms, bodies, strict=True)]
        highest = self._highest_of(named, len(heads))
        return (ids, NO_WEIGHTS), (heads[self._ranking.is_above(head, spans, heads, highest)], NO_WEIGHTS)

    def _bag(self, heads: Mapping[str, HeadBuffer]) -> MemoryBag:
        rows = {name: found.ids[: found.size] for name, found in heads.items()}
        weights = {name: found.weights[: found.size] for name, found in heads.items() if len(found.weights)}
        return MemoryBag(self._backend.tables, rows, weights)


def as_seen(ranks: RowNumbers, spans: Spans) -> RowNumbers:
    """Changes ranks in place to the last ones that a rule saw together with them, and gives them."""
    for first, last in spans:
        ranks[(ranks >= first) & (ranks <= last)] = last
    return ranks


def _all_instances(found: tuple[Weighted, Weighted]) -> Counted:
    ids, weights = found[0]
    return int(weights.sum()) if len(weights) else len(ids), len(ids)
