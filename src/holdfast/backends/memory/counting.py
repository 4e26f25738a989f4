"""Counting, hyper-node by hyper-node, on row ids: most of a small update is this.

`dred_counting.maintain_nonrecursive` says the same with sets of facts, for all backends.  Here no set is made.  What a
rule reads of the old and of the new state, with and without the changed facts, are four formulas of I, D and A each,
which never change; so each plan has its views once and for all, and an update only binds the changed facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from holdfast.backends.abilities import CountedChange, Counting
from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.execution.run import SEEN, entered
from holdfast.backends.memory.facts import FactSet, Momentary, own
from holdfast.backends.memory.formulas import Lasting
from holdfast.backends.memory.pages import in_small_pages
from holdfast.backends.memory.truth import NO_IDS, StatusTruth, distinct
from holdfast.backends.protocol import Facts
from holdfast.plans import Planner
from holdfast.plans.model import AggregatePlan, Plan, Read
from holdfast.plans.planner import FEW
from holdfast.program.model import AggregateRule, Rule

if TYPE_CHECKING:
    from holdfast.backends.memory.store import MemoryBackend

_FEW = 256  # changed facts

_Net: TypeAlias = tuple[Ids, Ids]
"""The facts of one predicate in D \\ A and in A \\ D."""
_Rules: TypeAlias = tuple[Planner, tuple[Rule, ...], tuple[AggregateRule, ...]]


class _State(NamedTuple):
    """What each read means: a formula, and the status bytes that it selects, of all facts, of those without what came,
    and of those with what went."""

    facts: Mapping[Read, FactSet]
    seen: Sequence[StatusTruth]


class MemoryCounting(Counting):
    """The nonrecursive hyper-nodes of one update after the other."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        I, D, A = backend.materialisation, backend.deleted, backend.added
        J, removed, added = (I - D) | A, D - A, A - D
        self._removed, self._added = removed, added
        self._old = _state(I, I - removed, I | added)
        self._new = _state(J, J - added, J | removed)
        self._minus: Mapping[str, Ids] = {}
        self._plus: Mapping[str, Ids] = {}
        self._net: dict[str, _Net] = {}

    def begin(self, E_minus: Facts, E_plus: Facts) -> None:
        self._minus, self._plus, self._net = own(E_minus).snapshot().rows, own(E_plus).snapshot().rows, {}

    @in_small_pages
    def maintain(
        self,
        planner: Planner,
        rules: tuple[Rule, ...],
        aggregates: tuple[AggregateRule, ...],
        reads: Iterable[str],
        most: int,
        give_way: Callable[[], None],
    ) -> CountedChange | None:
        backend, [name] = self._backend, planner.node.predicates
        minus, plus = self._minus.get(name, NO_IDS), self._plus.get(name, NO_IDS)
        removed: dict[str, Ids] = {}
        added: dict[str, Ids] = {}
        gone, come = len(minus), len(plus)
        for read in reads:
            less, more = self._net.get(read) or self._evaluated(read)
            if len(less):
                removed[read], gone = less, gone + len(less)
            if len(more):
                added[read], come = more, come + len(more)
        if gone > most:
            return None
        of = planner, rules, aggregates
        lost, losses = self._counted(name, minus, -1, of, removed, added, self._old)
        give_way()
        gained, gains = self._counted(name, plus, 1, of, added, removed, self._new)
        give_way()
        deleted = new = NO_IDS
        if len(lost):
            zero = np.empty(len(lost), np.int32)
            count = kernels.zero(lost, backend.tables[name].nonrecursive, zero)
            deleted = backend.deleted.enter(name, zero[:count]) if count else NO_IDS
        if len(gained):
            absent = backend.materialisation.selects[False]
            new = backend.added.enter(name, distinct(backend.tables[name].status, gained, absent))
        self._net[name] = deleted, new
        return CountedChange(gone, come, losses, gains, len(deleted), len(new))

    def net(self) -> tuple[Facts, Facts]:
        removed: dict[str, Ids] = {}
        added: dict[str, Ids] = {}
        for name in {*self._removed.predicates(), *self._added.predicates()}:
            less, more = self._net.get(name) or self._evaluated(name)
            if len(less):
                removed[name] = less
            if len(more):
                added[name] = more
        self._minus, self._plus, self._net = {}, {}, {}  # they may be large
        return self._facts(removed), self._facts(added)

    def _evaluated(self, name: str) -> _Net:
        """The net change of a predicate, if any, whose hyper-node another algorithm has maintained."""
        found = self._net[name] = self._removed.ids(name), self._added.ids(name)
        return found

    def _counted(
        self,
        name: str,
        explicit: Ids,
        step: int,
        of: _Rules,
        P: Mapping[str, Ids],
        N: Mapping[str, Ids],
        I: _State,
    ) -> tuple[Ids, int]:
        """The facts that lose or gain a derivation, which is counted, and by how many instances of rules: Π⟦I : P, N⟧,
        and the aggregates of the groups that a changed fact belongs to."""
        count, parts, instances = self._backend.nonrecursive.count, [explicit], 0
        if len(explicit):
            count(name, explicit, NO_WEIGHTS, step)
        planner, rules, aggregates = of
        if rules and (P or N):
            for plan in self._plans(planner, rules, P, N):
                ids, weights = self._heads(plan, P, N, I)
                count(name, ids, weights, step)
                parts.append(ids)
                instances += int(weights.sum()) if len(weights) else len(ids)
        for rule in aggregates:
            if rule.source in P or rule.source in N:
                changes = np.concatenate([part[rule.source] for part in (P, N) if rule.source in part])
                sources = {Read.ALL: I.facts[Read.ALL], Read.DELTA: self._facts({rule.source: changes})}
                ids = self._backend.apply((AggregatePlan(rule),), sources).rows.get(name, NO_IDS)
                count(name, ids, NO_WEIGHTS, step)
                parts.append(ids)
                instances += len(ids)
        found = [part for part in parts if len(part)] if len(parts) > 1 else parts
        return found[0] if len(found) == 1 else np.concatenate([NO_IDS, *found]), instances

    def _plans(
        self, planner: Planner, rules: tuple[Rule, ...], P: Mapping[str, Ids], N: Mapping[str, Ids]
    ) -> Iterable[Plan]:
        if sum(map(len, P.values())) + sum(map(len, N.values())) <= FEW:
            return planner.changed_by_few(rules, P, N)
        sizes = {read: len(ids) for read, ids in P.items()}, {read: len(ids) for read, ids in N.items()}
        return planner.changed(rules, *sizes)

    def _heads(self, plan: Plan, P: Mapping[str, Ids], N: Mapping[str, Ids], I: _State) -> tuple[Ids, Weights]:
        """The heads of the instances of a plan."""
        backend, table, place = self._backend, self._backend.tables[plan.rule.predicate], plan.delta
        assert place is not None
        changed = (P if place[0] is Read.DELTA else N)[place[1]]
        if len(changed) <= _FEW and not backend.virtual:
            pipeline = backend.compiled(plan)
            before, begun = table.size, 0.0 if pipeline.figures is None else perf_counter()
            rows = pipeline.few(changed, I.seen)
            if rows is not None:
                ids = entered(table, rows, backend.watch) if len(rows) else NO_IDS
                if pipeline.figures is not None:
                    pipeline.figures[0].record(begun, len(ids), table.size - before)
                return ids, NO_WEIGHTS
        bag = backend.apply((plan,), {**I.facts, Read.DELTA: self._facts(P), Read.ABSENT_DELTA: self._facts(N)})
        return bag.rows.get(table.name, NO_IDS), bag.weights.get(table.name, NO_WEIGHTS)

    def _facts(self, changed: Mapping[str, Ids]) -> Momentary:
        return Momentary(self._backend.tables, changed)


def _state(I: FactSet, without_new: FactSet, with_old: FactSet) -> _State:
    """A state I; it without the facts that came, which positive atoms read, and with those that went, for negated ones.

    All are formulas of kept sets: what they let a read see of a table stays the same.
    """
    facts = I, without_new, with_old
    seen: list[StatusTruth] = []
    for formula in facts:
        assert isinstance(formula, Lasting)
        seen.append(formula.selects[True])
    return _State({read: facts[place] for read, place in SEEN.items()}, seen)
