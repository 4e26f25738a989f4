"""Looking facts up by some of their columns: in a version, by its indexes; or in a backend, by small joins."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Protocol

import numpy as np

from holdfast.backends.abilities import PinnedFacts, relation_size, virtual_relations
from holdfast.backends.protocol import Backend, Deferred, Facts
from holdfast.knowledge.relations import drop_relations
from holdfast.plans import Plan, Read
from holdfast.plans.planner import make_plan
from holdfast.program.model import Atom, Column, Relation, Rule, Var
from holdfast.values.dictionary import Codes

_KEY = "?key"
SMALL = 1_000
"""Facts of a relation that are all fetched from a backend without versions."""


class FactLookup(Protocol):
    """The facts of a state, or the explicit ones among them, as codes."""

    stays: bool
    """Whether the facts stay as they are, whatever happens to the knowledge base."""

    is_far: bool
    """Whether each lookup costs as much as many together."""

    def size(self, relation: Relation, *, explicit: bool = False) -> int:
        """How many there are."""
        ...

    def all(self, relation: Relation, *, explicit: bool = False) -> Codes:
        """All of a relation."""
        ...

    def among(self, relation: Relation, rows: Codes, *, explicit: bool = False) -> Codes:
        """Those of some rows that are facts."""
        ...

    def matching(self, relation: Relation, key: tuple[int, ...], values: Codes, *, explicit: bool = False) -> Codes:
        """Those that have one of some distinct tuples of values in some columns, ascending, but not in all."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class PinnedLookup(FactLookup):
    """Looks facts up in one version."""

    stays, is_far = True, False

    def __init__(self, facts: PinnedFacts) -> None:
        self._facts = facts

    def size(self, relation: Relation, *, explicit: bool = False) -> int:
        """How many there are."""
        return (self._facts.explicit if explicit else self._facts.relation)(relation).size

    def all(self, relation: Relation, *, explicit: bool = False) -> Codes:
        """All of a relation."""
        return (self._facts.explicit if explicit else self._facts.relation)(relation).codes()

    def among(self, relation: Relation, rows: Codes, *, explicit: bool = False) -> Codes:
        """Those of some rows that are facts."""
        found: Codes = rows[(self._facts.explicit if explicit else self._facts.relation)(relation).has(rows)]
        return found

    def matching(self, relation: Relation, key: tuple[int, ...], values: Codes, *, explicit: bool = False) -> Codes:
        """Those that have one of some distinct tuples of values in some columns."""
        return self._facts.matching(relation, key, values, explicit=explicit)

    def close(self) -> None:
        """Nothing: a version is released with its reader."""


class BackendLookup(FactLookup):
    """Looks facts up in a backend, while nothing is committed: a relation of keys, joined with the facts.

    The facts of a small relation are fetched once: each join has to be compiled.
    """

    stays = is_far = False

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._plans: dict[tuple[str, tuple[int, ...]], Plan] = {}
        self._added: list[Relation] = []
        self._sizes: dict[tuple[str, bool], int] = {}
        self._small: dict[tuple[str, bool], Codes] = {}

    def size(self, relation: Relation, *, explicit: bool = False) -> int:
        """How many there are."""
        place = (relation.name, explicit)
        if place not in self._sizes:
            explicit_size = self._backend.explicit.size
            self._sizes[place] = (explicit_size if explicit else partial(relation_size, self._backend))(relation.name)
        return self._sizes[place]

    def all(self, relation: Relation, *, explicit: bool = False) -> Codes:
        """All of a relation."""
        place = (relation.name, explicit)
        if place in self._small:
            return self._small[place]
        virtual = None if explicit else virtual_relations(self._backend).virtual.get(relation.name)
        if virtual is not None:
            return virtual.now().codes()
        found = _codes(self._backend.rows(relation.name, self._set(explicit)))
        if len(found) <= SMALL:
            self._small[place] = found
        return found

    def among(self, relation: Relation, rows: Codes, *, explicit: bool = False) -> Codes:
        """Those of some rows that are facts."""
        virtual = None if explicit else virtual_relations(self._backend).virtual.get(relation.name)
        if virtual is not None:
            found: Codes = rows[virtual.now().has(rows)]
            return found
        if self.size(relation, explicit=explicit) <= SMALL:
            return with_one_of(rows, range(relation.arity), self.all(relation, explicit=explicit))
        there = self._backend.facts({relation.name: rows}, known=True) & self._set(explicit)
        return _codes(self._backend.rows(relation.name, there))

    def matching(self, relation: Relation, key: tuple[int, ...], values: Codes, *, explicit: bool = False) -> Codes:
        """Those that have one of some distinct tuples of values in some columns."""
        if self.size(relation, explicit=explicit) <= SMALL:
            return with_one_of(self.all(relation, explicit=explicit), key, values)
        keys = self._backend.facts({self._key(relation, key): values})
        sources = {Read.DELTA: keys, Read.ALL: self._set(explicit)}
        found = self._backend.apply([self._plan(relation, key)], sources).support()
        return _codes(self._backend.rows(relation.name, found))

    def close(self) -> None:
        """Drop the relations of keys."""
        drop_relations(self._backend, self._added)

    def _set(self, explicit: bool) -> Facts:
        return self._backend.explicit if explicit else self._backend.materialisation

    def _key(self, relation: Relation, key: tuple[int, ...]) -> str:
        name = f"{_KEY}:{relation.name}:{key}"
        if name not in self._backend.relations:
            columns = tuple(Column(f"c{i}", relation.types[i], relation.types[i].value) for i in key)
            self._added.append(Relation(name, name, columns, auxiliary=True))
            self._backend.add_relation(self._added[-1])
        return name

    def _plan(self, relation: Relation, key: tuple[int, ...]) -> Plan:
        place = (relation.name, key)
        if place not in self._plans:
            arguments = tuple(Var(f"x{i}", type) for i, type in enumerate(relation.types))
            atom = Atom(self._key(relation, key), tuple(arguments[i] for i in key))
            rule = Rule(_KEY, relation.name, arguments, (atom, Atom(relation.name, arguments)))
            self._plans[place] = make_plan(rule, 0, (0, 1), (atom.predicate,))
        return self._plans[place]


def _codes(rows: Codes | Deferred) -> Codes:
    return rows if isinstance(rows, np.ndarray) else rows.codes()


def with_one_of(rows: Codes, key: Iterable[int], values: Codes) -> Codes:
    """Those rows that have one of some tuples of values in some columns."""
    wanted = set(map(tuple, values.tolist()))
    found: Codes = rows[[tuple(row) in wanted for row in rows[:, list(key)].tolist()]]
    return found
