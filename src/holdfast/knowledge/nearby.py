"""The facts of a state that differs from the present one by a change: the one before it, or one that was tried out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

from holdfast.explanations.matching import ANY, Fact, FactPattern
from holdfast.explanations.terms import value_of
from holdfast.knowledge.explaining import StoredFacts
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.origins import Moved, Rules
from holdfast.language.printer import show_rule
from holdfast.program.model import Relation
from holdfast.relation_view import RelationView

_Index: TypeAlias = dict[FactPattern, list[FactPattern]]
NOTHING_MOVED: Moved = ({}, {})


class _Difference:
    """Facts that go and come, found by the values in some of their columns."""

    def __init__(self, moved: Moved) -> None:
        self._removed, self._added = ({name: _rows(view) for name, view in part.items()} for part in moved)
        self._indexes: dict[tuple[str, tuple[int, ...]], _Index] = {}

    def applied(
        self, name: str, bound: tuple[int, ...], patterns: Iterable[FactPattern], rows: Iterable[FactPattern]
    ) -> list[FactPattern]:
        """The facts that fit patterns in the other state, from those that fit them at present."""
        gone, index = self._removed.get(name, {}), self._index(name, bound)
        kept = [row for row in rows if row not in gone]
        return kept + [row for key in dict.fromkeys(patterns) for row in index.get(key, ())] if index else kept

    def size(self, name: str) -> int:
        """How many more facts of a relation there are."""
        return len(self._added.get(name, ())) - len(self._removed.get(name, ()))

    def _index(self, name: str, bound: tuple[int, ...]) -> _Index:
        if (name, bound) not in self._indexes:
            found = self._indexes[name, bound] = {}
            for row in self._added.get(name, ()):
                found.setdefault(tuple(v if i in bound else ANY for i, v in enumerate(row)), []).append(row)
        return self._indexes[name, bound]


def _rows(view: RelationView) -> dict[FactPattern, None]:
    return {tuple(map(value_of, row)): None for row in view}


def _by_relation(facts: Iterable[Fact]) -> dict[tuple[str, int], list[FactPattern]]:
    found: dict[tuple[str, int], list[FactPattern]] = {}
    for name, row in facts:
        found.setdefault((name, len(row)), []).append(row)
    return found


class NearbyFacts(StoredFacts):
    """The facts and rules of a state near the present one.

    With `other`, another such state, what holds in both counts as given: proofs are opened along the difference only.
    """

    def __init__(
        self,
        state: Materialisation,
        rules: Rules | None = None,
        facts: Moved = NOTHING_MOVED,
        explicit: Moved = NOTHING_MOVED,
    ) -> None:
        super().__init__(state, rules)
        self._present = state.backend.relations
        self._facts_moved, self._explicit_moved = _Difference(facts), _Difference(explicit)
        self.other: NearbyFacts | None = None

    @cached_property
    def rule_texts(self) -> frozenset[str]:
        """The rules of this state as they are written, without their names."""
        return frozenset(show_rule(replace(each.rule, attributes=())).strip() for each in self.rules)

    def holds(self, fact: Fact) -> bool:
        """Whether a fact holds in this state."""
        return self.relation(fact[0], len(fact[1])) is not None and bool(self.facts(fact[0], [fact[1]])[0])

    def given(self, facts: Iterable[Fact]) -> set[Fact]:
        """Those of some facts that are explicit, or hold in the other state too."""
        asked = list(facts)
        found = self.explicit(asked)
        if self.other is not None:
            found |= self.other.holding(fact for fact in asked if fact not in found)
        return found

    def holding(self, facts: Iterable[Fact]) -> set[Fact]:
        """Those of some facts that hold in this state."""
        return {
            (name, row)
            for (name, arity), rows in _by_relation(facts).items()
            if self.relation(name, arity) is not None
            for found in self.facts(name, rows)
            for row in found
        }

    def explicit(self, facts: Iterable[Fact]) -> set[Fact]:
        """Those of some facts that are explicit."""
        return {
            (name, row)
            for (name, arity), rows in _by_relation(facts).items()
            if (relation := self.relation(name, arity)) is not None
            for row in self._explicit_moved.applied(
                relation.name, tuple(range(arity)), rows, [row for _, row in self._explicit_now(name, rows)]
            )
        }

    def _explicit_now(self, name: str, rows: Iterable[FactPattern]) -> set[Fact]:
        there = [row for row in rows if self._is_there(name, len(row))]
        return super().given((name, row) for row in there)

    def _there(self, name: str, arity: int) -> Relation | None:
        return self.relation(name, arity) if self._is_there(name, arity) else None

    def given_matching(self, name: str, patterns: Sequence[FactPattern]) -> list[FactPattern]:
        """The explicit facts that fit one of some patterns, which have values in the same columns."""
        relation = self.relation(name, len(patterns[0]))
        if relation is None:
            return []
        there = super().given_matching(name, patterns) if self._is_there(name, len(patterns[0])) else []
        bound = tuple(i for i, value in enumerate(patterns[0]) if value is not ANY)
        return self._explicit_moved.applied(relation.name, bound, patterns, there)

    def size(self, name: str, arity: int) -> int:
        """The number of facts of a relation."""
        relation = self.relation(name, arity)
        if relation is None:
            return 0
        now = super().size(name, arity) if self._is_there(name, arity) else 0
        return now + self._facts_moved.size(relation.name)

    def _fetched(self, name: str, bound: tuple[int, ...], patterns: list[FactPattern]) -> list[FactPattern]:
        relation = self.relation(name, len(patterns[0]))
        if relation is None:
            return []
        there = super()._fetched(name, bound, patterns) if self._is_there(name, len(patterns[0])) else []
        return self._facts_moved.applied(relation.name, bound, patterns, there)

    def _is_there(self, name: str, arity: int) -> bool:
        """Whether the backend has the relation now, with the types that it has in this state."""
        relation = self.relation(name, arity)
        now = None if relation is None else self._present.get(relation.name)
        return relation is not None and now is not None and now.types == relation.types
