"""Why a fact does not hold, and what explicit facts look like: keys, ends of hierarchies, values that are rare."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from holdfast.errors import LimitReached
from holdfast.explanations.absence import Absence, nearest, reasons
from holdfast.explanations.search import Explainer, SearchLimit
from holdfast.explanations.suspects import suspects
from holdfast.knowledge.explaining import StoredFacts, asked_fact
from holdfast.knowledge.materialisation import ReadState
from holdfast.program.joined_columns import ColumnPlace, joined_columns
from holdfast.program.model import Relation
from holdfast.values.dictionary import Codes

_FEWEST, _MOST = 3, 200_000  # explicit facts of a relation that is looked at
_UNIQUE = 0.95  # of the values of a key


class SuspectFacts(StoredFacts):
    """The facts of a materialisation, and what they look like."""

    @cached_property
    def _codes_given(self) -> dict[str, Codes | None]:
        return {}

    @cached_property
    def _joined(self) -> dict[ColumnPlace, frozenset[ColumnPlace]]:
        return joined_columns(self.program)

    def is_given(self, name: str, arity: int) -> bool:
        """Whether facts of a relation are given, not only derived."""
        relation = self.relation(name, arity)
        return relation is not None and (
            (name, arity) not in self.heads or self._lookup.size(relation, explicit=True) > 0
        )

    def keys(self, name: str, arity: int) -> frozenset[int]:
        """The columns in which explicit facts hardly ever share a value."""
        codes = self._explicit_codes(self.relation(name, arity)) if arity > 1 else None
        if codes is None or len(codes) < _FEWEST:
            return frozenset()
        return frozenset(i for i in range(arity) if len(np.unique(codes[:, i])) >= _UNIQUE * len(codes))

    def is_only_end(self, name: str, arity: int, place: int, value: Any) -> bool:
        """Whether a value is the one end of a hierarchy: the only one of the other column that is not in this one."""
        relation = self.relation(name, arity)
        codes = self._explicit_codes(relation)
        if relation is None or codes is None or arity != 2 or (relation.name, 1) not in self._joined[relation.name, 0]:
            return False
        ends = np.setdiff1d(codes[:, 1 - place], codes[:, place])
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
            few = self._lookup.size(relation, explicit=True) <= _MOST
            self._codes_given[relation.name] = self._lookup.all(relation, explicit=True) if few else None
        return self._codes_given[relation.name]


def why_not(text: str, state: ReadState, seconds: float | None, size: int | None) -> Absence | None:
    """A certificate that a fact, or all facts of a pattern, are absent; None if one holds."""
    with SuspectFacts(state) as source:
        goal = asked_fact(text, source, whole=False)
        if source.facts(goal[0], [goal[1]])[0]:
            return None
        found, near, likely = reasons(source, goal), nearest(source, goal[0], [goal[1]]), suspects(source, goal)
        try:
            inferences, complete = Explainer(source, SearchLimit(seconds, size)).complete(goal)
        except LimitReached as limit:
            return Absence(goal, found, near, (), (), limit, likely)
        return Absence(goal, found, near, inferences, complete, None, likely)
