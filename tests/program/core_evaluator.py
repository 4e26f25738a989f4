"""A naive evaluator of checked programs: sets of rows, one literal at a time.  It shares no code with the engine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean, median
from typing import Any

from holdfast.program.folding import fold
from holdfast.program.model import (
    AggregateRule,
    Apply,
    Assign,
    Atom,
    BodyLiteral,
    Compare,
    Const,
    HyperNode,
    Negated,
    Program,
    Range,
    Rule,
    Test,
    Var,
    Wildcard,
)

Row = tuple[Any, ...]
Facts = dict[str, set[Row]]
Binding = dict[str, Any]
COMPARE = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
AGGREGATE = {"count": len, "sum": sum, "min": min, "max": max, "mean": fmean, "median": lambda v: float(median(v))}


def evaluate(program: Program, given: Mapping[str, Iterable[Row]] | None = None, below: Facts | None = None) -> Facts:
    """Every relation's rows; with `below` the program is a query on top of what that holds."""
    facts: Facts = {name: set() for name in program.relations}
    for source in (program.facts, given or {}, below or {}):
        for name, rows in source.items():
            facts[name] |= set(rows)
    for node in program.nodes:
        _run(node, facts)
    return facts


def _run(node: HyperNode, facts: Facts) -> None:
    for aggregate in node.aggregates:
        facts[aggregate.predicate] |= set(_aggregated(aggregate, facts))
    changed = True
    while changed:
        changed = False
        for rule in (*node.nonrecursive, *node.recursive):
            new = set(derived(rule, facts)) - facts[rule.predicate]
            facts[rule.predicate] |= new
            changed |= bool(new)


def _aggregated(rule: AggregateRule, facts: Facts) -> Iterator[Row]:
    groups: dict[Row, list[Any]] = {}
    for row in facts[rule.source]:
        value = None if rule.target is None else row[rule.target]
        groups.setdefault(tuple(row[i] for i in rule.group), []).append(value)
    yield from ((*key, AGGREGATE[rule.function](values)) for key, values in groups.items())


def derived(rule: Rule, facts: Facts) -> Iterator[Row]:
    """The rows that a rule derives."""
    for binding in _solve(list(rule.body), {}, facts):
        yield tuple(value(argument, binding) for argument in rule.arguments)


def _solve(body: list[BodyLiteral], binding: Binding, facts: Facts) -> Iterator[Binding]:
    if not body:
        yield binding
        return
    chosen = next((lit for lit in body if not isinstance(lit, Atom) and _ready(lit, binding)), None)
    if chosen is None:
        chosen = next(lit for lit in body if isinstance(lit, Atom))
    rest = [lit for lit in body if lit is not chosen]
    for extended in _extend(chosen, binding, facts):
        yield from _solve(rest, extended, facts)


def _names(term: object) -> set[str]:
    if isinstance(term, Var):
        return {term.name}
    return {n for a in term.arguments for n in _names(a)} if isinstance(term, Apply) else set()


def _ready(literal: BodyLiteral, binding: Binding) -> bool:
    match literal:
        case Assign(term=term):
            needed = [term]
        case Compare(left=left, right=right):
            needed = [left, right]
        case Range(start=start, stop=stop, step=step):
            needed = [start, stop] + ([step] if step else [])
        case _:
            needed = list(literal.arguments)
    return all(_names(term) <= set(binding) for term in needed)


def _extend(literal: BodyLiteral, binding: Binding, facts: Facts) -> Iterator[Binding]:
    match literal:
        case Atom():
            yield from _matching(literal, binding, facts)
        case Negated(predicate=predicate, arguments=arguments):
            if not any(True for _ in _matching(Atom(predicate, arguments), binding, facts)):
                yield binding
        case Compare(operator=operator, left=left, right=right):
            if COMPARE[operator](_ordered(value(left, binding)), _ordered(value(right, binding))):
                yield binding
        case Assign(variable=variable, term=term):
            yield from _bound(variable.name, value(term, binding), binding)
        case Test(function=function, arguments=(first, second), negated=negated):
            pattern, text = value(first, binding), value(second, binding)
            holds = pattern in text if function == "contains" else re.fullmatch(pattern, text) is not None
            if holds != negated:
                yield binding
        case Range(variable=variable, start=start, stop=stop, step=step):
            bounds = [value(term, binding) for term in (start, stop, step) if term is not None]
            for number in range(*bounds):
                yield from _bound(variable.name, number, binding)


def _ordered(found: Any) -> Any:
    return found.encode() if isinstance(found, str) else found


def _bound(name: str, found: Any, binding: Binding) -> Iterator[Binding]:
    if binding.get(name, found) == found:
        yield {**binding, name: found}


def _matching(atom: Atom, binding: Binding, facts: Facts) -> Iterator[Binding]:
    for row in facts[atom.predicate]:
        extended: Binding | None = binding
        for argument, found in zip(atom.arguments, row, strict=True):
            if isinstance(argument, Wildcard) or extended is None:
                continue
            if isinstance(argument, Const):
                extended = extended if argument.value == found else None
            else:
                extended = next(_bound(argument.name, found, extended), None)
        if extended is not None:
            yield extended


def value(term: object, binding: Binding) -> Any:
    """The value of a term."""
    match term:
        case Var(name=name):
            return binding[name]
        case Const(value=found):
            return found
        case Apply(function=function, arguments=arguments, type=type):
            return fold(function, [value(a, binding) for a in arguments], [a.type for a in arguments], type)
    raise AssertionError(term)
