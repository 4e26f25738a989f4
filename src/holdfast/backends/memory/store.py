"""The memory backend: tables, kept sets, counters, and Π by pipelines over tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.abilities import (
    Able,
    Housekeeping,
    ImplicitRelation,
    Linking,
    PreparedFacts,
    Tuning,
    VirtualFacts,
    VirtualRelations,
)
from holdfast.backends.limits import Grouping, Groups
from holdfast.backends.memory import kernels
from holdfast.backends.memory.aggregates import aggregate
from holdfast.backends.memory.arrays import Ids, Rows, enlarged
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.execution.run import Pipeline, naming_the_rule
from holdfast.backends.memory.execution.views import OF_THE_PAST, Probe, Views
from holdfast.backends.memory.facts import ByPredicate, FactSet, Kept, Listed, Momentary, Support, marked
from holdfast.backends.memory.pages import in_small_pages
from holdfast.backends.memory.statistics import TableStatistics
from holdfast.backends.memory.table import Table
from holdfast.backends.protocol import Bag, Facts, Watch
from holdfast.encoding import Dictionary
from holdfast.errors import Diagnostic, LimitReached
from holdfast.maintenance.windows import Windows
from holdfast.plans import Planner
from holdfast.plans.model import AggregatePlan, AntiJoin, AnyPlan, Join, Plan, Read, Scan
from holdfast.program.model import Const, Relation

if TYPE_CHECKING:
    from holdfast.backends.memory.links import MemoryLinks
    from holdfast.backends.memory.window.computing import Planners
    from holdfast.maintenance.module_adapter import States
    from holdfast.maintenance.watch import Watch as RunWatch
    from holdfast.maintenance.windows import ComputedWindow, NodeInWindow


_NO_IDS: Ids = np.empty(0, np.int32)
_NO_VALUES = np.empty(0, np.int64)
_GROWTH = 16  # of room for heads; it takes no memory until it is written to
_FEW = 4_096  # rows of facts that are gone do not matter


class MemoryBag:
    """The heads of rule instances as row ids, repeated as they occur, or with a weight that says how often."""

    def __init__(
        self,
        tables: Mapping[str, Table],
        rows: Mapping[str, Ids],
        weights: Mapping[str, Weights] = MappingProxyType({}),
    ) -> None:
        self.tables = tables
        self.rows = rows
        self.weights = weights

    def __len__(self) -> int:
        return sum(int(self.weights[p].sum()) if p in self.weights else len(ids) for p, ids in self.rows.items())

    def support(self) -> FactSet:
        """The facts that occur at least once."""
        return Support(self.tables, self.rows)

    def __add__(self, other: Bag) -> MemoryBag:
        """All occurrences of both."""
        assert isinstance(other, MemoryBag)
        if not self.rows or not other.rows:
            return other if not self.rows else self
        rows, weights = dict(self.rows), dict(self.weights)
        for name, ids in other.rows.items():
            known = rows.get(name)
            if name in other.weights or name in weights:
                parts = [(ids, other.weights.get(name)), *([(known, weights.get(name))] if known is not None else [])]
                weights[name] = np.concatenate([np.ones(len(i), np.int32) if w is None else w for i, w in parts])
            rows[name] = ids if known is None else np.concatenate([ids, known])
        return MemoryBag(self.tables, rows, weights)


class MemoryCounters:
    """One of the two counters that stand beside each row."""

    def __init__(self, tables: Mapping[str, Table], column: str) -> None:
        self.tables = tables
        self.column = column
        self.remembers = False  # during an update, so that it can be taken back
        self._undo: list[Callable[[], None]] = []

    def of(self, predicate: str) -> NDArray[np.int32]:
        """The numbers of a table's rows."""
        numbers: NDArray[np.int32] = getattr(self.tables[predicate], self.column)
        return numbers

    def add(self, facts: Bag | Facts) -> None:
        """Count each occurrence once more."""
        self._move(facts, 1)

    def subtract(self, facts: Bag | Facts) -> None:
        """Count each occurrence once less."""
        self._move(facts, -1)

    def zero(self, facts: Facts) -> FactSet:
        """Those of some facts whose number is 0."""
        assert isinstance(facts, FactSet)
        found = {}
        for predicate, ids in facts.snapshot().rows.items():
            out = np.empty(len(ids), np.int32)
            if count := kernels.zero(ids, self.of(predicate), out):
                found[predicate] = out[:count]
        return Momentary(self.tables, found)

    def forget(self, predicates: Iterable[str]) -> None:
        """Set the numbers of some predicates to 0."""
        for predicate in predicates:
            numbers = self.of(predicate)
            if self.remembers:
                self._undo.append(partial(self._restore, predicate, numbers[: self.tables[predicate].size].copy()))
            numbers[:] = 0

    def take_back(self) -> None:
        """Undo everything since `settle`."""
        for undo in reversed(self._undo):
            undo()
        self.settle()

    def settle(self) -> None:
        """What was done before this is not taken back any more."""
        self._undo.clear()

    def _restore(self, predicate: str, numbers: NDArray[np.int32]) -> None:
        self.of(predicate)[: len(numbers)] = numbers

    def _count(self, predicate: str, ids: Ids, weights: Weights, step: int) -> None:
        if not kernels.count(ids, weights, self.of(predicate), step):
            message = f"a fact of {predicate} has more than {2**31 - 1:,} derivations, which is more than is counted"
            help = "`_` or an unused variable in a rule's body may multiply them: project it away in a rule of its own"
            raise LimitReached(Diagnostic("E0805", message, help=help))

    def _move(self, facts: Bag | Facts, step: int) -> None:
        bag = facts if isinstance(facts, MemoryBag) else MemoryBag(self.tables, _snapshot(facts).rows)
        for predicate, ids in bag.rows.items():
            weights = bag.weights.get(predicate, NO_WEIGHTS)
            if self.remembers:  # before: too many derivations are counted as well, with a carry that is lost
                self._undo.append(partial(self._count, predicate, ids, weights, -step))
            self._count(predicate, ids, weights, step)


