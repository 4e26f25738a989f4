"""The core before types: one head, a conjunction of literals, no aggregates inside terms.

Terms are still those of the syntax tree, so that every later message can point at what the user wrote; but
`Aggregate`, `HeadAggregate` and the functor `range` no longer occur in them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from holdfast.errors import Span
from holdfast.language import tree
from holdfast.quick_dataclass import dataclass

ANSWER = "?"  # the relation of a query's answers


@dataclass(frozen=True)
class CoreAtom:
    """An atom with its name resolved; in a body possibly negated."""

    predicate: str
    arguments: tuple[tree.Term, ...]
    span: Span
    negated: bool = False


@dataclass(frozen=True)
class CoreCompare:
    """`left op right`; with `=` it may bind a variable."""

    operator: str
    left: tree.Term
    right: tree.Term
    span: Span


@dataclass(frozen=True)
class CoreTest:
    """A constraint functor or its negation."""

    function: str
    arguments: tuple[tree.Term, ...]
    negated: bool
    span: Span


@dataclass(frozen=True)
class CoreRange:
    """`variable = range(start, stop[, step])`."""

    variable: tree.Variable
    bounds: tuple[tree.Term, ...]
    span: Span


CoreLiteral: TypeAlias = CoreAtom | CoreCompare | CoreTest | CoreRange
Body: TypeAlias = tuple[CoreLiteral, ...]


@dataclass(frozen=True)
class CoreLimit:
    """`min` or `max` in a column of a head: the rule offers a value, and the relation has the best for each group."""

    column: int
    function: str
    span: Span


@dataclass(frozen=True)
class CoreRule:
    """One head and one conjunction.

    `alternative` is the place of the disjunct that gave the body, None when the written body has only one;
    `inner` says that the rule collects the substitutions of an aggregate's body.
    """

    name: str
    head: CoreAtom
    body: Body
    span: Span
    alternative: Span | None = None
    inner: bool = False
    limit: CoreLimit | None = None


@dataclass(frozen=True)
class CoreAggregate:
    """An aggregate rule; as `model.AggregateRule`."""

    name: str
    predicate: str
    source: str
    group: tuple[int, ...]
    function: str
    target: int | None
    span: Span
    in_head: bool = False
    recursive: bool = False  # a sum or count that is part of its own circle


@dataclass(frozen=True)
class CoreProgram:
    """All rules and facts of a text in the core."""

    rules: tuple[CoreRule, ...]
    aggregates: tuple[CoreAggregate, ...]
    facts: tuple[CoreAtom, ...]


def is_unused(name: str) -> bool:
    """Whether a variable stands for a `_` inside a record."""
    return name.startswith("$_")


def is_counted(name: str) -> bool:
    """Whether a variable stands for a `_` inside a record inside an aggregate, where each of its values counts."""
    return name.startswith("$*")


def is_fresh(name: str) -> bool:
    """Whether a variable was made by the checker; a user cannot write `$`."""
    return name.startswith("$")


def source_text(span: Span) -> str:
    """What the user wrote at a place, on one line."""
    lines = span.source.lines[span.line - 1 : span.end_line]
    if not lines:
        return ""
    if len(lines) == 1:
        return lines[0][span.column - 1 : span.end_column - 1]
    parts = [lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]]
    return " ".join(part.strip() for part in parts)


def shown(variable: tree.Variable) -> str:
    """A variable in the user's words: its name, or the expression that a made one stands for."""
    return source_text(variable.span) if is_fresh(variable.name) else variable.name


# --- walking -----------------------------------------------------------------------------------------


def children(term: tree.Term) -> tuple[tree.Term, ...]:
    """The terms directly inside a term; an aggregate's body is a scope of its own and not among them."""
    match term:
        case tree.Unary(operand=operand) | tree.Cast(operand=operand):
            return (operand,)
        case tree.Binary(left=left, right=right):
            return (left, right)
        case tree.Call(arguments=arguments):
            return arguments
        case tree.Record(fields=fields) | tree.Branch(fields=fields):
            return fields
        case tree.HeadAggregate(target=target):
            return (target,)
        case _:
            return ()


def rebuilt(term: tree.Term, parts: Iterable[tree.Term]) -> tree.Term:
    """The term with other children."""
    new = tuple(parts)
    match term:
        case tree.Unary() | tree.Cast():
            return replace(term, operand=new[0])
        case tree.Binary():
            return replace(term, left=new[0], right=new[1])
        case tree.Call():
            return replace(term, arguments=new)
        case tree.Record() | tree.Branch():
            return replace(term, fields=new)
        case _:
            return term


