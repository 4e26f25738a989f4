"""Evaluates rules as they are written, for the checker alone: it shares no matching with the search.

Slow and simple: one substitution at a time, facts looked up by a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from holdfast.explanations.scope import OrderedFormula, in_turn, is_known
from holdfast.explanations.terms import (
    NOTHING,
    Terms,
    Unknown,
    aggregated,
    alike,
    as_close,
    compares,
    is_test,
    number,
    passes,
    place_of,
    spanned,
    value_of,
)
from holdfast.explanations.written_rules import RuleHead
from holdfast.language import tree
from holdfast.language.syntax import (
    alternatives,
    conjuncts,
    is_pattern,
    nodes,
    variables,
)
from holdfast.values.model import Record

GroundRow: TypeAlias = tuple[Any, ...]
Ground: TypeAlias = tuple[str, GroundRow]
Substitution: TypeAlias = dict[str, Any]
FREE = None  # in a pattern: any value
PREMISES = " premises"  # in a substitution: the facts that atoms were matched with
Looking: TypeAlias = Callable[[str, GroundRow, bool], Iterable[GroundRow]]
"""The facts of a relation that fit a pattern; exactly these, if it is asked for a negation or an aggregate."""


class RuleEvaluator:
    """Finds the instances of rules."""

    def __init__(self, terms: Terms, look: Looking) -> None:
        self._terms, self._look = terms, look
        self._orders: dict[tuple[object, ...], list[OrderedFormula]] = {}
        self._equations: dict[tuple[str, int], tree.Comparison] = {}

    def instances(
        self, rule: RuleHead, pattern: GroundRow, given: Substitution
    ) -> Iterator[tuple[GroundRow, Substitution]]:
        """The instances of a rule whose heads fit a pattern: the head's values, and the substitution.

        The column i of the head is the variable ` i`.  What is `given` must not narrow a group down.
        """
        terms = [a.target if isinstance(a, tree.HeadAggregate) else a for a in rule.head.arguments]
        asked = {f" {i}": v for i, v in enumerate(pattern) if v is not FREE and terms[i] is rule.head.arguments[i]}
        b: Substitution | None = asked if rule.has_aggregates else {**given, **asked}
        for term, value in zip(rule.head.arguments, pattern, strict=True):
            match term:  # x + 1 = 5 says what x is; the target of an aggregate has many values
                case tree.Binary(operator="+" | "-", left=tree.Variable() as x, right=tree.Number() as n) if b:
                    if isinstance(value, int) and isinstance(number(n), int):
                        b = self._equal(x, value - number(n) * (1 if term.operator == "+" else -1), b)
        columns = [self._equation(f" {i}", term) for i, term in enumerate(terms)]
        asks = (*conjuncts(rule.body), *(each for each in columns if each.left.name in asked))
        gives = [each for each in columns if each.left.name not in asked]
        found = self._solve(asks, b, frozenset(), rule.head_variables, rule.has_aggregates) if b is not None else []
        ends = [end for b in found for end in self._solve(gives, b, frozenset(b), frozenset(), True)]
        kinds = self._terms.kinds(self._terms.relation(rule.head.name), len(pattern))
        for row, new in _grouped(rule, ends) if rule.has_aggregates else ((_columns(rule, end), end) for end in ends):
            typed = tuple(map(value_of, row, kinds))
            near = tuple(map(as_close, typed, pattern)) if rule.has_aggregates else typed
            if fits(near, pattern):
                yield near, new

    def _equation(self, name: str, term: Any) -> Any:
        """That a variable is a term; made once, since conditions are known by their ids."""
        if (name, id(term)) not in self._equations:
            variable = tree.Variable(name, span=term.span)
            self._equations[name, id(term)] = tree.Comparison("=", variable, term, span=term.span)
        return self._equations[name, id(term)]

    def _solve(
        self, items: Iterable[Any], b: Substitution, around: frozenset[str], used: frozenset[str], exact: bool
    ) -> list[Substitution]:
        """All ways to extend a substitution so that conditions hold.

        `around` are variables that conditions outside bind, `used` those that are mentioned outside.
        """
        found = []
        for chosen in alternatives(items):
            some = [b]
            key = (*map(id, chosen), frozenset(b), around, used)  # conditions live as long as the rules
            if key not in self._orders:
                self._orders[key] = in_turn(chosen, frozenset(b), around, used)
            for step in self._orders[key]:
                some = [new for each in some for new in self._one(step, each, exact)]
            found += some
        return found

    def _one(self, step: OrderedFormula, b: Substitution, exact: bool) -> Iterator[Substitution]:
        """All ways in which one condition holds, for each value of the aggregates and ranges in it."""
        inner = {place_of(node): node for node in step.inner if place_of(node) not in b}  # those around a negation are
        found = [b]
        for node in inner.values():
            found = [new for each in found for new in self._each_value(node, each, step)]
        for new in (new for each in found for new in self._holding(step, each, exact)):
            yield {name: value for name, value in new.items() if name not in inner} if inner else new

    def _holding(self, step: OrderedFormula, b: Substitution, exact: bool) -> Iterable[Substitution]:
        match step.item:
            case tree.Atom() | tree.Constraint() as test if is_test(test):
                name = test.name.text if isinstance(test, tree.Atom) else test.function
                return [b] if passes(name, [self._terms.value(a, b) for a in test.arguments]) else []
            case tree.Atom() as atom:
                return self._matched(atom, b, step.bound, exact)
            case tree.Negation(operand=operand):
                own = {n: b[n] for n in (variables(operand) & step.scope.outer).union(map(place_of, step.inner))}
                return [] if self._solve([operand], own, frozenset(own), frozenset(), True) else [b]
            case tree.Truth(value=value):
                return [b] if value else []
            case tree.Comparison() as comparison:
                return [new] if (new := self._compared(comparison, b, step.bound)) is not None else []
        raise Unknown(f"the checker does not know {type(step.item).__name__}")

    def _matched(self, atom: tree.Atom, b: Substitution, bound: frozenset[str], exact: bool) -> Iterator[Substitution]:
        name = self._terms.relation(atom.name)
        kinds = self._terms.kinds(name, len(atom.arguments))
        known = [is_known(a, bound) for a in atom.arguments]
        pattern = tuple(
            value_of(self._terms.value(a, b), kind) if is_known else FREE
            for a, kind, is_known in zip(atom.arguments, kinds, known, strict=True)
        )
        for row in self._look(name, pattern, exact) if NOTHING not in pattern else ():
            new: Substitution | None = {**b, PREMISES: (*b.get(PREMISES, ()), (name, row))}
            left = [(a, v) for a, v, is_known in zip(atom.arguments, row, known, strict=True) if not is_known]
            for term, value in sorted(left, key=lambda each: not is_pattern(each[0])):  # computed ones last
                new = None if new is None else self._equal(term, value, new)
            if new is not None:
                yield new

    def _equal(self, term: Any, value: Any, b: Substitution) -> Substitution | None:
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
                    new = None if new is None else self._equal(field, inside, new)
                return new
        return b if self._terms.value(term, b) == value else None

    def _compared(self, item: tree.Comparison, b: Substitution, bound: frozenset[str]) -> Substitution | None:
        for here, there in ((item.left, item.right), (item.right, item.left)):
            if item.operator == "=" and is_pattern(here) and is_known(there, bound):
                value = self._terms.value(there, b)
                if isinstance(there, tree.Aggregate) and isinstance(here, tree.Variable):
                    value = as_close(value, b.get(here.name))
                return None if value is NOTHING else self._equal(here, value, b)
        values = [self._terms.value(side, b) for side in (item.left, item.right)]
        return b if compares(item.operator, *values) else None

    def _each_value(self, node: Any, b: Substitution, step: OrderedFormula) -> Iterator[Substitution]:
        """A range, or an aggregate, computed anew over the distinct substitutions of its body."""
        if not isinstance(node, tree.Aggregate):
            values = [self._terms.value(a, b) for a in node.arguments]
            spans = spanned(*alike(values)) if NOTHING not in values else ()
            yield from ({**b, place_of(node): value} for value in spans)
            return
        own = variables(node)
        start = {name: b[name] for name in own & step.scope.inside[id(node)]}
        either = any(isinstance(part, tree.Disjunction) for part in nodes(node.body))
        members = {}
        for new in self._solve([node.body], start, frozenset(start), own, True):
            members[plain(new), () if either else new.get(PREMISES, ())] = new  # a wildcard counts each fact
        targets = [] if node.target is None else [self._equation(" target", node.target)]
        ends = [end for new in members.values() for end in self._solve(targets, new, frozenset(new), frozenset(), True)]
        value = self._terms.aggregate(node, [end.get(" target", 0) for end in ends])
        facts = (*b.get(PREMISES, ()), *(fact for end in ends for fact in end.get(PREMISES, ())))
        names = step.scope.witness(node)
        attain = [{n: end[n] for n in names if n in end} for end in ends if end.get(" target") == value]
        for chosen in {plain(some): some for some in (attain if names else [{}])}.values():
            if value is not None and all(b.get(name, found) == found for name, found in chosen.items()):
                yield {**b, **chosen, place_of(node): value, PREMISES: facts}


def _columns(rule: RuleHead, b: Substitution) -> GroundRow:
    return tuple(b[f" {i}"] for i in range(len(rule.head.arguments)))


def _grouped(rule: RuleHead, found: Iterable[Substitution]) -> Iterator[tuple[GroundRow, Substitution]]:
    """The aggregates of a head, computed anew over the distinct substitutions of each group."""
    functions = [a.function if isinstance(a, tree.HeadAggregate) else None for a in rule.head.arguments]
    groups: dict[GroundRow, list[Substitution]] = {}
    for b in found:
        key = tuple(v for v, function in zip(_columns(rule, b), functions, strict=True) if function is None)
        groups.setdefault(key, []).append(b)
    for members in groups.values():
        columns = zip(*(_columns(rule, b) for b in {plain(b): b for b in members}.values()), strict=True)
        pairs = zip(functions, map(list, columns), strict=True)
        row = tuple(aggregated(function, values) if function else values[0] for function, values in pairs)
        shared = {n: v for n, v in members[0].items() if all(n in b and b[n] == v for b in members)}
        yield row, {**shared, PREMISES: tuple(fact for b in members for fact in b.get(PREMISES, ()))}


def plain(b: Substitution) -> frozenset[tuple[str, Any]]:
    """What a substitution says of variables."""
    return frozenset((name, value) for name, value in b.items() if not name.startswith(" "))


def fits(row: GroundRow, pattern: GroundRow) -> bool:
    """Whether a fact has the values that a pattern asks for, and as many."""
    return len(row) == len(pattern) and all(w is FREE or v == w for v, w in zip(row, pattern, strict=True))