class MemoryBackend(Able, VirtualRelations, PreparedFacts, Tuning, Housekeeping, Linking, Windows, Grouping):
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
        self.virtual: dict[str, VirtualFacts] = {}
        self.statistics = TableStatistics(self.tables, self.virtual)
        self.packings = 0  # how often row ids have changed
        self._gone: dict[str, int] = {}  # rows of each table whose facts went since it was packed
        self._pipelines: dict[Plan, Pipeline] = {}
        self._no_heads = MemoryBag(self.tables, {})
        self._window_planners: Planners | None = None
        for relation in relations.values():
            self.add_relation(relation)

    def add_relation(self, relation: Relation) -> None:
        """Make room for the facts of one more relation."""
        table = Table(relation.name, relation.arity, lambda nbytes: self.watch.grown(relation.name, nbytes))
        self.watch.grown(relation.name, table.nbytes)
        self.tables[relation.name] = table
        self.relations[relation.name] = relation

    def drop_relation(self, name: str) -> None:
        """Forget a relation and its facts."""
        self.watch.grown(name, 0)
        self.tables.pop(name, None)
        self.explicit.forget(name)
        self.materialisation.forget(name)
        self.statistics.forget(name)
        self._gone.pop(name, None)
        self.virtual.pop(name, None)
        self._pipelines = {p: pipeline for p, pipeline in self._pipelines.items() if name not in p.predicates}
        del self.relations[name]

    def tidy(self, removed: Facts) -> None:
        """Facts have gone for good; a table that is mostly such rows is packed together.  Between updates only."""
        for name, count in removed.sizes().items():
            if name not in self.tables or name in self.virtual:
                continue
            self._gone[name] = self._gone.get(name, 0) + count
            table = self.tables[name]
            if self._gone[name] > max(_FEW, table.size // 2):
                del self._gone[name]
                self.packings += 1
                table.keep_only(np.flatnonzero(table.status[: table.size]).astype(np.int32))
                self.explicit.forget(name)
                self.materialisation.forget(name)
                self.explicit |= Momentary(self.tables, {name: self.explicit.ids(name)})
                self.materialisation |= Momentary(self.tables, {name: self.materialisation.ids(name)})

    def mend(self) -> None:
        """An update was cut short, who knows where: E, I and the rows are believed, all else is made again or empty.

        The counters are not right afterwards.
        """
        for name in self.tables.keys() - self.relations.keys():
            del self.tables[name]
        for table in self.tables.values():
            table.mend(self.explicit.bit | self.materialisation.bit)
        for kept in (self.explicit, self.materialisation, *self._of_updates):
            kept.mend()
        for counters in (self.nonrecursive, self.recursive):
            counters.settle()
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
        return sum(table.nbytes for table in self.tables.values())

    def facts(self, rows: Mapping[str, Rows], *, known: bool = False) -> FactSet:
        """Encoded rows as a set of facts; with `known`, without those that were never seen."""
        if not known:
            return self._interned(rows)
        ids = {name: self.tables[name].find(found) for name, found in rows.items()}
        return Support(self.tables, {name: found[found >= 0] for name, found in ids.items()}).snapshot()

    @in_small_pages
    def _interned(self, rows: Mapping[str, Rows]) -> FactSet:
        ids = {name: self.tables[name].intern(found) for name, found in rows.items()}
        return Support(self.tables, ids).snapshot()

    @in_small_pages
    def several(self, rows: Sequence[Mapping[str, Rows]], *, known: bool = False) -> Sequence[FactSet]:
        """As `facts`, of several sets: each table is probed once for all of them."""
        found: list[dict[str, Ids]] = [{} for _ in rows]
        for name in dict.fromkeys(name for one in rows for name in one):
            here = [place for place, one in enumerate(rows) if name in one]
            parts, table = [rows[place][name] for place in here], self.tables[name]
            all_rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
            ids, begin = table.find(all_rows) if known else table.intern(all_rows), 0
            for place, part in zip(here, parts, strict=True):
                some = ids[begin : begin + len(part)]
                found[place][name] = some[some >= 0] if known else some
                begin += len(part)
        return [Support(self.tables, ids).snapshot() for ids in found]

    def rows(self, predicate: str, facts: Facts) -> Rows:
        """The encoded rows of a set's facts of one predicate."""
        assert isinstance(facts, FactSet)
        if predicate in self.virtual and facts is self.materialisation:
            return self.virtual[predicate].now().codes()
        rows: Rows = self.tables[predicate].rows[facts.ids(predicate)]
        return rows

    def materialise_rows(self, predicates: Iterable[str]) -> None:
        """Give a row to each fact of some predicates that has none yet."""
        for name in [name for name in dict.fromkeys(predicates) if name in self.virtual] if self.virtual else ():
            self._write(name, self.virtual[name].now().parts())
            self.tables[name].fetch = None
            del self.virtual[name]  # not before: a limit may stop the writing

    def defer(self, name: str, size: int, known: Callable[[int], ImplicitRelation]) -> None:
        """Not all facts of a predicate are rows: there are so many, and these are known elsewhere."""
        self.virtual[name] = VirtualFacts(size, known)
        self.tables[name].fetch = partial(self._fetch, name)

    def _write(self, name: str, parts: Iterable[Rows]) -> int:
        """Make rows of parts of the materialisation; gives how many were none yet."""
        table, before = self.tables[name], self.tables[name].size
        for part in parts:
            ids = table.intern(np.ascontiguousarray(part))
            new = ids[table.status[ids] & self.materialisation.bit == 0]
            self.materialisation |= Momentary(self.tables, {name: new})  # no formula: status may be marked just now
        return table.size - before

    def _fetch(self, name: str, key: tuple[int, ...], values: Rows) -> None:
        """Make rows of the facts that have one of some values in the key columns, unless they are."""
        virtual, table = self.virtual[name], self.tables[name]
        if len(key) == table.arity:
            ids = table.find(values)
            lacking = values[(ids < 0) | (table.status[ids] & self.materialisation.bit == 0)]
            if len(lacking):
                lacking = np.unique(lacking, axis=0)
                virtual.written += self._write(name, (lacking[virtual.now().has(lacking)],))
        elif len(key) == 1:
            known = virtual.covered.get(key[0], _NO_VALUES)
            lacking = np.setdiff1d(values[:, 0], known)
            if len(lacking):
                virtual.written += self._write(name, virtual.now().matching(key[0], lacking))
                virtual.covered[key[0]] = np.union1d(known, lacking)
        else:
            self.materialise_rows((name,))
        if virtual.written > virtual.size // 2:
            self.materialise_rows((name,))

    def _make_rows(self, plan: AnyPlan) -> None:
        """Make rows of all facts that a plan walks through or reads by one index in two places: no index may grow under
        a join.  Else only of those with the constants that it begins with; what it looks up comes when it does."""
        if isinstance(plan, AggregatePlan):
            self.materialise_rows((plan.rule.source,))
            return
        reads = [
            step
            for step in plan.steps
            if isinstance(step, Scan | Join | AntiJoin)
            and step.atom.predicate in self.virtual
            and step.read in OF_THE_PAST
        ]
        indexed = Counter(
            (step.atom.predicate, step.key)
            for step in reads
            if not isinstance(step, Scan) and len(step.key) < len(step.atom.arguments)
        )
        for step in reads:
            name, arguments = step.atom.predicate, step.atom.arguments
            if not step.key or indexed[name, step.key] > 1:
                self.materialise_rows((name,))
            elif isinstance(step, Scan) and name in self.virtual:
                constants = [argument for argument in arguments if isinstance(argument, Const)]
                self._fetch(name, step.key, np.array([list(map(self._code, constants))]))

    def _code(self, constant: Const) -> int:
        return self.dictionary.encode_value(constant.value, constant.type)

    reports_new_facts = True
    repeats = True
    most_at_once = 0

    def derivations(self, predicate: str) -> tuple[Rows, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them Cn and Cr."""
        ids = self.materialisation.ids(predicate)
        numbers = (counters.of(predicate)[ids].tolist() for counters in (self.nonrecursive, self.recursive))
        return self.tables[predicate].rows[ids], *numbers

    def elsewhere(self, predicates: Iterable[str], here: Facts, rest: Facts) -> FactSet:
        """One set for some predicates, another for all others."""
        return ByPredicate(predicates, _own(here), _own(rest))

    def apply(
        self, plans: Iterable[AnyPlan], sources: Mapping[Read, Facts], quotas: Mapping[Plan, Ids] = MappingProxyType({})
    ) -> MemoryBag:
        """The heads of all instances of the plans: Π⟦…⟧ of ALGORITHMS.md.

        Of a small update most have no facts to start from, so that is seen before anything is prepared.
        """
        able = [plan for plan in plans if self._can_start(plan, sources)]
        return self._heads(able, sources, quotas) if able else self._no_heads

    @in_small_pages
    def _heads(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts], quotas: Mapping[Plan, Ids]) -> MemoryBag:
        heads = defaultdict[str, _Heads](_Heads)
        for plan in plans if self.virtual else ():
            self._make_rows(plan)
        for plan in plans:
            if isinstance(plan, AggregatePlan):
                heads[plan.rule.predicate].add(self._aggregate(plan, sources), NO_WEIGHTS)
        pipelines = [self._pipeline(plan) for plan in plans if isinstance(plan, Plan)]
        with self.seen(pipelines, sources) as views:
            for pipeline in pipelines:
                for predicate, ids, weights in pipeline.run(views, quotas.get(pipeline.plan, _NO_IDS)):
                    heads[predicate].add(ids, weights)
        return MemoryBag(
            self.tables,
            {name: found.ids[: found.size] for name, found in heads.items()},
            {name: found.weights[: found.size] for name, found in heads.items() if len(found.weights)},
        )

    def emitted(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts]) -> Iterator[tuple[str, Rows]]:
        """The heads of all instances of some plans, a batch at a time, each to be looked at before the next: predicates
        and rows, which need not be facts of their tables."""
        able = [plan for plan in plans if isinstance(plan, Plan) and self._can_start(plan, sources)]
        for plan in able if self.virtual else ():
            self._make_rows(plan)
        pipelines = [self._pipeline(plan) for plan in able]
        with self.seen(pipelines, sources) as views:
            for pipeline in pipelines:
                with naming_the_rule(pipeline.plan.rule):
                    for rows in pipeline.instances(views):
                        yield pipeline.plan.outputs[0][0], rows[0]

    def groups(self, planner: Planner, *, none_yet: bool) -> Groups:
        """The groups of limit relations, by their keys."""
        from holdfast.backends.memory.limits import memory_groups

        return memory_groups(planner, self, none_yet=none_yet)

    def seen(self, pipelines: Sequence[Pipeline], sources: Mapping[Read, Facts]) -> _Seen:
        """What some pipelines see of the sources, for a while."""
        # before anything is marked: a formula that is worked out needs the scratch bits for itself
        walks = {
            place: _walkable(_own(sources[place[0]]), place[1]) for pipeline in pipelines for place in pipeline.walked
        }
        probed = {place: _own(sources[place[0]]) for pipeline in pipelines for place in pipeline.probed}
        return _Seen(walks, probed)

    def expand(self, plans: Sequence[Plan], sources: Mapping[Read, Facts], most: int) -> tuple[MemoryBag, FactSet]:
        """What at most so many instances a goal and plan tell, and the goals of which that was all."""
        goals = _own(sources[Read.DELTA]).snapshot()
        quotas: dict[Plan, Ids] = {p: np.full(len(goals.ids(p.rule.predicate)), most, np.int32) for p in plans}
        bag = self.apply(plans, {**sources, Read.DELTA: goals}, quotas)
        left = {name: np.ones(len(ids), np.bool_) for name, ids in goals.rows.items()}
        for plan, quota in quotas.items():
            left[plan.rule.predicate] &= quota > 0
        return bag, Momentary(self.tables, {name: ids[left[name]] for name, ids in goals.rows.items()})

    def commit(self) -> None:
        """The state is in this process and nowhere else."""

    def restore(self) -> None:
        """E and I change only when an update is committed, and the counters were taken back."""

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

    def _can_start(self, plan: AnyPlan, sources: Mapping[Read, Facts]) -> bool:
        """A plan whose pivot has no facts has no instances; to see that costs nothing."""
        if isinstance(plan, AggregatePlan) or plan.delta is None:
            return True
        read, predicate = plan.delta
        return predicate in sources[read].predicates()

    def _pipeline(self, plan: Plan) -> Pipeline:
        pipeline = self._pipelines.get(plan)
        if pipeline is None:
            pipeline = self._pipelines[plan] = Pipeline(plan, self.tables, self.dictionary, self.watch)
        return pipeline

    def _source_rows(self, plan: AggregatePlan, sources: Mapping[Read, Facts]) -> Rows:
        """The facts to aggregate: all, or those of the groups that a changed fact belongs to."""
        rule, facts = plan.rule, _own(sources[Read.ALL])
        changed = sources.get(Read.DELTA)
        if changed is None:
            return self.rows(rule.source, facts)
        groups = Table(rule.predicate, len(rule.group))
        groups.intern(np.ascontiguousarray(self.rows(rule.source, changed)[:, list(rule.group)]))
        wanted = in_groups(self.tables[rule.source], rule.group, groups.rows[: groups.size])
        return self.tables[rule.source].rows[(Momentary(self.tables, {rule.source: wanted}) & facts).ids(rule.source)]

    def _aggregate(self, plan: AggregatePlan, sources: Mapping[Read, Facts]) -> Ids:
        rule = plan.rule
        source, head = self.relations[rule.source], self.relations[rule.predicate]
        rows = self._source_rows(plan, sources)
        with naming_the_rule(rule):
            result = aggregate(rule, rows, source.types, head.types, self.dictionary)
        table, before = self.tables[rule.predicate], self.tables[rule.predicate].size
        ids = table.intern(result)
        self.watch.batch(table.size - before)
        return ids


class _Heads:
    """The heads of one predicate as they come; in place, since a round's may take as much memory as all facts."""

    def __init__(self) -> None:
        self.size = 0
        self.ids = _NO_IDS
        self.weights = NO_WEIGHTS  # none, or one for each

    def add(self, ids: Ids, weights: Weights) -> None:
        """Those of a batch; without weights each stands for one instance."""
        begin, self.size = self.size, self.size + len(ids)
        if self.size > len(self.ids):
            room = max(self.size, _GROWTH * len(self.ids))
            self.ids = enlarged(self.ids, room) if begin else ids
            self.weights = enlarged(self.weights, room) if len(self.weights) else NO_WEIGHTS
        if len(weights) and not len(self.weights):
            self.weights = np.zeros(len(self.ids), np.int32)
            self.weights[:begin] = 1
        if self.ids is not ids:
            self.ids[begin : self.size] = ids
        if len(self.weights):
            self.weights[begin : self.size] = weights if len(weights) else 1


class _Seen:
    """Views inside a `with`: momentary sets that are probed by status are marked meanwhile."""

    def __init__(self, walks: Mapping[tuple[Read, str], FactSet], probed: Mapping[tuple[Read, str], FactSet]) -> None:
        self._walks, self._probed = walks, probed
        self._marks = marked(
            [
                facts.formula(name)
                for (_, name), facts in probed.items()
                if facts.leaves and not Probe.by_run(facts, name)
            ]
        )

    def __enter__(self) -> Views:
        bits = self._marks.__enter__()
        return Views(self._walks, {place: Probe.of(facts, place[1], bits) for place, facts in self._probed.items()})

    def __exit__(self, *_: object) -> None:
        self._marks.__exit__()


def _walkable(facts: FactSet, predicate: str) -> FactSet:
    """A formula as the rows it stands for; runs of rows and kept sets are walked as they are."""
    if isinstance(facts, Momentary | Kept) or facts.run(predicate) is not None:
        return facts
    return Momentary(facts.tables, {predicate: facts.ids(predicate)})


def _own(facts: Facts) -> FactSet:
    """A fact set of this backend that can be probed; a bag's support cannot."""
    assert isinstance(facts, FactSet)
    return facts.snapshot() if isinstance(facts, Support) else facts


def _snapshot(facts: Bag | Facts) -> Momentary:
    assert isinstance(facts, FactSet)
    return facts.snapshot()


def in_groups(table: Table, group: tuple[int, ...], keys: Rows) -> Ids:
    """The rows of a table that have one of some keys in the group's columns."""
    if not group:
        return np.arange(table.size if len(keys) else 0, dtype=np.int32)
    columns = tuple(sorted(set(group)))
    places = [group.index(column) for column in columns]
    return table.matching(columns, np.ascontiguousarray(keys[:, places]))
