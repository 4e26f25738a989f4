"""Watched queries: after each commit, watches receive the exact change of their answers.

Watches of the same text share a shape.  If the query is one atom, the rows of a change are matched with the watches by
the known columns.  Any other shape is a small materialisation of its own: its facts are the relations that the query
reads, its rule is the query, and the watched values are the facts of the parameters' relation.  So a thousand watches
of one shape are one rule.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from holdfast.errors import Diagnostic, UsageError
from holdfast.interrupts import shielded
from holdfast.knowledge.evaluation import evaluate_program
from holdfast.knowledge.loading import Loaded
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.queries import CheckedQuery, PointLookup, Question
from holdfast.knowledge.reading import FactReader
from holdfast.knowledge.watches import QueryWatch, WatchChange
from holdfast.maintenance.algorithms import AUTO, Choice
from holdfast.maintenance.maintainer import Maintainer
from holdfast.maintenance.watch import Watch
from holdfast.program.core import ANSWER
from holdfast.program.graph import hyper_nodes
from holdfast.program.maintainable import maintainable
from holdfast.program.model import Const, Program
from holdfast.program.parameters import PARAMETERS
from holdfast.program.query import check_query
from holdfast.updates import Change
from holdfast.values import Row, Value
from holdfast.values.dictionary import Codes, Dictionary

if TYPE_CHECKING:
    from holdfast.maintenance.transaction import Outcome

WatchKey: TypeAlias = tuple[int, ...]
"""The codes of a watch's parameter values."""
Moves: TypeAlias = dict[WatchKey, tuple[set[Row], set[Row]]]
"""For each key, the removed and the added answers."""


class WatchedShape(ABC):
    """All watches of one query."""

    def __init__(self, question: Question, program: Program, dictionary: Dictionary) -> None:
        self.question, self.program, self.dictionary = question, program, dictionary
        self.query = question.checked(program)
        self.watches: dict[WatchKey, weakref.WeakSet[QueryWatch]] = {}
        self._over: deque[WatchKey] = deque()  # keys of which a watch was closed or is gone; any thread appends

    def add(self, key: WatchKey, watch: QueryWatch) -> None:
        """Add a watch."""
        if key not in self.watches:
            self.demand(key)
            self.watches[key] = weakref.WeakSet()
        self.watches[key].add(watch)
        watch.when_over(partial(self._over.append, key))

    def tidy(self) -> None:
        """Drop everything that no watch needs any more; it costs nothing for the others."""
        while self._over:
            key = self._over.popleft()
            if key in self.watches and all(watch.is_closed for watch in tuple(self.watches[key])):
                del self.watches[key]
                self.retire(key)

    def deliver(self, version: int, moves: Moves) -> None:
        """Pass each watch its part of the change."""
        for key, (removed, added) in moves.items():
            for watch in tuple(self.watches.get(key, ())):
                watch.put(WatchChange(version, frozenset(added), frozenset(removed)))

    def fail(self, error: Exception) -> None:
        """End all watches: the query can no longer be answered."""
        for watches in self.watches.values():
            for watch in tuple(watches):
                watch.fail(error)

    @abstractmethod
    def moves(self, change: Change) -> Moves:
        """How a change affects the answers."""

    def demand(self, key: WatchKey) -> None:  # noqa: B027  an atom needs nothing
        """Start watching these values."""

    def retire(self, key: WatchKey) -> None:  # noqa: B027
        """Stop watching these values."""

    @abstractmethod
    def renew(self, program: Program, change: Change, reader: FactReader) -> Moves:
        """Switch to new rules; returns how they and the change affect the answers."""


