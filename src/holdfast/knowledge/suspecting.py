"""Why a fact does not hold, and what explicit facts look like: keys, ends of hierarchies, values that are rare."""

from __future__ import annotations

from contextlib import suppress
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from holdfast.errors import LimitReached
from holdfast.explanations.absence import Absence, Certificate, nearest, reasons
from holdfast.explanations.matching import Fact
from holdfast.explanations.search import Explainer, SearchLimit
from holdfast.explanations.suspects import Suspect, SuspectSource, suspects
from holdfast.knowledge.explaining import StoredFacts, asked_fact
from holdfast.knowledge.materialisation import ReadState
from holdfast.program.joined_columns import ColumnPlace, joined_columns
from holdfast.program.model import Relation
from holdfast.values.dictionary import Codes

_FEWEST, _MOST = 6, 50_000  # explicit facts of a relation that is looked at
_UNIQUE, _ONE_ODD = 0.95, 5  # of the values of a key; of more than so many one may be wrong


class SuspectFacts(StoredFacts, SuspectSource):
    """The facts of a materialisation, and what they look like."""

    @cached_property
    def _codes_given(self) -> dict[str, Codes | None]:
        return {}

    @cached_property
    def _joined(self) -> dict[ColumnPlace, frozenset[ColumnPlace]]:
        return joined_columns(self.program)

    @cached_property
    def _keys(self) -> dict[tuple[str, int], frozenset[int]]:
        return {}

    @cached_property
    def _last(self) -> dict[tuple[str, int], Codes]:
        return {}

    def is_given(self, name: str, arity: int) -> bool:
        """Whether facts of a relation are given, not only derived."""
        relation = self.relation(name, arity)
        return relation is not None and (
            (name, arity) not in self.heads or self._lookup.size(relation, explicit=True) > 0
        )

    def keys(self, name: str, arity: int) -> frozenset[int]:
        """The columns in which explicit facts hardly ever share a value."""
        if (name, arity) not in self._keys:
            codes = self._explicit_codes(self.relation(name, arity)) if arity > 1 else None
            few = codes is None or len(codes) < _FEWEST
            found = frozenset() if few else frozenset(i for i in range(arity) if _is_key(codes[:, i]))  # type: ignore[index]
            if self._misses:
                return found
            self._keys[name, arity] = found
        return self._keys[name, arity]

    def are_joined(self, name: str, arity: int, one: int, other: int) -> bool:
        """Whether rules connect two columns, so that they have values of one kind."""
        relation = self.relation(name, arity)
        return relation is not None and (relation.name, other) in self._joined[relation.name, one]

    def is_only_end(self, name: str, arity: int, place: int, value: Any) -> bool:
        """Whether a value is the one end of a hierarchy: the only one of the other column that is not in this one."""
        relation = self.relation(name, arity)
        codes = self._explicit_codes(relation)
        if relation is None or codes is None or self._misses or arity != 2 or not self.are_joined(name, arity, 0, 1):
            return False
        if (name, place) not in self._last:
            self._last[name, place] = np.setdiff1d(codes[:, 1 - place], codes[:, place])
        ends = self._last[name, place]
        return len(ends) == 1 and int(ends[0]) == self._code(relation.kinds[place], value)

    def occurs(self, name: str, arity: int, place: int, value: Any) -> int:
        """How many explicit facts have a value in a column, or in one that rules connect with it."""
        relation = self.relation(name, arity)
        if relation is None:
            return 0
        code, count = self._code(relation.kinds[place], value), 0
        for other, i in self._joined[relation.name, place]:
            there = self.program.relations[other]
            codes = self._explicit_codes(there)
            if codes is None:
                return 2  # too many to count
            if there.types[i] is relation.types[place]:
                count += int(np.count_nonzero(codes[:, i] == code))
        return count

    def _explicit_codes(self, relation: Relation | None) -> Codes | None:
        """The explicit facts of a relation, if they are not too many."""
        if relation is None:
            return None
        if relation.name not in self._codes_given:
            size, nothing = self._lookup.size(relation, explicit=True), np.empty((0, relation.arity), np.int64)
            misses = self._misses
            found = self._lookup.all(relation, explicit=True) if 0 < size <= _MOST else None
            if misses != self._misses:
                return None
            self._codes_given[relation.name] = found if size else nothing
        return self._codes_given[relation.name]


def _is_key(column: Codes) -> bool:
    fewest = min(_UNIQUE * len(column), len(column) - (len(column) > _ONE_ODD))
    return bool(1 + np.count_nonzero(np.diff(np.sort(column))) >= fewest)


def why_not(text: str, state: ReadState, seconds: float | None, size: int | None) -> Absence | None:
    """Why a fact, or all facts of a pattern, are absent, with a certificate; None if one holds."""
    limits = SearchLimit(seconds, size)
    with SuspectFacts(state) as source:
        goal = asked_fact(text, source, whole=False)
        if source.facts(goal[0], [goal[1]])[0]:
            return None
        source.limit = limits
        certificate = cache(partial(_certificate, source, goal, seconds, size))
        found, near, likely = source.together(lambda: (reasons(source, goal), *_guesses(source, goal)))
        absence = Absence(goal, found, near, likely, certificate, source.names)
        if not source.stays:
            with suppress(LimitReached):
                certificate()
        return absence


def _guesses(source: SuspectFacts, goal: Fact) -> tuple[tuple[str, ...], tuple[Suspect, ...]]:
    """The nearest facts and the likely mistakes, those that are found in time."""
    with suppress(LimitReached):
        return nearest(source, goal[0], [goal[1]]), suspects(source, goal)
    return (), ()


def _certificate(source: SuspectFacts, goal: Fact, seconds: float | None, size: int | None) -> Certificate:
    with source:
        return Explainer(source, SearchLimit(seconds, size)).complete(goal)
