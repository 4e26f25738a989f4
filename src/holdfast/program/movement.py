"""How a term depends on a variable in it: whether it grows with it, and whether it is never below or above it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from holdfast.program.model import Apply, Assign, Atom, Compare, Const, Rule, Term, Var
from holdfast.values import Type

Interval: TypeAlias = tuple[float, float]
Intervals: TypeAlias = Mapping[Var, Interval]

ANYTHING: Interval = (-math.inf, math.inf)
_NOT_NEGATIVE: Interval = (0.0, math.inf)
_KEEPS_ORDER = ("itof", "utof", "ftoi", "utoi", "ftou", "itou", "to_float")
_INTEGERS = (Type.NUMBER, Type.UNSIGNED)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def variables(term: Term) -> set[Var]:
    """The variables of a term."""
    match term:
        case Var():
            return {term}
        case Apply(arguments=arguments):
            return set().union(*map(variables, arguments)) if arguments else set()
    return set()


def definitions(rule: Rule) -> dict[Var, Term]:
    """The variables that `=` binds, each with its term; a second `=` for one, or one for a bound variable, compares."""
    bound = {a for atom in rule.body if isinstance(atom, Atom) for a in atom.arguments if isinstance(a, Var)}
    found: dict[Var, Term] = {}
    for literal in rule.body:
        if isinstance(literal, Assign) and literal.variable not in bound:
            found.setdefault(literal.variable, literal.term)
    return found


def expanded(term: Term, known: Mapping[Var, Term]) -> Term:
    """The term with defined variables replaced by their definitions."""
    match term:
        case Var() if term in known:
            return expanded(known[term], {name: other for name, other in known.items() if name != term})
        case Apply(function=function, arguments=arguments):
            return Apply(function, tuple(expanded(a, known) for a in arguments), term.type)
    return term


def direction(term: Term, v: Var, intervals: Intervals) -> int | None:
    """1 if the term never falls when v grows, -1 if it never rises, 0 if it does not contain v, None if unknown."""
    if term == v:
        return 1
    if not isinstance(term, Apply) or v not in variables(term):
        return 0
    ways = [direction(argument, v, intervals) for argument in term.arguments]
    match term.function:
        case "+" | "min" | "max":
            return _common(ways)
        case "-":
            return _common([ways[0], _turned(ways[1])])
        case "neg":
            return _turned(ways[0])
        case "*":
            return _common([_scaled(ways[i], interval(term.arguments[1 - i], intervals)) for i in (0, 1)])
        case "/" if ways[1] == 0:
            low, high = interval(term.arguments[1], intervals)
            return ways[0] if low > 0 else _turned(ways[0]) if high < 0 else None
        case function if function in _KEEPS_ORDER and term.arguments[0].type is not Type.SYMBOL:
            return ways[0]
    return None


def _turned(way: int | None) -> int | None:
    return None if way is None else -way


def _scaled(way: int | None, factor: Interval) -> int | None:
    if way == 0 or way is None:
        return way
    return way if factor[0] >= 0 else -way if factor[1] <= 0 else None


def _common(ways: list[int | None]) -> int | None:
    found = set(ways) - {0}
    if not found:
        return 0
    return found.pop() if len(found) == 1 else None


def is_strict(term: Term, v: Var) -> bool:
    """Whether a sum or difference of integers changes whenever v does."""
    if term == v:
        return term.type in _INTEGERS
    if not isinstance(term, Apply) or term.type not in _INTEGERS:
        return False
    if term.function == "neg":
        return is_strict(term.arguments[0], v)
    if term.function not in ("+", "-"):
        return False
    inside = [v in variables(argument) for argument in term.arguments]
    return any(inside) and all(is_strict(a, v) for a, here in zip(term.arguments, inside, strict=True) if here)


def is_added(term: Term, v: Var) -> bool:
    """Whether the term is v plus something without v."""
    if term == v:
        return True
    if not isinstance(term, Apply) or term.function not in ("+", "-"):
        return False
    left, right = term.arguments
    if v in variables(left):
        return v not in variables(right) and is_added(left, v)
    return term.function == "+" and is_added(right, v)


def growth(term: Term, v: Var, intervals: Intervals) -> frozenset[str]:
    """`up` if the term is never below v, `down` if it is never above it."""
    if term == v:
        return frozenset(("up", "down"))
    if not isinstance(term, Apply) or v not in variables(term):
        return frozenset()
    found = [growth(argument, v, intervals) for argument in term.arguments]
    match term.function:
        case "max" | "min":
            way = "up" if term.function == "max" else "down"
            return (frozenset().union(*found) & {way}) | frozenset.intersection(*found)
        case "+":
            return frozenset().union(*(_beside(found[i], interval(term.arguments[1 - i], intervals)) for i in (0, 1)))
        case "-":
            low, high = interval(term.arguments[1], intervals)
            return _beside(found[0], (-high, -low))
    return frozenset()


def _beside(found: frozenset[str], step: Interval) -> frozenset[str]:
    return (found & {"up"} if step[0] >= 0 else frozenset()) | (found & {"down"} if step[1] <= 0 else frozenset())


def interval(term: Term, intervals: Intervals) -> Interval:
    """The bounds of a term's value."""
    low, high = _interval(term, intervals)
    return (max(low, 0.0), high) if term.type is Type.UNSIGNED else (low, high)


def _interval(term: Term, intervals: Intervals) -> Interval:
    match term:
        case Const(value=int() | float() as value):
            return float(value), float(value)
        case Var():
            return intervals.get(term, ANYTHING)
        case Apply(function="neg", arguments=(inner,)):
            low, high = interval(inner, intervals)
            return -high, -low
        case Apply(function="abs"):
            return _NOT_NEGATIVE
        case Apply(function=function, arguments=arguments) if function in ("+", "-", "*", "min", "max"):
            return _combined(function, [interval(argument, intervals) for argument in arguments])
    return ANYTHING


def _combined(function: str, parts: list[Interval]) -> Interval:
    lows, highs = [low for low, _ in parts], [high for _, high in parts]
    match function:
        case "+":
            return sum(lows), sum(highs)
        case "-":
            return lows[0] - highs[1], highs[0] - lows[1]
        case "min":
            return min(lows), min(highs)
        case "max":
            return max(lows), max(highs)
    if all(low >= 0 for low in lows):
        return lows[0] * lows[1] if 0.0 not in lows else 0.0, math.inf
    return ANYTHING


def compared_bounds(rule: Rule) -> dict[Var, Interval]:
    """The bounds of variables from comparisons with constants in the body."""
    found: dict[Var, Interval] = {}
    for literal in rule.body:
        if isinstance(literal, Compare) and literal.operator in _MIRRORED:
            for variable, operator, bound in (
                (literal.left, literal.operator, literal.right),
                (literal.right, _MIRRORED[literal.operator], literal.left),
            ):
                if isinstance(variable, Var) and isinstance(bound, Const) and isinstance(bound.value, int | float):
                    low, high = found.get(variable, ANYTHING)
                    value = float(bound.value)
                    low = max(low, value) if operator in (">", ">=", "=") else low
                    high = min(high, value) if operator in ("<", "<=", "=") else high
                    found[variable] = low, high
    return found
