"""Ranks on the model backend: a dictionary from facts to ranks, and Cw as a third counter."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from holdfast.backends.memory.execution.run import naming_the_rule
from holdfast.backends.protocol import Facts
from holdfast.plans.instances import named_rule
from holdfast.plans.model import Plan, Read
from holdfast.program.impact import rule_key
from holdfast.program.model import Rule
from holdfast.values.dictionary import Codes

from .model import ModelBag, ModelCounters, Row, own

if TYPE_CHECKING:
    from .model import ModelBackend


class ModelRanking:
    """The ability of a model backend to rank facts."""

    most_rounds = 2**30

    def __init__(self, backend: ModelBackend) -> None:
        self._backend = backend
        self.founded = ModelCounters()
        self.rounds = 0
        self.rank: dict[tuple[str, Row], int] = {}
        self.deferred: dict[object, list[tuple[int, int]]] = {}

    def rank_anew(self, predicates: Iterable[str]) -> None:
        names = set(predicates)
        self._put_deferred({key: spans for key, spans in self.deferred.items() if key[0] not in names})  # type: ignore[index]

    def enter(self, *rounds: Facts) -> None:
        for facts in rounds:
            self._enter(facts)

    def _enter(self, facts: Facts) -> None:
        self.rounds += 1
        entered = own(facts)
        for predicate in entered.predicates():
            numbers = self.founded.numbers[predicate].copy()
            for row in entered.get(predicate):
                self._put(predicate, row)
                numbers[row] = self._backend.recursive.numbers[predicate][row]
            self.founded._put(predicate, numbers)

    def _put(self, predicate: str, row: Row) -> None:
        fact = predicate, row
        if self.founded.remembers:
            old = self.rank.get(fact)
            undo = partial(self.rank.pop, fact, None) if old is None else partial(self.rank.__setitem__, fact, old)
            self.founded._undo.append(undo)  # type: ignore[arg-type]
        self.rank[fact] = self.rounds

    def defer_rule(self, rule: Rule, first: int, last: int) -> None:
        key = rule_key(named_rule(rule))
        self._put_deferred({**self.deferred, key: [*self.deferred.get(key, ()), (first, last)]})

    def _put_deferred(self, deferred: dict[object, list[tuple[int, int]]]) -> None:
        if self.founded.remembers:
            self.founded._undo.append(partial(setattr, self, "deferred", self.deferred))
        self.deferred = deferred

    def is_founded(self, rule: Rule, head: tuple[str, Row], body: Iterable[tuple[str, Row]]) -> bool:
        """The definition."""
        highest = max(self.rank[fact] for fact in body)
        for first, last in self.deferred.get(rule_key(named_rule(rule)), ()):
            if first <= highest <= last:
                highest = last
                break
        return highest < self.rank.get(head, 0)

    def apply_ranked(self, plans: Iterable[Plan], sources: Mapping[Read, Facts]) -> tuple[ModelBag, ModelBag]:
        found, founded = (defaultdict[str, Counter[Row]](Counter) for _ in range(2))
        for plan in plans:
            with naming_the_rule(plan.rule):
                each = [
                    [(predicate, row) for row in rows]
                    for predicate, rows in self._backend._emitted(plan, {r: own(facts) for r, facts in sources.items()})
                ]
            for head, *body in zip(*each, strict=True):
                found[head[0]][head[1]] += 1
                founded[head[0]][head[1]] += self.is_founded(plan.rule, head, body)
        self._backend.watch.batch(0)
        return ModelBag(found), ModelBag({name: +numbers for name, numbers in founded.items()})

    def restart(self) -> None:
        self.rounds, self.rank, self.deferred = 0, {}, {}

    def ranks(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        rows = sorted(self._backend.materialisation.get(predicate))
        ranks = [self.rank.get((predicate, row), 0) for row in rows]
        numbers = self.founded.numbers[predicate]
        return self._backend._codes(predicate, rows), ranks, [numbers[row] for row in rows]
