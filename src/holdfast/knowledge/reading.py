"""Reading a materialisation: one version of it, beside updates; or the present one, under the lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from holdfast.backends.abilities import PinnedFacts, Versioned
from holdfast.exclusive import Guard
from holdfast.knowledge.evaluation import explicit_sizes
from holdfast.knowledge.fact_lookup import PinnedLookup
from holdfast.knowledge.materialisation import Materialisation, ReadState, VersionState
from holdfast.knowledge.queries import CheckedQuery, Question, evaluate_query, point_codes
from holdfast.knowledge.relations import drop_relations
from holdfast.knowledge.views import Views, visible_relations
from holdfast.language import tree
from holdfast.program.model import Program, Relation
from holdfast.relation_view import RelationView
from holdfast.settings import Limits
from holdfast.values import Value
from holdfast.values.dictionary import Codes

_MOST_PREPARED = 128  # queries whose texts are remembered


class FactReader(Protocol):
    """Reads the rules and facts of one state."""

    @property
    def program(self) -> Program:
        """The checked program."""
        ...

    @property
    def tree(self) -> tree.Program:
        """The written program."""
        ...

    def all_facts(self, relation: Relation) -> RelationView:
        """The facts of a relation."""
        ...

    def explicit_facts(self, relation: Relation) -> RelationView:
        """The explicit facts of a relation."""
        ...

    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation."""
        ...

    def explicit_sizes(self) -> Mapping[str, int]:
        """The number of facts of each relation that are explicit, and hold."""
        ...

    def answer(self, question: Question, values: Mapping[str, Value]) -> RelationView:
        """The answers to a query, within the limits."""
        ...

    @contextmanager
    def explained(self) -> Iterator[ReadState]:
        """What explanations look facts up in."""
        ...


class VersionReader(FactReader):
    """One version.  What it reads stays as it is, whatever is committed later.  Any number of threads may use it."""

    def __init__(self, state: Materialisation, versions: Versioned, guard: Guard) -> None:
        self._state, self._versions, self._guard = state, versions, guard
        with versions.commit_lock:
            self._program, self._tree, self.version = state.program, state.tree, state.version
            self._facts: PinnedFacts = versions.pin()

    @property
    def program(self) -> Program:
        """The checked program."""
        return self._program

    @property
    def tree(self) -> tree.Program:
        """The written program."""
        return self._tree

    def all_facts(self, relation: Relation) -> RelationView:
        """The facts of a relation."""
        return RelationView(relation, self._facts.relation(relation), self._state.dictionary, self._guard)

    def explicit_facts(self, relation: Relation) -> RelationView:
        """The explicit facts of a relation."""
        return RelationView(relation, self._facts.explicit(relation), self._state.dictionary, self._guard)

    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation."""
        relations = visible_relations(self.program)
        return {name: self._facts.relation(relation).size for name, relation in relations.items()}

    def explicit_sizes(self) -> Mapping[str, int]:
        """The number of facts of each relation that are explicit, and hold."""
        relations = visible_relations(self.program)
        limited = relations.keys() & {rule.predicate for rule in self.program.rules if rule.limit is not None}
        sizes = {name: self._facts.explicit(relation).size for name, relation in relations.items()}
        return sizes | {name: self._explicit_and_holding(relations[name]) for name in limited}

    def _explicit_and_holding(self, relation: Relation) -> int:
        explicit = self._facts.explicit(relation).codes()
        return int(np.count_nonzero(self._facts.relation(relation).has(explicit)))

    def answer(self, question: Question, values: Mapping[str, Value]) -> RelationView:
        """The answers to a query, within the limits."""
        state = self._state
        with state.within_seconds():
            query = question.checked(self.program)
            if query.point is not None and state.limits == _NO_LIMITS:
                key = point_codes(query, values, state.dictionary)
                point = query.point
                found = (
                    _no_rows(point.relation) if key is None else self._facts.matching(point.relation, point.key, key)
                )
                rows: Codes = point.answers(found)
            else:
                rows = self._evaluated(query, values)
            return RelationView(query.answer, rows, state.dictionary, self._guard)

    def _evaluated(self, query: CheckedQuery, values: Mapping[str, Value]) -> Codes:
        state = self._state
        row = query.row(values, state.dictionary, may_add=False)
        watch = state.watch.beside(state.limits)
        with self._versions.reading(self._facts, query.reads, watch) as backend:
            evaluate_query(query, row, backend, watch)
            found = backend.rows(query.answer.name, backend.materialisation)
        assert isinstance(found, np.ndarray)
        return found

    @contextmanager
    def explained(self) -> Iterator[ReadState]:
        """What explanations look facts up in."""
        yield VersionState(self.tree, self.program, PinnedLookup(self._facts), self._state.dictionary)


class PresentReader(FactReader):
    """The present state, for a backend that keeps no versions; to be used under the lock."""

    def __init__(self, state: Materialisation, views: Views) -> None:
        self._state, self._views = state, views

    def all_facts(self, relation: Relation) -> RelationView:
        """The facts of a relation."""
        return self._views.all_facts(relation)

    def explicit_facts(self, relation: Relation) -> RelationView:
        """The explicit facts of a relation."""
        return self._views.explicit_facts(relation)

    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation."""
        return self._views.sizes()

    @property
    def program(self) -> Program:
        """The checked program."""
        return self._state.program

    @property
    def tree(self) -> tree.Program:
        """The written program."""
        return self._state.tree

    def explicit_sizes(self) -> Mapping[str, int]:
        """The number of facts of each relation that are explicit, and hold."""
        return explicit_sizes(self.program, self._state.backend)

    def answer(self, question: Question, values: Mapping[str, Value]) -> RelationView:
        """The answers to a query, within the limits."""
        state = self._state
        with state.within_seconds():
            query = question.checked(state.program)
            row = query.row(values, state.dictionary, may_add=True)
            try:
                with state.limited(keep=False) as watch:
                    evaluate_query(query, row, state.backend, watch)
                return self._views.all_facts(query.answer)
            finally:
                drop_relations(state.backend, query.own)

    @contextmanager
    def explained(self) -> Iterator[ReadState]:
        """What explanations look facts up in."""
        yield self._state


