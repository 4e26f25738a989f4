"""Counting, hyper-node by hyper-node, on row ids: most of a small update is this.

`dred_counting.maintain_nonrecursive` says the same with sets of facts, for all backends.  Here no set is made.  What a
rule reads of the old and of the new state, with and without the changed facts, are four formulas of I, D and A each,
which never change; so each plan has its views once and for all, and an update only binds the changed facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from holdfast.backends.abilities import Counted, Counting
from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.bags import collected
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.execution.views import Probe, ReadKey, ReadViews, walkable
from holdfast.backends.memory.facts import FactSet, Momentary, own
from holdfast.backends.memory.formulas import Lasting
from holdfast.backends.memory.pages import in_small_pages
from holdfast.backends.memory.truth import NO_IDS, distinct
from holdfast.backends.protocol import Facts
from holdfast.plans import Planner
from holdfast.plans.model import AggregatePlan, Read
from holdfast.program.model import AggregateRule, Rule

if TYPE_CHECKING:
    from holdfast.backends.memory.store import MemoryBackend

_Heads: TypeAlias = tuple[Ids, Weights]
_Net: TypeAlias = tuple[Momentary | None, Momentary | None]
"""The facts of one predicate in D \\ A and in A \\ D."""


class _State(NamedTuple):
    """What each read means: the formulas, and what they let a read see of any table, which stays the same."""

    facts: Mapping[Read, FactSet]
    probes: Mapping[Read, Probe]


class MemoryCounting(Counting):
    """The nonrecursive hyper-nodes of one update after the other."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        I, D, A = backend.materialisation, backend.deleted, backend.added
        J, removed, added = map(_lasting, ((I - D) | A, D - A, A - D))
        self._removed, self._added = removed, added
        self._old = _state(I, I - removed, I | added)
        self._new = _state(J, J - added, J | removed)
        self._explicit: tuple[Mapping[str, Ids], Mapping[str, Ids]] = {}, {}
        self._net: dict[str, _Net] = {}

    def begin(self, E_minus: Facts, E_plus: Facts) -> None:
        self._explicit, self._net = (own(E_minus).snapshot().rows, own(E_plus).snapshot().rows), {}

    @in_small_pages
    def maintain(
        self,
        planner: Planner,
        rules: tuple[Rule, ...],
        aggregates: tuple[AggregateRule, ...],
        reads: Iterable[str],
        most: int,
        give_way: Callable[[], None],
    ) -> Counted | None:
        [name] = planner.node.predicates
        minus, plus = [part.get(name, NO_IDS) for part in self._explicit]
        removed, added, gone, come = dict[str, Momentary](), dict[str, Momentary](), len(minus), len(plus)
        for read in reads:
            less, more = self._net.get(read) or self._evaluated(read)
            if less is not None:
                removed[read], gone = less, gone + len(less.rows[read])
            if more is not None:
                added[read], come = more, come + len(more.rows[read])
        if gone > most:
            return None
        lost, losses = self._counted(name, minus, self._heads(planner, rules, aggregates, removed, added, self._old), -1)
        give_way()
        gained, gains = self._counted(name, plus, self._heads(planner, rules, aggregates, added, removed, self._new), 1)
        give_way()
        backend = self._backend
        table, zero = backend.tables[name], np.empty(len(lost), np.int32)
        deleted = backend.deleted.enter(name, zero[: kernels.zero(lost, table.nonrecursive, zero)])
        present = backend.materialisation.selects[False]
        new = backend.added.enter(name, distinct(table.status, gained, present)) if len(gained) else gained
        self._net[name] = self._both(name, deleted, new)
        return Counted(gone, come, losses, gains, len(deleted), len(new))

    def net(self) -> tuple[Facts, Facts]:
        removed, added = dict[str, Ids](), dict[str, Ids]()
        for name in {*self._removed.predicates(), *self._added.predicates()}:
            less, more = self._net.get(name) or self._evaluated(name)
            if less is not None:
                removed[name] = less.rows[name]
            if more is not None:
                added[name] = more.rows[name]
        return Momentary(self._backend.tables, removed), Momentary(self._backend.tables, added)

    def _evaluated(self, name: str) -> _Net:
        """The net change of a predicate, if any, whose hyper-node another algorithm has maintained."""
        found = self._net[name] = self._both(name, self._removed.ids(name), self._added.ids(name))
        return found

    def _both(self, name: str, *parts: Ids) -> _Net:
        less, more = (Momentary(self._backend.tables, {name: ids}) if len(ids) else None for ids in parts)
        return less, more

    def _heads(
        self,
        planner: Planner,
        rules: tuple[Rule, ...],
        aggregates: tuple[AggregateRule, ...],
        P: Mapping[str, Momentary],
        N: Mapping[str, Momentary],
        I: _State,
    ) -> Iterator[_Heads]:
        """Π⟦I : P, N⟧, and the aggregates of the groups that a changed fact belongs to."""
        if not (P or N):
            return
        sizes = [{name: len(facts.rows[name]) for name, facts in part.items()} for part in (P, N)]
        for plan in planner.changed(rules, *sizes):
            place = plan.delta
            assert place is not None
            [pipeline] = self._backend.pipelines((plan,))
            walks: dict[ReadKey, FactSet] = {place: (P if place[0] is Read.DELTA else N)[place[1]]}
            for other in pipeline.walked:
                if other != place:
                    walks[other] = walkable(I.facts[other[0]], other[1])
            views = ReadViews(walks, {probed: I.probes[probed[0]] for probed in pipeline.probed})
            rows, weights = collected(self._backend.run(pipeline, views))
            for name, ids in rows.items():
                yield ids, weights.get(name, NO_WEIGHTS)
        for rule in aggregates:
            changes = [part[rule.source] for part in (P, N) if rule.source in part]
            if changes:
                sources = {Read.ALL: I.facts[Read.ALL], Read.DELTA: reduce(or_, changes)}
                yield self._backend.aggregated(AggregatePlan(rule), sources), NO_WEIGHTS

    def _counted(self, name: str, explicit: Ids, found: Iterable[_Heads], step: int) -> tuple[Ids, int]:
        """The facts that lose or gain a derivation, which is counted; and by how many instances of rules."""
        counters, parts, instances = self._backend.nonrecursive, list[Ids](), 0
        if len(explicit):
            counters.count(name, explicit, NO_WEIGHTS, step)
            parts.append(explicit)
        for ids, weights in found:
            counters.count(name, ids, weights, step)
            parts.append(ids)
            instances += int(weights.sum()) if len(weights) else len(ids)
        if len(parts) == 1:
            return parts[0], instances
        return (np.concatenate(parts) if parts else NO_IDS), instances


def _state(I: FactSet, without_new: FactSet, with_old: FactSet) -> _State:
    """A state I; it without the facts that came, which positive atoms read, and with those that went, for negated ones.

    All are formulas of kept sets: what they let a read see of a table stays the same.
    """
    facts = {Read.ALL: I, Read.OLD: without_new, Read.ABSENT: I, Read.ABSENT_OLD: with_old}
    return _State(facts, {read: Probe(0, 0, _lasting(formula).selects[True]) for read, formula in facts.items()})


def _lasting(facts: FactSet) -> Lasting:
    assert isinstance(facts, Lasting)
    return facts