class WatchedAtom(WatchedShape):
    """Watches of one atom."""

    def moves(self, change: Change) -> Moves:
        """How a change affects the answers."""
        found: Moves = {}
        atom = self.query.atom
        assert atom is not None
        for side, views in enumerate((change.removed, change.added)):
            if atom.relation.name in views:
                for key, rows in self._by_key(views[atom.relation.name].codes, atom):
                    found.setdefault(key, (set(), set()))[side].update(rows)
        return found

    def renew(self, program: Program, change: Change, reader: FactReader) -> Moves:
        """Switch to new rules; the facts in the change suffice, if the relation still exists."""
        self.program, self.query = program, self.question.checked(program)
        return self.moves(change)

    def _by_key(self, codes: Codes, atom: PointLookup) -> Iterable[tuple[WatchKey, list[Row]]]:
        """The answers among some rows, by watched key."""
        types = self.query.answer.types
        for column, part in zip(atom.key, atom.known, strict=True):
            if isinstance(part, Const):
                code = self.dictionary.find_value(part.value, part.type)
                codes = codes[codes[:, column] == (-1 if code is None else code)]
        places = [self._column(name, atom) for name in self.query.parameters]
        rows: dict[WatchKey, list[int]] = {}
        for place, key in enumerate(map(tuple, codes[:, places].tolist())):
            if key in self.watches:
                rows.setdefault(key, []).append(place)
        for key, some in rows.items():
            yield key, self.dictionary.decode_rows(codes[some][:, list(atom.columns)], types)

    def _column(self, parameter: str, atom: PointLookup) -> int:
        return next(
            column
            for column, part in zip(atom.key, atom.known, strict=True)
            if not isinstance(part, Const) and part.name == f"${parameter}"
        )


class WatchedRule(WatchedShape):
    """Watches of any other query."""

    def __init__(self, question: Question, program: Program, dictionary: Dictionary, reader: FactReader) -> None:
        super().__init__(question, program, dictionary)
        self._open(reader, [])

    def _open(self, reader: FactReader, demanded: Sequence[WatchKey]) -> None:
        """Evaluate the query over the facts of a state."""
        columns, question = check_query(self.question.formula, self.program, answer_parameters=True)
        self._width = len(columns) - len(self.query.parameters)
        rules = _own_program(question, self.query)
        rows = {relation.name: reader.all_facts(relation).codes for relation in self.query.reads}
        if self.query.parameters:
            rows[PARAMETERS] = np.array(demanded, np.int64).reshape(len(demanded), len(self.query.parameters))
        self._watch = Watch()
        loaded = Loaded(rules, rows, self.dictionary)
        from holdfast.backends.memory.store import MemoryBackend

        evaluated = evaluate_program(loaded, MemoryBackend, self._watch, ())
        self._maintainer = Maintainer(rules, evaluated.backend, (), evaluated.states, evaluated.statistics.nodes)

    def demand(self, key: WatchKey) -> None:
        """Start watching these values."""
        if key:
            self._moved({}, {PARAMETERS: np.array([key], np.int64)})

    def retire(self, key: WatchKey) -> None:
        """Stop watching these values."""
        if key:
            self._moved({PARAMETERS: np.array([key], np.int64)}, {})

    def moves(self, change: Change) -> Moves:
        """How a change affects the answers."""
        deletions, insertions = (
            {r.name: views[r.name].codes for r in self.query.reads if r.name in views}
            for views in (change.removed, change.added)
        )
        return self._moved(deletions, insertions) if deletions or insertions else {}

    def renew(self, program: Program, change: Change, reader: FactReader) -> Moves:
        """Evaluate the query again."""
        before = self._answers()
        self.program, self.query = program, self.question.checked(program)
        self._open(reader, list(self.watches))
        after, none = self._answers(), frozenset[Row]()
        states = {key: (before.get(key, none), after.get(key, none)) for key in {*before, *after}}
        return {key: ({*was} - {*now}, {*now} - {*was}) for key, (was, now) in states.items()}

    def _answers(self) -> dict[WatchKey, set[Row]]:
        backend = self._maintainer.backend
        return self._split(backend.rows(ANSWER, backend.materialisation))

    def _moved(self, deletions: Mapping[str, Codes], insertions: Mapping[str, Codes]) -> Moves:
        backend, maintainer = self._maintainer.backend, self._maintainer
        facts = backend.facts(deletions, known=True), backend.facts(insertions)
        self._watch.begin(None)
        return maintainer.run(facts, Choice(AUTO), self._watch, self._report)

    def _report(self, outcome: Outcome) -> Moves:
        found: Moves = {}
        for side, facts in enumerate((outcome.removed, outcome.added)):
            for key, rows in self._split(self._maintainer.backend.rows(ANSWER, facts)).items():
                found.setdefault(key, (set(), set()))[side].update(rows)
        return found

    def _split(self, found: object) -> dict[WatchKey, set[Row]]:
        """Group answers by the parameter values in their last columns."""
        assert isinstance(found, np.ndarray)
        rows = self.dictionary.decode_rows(found[:, : self._width], self.query.answer.types)
        answers: dict[WatchKey, set[Row]] = {}
        for key, row in zip(map(tuple, found[:, self._width :].tolist()), rows, strict=True):
            answers.setdefault(key, set()).add(row)
        return answers


