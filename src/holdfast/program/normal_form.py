"""Disjunctive normal form: a formula as alternatives, each a conjunction of literals; only atoms are negated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Diagnostics, Span
from holdfast.language import tree
from holdfast.program.core import formula_variables, names

MOST_ALTERNATIVES = 10_000
OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

Alternatives = list[tuple[tree.Formula, ...]]


class _TooManyError(Exception):
    """The normal form would be too large to be intended."""


def alternatives(formula: tree.Formula, diagnostics: Diagnostics) -> Alternatives:
    """The alternatives of a formula: atoms, comparisons and constraints, or negations of an atom or constraint."""
    try:
        return _positive(formula)
    except _TooManyError:
        report_too_many(formula.span, diagnostics)
        return []


def report_too_many(span: Span, diagnostics: Diagnostics) -> None:
    """Refuse a body that stands for too many rules."""
    message = f"this expands to more than {MOST_ALTERNATIVES:,} rules"
    diagnostics.error("E0213", message, span, help="move a part of it into a separate relation")


def _positive(formula: tree.Formula) -> Alternatives:
    match formula:
        case tree.Conjunction(items=items):
            return _all_of([_positive(item) for item in items])
        case tree.Disjunction(items=items):
            return _any_of(_positive(item) for item in items)
        case tree.Negation(operand=operand):
            return _negative(operand)
        case tree.Truth(value=value):
            return [()] if value else []
        case _:
            return [(formula,)]


def _negative(formula: tree.Formula) -> Alternatives:
    match formula:
        case tree.Conjunction(items=items):
            return _any_of(_negative(item) for item in items)
        case tree.Disjunction(items=items):
            return _all_of([_negative(item) for item in items])
        case tree.Negation(operand=operand):
            return _positive(operand)
        case tree.Truth(value=value):
            return [] if value else [()]
        case tree.Comparison(operator=operator, left=left, right=right, span=span):
            return [(tree.Comparison(OPPOSITE[operator], left, right, span=span),)]
        case _:
            return [(tree.Negation(formula, span=formula.span),)]


def _any_of(parts: Iterable[Alternatives]) -> Alternatives:
    found: Alternatives = []
    for part in parts:
        look_at_the_clock()
        found += part
        if len(found) > MOST_ALTERNATIVES:
            raise _TooManyError
    return found


def _all_of(parts: list[Alternatives]) -> Alternatives:
    if prod(map(len, parts)) > MOST_ALTERNATIVES:
        raise _TooManyError
    return [tuple(literal for part in choice for literal in part) for choice in product(*parts)]


def report_hidden_joins(formula: tree.Formula, outside: Iterable[str], diagnostics: Diagnostics) -> None:
    """Refuse `!(p(x, y), q(y))` where nothing outside binds y.

    Pushed inwards, the negation would mean that there is no p(x, _) or no q(_), which is something else.
    """
    used = Counter(variable.name for variable in formula_variables(formula, deep=True)) + Counter(outside)
    for negated in _negated_conjunctions(formula, positive=True):
        inside = Counter(variable.name for variable in formula_variables(negated, deep=True))
        holders = Counter(n for item in negated.items for n in set(names(formula_variables(item))))
        for name, count in holders.items():
            if count > 1 and inside[name] == used[name]:
                message = f"{name} joins several parts of a negation, but nothing outside binds it"
                help = "move the negated conjunction into a separate relation and negate that"
                diagnostics.error("E0309", message, negated.span, help=help)


def _negated_conjunctions(formula: tree.Formula, positive: bool) -> Iterator[tree.Conjunction]:
    match formula:
        case tree.Negation(operand=operand):
            yield from _negated_conjunctions(operand, not positive)
        case tree.Conjunction(items=items) | tree.Disjunction(items=items):
            if isinstance(formula, tree.Conjunction) and not positive:
                yield formula
            for item in items:
                yield from _negated_conjunctions(item, positive)
        case _:
            return
