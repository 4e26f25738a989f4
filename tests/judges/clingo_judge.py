"""The same program said to clingo, whose grounder evaluates a stratified program completely."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

import clingo

from holdfast.language import tree
from holdfast.values import Row

from ..oracle.scope import variables
from ..oracle.values import Fact, tag
from .fragment import (
    PlainRule,
    UnsupportedError,
    assigned_aggregate,
    branches,
    name_wildcards,
    outer_variables,
    plain_rules,
)

OPERATORS = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "\\", "^": "**", "band": "&", "bor": "?", "bxor": "^"}


def evaluate(program: tree.Program, facts: Mapping[str, Iterable[Row]]) -> dict[str, set[Fact]]:
    """All facts of the program's only stable model."""
    control = clingo.Control(["--warn=none"])
    control.add("base", [], translate(program, facts))
    control.ground([("base", [])])
    found: dict[str, set[Fact]] = {}
    for atom in control.symbolic_atoms:
        if not atom.is_fact:
            raise AssertionError(f"clingo did not decide {atom.symbol}")
        row = tuple(_value(argument) for argument in atom.symbol.arguments)
        found.setdefault(atom.symbol.name.removeprefix("p_"), set()).add(row)
    return found


def translate(program: tree.Program, facts: Mapping[str, Iterable[Row]]) -> str:
    """The program as ASP text."""
    fresh = count()
    lines = [f"{_predicate(name)}{_arguments(map(_constant, row))}." for name, rows in facts.items() for row in rows]
    return "\n".join(lines + [_rule(rule, fresh) for rule in plain_rules(program)])


def _rule(rule: PlainRule, fresh: count[int]) -> str:
    outer = outer_variables(rule)
    body = [_literal(item, outer, fresh) for item in rule.body]
    return f"{_atom(rule.head)} :- {'; '.join(body)}." if body else f"{_atom(rule.head)}."


def _literal(item: tree.Formula, outer: set[str], fresh: count[int]) -> str:
    assigned = assigned_aggregate(item)
    if assigned:
        return _aggregate(*assigned, outer, fresh)
    match item:
        case tree.Atom():
            return _atom(item)
        case tree.Negation(operand=tree.Atom() as atom):
            return f"not {_atom(atom)}"
        case tree.Comparison(operator=operator, left=left, right=right):
            return f"{_term(left)} {operator} {_term(right)}"
        case tree.Truth(value=value):
            return f"#{str(value).lower()}"
        case _:
            raise UnsupportedError(str(item))


def _aggregate(name: str, aggregate: tree.Aggregate, outer: set[str], fresh: count[int]) -> str:
    """`N = #sum { T, every local variable : body }`; empty minima and maxima give no row, as with us."""
    if aggregate.function not in ("count", "sum", "min", "max"):
        raise UnsupportedError(aggregate.function)
    [items] = branches(aggregate.body)
    inner = [name_wildcards(item, fresh) if isinstance(item, tree.Atom) else item for item in items]
    local = sorted(set().union(*map(variables, inner)) - outer)
    rename = {old: f"L{next(fresh)}" for old in local}
    target = [_term(aggregate.target, rename)] if aggregate.target else []
    body = ", ".join(_renamed(item, rename) for item in inner)
    whole = f"#{aggregate.function} {{ {', '.join([*target, *rename.values()] or ['0'])} : {body} }}"
    guard = f"; {_variable(name)} != #sup; {_variable(name)} != #inf" if aggregate.function in ("min", "max") else ""
    return f"{_variable(name)} = {whole}{guard}"


def _renamed(item: tree.Formula, rename: dict[str, str]) -> str:
    match item:
        case tree.Atom():
            return _atom(item, rename)
        case tree.Comparison(operator=operator, left=left, right=right):
            return f"{_term(left, rename)} {operator} {_term(right, rename)}"
        case _:
            raise UnsupportedError(str(item))


def _atom(atom: tree.Atom, rename: dict[str, str] | None = None) -> str:
    return _predicate(atom.name.text) + _arguments(_term(argument, rename) for argument in atom.arguments)


def _arguments(terms: Iterable[str]) -> str:
    text = ", ".join(terms)
    return f"({text})" if text else ""


def _predicate(name: str) -> str:
    return f"p_{name}"


def _variable(name: str) -> str:
    return "V_" + name.removeprefix("?")


def _term(term: tree.Term, rename: dict[str, str] | None = None) -> str:
    match term:
        case tree.Variable(name=name):
            return rename[name] if rename and name in rename else _variable(name)
        case tree.Wildcard():
            return "_"
        case tree.Number(text=text, kind=tree.NumberKind.NUMBER):
            return str(int(text, 0))
        case tree.String(value=value):
            return _constant(value)
        case tree.Unary(operator="-", operand=operand):
            return f"(-{_term(operand, rename)})"
        case tree.Binary(operator=operator, left=left, right=right) if operator in OPERATORS:
            return f"({_term(left, rename)} {OPERATORS[operator]} {_term(right, rename)})"
        case _:
            raise UnsupportedError(str(term))


def _constant(value: object) -> str:
    match value:
        case int():
            return str(value)
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case _:
            raise UnsupportedError(repr(value))


def _value(symbol: clingo.Symbol) -> tuple[str, object]:
    return tag(symbol.number if symbol.type is clingo.SymbolType.Number else symbol.string)