def term_variables(term: tree.Term, deep: bool = False) -> Iterator[tree.Variable]:
    """The variables of a term in their order, with those inside aggregates when `deep`."""
    if isinstance(term, tree.Variable):
        yield term
    elif isinstance(term, tree.Aggregate):
        if deep:
            yield from formula_variables(term.body, deep)
            if term.target is not None:
                yield from term_variables(term.target, deep)
    else:
        for child in children(term):
            yield from term_variables(child, deep)


def formula_terms(formula: tree.Formula) -> Iterator[tree.Term]:
    """The outermost terms of a formula."""
    match formula:
        case tree.Atom(arguments=arguments) | tree.Constraint(arguments=arguments):
            yield from arguments
        case tree.Comparison(left=left, right=right):
            yield from (left, right)
        case tree.Negation(operand=operand):
            yield from formula_terms(operand)
        case tree.Conjunction(items=items) | tree.Disjunction(items=items):
            for item in items:
                yield from formula_terms(item)
        case tree.Truth():
            return


def formula_variables(formula: tree.Formula, deep: bool = False) -> Iterator[tree.Variable]:
    """The variables of a formula in their order."""
    for term in formula_terms(formula):
        yield from term_variables(term, deep)


def literal_terms(literal: CoreLiteral) -> tuple[tree.Term, ...]:
    """The outermost terms of a literal."""
    match literal:
        case CoreAtom(arguments=arguments) | CoreTest(arguments=arguments):
            return arguments
        case CoreCompare(left=left, right=right):
            return (left, right)
        case CoreRange(variable=variable, bounds=bounds):
            return (variable, *bounds)


def literal_variables(literal: CoreLiteral) -> Iterator[tree.Variable]:
    """The variables of a literal in their order."""
    for term in literal_terms(literal):
        yield from term_variables(term)


def names(variables: Iterable[tree.Variable]) -> list[str]:
    """The different names, in order of first appearance."""
    return list(dict.fromkeys(variable.name for variable in variables))


class Bound:
    """What a conjunction binds, each variable with its place in an order in which they can be bound.

    Those given and those of positive atoms have place 0; those that `=` and ranges bind from them follow.
    `x = [y, z]` binds y and z where x is bound, and x where they are; `directions` says for some of these equations, by
    their identity, that only the one (True: x is taken apart) or only the other is meant.
    """

    def __init__(self, body: Iterable[CoreLiteral], directions: Mapping[int, bool] | None = None) -> None:
        ways = directions or {}
        self.places: dict[str, int] = {}
        self._waiting: list[tuple[str, set[str]]] = []
        given: list[str] = []
        for literal in body:
            match literal:
                case CoreAtom(negated=False):
                    given += (variable.name for variable in literal_variables(literal))
                case CoreRange(variable=variable, bounds=bounds):
                    self._waiting.append((variable.name, {v.name for b in bounds for v in term_variables(b)}))
                case CoreCompare("=", tree.Variable() as left, (tree.Record() | tree.Branch()) as right):
                    apart = ways.get(id(literal))
                    self._waiting += [(name, {left.name}) for name in pattern_names(right) if apart is not False]
                    self._waiting += _bindings(left, right) if apart is not True else []
                case CoreCompare("=", left, right):
                    self._waiting += _bindings(left, right) + _bindings(right, left)
        self._missing = [len(needs) for _, needs in self._waiting]
        self._readers: dict[str, list[int]] = {}
        for number, (_, needs) in enumerate(self._waiting):
            for need in needs:
                self._readers.setdefault(need, []).append(number)
        self._last = 0
        self.add(given, [name for name, needs in self._waiting if not needs])

    def add(self, given: Iterable[str], computed: Iterable[str] = ()) -> None:
        """Bind variables, and what waits for them."""
        queue = deque((name, 0) for name in given)
        queue += ((name, 1) for name in computed)
        while queue:
            name, step = queue.popleft()
            if name in self.places:
                continue
            self._last += step
            self.places[name] = self._last if step else 0
            for number in self._readers.get(name, ()):
                self._missing[number] -= 1
                if not self._missing[number]:
                    queue.append((self._waiting[number][0], 1))


def bound_variables(body: Iterable[CoreLiteral], directions: Mapping[int, bool] | None = None) -> dict[str, int]:
    """The variables that a conjunction binds, with their places: see `Bound`."""
    return Bound(body, directions).places


def pattern_names(term: tree.Term) -> Iterator[str]:
    """The variables in the fields of a record, also nested: taking the record apart binds them."""
    match term:
        case tree.Variable(name=name):
            yield name
        case tree.Record(fields=fields) | tree.Branch(fields=fields):
            for inside in fields:
                yield from pattern_names(inside)


def _bindings(left: tree.Term, right: tree.Term) -> list[tuple[str, set[str]]]:
    if not isinstance(left, tree.Variable):
        return []
    return [(left.name, {variable.name for variable in term_variables(right)})]
