"""Evaluates the bodies of rules as they are written, for the checker alone: it shares no code with the search.

Slow and simple: one binding at a time, facts looked up by a function.  The order is part of the format of
certificates, whose lists answer just the patterns that it asks for: a condition whose variables are bound comes first,
then the atom with the fewest unknown columns, one of which nothing is known last.  A negation or an aggregate waits for
the variables that other conditions can bind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from holdfast.explanations.terms import (
    NOTHING,
    TESTS,
    NoValue,
    Unknown,
    aggregated,
    alike,
    as_close,
    compute,
    literal,
    number,
    spanned,
    value_of,
)
from holdfast.language import tree
from holdfast.values import BlankNode, Iri
from holdfast.values.model import NIL, Record

GroundRow: TypeAlias = tuple[Any, ...]
Ground: TypeAlias = tuple[str, GroundRow]
Substitution: TypeAlias = dict[str, Any]
FREE = None  # in a pattern: any value
PREMISES = " premises"  # in a substitution: the facts that atoms were matched with
Looking: TypeAlias = Callable[[str, GroundRow, bool], Iterable[GroundRow]]
"""The facts of a relation that fit a pattern; exactly these, if it is asked for a negation or an aggregate."""


def parts(node: object) -> Sequence[object]:
    """What a term or a formula consists of."""
    match node:
        case tree.Unary() | tree.Negation() | tree.Cast():
            return (node.operand,)
        case tree.Binary() | tree.Comparison():
            return (node.left, node.right)
        case tree.Call() | tree.Atom() | tree.Constraint():
            return node.arguments
        case tree.Record() | tree.Branch():
            return node.fields
        case tree.Aggregate():
            return (node.body, *(() if node.target is None else (node.target,)))
        case tree.HeadAggregate():
            return (node.target,)
        case tree.Conjunction() | tree.Disjunction():
            return node.items
    return ()


def names(node: object, *, inside: bool = True) -> frozenset[str]:
    """The variables of a node, with or without those inside aggregates."""
    if isinstance(node, tree.Variable):
        return frozenset((node.name,))
    hidden = isinstance(node, tree.Aggregate) and not inside
    return frozenset[str]().union(*(names(part, inside=inside) for part in (() if hidden else parts(node))))


def conjuncts(formula: object) -> list[Any]:
    """The conditions of a body."""
    return list(formula.items) if isinstance(formula, tree.Conjunction) else [formula]


def _is_test(item: object) -> bool:
    plain = isinstance(item, tree.Atom) and item.name.kind is tree.NameKind.PLAIN and item.name.text in TESTS
    return plain or isinstance(item, tree.Constraint)


def takes_apart(term: object) -> bool:
    """Whether a term takes a value apart: a variable, a wildcard, a record of such."""
    if isinstance(term, tree.Record | tree.Branch):
        return all(takes_apart(part) or not names(part) for part in term.fields)
    return isinstance(term, tree.Variable | tree.Wildcard)


def _has_wildcard(term: object) -> bool:
    if isinstance(term, tree.Aggregate):
        return False
    return isinstance(term, tree.Wildcard) or any(map(_has_wildcard, parts(term)))


def _sealed(node: object) -> Iterator[object]:
    """The negations and aggregates in a condition; alternatives are looked at when one is chosen."""
    if isinstance(node, tree.Negation | tree.Aggregate):
        yield node
    elif not isinstance(node, tree.Disjunction):
        for part in parts(node):
            yield from _sealed(part)


def _bound_by(item: object, bound: frozenset[str]) -> frozenset[str] | None:
    """The variables that are bound when a condition holds; None if it has to wait for others."""
    match item:
        case tree.Disjunction(items=items):
            ways = [_bound_by_all(conjuncts(one), bound) for one in items]
            sure = [reached for reached, waiting in ways if not waiting]
            return frozenset.intersection(*sure) if len(sure) == len(ways) else None
        case tree.Conjunction(items=items):
            reached, waiting = _bound_by_all(items, bound)
            return None if waiting else reached
        case tree.Atom(arguments=arguments) if not _is_test(item):
            reached = bound.union(*(names(term) for term in arguments if takes_apart(term)))
            return reached if names(item, inside=False) <= reached else None
        case tree.Comparison(operator="=", left=left, right=right):
            for here, there in ((left, right), (right, left)):
                if takes_apart(here) and names(there, inside=False) <= bound and not _has_wildcard(there):
                    return bound | names(here)
        case tree.Negation() | tree.Truth():
            return bound
    return bound if names(item, inside=False) <= bound else None


def _bound_by_all(items: Iterable[Any], bound: frozenset[str]) -> tuple[frozenset[str], list[Any]]:
    """What conditions bind together, and those that wait for ever."""
    waiting = list(items)
    while ready := [item for item in waiting if _bound_by(item, bound) is not None]:
        bound = bound.union(*(_bound_by(item, bound) or () for item in ready))
        waiting = [item for item in waiting if not any(item is other for other in ready)]
    return bound, waiting


class BodyEvaluator:
    """Finds the substitutions that satisfy formulas."""

    def __init__(self, prefixes: dict[str, str], kinds: dict[str, list[str]], look: Looking) -> None:
        self.prefixes, self.kinds, self._look = prefixes, kinds, look
        self._first: dict[tuple[object, ...], int] = {}

    def solve(
        self, items: Sequence[Any], b: Substitution, around: frozenset[str], used: frozenset[str], exact: bool
    ) -> Iterator[Substitution]:
        """All ways to extend a substitution so that conditions hold.

        `around` are variables that conditions outside bind, `used` those that are mentioned outside.
        """
        if not items:
            yield b
            return
        place = self._chosen(items, frozenset(b), around)
        item, rest = items[place], [*items[:place], *items[place + 1 :]]
        if isinstance(item, tree.Disjunction):
            for one in item.items:
                yield from self.solve([*conjuncts(one), *rest], b, around, used, exact)
            return
        there = around | _bound_by_all(rest, frozenset(b))[0]
        mentioned = used.union(*(names(other, inside=False) for other in rest))
        for new in self._one(item, b, there, mentioned, exact):
            yield from self.solve(rest, new, around, used, exact)

    def _chosen(self, items: Sequence[Any], bound: frozenset[str], around: frozenset[str]) -> int:
        key = (*map(id, items), bound, around)  # conditions live as long as the rules
        if key not in self._first:
            costs = [self._cost(place, items, bound, around) for place in range(len(items))]
            ready = [(cost, place) for place, cost in enumerate(costs) if cost is not None]
            either = [place for place, item in enumerate(items) if isinstance(item, tree.Disjunction)]
            if not ready and not either:
                raise NoValue("a variable is never bound")
            self._first[key] = min(ready)[1] if ready else either[0]
        return self._first[key]

    def _cost(self, place: int, items: Sequence[Any], bound: frozenset[str], around: frozenset[str]) -> Any:
        """What a condition costs now; None if it has to wait."""
        item, sealed = items[place], list(_sealed(items[place]))
        others = around | _bound_by_all([*items[:place], *items[place + 1 :]], bound)[0]
        if _bound_by(item, bound) is None or any(not names(node) & others <= bound for node in sealed):
            return None
        terms = item.arguments if isinstance(item, tree.Atom) else ()
        free = sum(isinstance(term, tree.Wildcard) or not names(term) <= bound for term in terms)
        last = isinstance(item, tree.Disjunction) or (isinstance(item, tree.Atom) and free == len(terms) > 0)
        return last, isinstance(item, tree.Atom), free, len(sealed)

    def _one(
        self, item: Any, b: Substitution, around: frozenset[str], used: frozenset[str], exact: bool
    ) -> Iterator[Substitution]:
        """All ways in which one condition holds."""
        match item:
            case tree.Atom() | tree.Constraint() if _is_test(item):
                test = item.name.text if isinstance(item, tree.Atom) else item.function
                yield from [b] if self._passes(test, [self.value(a, b) for a in item.arguments]) else []
            case tree.Atom():
                yield from self._matched(item, b, exact)
            case tree.Negation(operand=tree.Negation(operand=inner)):
                yield from self.solve(conjuncts(inner), b, around, used, exact)
            case tree.Negation(operand=operand):
                own = {name: b[name] for name in names(operand) if name in b}
                if not list(self.solve(conjuncts(operand), own, around, frozenset(), True)):  # all: lists are for all
                    yield b
            case tree.Conjunction(items=items):
                yield from self.solve(items, b, around, used, exact)
            case tree.Truth(value=value):
                yield from [b] if value else []
            case tree.Comparison():
                yield from self._compared(item, b, around, used)
            case _:
                raise Unknown(f"the checker does not know {type(item).__name__}")

    def _passes(self, test: str, values: list[Any]) -> bool:
        try:
            return NOTHING not in values and bool(TESTS[test](*values))
        except (TypeError, AttributeError, re.error) as error:
            raise Unknown(f"{test}: {error}") from error

    def _matched(self, atom: tree.Atom, b: Substitution, exact: bool) -> Iterator[Substitution]:
        name = self.relation(atom.name)
        kinds = self.kinds.get(name, [""] * len(atom.arguments))
        known = [not _has_wildcard(a) and names(a) <= b.keys() for a in atom.arguments]
        pattern = tuple(
            value_of(self.value(a, b), kind) if is_known else FREE
            for a, kind, is_known in zip(atom.arguments, kinds, known, strict=True)
        )
        for row in self._look(name, pattern, exact) if NOTHING not in pattern else ():
            new: Substitution | None = {**b, PREMISES: (*b.get(PREMISES, ()), (name, row))}
            left = [(a, v) for a, v, is_known in zip(atom.arguments, row, known, strict=True) if not is_known]
            for term, value in sorted(left, key=lambda each: not takes_apart(each[0])):  # computed ones last
                new = None if new is None else self.equal(term, value, new)
            if new is not None:
                yield new

    def equal(self, term: Any, value: Any, b: Substitution) -> Substitution | None:
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
                    new = None if new is None else self.equal(field, inside, new)
                return new
        return b if self.value(term, b) == value else None

    def _compared(
        self, item: tree.Comparison, b: Substitution, around: frozenset[str], used: frozenset[str]
    ) -> Iterator[Substitution]:
        for here, there in ((item.left, item.right), (item.right, item.left)):
            bound = names(there, inside=False) <= b.keys() and not _has_wildcard(there)
            if item.operator == "=" and takes_apart(here) and bound:
                for value, new in self._values(there, b, around, used):
                    known = b.get(here.name) if isinstance(here, tree.Variable) else None
                    exact = as_close(value, known) if isinstance(there, tree.Aggregate) else value
                    if (both := self.equal(here, exact, new)) is not None:
                        yield both
                return
        for left, new in self._values(item.left, b, around, used):
            for right, both in self._values(item.right, new, around, used):
                if TESTS[item.operator](*([left, right] if item.operator in ("=", "!=") else alike([left, right]))):
                    yield both

    # --- terms -----------------------------------------------------------------------------------------

    def value(self, term: Any, b: Substitution) -> Any:
        """The value of a term whose variables are bound; NOTHING if it has none."""
        return next((value for value, _ in self._values(term, b, frozenset(), frozenset())), NOTHING)

    def _values(
        self, term: Any, b: Substitution, around: frozenset[str], used: frozenset[str]
    ) -> Iterator[tuple[Any, Substitution]]:
        match term:
            case tree.Variable(name=name):
                yield b[name], b
            case tree.Number():
                yield number(term), b
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
                yield from self._values(operand, b, around, used)
            case tree.Aggregate():
                yield from self._aggregate(term, b, around, used)
            case tree.Unary(operator=function) | tree.Binary(operator=function) | tree.Call(function=function):
                for values, new in self._each(parts(term), b, around, used):
                    if function == "range":
                        yield from ((value, new) for value in spanned(*alike(values)))
                    elif (value := self._computed(function, values)) is not NOTHING:
                        yield value, new
            case tree.Record(fields=fields) | tree.Branch(fields=fields):
                branch = term.name if isinstance(term, tree.Branch) else ""
                yield from ((Record(tuple(v), branch), new) for v, new in self._each(fields, b, around, used))
            case _:
                raise Unknown(f"the checker does not know {type(term).__name__}")

    def _each(
        self, terms: Sequence[Any], b: Substitution, around: frozenset[str], used: frozenset[str]
    ) -> Iterator[tuple[list[Any], Substitution]]:
        if not terms:
            yield [], b
            return
        for first, new in self._values(terms[0], b, around, used):
            yield from (([first, *rest], end) for rest, end in self._each(terms[1:], new, around, used))

    def _computed(self, function: str, values: list[Any]) -> Any:
        """NOTHING where a functor has no value: whatever the rule says of it does not hold."""
        try:
            return compute(function, values)
        except Unknown:
            raise
        except NoValue:
            return NOTHING

    def _aggregate(
        self, term: tree.Aggregate, b: Substitution, around: frozenset[str], used: frozenset[str]
    ) -> Iterator[tuple[Any, Substitution]]:
        """Computed anew over the distinct substitutions of its body; min and max also bind what attains them."""
        own = names(term)
        start = {name: b[name] for name in own if name in b}
        members = {}
        for new in self.solve(conjuncts(term.body), start, around, own, True):
            facts = () if _has_alternatives(term.body) else new.get(PREMISES, ())  # a wildcard counts each fact
            members[plain(new), facts] = new
        targets = [(self.value(term.target, new) if term.target else 0, new) for new in members.values()]
        value = aggregated(term.function, [value for value, _ in targets])
        if value is None:
            return
        facts = (*b.get(PREMISES, ()), *(fact for new in members.values() for fact in new.get(PREMISES, ())))
        free = own & used - b.keys() if term.function in ("min", "max") else frozenset[str]()
        attain = [{n: new[n] for n in free if n in new} for target, new in targets if target == value]
        for chosen in {plain(some): some for some in (attain if free else [{}])}.values():
            yield value, {**b, **chosen, PREMISES: facts}

    # --- names -----------------------------------------------------------------------------------------

    def relation(self, name: tree.Name) -> str:
        """A relation: plain text, or an IRI in angle brackets."""
        if name.kind is tree.NameKind.PREFIXED:
            prefix, _, local = name.text.partition(":")
            return f"<{self.prefixes[prefix]}{local}>"
        return f"<{name.text}>" if name.kind is tree.NameKind.IRI else name.text

    def _iri(self, term: tree.IriTerm | tree.PrefixedName) -> str:
        return term.iri if isinstance(term, tree.IriTerm) else self.prefixes[term.prefix] + term.local


def _has_alternatives(node: object) -> bool:
    return isinstance(node, tree.Disjunction) or any(map(_has_alternatives, parts(node)))


def plain(b: Substitution) -> frozenset[tuple[str, Any]]:
    """What a substitution says of variables."""
    return frozenset((name, value) for name, value in b.items() if not name.startswith(" "))
