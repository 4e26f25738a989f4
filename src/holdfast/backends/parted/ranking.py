"""Ranks and Cw on shards: a fact's primary holds them, so an instance visits the primaries of its facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.backends.memory.ranks import MemoryRanking
from holdfast.backends.parted.driver import Driver
from holdfast.backends.parted.handles import PartedBag, PartedCounters, own
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
        """Prepare to evaluate a hyper-node from scratch: Cw is 0, and none of its rules is deferred."""
        self._driver.do("rank_anew", tuple(predicates))

    def enter(self, *rounds: Facts) -> None:
        """Give the next rank to facts that enter in one round, and set Cw := Cr."""
        for facts in rounds:
            self.rounds += 1
            self._driver.do("enter", own(facts, self._driver).tree, self.rounds)

    def defer_rule(self, rule: Rule, first: int, last: int) -> None:
        """Note that a rule saw the facts of several ranks together, when those of the last one had entered."""
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
        """Invalidate all ranks: the next one is 1."""
        self.rounds = 0
        self._driver.do("restart_ranks")

    def ranks(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        """The rows of I of one predicate, with the rank and Cw of each."""
        rows, ranks, founded = zip(*self._driver.ask("ranks", predicate), strict=True)
        return np.concatenate(rows), [*chain(*ranks)], [*chain(*founded)]

    @property
    def deferred(self) -> Mapping[Any, Any]:
        """The ranks that rules saw together; the same on all shards."""
        deferred: Mapping[Any, Any] = self._driver.ask("deferred")[0]
        return deferred
