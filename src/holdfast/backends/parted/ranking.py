"""Ranks and Cw on shards: each fact has them on its primary, so an instance visits the primaries of its facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.backends.memory.arrays import Rows
from holdfast.backends.memory.bags import HeadBuffer, MemoryBag
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.facts import FactSet
from holdfast.backends.memory.ranks import MemoryRanking
from holdfast.backends.parted.driver import Driver
from holdfast.backends.parted.handles import PartedBag, PartedCounters, own
from holdfast.backends.parted.partition import HERE, Hop, RankedPlan
from holdfast.backends.parted.shard import Round, Shard
from holdfast.backends.protocol import Facts
from holdfast.plans.model import Plan, Read
from holdfast.program.model import Rule
from holdfast.values.dictionary import Codes

if TYPE_CHECKING:
    from holdfast.backends.parted.store import PartedBackend


class PartedRanking:
    """The ability of the partitioned backend to rank facts."""

    most_rounds = MemoryRanking.most_rounds

    def __init__(self, backend: PartedBackend, driver: Driver, numbers: count[int]) -> None:
        self._backend, self._driver, self._numbers = backend, driver, numbers
        self.founded = PartedCounters(driver, "founded")
        self.rounds = 0

    def rank_anew(self, predicates: Iterable[str]) -> None:
        """A hyper-node is about to be evaluated from scratch: its Cw is 0, and none of its rules is deferred."""
        self._driver.do("rank_anew", tuple(predicates))

    def enter(self, facts: Facts) -> None:
        """Facts that enter in one round get the next rank, and Cw := Cr."""
        self.rounds += 1
        self._driver.do("enter", own(facts, self._driver).tree, self.rounds)

    def defer_rule(self, rule: Rule, first: int, last: int) -> None:
        """A rule saw the facts of some ranks together, when those of the last one had entered."""
        self._driver.do("defer_rule", rule, first, last)

    def apply_ranked(self, plans: Iterable[Plan], sources: Mapping[Read, Facts]) -> tuple[PartedBag, PartedBag]:
        """The heads of all instances, and of the founded ones."""
        read, able = self._backend.prepared(plans, sources, ranked=True)
        if not able:
            return PartedBag(self._driver, None, 0), PartedBag(self._driver, None, 0)
        numbers = next(self._numbers), next(self._numbers)
        trees = {name: facts.tree for name, facts in read.items()}
        found, founded = zip(*self._driver.ask("apply_ranked", numbers, able, trees), strict=True)
        return PartedBag(self._driver, numbers[0], sum(found)), PartedBag(self._driver, numbers[1], sum(founded))

    def restart(self) -> None:
        """No rank is believed any more: the next one is 1."""
        self.rounds = 0
        self._driver.do("restart_ranks")

    def ranks(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them its rank and Cw."""
        rows, ranks, founded = zip(*self._driver.ask("ranks", predicate), strict=True)
        return np.concatenate(rows), [*chain(*ranks)], [*chain(*founded)]

    @property
    def deferred(self) -> Mapping[Any, Any]:
        """The ranks that rules saw together; the same on all shards."""
        deferred: Mapping[Any, Any] = self._driver.ask("deferred")[0]
        return deferred


class RankedRound(Round):
    """One call of `apply_ranked` on one shard: segments as of any plan, then a hop for each fact of an instance."""

    def __init__(self, shard: Shard, sources: Mapping[Read, FactSet]) -> None:
        super().__init__(shard, sources)
        self._founded = defaultdict[str, HeadBuffer](HeadBuffer)
        self._hops: list[tuple[Hop, ...]] = []

    def bags(self, plans: Sequence[RankedPlan]) -> tuple[MemoryBag, MemoryBag]:
        """The heads that belong to this shard: of all instances, and of the founded ones."""
        self._moving = [(ranked.parted, self.shard.pieces(ranked.parted)) for ranked in plans]
        self._hops = [ranked.hops for ranked in plans]
        self._run()
        return self._bag(self._heads), self._bag(self._founded)

    def _phases(self, number: int) -> int:
        return super()._phases(number) + len(self._hops[number])

    def _moves(self, number: int, phase: int) -> bool:
        later = (
            phase + 1 - super()._phases(number)
        )  # the hop after this phase; the last segment has the way to the first
        return super()._moves(number, phase) or (0 < later < len(self._hops[number]) and self._route(number, later))

    def _route(self, number: int, hop: int) -> bool:
        return self._hops[number][hop].route != HERE

    def _run_phase(self, number: int, phase: int, views: ReadViews) -> None:
        parted, pieces = self._moving[number]
        place = phase - len(pieces)
        if place >= 0:
            came = self._bindings.pop(number, None)
            if came is not None:
                self._visit(number, place, np.concatenate(came))
            return
        piece = pieces[phase]
        for [rows] in self._instances(number, parted, piece, phase, views):
            is_last = place == -1  # then the rows are instances, with a column for the highest rank
            some = np.hstack([rows, np.zeros((len(rows), 1), np.int64)]) if is_last else rows
            self._emit(number, some, piece.routes[0])

    def _visit(self, number: int, place: int, instances: Rows) -> None:
        """Look a fact of each instance up."""
        hops = self._hops[number]
        hop, ranking = hops[place], self.shard.ranking
        facts = np.ascontiguousarray(instances[:, hop.columns])
        if place < len(hops) - 1:
            np.maximum(instances[:, -1], ranking.highest(hop.predicate, facts), out=instances[:, -1])
            self._emit(number, instances, hops[place + 1].route)
            return
        ids = self._interned(hop.predicate, facts)
        is_founded = ranking.is_founded(self._moving[number][0].plan, ids, instances[:, -1])
        self._heads[hop.predicate].add(ids, NO_WEIGHTS)
        self._founded[hop.predicate].add(ids[is_founded], NO_WEIGHTS)
