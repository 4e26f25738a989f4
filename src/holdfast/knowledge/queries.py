"""Queries: checked once per program, then evaluated as rules, or answered from an index if they are one atom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.arguments import expect
from holdfast.backends.protocol import Backend
from holdfast.errors import Diagnostic, UsageError
from holdfast.knowledge.evaluation import evaluate
from holdfast.language import parse_body
from holdfast.maintenance.watch import Watch
from holdfast.program import check_query
from holdfast.program.core import ANSWER
from holdfast.program.model import Atom, Const, Negated, Program, Relation, Var, Wildcard
from holdfast.program.parameters import PARAMETERS, only_looked_up, parameter_kinds
from holdfast.quick_dataclass import dataclass
from holdfast.user_functors import require
from holdfast.values import Type, Value
from holdfast.values.dictionary import Codes, Dictionary, EncodingError
from holdfast.values.structures import Kind

WRONG_PARAMETERS, BAD_PARAMETER = "E0950", "E0951"
_NO_FACT = -1  # a code that no value in the dictionary has


@dataclass(frozen=True)
class PointLookup:
    """A query of one atom, with some columns known and distinct variables in the others."""

    relation: Relation
    key: tuple[int, ...]
    known: tuple[Const | Var, ...]  # a variable is a parameter
    columns: tuple[int, ...]

    def answers(self, found: Codes) -> Codes:
        """Project the facts that match the key to the answers."""
        first, last = (self.columns[0], self.columns[-1]) if self.columns else (0, -1)
        is_run = self.columns == tuple(range(first, last + 1))
        rows = found[:, first : last + 1] if is_run else found[:, list(self.columns)]
        if len(self.key) + len(self.columns) == self.relation.arity or len(rows) < 2:
            return rows
        return np.unique(rows, axis=0) if self.columns else rows[:1]


@dataclass(frozen=True)
class CheckedQuery:
    """A query checked against a program."""

    program: Program  # the query's own rules, with all relations
    own: tuple[Relation, ...]  # the relations it is evaluated with
    parameters: tuple[str, ...]
    kinds: tuple[Kind, ...]  # types of the parameters
    looked_up: frozenset[str]  # parameters whose values need not be in the dictionary
    atom: PointLookup | None  # if the query is one atom

    @property
    def point(self) -> PointLookup | None:
        """The atom, if some column is known."""
        return self.atom if self.atom is not None and self.atom.key else None

    @property
    def answer(self) -> Relation:
        """The relation of the answers."""
        return self.program.relations[ANSWER]

    @property
    def reads(self) -> list[Relation]:
        """The relations of the program that it reads."""
        own, program = {relation.name for relation in self.own}, self.program
        literals = (literal for rule in program.rules for literal in rule.body)
        atoms = [literal.predicate for literal in literals if isinstance(literal, Atom | Negated)]
        names = dict.fromkeys([*atoms, *(rule.source for rule in program.aggregates)])
        return [program.relations[name] for name in names if name not in own]

    def codes(self, values: Mapping[str, Value], dictionary: Dictionary) -> list[int | None]:
        """The codes of the parameters; None for a value that no fact has.  Adds nothing to the dictionary."""
        self._expect(values)
        found = []
        for name, kind in zip(self.parameters, self.kinds, strict=True):
            try:
                found.append(dictionary.find_value(values[name], kind))
            except EncodingError as error:
                help = f"the query needs a value of type {kind.value if isinstance(kind, Type) else kind.name} there"
                raise UsageError(Diagnostic(BAD_PARAMETER, f"${name}: {error.reason}", help=help)) from error
        return found

    def row(self, values: Mapping[str, Value], dictionary: Dictionary, *, may_add: bool) -> Codes | None:
        """The fact of the parameters' relation, if there are parameters.

        If `may_add` is false, a value that is only looked up and that no fact has gets a code that no value has.
        """
        codes = self.codes(values, dictionary)
        for place, (name, code) in enumerate(zip(self.parameters, codes, strict=True)):
            if code is None:
                unknown = f"${name}" in self.looked_up and not may_add
                kind = self.kinds[place]
                codes[place] = _NO_FACT if unknown else dictionary.encode_value(values[name], kind)
        return np.array([codes], np.int64) if codes else None

    def _expect(self, values: Mapping[str, Value]) -> None:
        expect(values, Mapping, "the parameters of a query are a dict", 'kb.query("path($from, x)", {"from": 1})')
        missing = [f"${name}" for name in self.parameters if name not in values]
        if missing:
            message = f"the query has no value for {', '.join(missing)}"
            help = f'give one: {{"{missing[0][1:]}": …}}'
            raise UsageError(Diagnostic(WRONG_PARAMETERS, message, help=help))
        surplus = [name for name in values if name not in self.parameters]
        if surplus:
            message = f"the query has no parameter {surplus[0]}"
            names = ", ".join(f"${name}" for name in self.parameters)
            help = f"its parameters are {names}" if names else "a parameter is written $name in the query"
            raise UsageError(Diagnostic(WRONG_PARAMETERS, message, help=help))


class Question:
    """A parsed query; it is checked again when the program has changed."""

    def __init__(self, text: str) -> None:
        expect(text, str, "a query is a text", "kb.query('path(1, x)')")
        self.text = text
        self.formula = parse_body(text, "<query>")
        self._checked: tuple[Program, CheckedQuery] | None = None

    def checked(self, program: Program) -> CheckedQuery:
        """The query checked against a program."""
        known = self._checked
        if known is None or known[0] is not program:
            known = self._checked = program, _checked(*check_query(self.formula, program), program)
        return known[1]


def _checked(columns: Sequence[str], question: Program, program: Program) -> CheckedQuery:
    require(question)
    own = tuple(relation for name, relation in question.relations.items() if name not in program.relations)
    if PARAMETERS not in question.relations:
        return CheckedQuery(question, own, (), (), frozenset(), _atom(question))
    names = tuple(column.name[1:] for column in question.relations[PARAMETERS].columns)
    return CheckedQuery(question, own, names, parameter_kinds(question), only_looked_up(question), _atom(question))


def _atom(question: Program) -> PointLookup | None:
    """The point lookup for a query of one atom."""
    if len(question.rules) != 1 or question.aggregates:
        return None
    [rule] = question.rules
    atoms = [literal for literal in rule.body if isinstance(literal, Atom) and literal.predicate != PARAMETERS]
    if len(atoms) != 1 or len(rule.body) - len(atoms) != (PARAMETERS in question.relations):
        return None
    [atom] = atoms
    free = [a for a in atom.arguments if isinstance(a, Var) and not a.name.startswith("$")]
    if len({*free}) < len(free) or list(rule.arguments) != free:
        return None
    known = {
        place: argument
        for place, argument in enumerate(atom.arguments)
        if not isinstance(argument, Wildcard) and argument not in free
    }
    columns = tuple(atom.arguments.index(variable) for variable in free)
    relation = question.relations[atom.predicate]
    return PointLookup(relation, tuple(known), tuple(known.values()), columns)


def point_codes(query: CheckedQuery, values: Mapping[str, Value], dictionary: Dictionary) -> Codes | None:
    """The key of a point lookup; None if no fact has one of its values."""
    assert query.point is not None
    given = dict(zip(query.parameters, query.codes(values, dictionary), strict=True))
    codes = [
        dictionary.find_value(part.value, part.type) if isinstance(part, Const) else given[part.name[1:]]
        for part in query.point.known
    ]
    return None if None in codes else np.array([codes], np.int64)


def evaluate_query(query: CheckedQuery, row: Codes | None, backend: Backend, watch: Watch) -> None:
    """Evaluate a query; its own relations, including the answers, stay in the backend."""
    for relation in query.own:
        backend.add_relation(relation)
    if row is not None:
        explicit = backend.explicit
        explicit |= backend.facts({PARAMETERS: row}).snapshot()
    evaluate(query.program.nodes, backend, watch)