def _own_program(question: Program, query: CheckedQuery) -> Program:
    """The query as a program of its own, in which the relations it reads are explicit."""
    named = {
        name: replace(question.relations[name], auxiliary=False)
        for name in (ANSWER, PARAMETERS)
        if name in question.relations
    }
    own = {relation.name: question.relations[relation.name] for relation in (*query.reads, *query.own)}
    relations = own | named
    nodes = hyper_nodes(tuple(relations), question.rules, question.aggregates)
    return maintainable(replace(question, relations=relations, nodes=nodes))


class Watches:
    """The watches of a knowledge base; used under its lock."""

    def __init__(self, state: Materialisation, reader: Callable[[], FactReader]) -> None:
        self._state, self._reader = state, reader
        self._shapes: dict[str, WatchedShape] = {}
        state.observers.append(self._notify)

    def add(self, question: Question, values: Mapping[str, Value], watch: QueryWatch, *, initial: bool) -> None:
        """Watch a query with these values; with `initial`, its answers are the first change."""
        query, dictionary, reader = question.checked(self._state.program), self._state.dictionary, self._reader()
        query.codes(values, dictionary)  # raises errors before anything is stored
        answers = reader.answer(question, values) if initial else ()
        kinds = zip(query.parameters, query.kinds, strict=True)
        key = tuple(dictionary.encode_value(values[name], kind) for name, kind in kinds)
        self._shape(question, query, reader).add(key, watch)
        if initial:
            watch.put(WatchChange(self._state.version, frozenset(answers), frozenset()))

    def _shape(self, question: Question, query: CheckedQuery, reader: FactReader) -> WatchedShape:
        if question.text not in self._shapes:
            known, atom = (question, self._state.program, self._state.dictionary), query.atom
            is_whole = atom is not None and len(atom.key) + len(atom.columns) == atom.relation.arity
            self._shapes[question.text] = WatchedAtom(*known) if is_whole else WatchedRule(*known, reader)
        return self._shapes[question.text]

    def tidy(self) -> None:
        """Drop everything that no watch needs any more."""
        for text, shape in list(self._shapes.items()):
            shape.tidy()
            if not shape.watches:
                del self._shapes[text]

    def end(self) -> None:
        """End all watches, because the watched state is replaced."""
        message = "the knowledge base was loaded anew, so the changes of this query are not known"
        for shape in self._shapes.values():
            shape.fail(UsageError(Diagnostic("E0954", message, help="watch the query again")))
        self._shapes = {}

    def _notify(self, changes: Sequence[Change]) -> None:
        """Pass on a commit.  The commit has happened, so a failure here only ends the watches."""
        with shielded():
            for text, shape in list(self._shapes.items()):
                try:
                    shape.tidy()
                    if shape.watches:
                        self._pass_on(shape, changes)
                    else:
                        del self._shapes[text]
                except Exception as error:
                    shape.fail(error)
                    del self._shapes[text]

    def _pass_on(self, shape: WatchedShape, changes: Sequence[Change]) -> None:
        program = self._state.program
        for change in changes:
            same = shape.program is program
            moves = shape.moves(change) if same else shape.renew(program, change, self._reader())
            shape.deliver(change.version or self._state.version, moves)