class Readers:
    """How a knowledge base reads its last version."""

    def __init__(self, state: Materialisation, views: Views, guard: Guard) -> None:
        self._state, self._guard = state, guard
        self.versions = state.backend.ability(Versioned)
        self._present = PresentReader(state, views)
        self._prepared: dict[str, Question] = {}

    def last(self) -> FactReader:
        """The last version."""
        if self.versions is None:
            return self._present
        return VersionReader(self._state, self.versions, self._guard)

    def question(self, text: str) -> Question:
        """A query by its text, parsed and checked before if it was asked lately."""
        found = self._prepared.get(text) if isinstance(text, str) else None
        if found is None:
            found = Question(text)
            if len(self._prepared) >= _MOST_PREPARED:
                self._prepared = {}
            self._prepared[text] = found
        return found

    def answer(self, question: Question, values: Mapping[str, Value]) -> RelationView:
        """The answers to a query in the last version."""
        if self.versions is not None and self._state.limits == _NO_LIMITS:
            with self._state.watch.turns.look_up():
                found = self._looked_up(question, values, self.versions)
            if found is not None:
                return found
        return self.last().answer(question, values)

    def _looked_up(self, question: Question, values: Mapping[str, Value], versions: Versioned) -> RelationView | None:
        """The answers by an index, without keeping anything of the version; None if that is not possible."""
        state = self._state
        while True:
            program = state.program
            query = question.checked(program)
            point = query.point
            if point is None:
                return None
            key = point_codes(query, values, state.dictionary)
            with versions.commit_lock:
                held = versions.hold(point.relation) if state.program is program else None
            if held is not None:
                break
        try:
            found = _no_rows(point.relation) if key is None else held.matching(point.key, key)
        finally:
            versions.release(held)
        return RelationView(query.answer, point.answers(found), state.dictionary, self._guard)


_NO_LIMITS = Limits()


def _no_rows(relation: Relation) -> Codes:
    return np.empty((0, relation.arity), np.int64)
