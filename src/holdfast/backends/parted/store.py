"""The partitioned backend: the protocol over shards, each a memory backend in a thread of its own.

The algorithms run in the caller's thread as on any backend.  What they hold are handles (`handles.py`); what they do
with them becomes commands for the shards (`driver.py`).
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain, count
from threading import RLock
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.abilities import Able, Arranging, FactRequest, Housekeeping, Lookups, Ranking, Tuning
from holdfast.backends.parted.balance import Balance
from holdfast.backends.parted.driver import Driver
from holdfast.backends.parted.exchange import Crew, Obeying, ShardWatch, ThreadExchange
from holdfast.backends.parted.handles import (
    HeldFacts,
    KeptSet,
    ListedSet,
    LiveChoice,
    PartedBag,
    PartedCounters,
    PartedFacts,
    own,
)
from holdfast.backends.parted.partition import NO_HUBS, AnyParted, Copy, routed
from holdfast.backends.parted.placement import Placement
from holdfast.backends.parted.primaries import joined_columns, primaries
from holdfast.backends.parted.ranking import PartedRanking
from holdfast.backends.parted.rounds import Traffic
from holdfast.backends.parted.shard import Shard, summed
from holdfast.backends.parted.statistics import PartedStatistics
from holdfast.backends.protocol import Facts, Watch
from holdfast.plans.model import AnyPlan, Plan, Read
from holdfast.program.model import Const, Program, Relation
from holdfast.values.dictionary import Codes, Dictionary
from holdfast.values.shared_dictionary import SharedDictionary

A = TypeVar("A")


class PartedBackend(Able, Tuning, Housekeeping, Arranging, Lookups):
    """Facts on several shards of this process."""

    reports_new_facts = True
    is_elsewhere = False
    requests = request_cost = 0
    repeats = True

    def __init__(self, parts: int, relations: Mapping[str, Relation], dictionary: Dictionary, watch: Watch) -> None:
        self.dictionary = dictionary
        self.relations: dict[str, Relation] = {}
        self.placement = Placement(parts, self._code, self._size, self._hub_facts)
        self._driver = driver = Driver(self._crew(watch), self.placement)
        self.explicit, self.materialisation = KeptSet(driver, "explicit"), KeptSet(driver, "materialisation")
        self.deleted, self.added = ListedSet(driver, "deleted"), ListedSet(driver, "added")
        self.checked, self.proved = ListedSet(driver, "checked"), ListedSet(driver, "proved")
        self.delayed = ListedSet(driver, "delayed")
        self.nonrecursive, self.recursive = PartedCounters(driver, "nonrecursive"), PartedCounters(driver, "recursive")
        self.statistics = PartedStatistics(driver, self.placement)
        self._balance = Balance(driver, self.placement, self._forget_all)
        self._plans: dict[tuple[AnyPlan, bool], AnyParted] = {}  # ranked or not
        self._numbers = count(start=-1, step=-1)  # of bags; those of sets count upwards
        self.ranking = PartedRanking(self, driver, self._numbers)
        for relation in relations.values():
            driver.do("add", relation)
            self._note(relation)

    def _crew(self, watch: Watch) -> Obeying:
        """The shards: here a thread each."""
        parts, dictionary = self.placement.parts, self.dictionary
        exchange, lock = ThreadExchange(parts), RLock()
        shared = SharedDictionary(dictionary, lock) if parts > 1 else dictionary
        watches = [ShardWatch(watch, n, exchange, lock) for n in range(parts)] if parts > 1 else [watch]
        self._shards = [Shard(number, parts, exchange, shared, each) for number, each in enumerate(watches)]
        return Crew(self._shards, exchange)

    def ability(self, kind: type[A]) -> A | None:
        """An ability of its own, or its ranks."""
        return cast("A", self.ranking) if kind is Ranking else Able.ability(self, kind)

    @property
    def indexing(self) -> float:  # type: ignore[override]
        """Of all shards together."""
        return sum(shard.indexing for shard in self._shards)

    def _code(self, constant: Const) -> int:
        return self.dictionary.encode_value(constant.value, constant.type)

    def _size(self, predicate: str) -> float:
        return self.materialisation.size(predicate)

    def _hub_facts(self, predicate: str, column: int) -> float:
        return float(sum(self._driver.ask("hub_facts", predicate, column)))

    # --- relations -------------------------------------------------------------------------------------

    def arrange(self, program: Program) -> None:
        """Place the facts of each relation by the column that the rules join it by."""
        self.placement.wanted, self.placement.joined = primaries(program), joined_columns(program)
        for relation in self.relations.values():
            self.placement.add(relation)

    def add_relation(self, relation: Relation) -> None:
        """Begin to hold the facts of one more relation."""
        try:
            self._driver.ask("add", relation)
        except BaseException:
            self._driver.ask("drop", relation.name)
            raise
        self._note(relation)

    def _note(self, relation: Relation) -> None:
        self.placement.add(relation)
        self.relations[relation.name] = relation

    def drop_relation(self, name: str) -> None:
        """Forget a relation and its facts."""
        self._forget([place for place in self._plans if name in _predicates(place[0])])
        self._driver.ask("drop", name)
        self._driver.drop(name)
        self.placement.drop(name)
        self.statistics.forget(name)
        del self.relations[name]

    def forget_plans(self, heads: Container[str]) -> None:
        """The rules with some heads have changed."""
        self._forget([place for place in self._plans if place[0].rule.predicate in heads])

    def _forget_all(self) -> None:
        self._forget([*self._plans])

    def _forget(self, places: Iterable[tuple[AnyPlan, bool]]) -> None:
        dropped = [self._plans.pop(place) for place in places]
        if dropped:
            self._driver.do("forget_plans", dropped)

    # --- facts -----------------------------------------------------------------------------------------

    def facts(self, rows: Mapping[str, Codes], *, known: bool = False) -> HeldFacts:
        """Encoded rows as a set of facts."""
        parts, primary = self.placement.parts, self.placement.primary
        if not any(map(len, rows.values())):
            return self._driver.nothing
        if parts == 1:
            return self._driver.given({name: [codes] for name, codes in rows.items()}, known=known)
        if not known:
            self._balance.first_facts(rows, self.relations)
        spreads = self.placement.spreads
        dealt = {p: routed(codes, primary[p], parts, spreads(p)) for p, codes in rows.items()}
        return self._driver.given(dealt, known=known)

    def rows(self, predicate: str, facts: Facts) -> Codes:
        """The encoded rows of a set's facts of one predicate."""
        found = own(facts, self._driver)
        if not isinstance(found, HeldFacts) or not found.is_seen_small:
            return self._fetched((predicate,), found)[predicate]
        if found.fetched is None or found.fetched[0] != self._driver.changes:
            names = tuple(name for name in found.sizes() if name in self.relations)
            found.fetched = self._driver.changes, self._fetched(names, found)
        rows = found.fetched[1].get(predicate)
        return np.empty((0, self.relations[predicate].arity), np.int64) if rows is None else rows

    def _fetched(self, predicates: tuple[str, ...], facts: PartedFacts) -> dict[str, Codes]:
        parts = self._driver.ask("rows", predicates, facts.tree) if predicates else []
        found = {name: np.concatenate([part[place] for part in parts]) for place, name in enumerate(predicates)}
        for rows in found.values():
            rows.setflags(write=False)
        return found

    def looked_up(self, asked: Sequence[FactRequest]) -> list[tuple[Codes, NDArray[np.bool_]] | None]:
        """Facts by some of their columns: every shard looks for all of them, and nothing moves between shards."""
        found = []
        for parts in zip(*self._driver.ask("lookup", list(asked)), strict=True):
            some = [part for part in parts if part is not None]
            is_all = len(some) == len(parts)
            found.append(
                (np.concatenate([r for r, _ in some]), np.concatenate([e for _, e in some])) if is_all else None
            )
        return found

    def derivations(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them Cn and Cr."""
        rows, nonrecursive, recursive = zip(*self._driver.ask("derivations", predicate), strict=True)
        return np.concatenate(rows), [*chain(*nonrecursive)], [*chain(*recursive)]

    def elsewhere(self, predicates: Iterable[str], here: Facts, rest: Facts) -> LiveChoice:
        """One set for some predicates, another for all others."""
        return LiveChoice(self._driver, predicates, own(here, self._driver), own(rest, self._driver))

    # --- Π ---------------------------------------------------------------------------------------------

    def apply(self, plans: Iterable[AnyPlan], sources: Mapping[Read, Facts]) -> PartedBag:
        """The heads of all instances of the plans."""
        read, able = self.prepared(plans, sources)
        if not able:
            return PartedBag(self._driver, None, 0)
        number = next(self._numbers)
        sizes = self._driver.ask("apply", number, able, {name: facts.tree for name, facts in read.items()})
        return PartedBag(self._driver, number, sum(sizes))

    def prepared(
        self, plans: Iterable[AnyPlan], sources: Mapping[Read, Facts], *, ranked: bool = False
    ) -> tuple[dict[Read, PartedFacts], list[AnyParted]]:
        """What each read stands for, and the plans for shards; the copies have what these read from them."""
        if self.placement.outgrown:
            self._pass_over_outgrown()
        read = self._sources(sources)
        able = [self._parted(plan, ranked=ranked) for plan in plans if _can_start(plan, read)]
        self._driver.bring_to_readers({name: facts.leaves() for name, facts in read.items()}, able)
        return read, able

    def expand(self, plans: Sequence[Plan], sources: Mapping[Read, Facts], most: int) -> tuple[PartedBag, HeldFacts]:
        """A bounded number of instances for each goal, on each shard."""
        read, able = self.prepared(plans, sources)
        numbers, goals = (next(self._numbers), next(self._numbers)), read[Read.DELTA].sizes()
        trees = {name: facts.tree for name, facts in read.items()}
        answers = self._driver.ask("expand", numbers, able, trees, most, sum(goals.values()))
        found, exhausted = zip(*answers, strict=True)
        return PartedBag(self._driver, numbers[0], sum(found)), HeldFacts(self._driver, numbers[1], summed(exhausted))

    def _sources(self, sources: Mapping[Read, Facts]) -> dict[Read, PartedFacts]:
        """What each read stands for; one that does not change is held."""
        found = {read: own(facts, self._driver) for read, facts in sources.items()}
        return {read: facts.snapshot() if facts.is_momentary else facts for read, facts in found.items()}

    def _parted(self, plan: AnyPlan, *, ranked: bool = False) -> AnyParted:
        parted = self._plans.get((plan, ranked))
        if parted is None:
            parted = self.placement.ranked(plan) if ranked and isinstance(plan, Plan) else self.placement.parted(plan)
            for copy in sorted({copy for _, copy in parted.reads}, key=lambda copy: copy.name):
                self._copy(copy)
            self._plans[plan, ranked] = parted
        return parted

    def _copy(self, copy: Copy) -> None:
        """Make a copy unless there is one."""
        placement, name = self.placement, copy.name
        if name in placement.copies.get(copy.predicate, ()):
            return
        hubs = NO_HUBS if copy.kind == "whole" else placement.hubs
        try:
            self._driver.ask("copy", copy, hubs)
        except BaseException:
            self._driver.ask("drop_copy", name)
            raise
        placement.copies.setdefault(copy.predicate, {})[name] = copy
        placement.spread[name] = hubs

    def _pass_over_outgrown(self) -> None:
        """Cut the plans anew that read copies which have become large."""
        placement = self.placement
        gone = placement.outgrown
        self._forget([place for place, plan in self._plans.items() if any(copy.name in gone for _, copy in plan.reads)])
        placement.stale |= gone
        gone.clear()

    # --- transactions ----------------------------------------------------------------------------------

    def commit(self) -> None:
        """The shards have done what was queued."""
        self._driver.flush()

    def restore(self) -> None:
        """E and I change only at a commit, and the counters were rolled back.  What an update left in the queue may
        fail, but no longer matters: what rolls it back is done again."""
        try:
            self._driver.flush()
        except Exception:
            self._driver.flush()

    def mend(self) -> None:
        """A call was interrupted: trust E and I of the primaries, and make everything else anew."""
        self._driver.forget()
        self._plans.clear()
        self.placement.drop_copies()
        self._driver.ask("mend", self.relations)
        self._driver.ask("hubs", self.placement.hubs, self.placement.spread)
        for kept in (self.deleted, self.added, self.checked, self.proved, self.delayed):
            kept.is_cleared()
        for counters in (self.nonrecursive, self.recursive, self.ranking.founded):
            counters.is_mended()
        self.statistics.clear()

    def tidy(self, removed: Facts) -> None:
        """Facts were deleted; each shard packs the tables that consist mostly of such rows."""
        self._balance.tidy()
        facts = own(removed, self._driver).snapshot()
        if facts:
            self._driver.spread_to_copies(facts)
            self._driver.ask("tidy", facts.number)

    def reclaim(self) -> None:
        """Each shard packs the tables that have rows without facts."""
        self._driver.ask("reclaim")

    @property
    def traffic(self) -> list[Traffic]:
        """What each shard has done since it was made."""
        return self._driver.ask("traffic")

    @property
    def nbytes(self) -> int:
        """The memory that facts, counters and indexes take."""
        return sum(self._driver.ask("nbytes"))


def _can_start(plan: AnyPlan, sources: Mapping[Read, PartedFacts]) -> bool:
    """A plan whose pivot has no facts has no instances."""
    if not isinstance(plan, Plan) or plan.delta is None:
        return True
    read, predicate = plan.delta
    facts = sources[read]
    return not isinstance(facts, HeldFacts) or predicate in facts.predicates()


def _predicates(plan: AnyPlan) -> Container[str]:
    return plan.predicates if isinstance(plan, Plan) else (plan.rule.predicate, plan.rule.source)


def default_shards() -> int:
    """As many as there are cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
