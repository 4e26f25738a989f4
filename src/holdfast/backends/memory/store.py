"""The memory backend: tables, kept sets, counters, and Π by pipelines over tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import chain
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from holdfast.backends.abilities import (
    Able,
    Cascaded,
    Cascading,
    Counting,
    HeldRelation,
    Housekeeping,
    ImplicitRelation,
    LateRanking,
    Linking,
    PinnedFacts,
    PreparedFacts,
    Profiling,
    Ranking,
    SavedTable,
    Saving,
    Scratch,
    Scratching,
    Tuning,
    Versioned,
    VirtualRelations,
)
from holdfast.backends.limits import Grouping, OfferGroups
from holdfast.backends.memory.aggregates import aggregate, source_rows
from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.bags import Heads, MemoryBag, collected
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.memory.counting import MemoryCounting
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS
from holdfast.backends.memory.execution.groups import grouped
from holdfast.backends.memory.execution.run import CompiledPlan, naming_the_rule
from holdfast.backends.memory.execution.views import ReadViews, Seen, own_snapshot
from holdfast.backends.memory.facts import ByPredicate, FactSet, Momentary
from holdfast.backends.memory.frozen import FrozenRelation
from holdfast.backends.memory.kept import Kept, Listed
from holdfast.backends.memory.pages import in_small_pages
from holdfast.backends.memory.reading import CommittedFacts, PinnedVersion
from holdfast.backends.memory.statistics import TableStatistics
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.truth import ANY_STATUS, NO_IDS, distinct
from holdfast.backends.memory.virtual import VirtualTables
from holdfast.backends.protocol import Counters, Facts, Watch
from holdfast.maintenance.windows import Windows
from holdfast.plans import Planner
from holdfast.plans.model import AggregatePlan, AnyPlan, Plan, Read
from holdfast.plans.profile import Counted, PlanProfile, profiled
from holdfast.program.model import Relation
from holdfast.values.dictionary import Dictionary

if TYPE_CHECKING:
    from holdfast.backends.memory.links import MemoryLinks
    from holdfast.backends.memory.ranks import MemoryRanking
    from holdfast.backends.memory.window.computing import Planners
    from holdfast.maintenance.module_adapter import States
    from holdfast.maintenance.watch import Watch as RunWatch
    from holdfast.maintenance.windows import ComputedWindow, NodeInWindow


A = TypeVar("A")
_AnyPlan = TypeVar("_AnyPlan", bound=AnyPlan)
_FEW = 4_096  # rows of deleted facts that do not matter


class MemoryBackend(
    Able,
    VirtualRelations,
    PreparedFacts,
    Tuning,
    Profiling,
    Housekeeping,
    Linking,
    Windows,
    Scratching,
    Grouping,
    Saving,
    Versioned,
    Cascading,
):
    """Facts in this process."""

    def __init__(self, relations: Mapping[str, Relation], dictionary: Dictionary, watch: Watch) -> None:
        self.dictionary = dictionary
        self.watch = watch
        self.relations: dict[str, Relation] = {}
        self.tables: dict[str, Table] = {}
        self.explicit = Kept(self.tables, 1)
        self.materialisation = Kept(self.tables, 2)
        self.deleted = Listed(self.tables, 4)
        self.added = Listed(self.tables, 8)
        self.checked = Listed(self.tables, 1, "proof")
        self.proved = Listed(self.tables, 2, "proof")
        self.delayed = Listed(self.tables, 4, "proof")
        self.nonrecursive = MemoryCounters(self.tables, "nonrecursive")
        self.recursive = MemoryCounters(self.tables, "recursive")
        self._virtual = VirtualTables(self.tables, self.materialisation, dictionary)
        self.virtual = self._virtual.facts
        self.statistics = TableStatistics(self.tables, self.virtual)
        self.commit_lock = threading.RLock()
        self.packings = 0  # how often row ids have changed
        self._removed: dict[str, int] = {}  # rows of each table whose facts were deleted since it was packed
        self._pipelines: dict[Plan, CompiledPlan] = {}
        self.no_heads = MemoryBag(self.tables, {})
        self._window_planners: Planners | None = None
        self._ranking: MemoryRanking | None = None
        self.profile: PlanProfile | None = None
        self.indexing = 0.0
        for relation in relations.values():
            self.add_relation(relation)

    def ability(self, kind: type[A]) -> A | None:
        """An ability of its own, or its ranks, which are made when they are first asked for."""
        if kind is Counting:
            return cast("A", self.counting)
        return cast("A", self.ranking) if kind in (Ranking, LateRanking) else Able.ability(self, kind)

    @cached_property
    def counting(self) -> MemoryCounting:
        """Counting on row ids."""
        return MemoryCounting(self)

    @property
    def ranking(self) -> MemoryRanking:
        """Ranks and Cw."""
        if self._ranking is None:
            from holdfast.backends.memory.ranks import MemoryRanking

            self._ranking = MemoryRanking(self)
        return self._ranking

    def scratch(self, predicates: Iterable[str], reads: Iterable[str]) -> Scratch | None:
        """New tables for a large hyper-node that is evaluated from scratch."""
        from holdfast.backends.memory.scratch import MemoryScratch, worth_scratch

        return MemoryScratch(self, predicates) if worth_scratch(self, predicates, reads) else None

    def add_relation(self, relation: Relation) -> None:
        """Begin to keep the facts of one more relation."""
        name = relation.name
        table = Table(name, relation.arity, lambda nbytes: self.watch.grown(name, nbytes), self.invested)
        self.watch.grown(relation.name, table.nbytes)
        self.tables[relation.name] = table
        self.relations[relation.name] = relation

    def invested(self, seconds: float) -> None:
        """It took so long to make an index, or to read it, that later updates use too."""
        self.indexing += seconds

    def drop_relation(self, name: str) -> None:
        """Forget a relation and its facts."""
        if self._has_readers:
            self._committed.dropping(name)
        self.watch.grown(name, 0)
        self.tables.pop(name, None)
        self.explicit.forget(name)
        self.materialisation.forget(name)
        self.statistics.forget(name)
        self._removed.pop(name, None)
        self.ranking.drop(name)
        self.virtual.pop(name, None)
        self._pipelines = {p: pipeline for p, pipeline in self._pipelines.items() if name not in p.predicates}
        del self.relations[name]

    def tidy(self, removed: Facts) -> None:
        """Facts were deleted; pack a table that consists mostly of such rows.  Between updates only."""
        for name, count in removed.sizes().items():
            if name not in self.tables or name in self.virtual:
                continue
            self._removed[name] = self._removed.get(name, 0) + count
            table = self.tables[name]
            if not self._is_mostly_removed(name):
                continue
            self._removed[name] = table.size - int(np.count_nonzero(table.status[: table.size]))  # some came back
            if self._is_mostly_removed(name):
                with self.commit_lock:
                    self._pack(name)

    def _is_mostly_removed(self, name: str) -> bool:
        return self._removed[name] > max(_FEW, 2 * self.tables[name].size // 3)

    def reclaim(self) -> None:
        """Pack each table that takes memory for more than its facts.  Between updates only."""
        with self.commit_lock:
            for name, table in self.tables.items():
                if table.is_loose:
                    self._pack(name)

    @in_small_pages
    def _pack(self, name: str) -> None:
        """Drop the rows without facts."""
        table = self.tables[name]
        self._removed.pop(name, None)
        self.packings += 1
        kept: Ids = np.flatnonzero(table.status[: table.size]).astype(np.int32)
        self.ranking.keep_only(name, kept)
        table.keep_only(kept)
        if self._has_readers:
            self._committed.forget((name,))
        self.explicit.forget(name)
        self.materialisation.forget(name)
        self.explicit |= Momentary(self.tables, {name: self.explicit.ids(name)})
        self.materialisation |= Momentary(self.tables, {name: self.materialisation.ids(name)})

    # --- versions --------------------------------------------------------------------------------------

    @cached_property
    def _committed(self) -> CommittedFacts:
        """For readers; from the first of them on it is notified of changes."""
        committed = CommittedFacts(self.tables, self.virtual, self.commit_lock)
        self.explicit.changing = self.materialisation.changing = committed.changing
        return committed

    @property
    def _has_readers(self) -> bool:
        return self.explicit.changing is not None

    def pin(self) -> PinnedVersion:
        """The facts of the last commit."""
        with self.commit_lock:
            return self._committed.pin()

    def hold(self, relation: Relation) -> FrozenRelation:
        """A relation of the last commit, until it is released."""
        with self.commit_lock:
            held = self._committed.latest(relation.name, relation.arity)
            held.pins += 1
            return held

    def release(self, held: HeldRelation) -> None:
        """It is no longer read."""
        assert isinstance(held, FrozenRelation)
        with self.commit_lock:
            held.pins -= 1

    def reading(
        self, facts: PinnedFacts, relations: Iterable[Relation], watch: Watch
    ) -> AbstractContextManager[MemoryBackend]:
        """A backend of its own for one query over some relations of a version."""
        assert isinstance(facts, PinnedVersion)
        return facts.backend(MemoryBackend({}, self.dictionary, watch), relations)

    # --- repairs ---------------------------------------------------------------------------------------

    def mend(self) -> None:
        """An update was interrupted at an unknown point: trust E, I and the rows; rebuild or empty everything else.

        The counters are not right afterwards.
        """
        for name in self.tables.keys() - self.relations.keys():
            del self.tables[name]
        for table in self.tables.values():
            table.mend(self.explicit.bit | self.materialisation.bit)
        if self._has_readers:
            self._committed.forget(tuple(self.tables))
        for kept in (self.explicit, self.materialisation, *self._of_updates):
            kept.mend()
        for counters in (self.nonrecursive, self.recursive, self.ranking.founded):
            counters.clear_undo()
            counters.remembers = False
        for virtual in self.virtual.values():
            virtual.covered = {}
        self._pipelines.clear()
        self._window_planners = None

    @property
    def _of_updates(self) -> tuple[Listed, ...]:
        return self.deleted, self.added, self.checked, self.proved, self.delayed

    def forget_plans(self, heads: Container[str]) -> None:
        """The rules with some heads have changed: what was prepared for the old ones is of no use."""
        self._pipelines = {p: pipeline for p, pipeline in self._pipelines.items() if p.rule.predicate not in heads}
        if self._window_planners is not None:
            self._window_planners.forget(heads)

    @property
    def nbytes(self) -> int:
        """The memory that facts, counters and indexes take."""
        return sum(table.nbytes for table in self.tables.values()) + self.ranking.nbytes

    def facts(self, rows: Mapping[str, Rows], *, known: bool = False) -> FactSet:
        """Encoded rows as a set of facts; with `known`, without those that were never seen."""
        if not known:
            return self._interned(rows)
        ids = {name: self.tables[name].find(found) for name, found in rows.items()}
        return self._once({name: found[found >= 0] for name, found in ids.items()})

    @in_small_pages
    def _interned(self, rows: Mapping[str, Rows]) -> FactSet:
        ids = {name: self.tables[name].intern(found) for name, found in rows.items()}
        return self._once(ids)

    @in_small_pages
    def several(self, rows: Sequence[Mapping[str, Rows]], *, known: bool = False) -> Sequence[FactSet]:
        """Like `facts`, of several sets: each table is probed once for all of them."""
        found: list[dict[str, Ids]] = [{} for _ in rows]
        for name in dict.fromkeys(name for one in rows for name in one):
            here = [place for place, one in enumerate(rows) if name in one]
            parts, table = [rows[place][name] for place in here], self.tables[name]
            all_rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
            ids, begin = table.find(all_rows) if known else table.intern(all_rows), 0
            for place, part in zip(here, parts, strict=True):
                some, begin = ids[begin : begin + len(part)], begin + len(part)
                found[place][name] = some[some >= 0] if known else some
        return [self._once(ids) for ids in found]

    def _once(self, rows: Mapping[str, Ids]) -> Momentary:
        """The set of some facts, given by row ids, of which some may be given again."""
        once = {name: distinct(self.tables[name].status, ids, ANY_STATUS) for name, ids in rows.items() if len(ids)}
        return Momentary(self.tables, once)

    def rows(self, predicate: str, facts: Facts) -> Rows:
        """The encoded rows of a set's facts of one predicate."""
        assert isinstance(facts, FactSet)
        if predicate in self.virtual and facts is self.materialisation:
            return self.virtual[predicate].now().codes()
        rows: Rows = self.tables[predicate].rows.take(facts.ids(predicate), 0)  # a third of the time of an index
        return rows

    def materialise_rows(self, predicates: Iterable[str]) -> None:
        """Give a row to each fact of some predicates that has none yet."""
        self._virtual.materialise_rows(predicates)

    def defer(self, name: str, size: int, known: Callable[[int], ImplicitRelation]) -> None:
        """Not all facts of a predicate are rows: this is their number, and a module knows them."""
        self._virtual.defer(name, size, known)

    reports_new_facts = True
    repeats = True
    is_elsewhere = False
    requests = request_cost = 0

    def derivations(self, predicate: str) -> tuple[Rows, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them Cn and Cr."""
        ids = self.materialisation.ids(predicate)
        numbers = (counters.of(predicate)[ids].tolist() for counters in (self.nonrecursive, self.recursive))
        return self.tables[predicate].rows[ids], *numbers

    def elsewhere(self, predicates: Iterable[str], here: Facts, rest: Facts) -> FactSet:
        """One set for some predicates, another for all others."""
        return ByPredicate(predicates, own_snapshot(here), own_snapshot(rest))

    def apply(
        self, plans: Iterable[AnyPlan], sources: Mapping[Read, Facts], quotas: Mapping[Plan, Ids] = MappingProxyType({})
    ) -> MemoryBag:
        """The heads of all instances of the plans: Π⟦…⟧ of ALGORITHMS.md.

        Of a small update most have no facts to start from, so that is seen before anything is prepared.
        """
        able = self.able(plans, sources)
        if not able:
            return self.no_heads
        if len(able) == 1 and not quotas and isinstance(able[0], Plan):
            return self._heads_of(able[0], sources)
        return self._heads(able, sources, quotas)

    @in_small_pages
    def _heads_of(self, plan: Plan, sources: Mapping[Read, Facts]) -> MemoryBag:
        """Those of one plan: of few facts it has them in one batch."""
        if self.virtual:
            self._virtual.prepare(plan)
        pipeline = self.compiled(plan)
        with self.seen((pipeline,), sources) as views:
            return MemoryBag(self.tables, *collected(self._run(pipeline, views, NO_IDS)))

    @in_small_pages
    def _heads(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts], quotas: Mapping[Plan, Ids]) -> MemoryBag:
        found: list[Heads] = []
        pipelines = self.pipelines(plans)
        for plan in plans:
            if isinstance(plan, AggregatePlan):
                ids = self._aggregate(plan, sources) if self.profile is None else self._timed_aggregate(plan, sources)
                found.append((plan.rule.predicate, ids, NO_WEIGHTS))
        with self.seen(pipelines, sources) as views:
            more = (self._run(pipeline, views, quotas.get(pipeline.plan, NO_IDS)) for pipeline in pipelines)
            return MemoryBag(self.tables, *collected(chain(found, chain.from_iterable(more))))

    def _run(self, pipeline: CompiledPlan, views: ReadViews, quota: Ids) -> Iterable[Heads]:
        """What a plan emits; of few facts at once, as a tuple."""
        if pipeline.figures is not None:
            figures, heads = pipeline.figures
            before, begun = heads.size, perf_counter()
        if len(quota):
            found: Iterable[Heads] = pipeline.run(views, quota)
        elif pipeline.may_group and (by_groups := grouped(pipeline, views, self.dictionary)) is not None:
            found = by_groups.heads(views)
        else:
            found = pipeline.heads(views)
        if pipeline.figures is None:
            return found
        if not isinstance(found, tuple):
            figures.seconds += perf_counter() - begun
            return profiled(found, figures, heads, _instances_of_heads)
        figures.record(begun, len(found[0][1]) if found else 0, heads.size - before)
        return found

    def _timed_aggregate(self, plan: AggregatePlan, sources: Mapping[Read, Facts]) -> Ids:
        assert self.profile is not None
        table = self.tables[plan.rule.predicate]
        figures, before, begun = self.profile.of(plan), table.size, perf_counter()
        ids = self._aggregate(plan, sources)
        figures.record(begun, len(ids), table.size - before)
        return ids

    def emitted(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts]) -> Iterator[tuple[str, Rows]]:
        """The heads of all instances of some plans, a batch at a time, each to be looked at before the next: predicates
        and rows, which need not be facts of their tables."""
        able = [plan for plan in plans if isinstance(plan, Plan) and self._can_start(plan, sources)]
        for plan in able if self.virtual else ():
            self._virtual.prepare(plan)
        pipelines = [self.compiled(plan) for plan in able]
        with self.seen(pipelines, sources) as views:
            for pipeline in pipelines:
                with naming_the_rule(pipeline.plan.rule):
                    for rows in self.instances(pipeline, views):
                        yield pipeline.plan.outputs[0][0], rows[0]

    def instances(
        self, pipeline: CompiledPlan, views: ReadViews, wanted: Sequence[int] | None = None
    ) -> Iterator[list[Rows]]:
        """The instances of a plan, a batch at a time: all that it emits, or some of its outputs."""
        found = pipeline.instances(views, wanted)
        return found if pipeline.figures is None else profiled(found, *pipeline.figures, _instances_of_rows)

    def groups(self, planner: Planner, *, none_yet: bool) -> OfferGroups:
        """The groups of limit relations, by their keys."""
        from holdfast.backends.memory.limits import memory_groups

        return memory_groups(planner, self, none_yet=none_yet)

    def pipelines(self, plans: Sequence[AnyPlan]) -> list[CompiledPlan]:
        """What runs some plans; all facts that they read are rows."""
        for plan in plans if self.virtual else ():
            self._virtual.prepare(plan)
        return [self.compiled(plan) for plan in plans if isinstance(plan, Plan)]

    def seen(self, pipelines: Sequence[CompiledPlan], sources: Mapping[Read, Facts]) -> Seen:
        """What some pipelines see of the sources, for a while."""
        if len(pipelines) == 1:
            return Seen(pipelines[0].walked, pipelines[0].probed, pipelines[0].joined, sources)
        walked = (place for pipeline in pipelines for place in pipeline.walked)
        probed = (place for pipeline in pipelines for place in pipeline.probed)
        joined = [place for pipeline in pipelines for place in pipeline.joined]
        return Seen(walked, probed, joined, sources)

    def expand(self, plans: Sequence[Plan], sources: Mapping[Read, Facts], most: int) -> tuple[MemoryBag, FactSet]:
        """The outputs of a bounded number of instances for each goal and plan, and the goals that had no more."""
        goals = own_snapshot(sources[Read.DELTA]).snapshot()
        quotas: dict[Plan, Ids] = {p: np.full(len(goals.ids(p.rule.predicate)), most, np.int32) for p in plans}
        bag = self.apply(plans, {**sources, Read.DELTA: goals}, quotas)
        left = {name: np.ones(len(ids), np.bool_) for name, ids in goals.rows.items()}
        for plan, quota in quotas.items():
            left[plan.rule.predicate] &= quota > 0
        return bag, Momentary(self.tables, {name: ids[left[name]] for name, ids in goals.rows.items()})

    def cascades(self, plan: Plan) -> bool:
        """Whether it deletes in cascades by a plan."""
        from holdfast.backends.memory.cascades import worth_cascade

        return worth_cascade(self, plan)

    @in_small_pages
    def cascade(
        self, plan: Plan, facts: Facts, inputs: Facts, other: Counters | None, count: Callable[[int], None]
    ) -> Cascaded:
        """Delete what some deleted facts leave without support by a plan."""
        from holdfast.backends.memory.cascades import MemoryCascade

        pipeline, predicate = self.compiled(plan), plan.outputs[0][0]
        if pipeline.cascade is None:
            pipeline.cascade = MemoryCascade(self, pipeline)
        assert other is None or isinstance(other, MemoryCounters)
        gone, kept = pipeline.cascade.run(own_snapshot(facts).ids(predicate), own_snapshot(inputs), other, count)
        return Cascaded(Momentary(self.tables, {predicate: gone}), kept)

    def commit(self) -> None:
        """The state is in this process and nowhere else."""

    def restore(self) -> None:
        """E and I change only at a commit, and the counters were rolled back."""

    def links(self) -> MemoryLinks:
        """An empty set of links."""
        from holdfast.backends.memory.links import MemoryLinks

        return MemoryLinks(self)

    def window(
        self,
        nodes: Iterable[NodeInWindow],
        updates: Sequence[tuple[Facts, Facts]],
        given: Sequence[int],
        states: States,
        watch: RunWatch,
    ) -> ComputedWindow:
        """The states after several updates, in one pass."""
        from holdfast.backends.memory.window.computing import Planners, compute

        if self._window_planners is None:
            self._window_planners = Planners(self)
        return compute(self._window_planners, self, nodes, updates, given, states, watch)

    def save(self, predicate: str) -> SavedTable:
        """A table as arrays."""
        from holdfast.backends.memory.saving import saved_table

        return saved_table(self, predicate)

    def restore_saved(self, tables: Mapping[str, SavedTable], rounds: int) -> None:
        """Take up tables that were saved, and the highest rank."""
        from holdfast.backends.memory.saving import restore_table

        for name, saved in tables.items():
            restore_table(self, name, saved)
            self._removed[name] = int(np.count_nonzero(saved.arrays["status"] == 0))
        self.ranking.rounds = rounds

    def able(self, plans: Iterable[_AnyPlan], sources: Mapping[Read, Facts]) -> list[_AnyPlan]:
        """The plans that have facts to start from."""
        return [plan for plan in plans if self._can_start(plan, sources)]

    def _can_start(self, plan: AnyPlan, sources: Mapping[Read, Facts]) -> bool:
        """A plan whose pivot has no facts has no instances; to see that costs nothing."""
        delta = plan.delta
        return delta is None or delta[1] in sources[delta[0]].predicates()

    def compiled(self, plan: Plan) -> CompiledPlan:
        """What runs a plan."""
        pipeline = self._pipelines.get(plan)
        if pipeline is None:
            pipeline = self._pipelines[plan] = CompiledPlan(plan, self.tables, self.dictionary, self.watch)
            if self.profile is not None:
                figures = self.profile.of(plan)
                pipeline.figures, pipeline.counts = (figures, self.tables[plan.outputs[0][0]]), figures.rows
        return pipeline

    def _aggregate(self, plan: AggregatePlan, sources: Mapping[Read, Facts]) -> Ids:
        rule = plan.rule
        source, head = self.relations[rule.source], self.relations[rule.predicate]
        rows = source_rows(rule, self.tables[rule.source], own_snapshot(sources[Read.ALL]), sources.get(Read.DELTA))
        with naming_the_rule(rule):
            result = aggregate(rule, rows, source.types, head.types, self.dictionary)
        table, before = self.tables[rule.predicate], self.tables[rule.predicate].size
        ids = table.intern(result)
        self.watch.batch(table.size - before)
        return ids


def _instances_of_heads(found: Heads) -> Counted:
    _, ids, weights = found
    return int(weights.sum()) if len(weights) else len(ids), len(ids)


def _instances_of_rows(found: list[Rows]) -> Counted:
    return len(found[0]), len(found[0])
