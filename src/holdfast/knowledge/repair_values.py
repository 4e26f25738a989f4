"""The values that a repair may use where nothing determines one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from holdfast.explanations.matching import Fact
from holdfast.explanations.terms import value_of
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.relations import predicate_of
from holdfast.program.joined_columns import ColumnPlace, atoms_of, joined_columns
from holdfast.program.model import Const

_MOST = 1_000  # values per column


class ColumnValues:
    """Candidate values for a column: from explicit facts, rules and the question, in columns that rules join with it.

    If there are none, the values in all columns of its type.
    """

    def __init__(self, state: Materialisation, asked: Iterable[Fact]) -> None:
        self._state, self._asked = state, tuple(asked)
        self._joined = joined_columns(state.program)
        self._known: dict[frozenset[ColumnPlace], Sequence[object]] = {}
        self.is_complete = True

    def of(self, name: str, arity: int, place: int) -> Sequence[object]:
        """The candidates for a column."""
        relations = self._state.program.relations
        column = (predicate_of(name, arity, self._state.program), place)
        joined = self._joined[column]
        if joined not in self._known:
            type = relations[column[0]].types[place]
            alike = frozenset((p, i) for p, r in relations.items() for i, other in enumerate(r.types) if other is type)
            found = list(dict.fromkeys(self._in(joined & alike))) or list(dict.fromkeys(self._in(alike)))
            self.is_complete &= len(found) <= _MOST
            self._known[joined] = found[:_MOST]
        return self._known[joined]

    def _in(self, columns: frozenset[ColumnPlace]) -> Iterator[object]:
        backend, dictionary = self._state.backend, self._state.dictionary
        for name, row in self._asked:
            predicate = predicate_of(name, len(row), self._state.program)
            yield from (value for place, value in enumerate(row) if (predicate, place) in columns)
        for rule in self._state.program.rules:
            for predicate, arguments in atoms_of(rule):
                constants = ((place, a) for place, a in enumerate(arguments) if isinstance(a, Const))
                yield from (value_of(a.value) for place, a in constants if (predicate, place) in columns)
        for predicate, place in sorted(columns):
            if backend.explicit.size(predicate):
                rows = backend.rows(predicate, backend.explicit)
                codes = rows if isinstance(rows, np.ndarray) else rows.codes()
                some = np.unique(codes[:, place])[: _MOST + 1]
                type = self._state.program.relations[predicate].types[place]
                yield from map(value_of, dictionary.decode_values(some, type))
