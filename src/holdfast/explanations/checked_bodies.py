"""Evaluates the bodies of rules as they are written, for the checker alone: it shares no code with the search.

Slow and simple: one binding at a time, facts looked up by a function.  The order is part of the format of
certificates, whose lists answer just the patterns that it asks for: a condition whose variables are bound comes first,
then the atom with the fewest unknown columns, one of which nothing is known last.  A negation or an aggregate waits for
the variables that other conditions can bind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from holdfast.explanations.terms import (
    NOTHING,
    TESTS,
    NoValue,
    Typed,
    Unknown,
    alike,
    as_close,
    column_kinds,
    compute,
    literal,
    spanned,
    value_of,
)
from holdfast.language import tree
from holdfast.language.syntax import (
    alternatives,
    children,
    closed_parts,
    has_wildcard,
    is_pattern,
    nodes,
    variables,
)
from holdfast.language.vocabulary import STANDARD_PREFIXES
from holdfast.program.model import Program
from holdfast.values import BlankNode, Iri, Type
from holdfast.values.model import NIL, Record
from holdfast.values.structures import Kind

GroundRow: TypeAlias = tuple[Any, ...]
Ground: TypeAlias = tuple[str, GroundRow]
Substitution: TypeAlias = dict[str, Any]
FREE = None  # in a pattern: any value
PREMISES = " premises"  # in a substitution: the facts that atoms were matched with
Looking: TypeAlias = Callable[[str, GroundRow, bool], Iterable[GroundRow]]
"""The facts of a relation that fit a pattern; exactly these, if it is asked for a negation or an aggregate."""


def _is_test(item: object) -> bool:
    plain = isinstance(item, tree.Atom) and item.name.kind is tree.NameKind.PLAIN and item.name.text in TESTS
    return plain or isinstance(item, tree.Constraint)


def _bound_by(item: Any, bound: frozenset[str]) -> frozenset[str] | None:
    """The variables that are bound when a condition holds; None if it has to wait for others."""
    reached = bound
    if isinstance(item, tree.Atom) and not _is_test(item):
        reached = bound.union(*(variables(term) for term in item.arguments if is_pattern(term)))
    elif isinstance(item, tree.Comparison) and item.operator == "=":
        for here, there in ((item.left, item.right), (item.right, item.left)):
            if is_pattern(here) and variables(there, False) <= bound and not has_wildcard(there):
                return bound | variables(here)
    return reached if isinstance(item, tree.Negation) or variables(item, False) <= reached else None


def _bound_together(items: Iterable[Any], bound: frozenset[str]) -> frozenset[str]:
    """What conditions bind, whatever their order."""
    waiting = list(items)
    while ready := [item for item in waiting if _bound_by(item, bound) is not None]:
        bound = bound.union(*(_bound_by(item, bound) or () for item in ready))
        waiting = [item for item in waiting if not any(item is other for other in ready)]
    return bound


class Scope(NamedTuple):
    """What a condition can see: variables that others bind, whatever is asked, and those that are mentioned outside.

    A negation or an aggregate takes values from outside for `outer` only.  What a substitution or a head says of its
    other variables must not narrow it down.
    """

    outer: frozenset[str]
    used: frozenset[str]


def _cost(item: Any, bound: frozenset[str], scope: Scope) -> Any:
    """What a condition costs now; None if it has to wait."""
    sealed = list(closed_parts(item))
    if _bound_by(item, bound) is None or any(not variables(node) & scope.outer <= bound for node in sealed):
        return None
    terms = item.arguments if isinstance(item, tree.Atom) else ()
    free = sum(isinstance(term, tree.Wildcard) or not variables(term) <= bound for term in terms)
    return free == len(terms) > 0, isinstance(item, tree.Atom), free, len(sealed)


class BodyEvaluator:
    """Finds the substitutions that satisfy formulas."""

    def __init__(self, program: Program, look: Looking) -> None:
        written = {item.prefix: item.iri for item in program.written if isinstance(item, tree.Prefix)}
        self.prefixes, self._kinds, self._typed = STANDARD_PREFIXES | written, column_kinds(program), Typed(program)
        self._look = look
        self._first: dict[tuple[object, ...], int] = {}
        self._scopes: dict[tuple[object, ...], dict[int, Scope]] = {}

    def solve(
        self, formula: Any, b: Substitution, around: frozenset[str], used: frozenset[str], exact: bool
    ) -> Iterator[Substitution]:
        """All ways to extend a substitution so that a formula holds.

        `around` are variables that conditions outside bind, `used` those that are mentioned outside.
        """
        for items in alternatives(formula):
            yield from self._all_hold(items, b, self._scopes_of(items, around, used), exact)

    def _scopes_of(self, items: Sequence[Any], around: frozenset[str], used: frozenset[str]) -> dict[int, Scope]:
        """The scopes of conditions that hold together; conditions live as long as the rules."""
        key = (*map(id, items), around, used)
        if key not in self._scopes:
            others = [(item, [other for other in items if other is not item]) for item in items]
            self._scopes[key] = {
                id(item): Scope(_bound_together(rest, around), used.union(*(variables(other, False) for other in rest)))
                for item, rest in others
            }
        return self._scopes[key]

    def _all_hold(
        self, items: Sequence[Any], b: Substitution, scopes: dict[int, Scope], exact: bool
    ) -> Iterator[Substitution]:
        if not items:
            yield b
            return
        place = self._chosen(items, frozenset(b), scopes)
        rest = [*items[:place], *items[place + 1 :]]
        for new in self._one(items[place], b, scopes[id(items[place])], exact):
            yield from self._all_hold(rest, new, scopes, exact)

    def _chosen(self, items: Sequence[Any], bound: frozenset[str], scopes: dict[int, Scope]) -> int:
        key = (*map(id, items), bound, id(scopes))
        if key not in self._first:
            costs = [(_cost(item, bound, scopes[id(item)]), place) for place, item in enumerate(items)]
            ready = [(cost, place) for cost, place in costs if cost is not None]
            if not ready:
                raise NoValue("a variable is never bound")
            self._first[key] = min(ready)[1]
        return self._first[key]

    def _one(self, item: Any, b: Substitution, scope: Scope, exact: bool) -> Iterator[Substitution]:
        """All ways in which one condition holds."""
        match item:
            case tree.Atom() | tree.Constraint() if _is_test(item):
                test = item.name.text if isinstance(item, tree.Atom) else item.function
                yield from [b] if self._passes(test, [self.value(a, b, scope) for a in item.arguments]) else []
            case tree.Atom():
                yield from self._matched(item, b, scope, exact)
            case tree.Negation(operand=operand):
                own = {name: b[name] for name in variables(operand) & scope.outer}
                if not list(self.solve(operand, own, frozenset(own), frozenset(), True)):  # all: lists are for all
                    yield b
            case tree.Truth(value=value):
                yield from [b] if value else []
            case tree.Comparison():
                yield from self._compared(item, b, scope)
            case _:
                raise Unknown(f"the checker does not know {type(item).__name__}")

    def _passes(self, test: str, values: list[Any]) -> bool:
        try:
            return NOTHING not in values and bool(TESTS[test](*values))
        except (TypeError, AttributeError, re.error) as error:
            raise Unknown(f"{test}: {error}") from error

    def _matched(self, atom: tree.Atom, b: Substitution, scope: Scope, exact: bool) -> Iterator[Substitution]:
        name = self.relation(atom.name)
        kinds = self.kinds(name, len(atom.arguments))
        known = [not has_wildcard(a) and variables(a) <= b.keys() for a in atom.arguments]
        pattern = tuple(
            value_of(self.value(a, b, scope), kind) if is_known else FREE
            for a, kind, is_known in zip(atom.arguments, kinds, known, strict=True)
        )
        for row in self._look(name, pattern, exact) if NOTHING not in pattern else ():
            new: Substitution | None = {**b, PREMISES: (*b.get(PREMISES, ()), (name, row))}
            left = [(a, v) for a, v, is_known in zip(atom.arguments, row, known, strict=True) if not is_known]
            for term, value in sorted(left, key=lambda each: not is_pattern(each[0])):  # computed ones last
                new = None if new is None else self.equal(term, value, new, scope)
            if new is not None:
                yield new

    def equal(self, term: Any, value: Any, b: Substitution, scope: Scope | None = None) -> Substitution | None:
        """The substitution under which a term has a value."""
        match term:
            case tree.Wildcard():
                return b
            case tree.Variable(name=name) if name not in b:
                return {**b, name: value}
            case tree.Record(fields=fields) | tree.Branch(fields=fields):
                branch = term.name if isinstance(term, tree.Branch) else ""
                if not isinstance(value, Record) or value.branch != branch or len(fields) != len(value.fields):
                    return None
                new: Substitution | None = b
                for field, inside in zip(fields, value.fields, strict=True):
                    new = None if new is None else self.equal(field, inside, new, scope)
                return new
        return b if self.value(term, b, scope) == value else None

    def _compared(self, item: tree.Comparison, b: Substitution, scope: Scope) -> Iterator[Substitution]:
        for here, there in ((item.left, item.right), (item.right, item.left)):
            bound = variables(there, False) <= b.keys() and not has_wildcard(there)
            if item.operator == "=" and is_pattern(here) and bound:
                for value, new in self._values(there, b, scope):
                    known = b.get(here.name) if isinstance(here, tree.Variable) else None
                    exact = as_close(value, known) if isinstance(there, tree.Aggregate) else value
                    if (both := self.equal(here, exact, new, scope)) is not None:
                        yield both
                return
        for left, new in self._values(item.left, b, scope):
            for right, both in self._values(item.right, new, scope):
                if TESTS[item.operator](*([left, right] if item.operator in ("=", "!=") else alike([left, right]))):
                    yield both

    # --- terms -----------------------------------------------------------------------------------------

    def value(self, term: Any, b: Substitution, scope: Scope | None = None) -> Any:
        """The value of a term whose variables are bound, NOTHING if it has none; a head sees all that is bound."""
        seen = Scope(frozenset(b), frozenset()) if scope is None else scope
        return next((value for value, _ in self._values(term, b, seen)), NOTHING)

    def _values(self, term: Any, b: Substitution, scope: Scope) -> Iterator[tuple[Any, Substitution]]:
        match term:
            case tree.Variable(name=name):
                yield b[name], b
            case tree.Number():
                yield self._typed.number(term), b
            case tree.String(value=value):
                yield value, b
            case tree.Nil():
                yield NIL, b
            case tree.IriTerm() | tree.PrefixedName():
                iri = self._iri(term)
                yield BlankNode(iri[2:]) if iri.startswith("_:") else Iri(iri), b
            case tree.RdfLiteral(lexical=lexical, datatype=datatype, language=language):
                yield literal(lexical, self._iri(datatype) if datatype else None, language), b
            case tree.Cast(operand=operand):
                for value, new in self._values(operand, b, scope):
                    with suppress(NoValue):
                        yield self._typed.cast(term, value), new
            case tree.Aggregate():
                yield from self._aggregate(term, b, scope)
            case tree.Unary(operator=function) | tree.Binary(operator=function) | tree.Call(function=function):
                for values, new in self._each(children(term), b, scope):
                    if function == "range":
                        yield from ((value, new) for value in spanned(*alike(values)))
                    elif (value := self._computed(function, values)) is not NOTHING:
                        yield value, new
            case tree.Record(fields=fields) | tree.Branch(fields=fields):
                branch = term.name if isinstance(term, tree.Branch) else ""
                yield from ((Record(tuple(v), branch), new) for v, new in self._each(fields, b, scope))
            case _:
                raise Unknown(f"the checker does not know {type(term).__name__}")

    def _each(self, terms: Sequence[Any], b: Substitution, scope: Scope) -> Iterator[tuple[list[Any], Substitution]]:
        if not terms:
            yield [], b
            return
        for first, new in self._values(terms[0], b, scope):
            yield from (([first, *rest], end) for rest, end in self._each(terms[1:], new, scope))

    def _computed(self, function: str, values: list[Any]) -> Any:
        """NOTHING where a functor has no value: whatever the rule says of it does not hold."""
        try:
            return compute(function, values)
        except Unknown:
            raise
        except NoValue:
            return NOTHING

    def _aggregate(self, term: tree.Aggregate, b: Substitution, scope: Scope) -> Iterator[tuple[Any, Substitution]]:
        """Computed anew over the distinct substitutions of its body; min and max also bind what attains them."""
        own = variables(term)
        start = {name: b[name] for name in own & scope.outer}
        members = {}
        either = any(isinstance(node, tree.Disjunction) for node in nodes(term.body))
        for new in self.solve(term.body, start, frozenset(start), own, True):
            facts = () if either else new.get(PREMISES, ())  # a wildcard counts each fact
            members[plain(new), facts] = new
        targets = [(self.value(term.target, new) if term.target else 0, new) for new in members.values()]
        value = self._typed.aggregate(term, [value for value, _ in targets])
        if value is None:
            return
        facts = (*b.get(PREMISES, ()), *(fact for new in members.values() for fact in new.get(PREMISES, ())))
        free = own & scope.used - start.keys() if term.function in ("min", "max") else frozenset[str]()
        attain = [{n: new[n] for n in free if n in new} for target, new in targets if target == value]
        for chosen in {plain(some): some for some in (attain if free else [{}])}.values():
            if all(b.get(name, found) == found for name, found in chosen.items()):
                yield value, {**b, **chosen, PREMISES: facts}

    def kinds(self, name: str, arity: int) -> Sequence[Kind]:
        """The types of the columns of a relation."""
        return self._kinds.get((name, arity), (Type.ANY,) * arity)

    # --- names -----------------------------------------------------------------------------------------

    def relation(self, name: tree.Name) -> str:
        """A relation: plain text, or an IRI in angle brackets."""
        if name.kind is tree.NameKind.PREFIXED:
            prefix, _, local = name.text.partition(":")
            return f"<{self.prefixes[prefix]}{local}>"
        return f"<{name.text}>" if name.kind is tree.NameKind.IRI else name.text

    def _iri(self, term: tree.IriTerm | tree.PrefixedName) -> str:
        return term.iri if isinstance(term, tree.IriTerm) else self.prefixes[term.prefix] + term.local


def plain(b: Substitution) -> frozenset[tuple[str, Any]]:
    """What a substitution says of variables."""
    return frozenset((name, value) for name, value in b.items() if not name.startswith(" "))
