"""What a program derives, by clingo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import clingo

from .drawing import Program
from .rules import Aggregate, Asp, Atom, Literal, NotAll, Relation, Rule, branches, variables
from .values import SYMBOLS, asp

State = dict[str, set[tuple[str, ...]]]
Facts = AbstractSet[tuple[Relation, tuple[str, ...]]]


class Functors:
    """The functors of the programs, on the places of strings.

    clingo may call one with the minimum of nothing before it sees that this is refused: then there is no value.
    """

    def swap(self, s: clingo.Symbol) -> list[clingo.Symbol]:
        return [clingo.Number((number * 5 + 3) % len(SYMBOLS)) for (number,) in _numbers(s)]

    def turn(self, n: clingo.Symbol) -> list[clingo.Symbol]:
        return [clingo.Number((number * 3 + 1) % 5) for (number,) in _numbers(n)]

    def pick(self, n: clingo.Symbol, s: clingo.Symbol) -> list[clingo.Symbol]:
        return [clingo.Number((place + number) % len(SYMBOLS)) for number, place in _numbers(n, s)]


def _numbers(*symbols: clingo.Symbol) -> list[tuple[int, ...]]:
    """The numbers of some symbols; none if one is no number."""
    are_numbers = all(symbol.type is clingo.SymbolType.Number for symbol in symbols)
    return [tuple(symbol.number for symbol in symbols)] if are_numbers else []


def encoded(row: Iterable[Any], types: Sequence[str]) -> tuple[str, ...]:
    return tuple(asp(value, type_) for value, type_ in zip(row, types, strict=True))


def derived(program: Program, rules: Iterable[Rule], facts: Facts) -> State:
    """All facts by relation, encoded."""
    return _solved(_written(program, rules, facts), {r.key for r in program.relations})


def answers(state: State, body: tuple[Literal, ...], asked: Sequence[str]) -> tuple[list[str], set[tuple[str, ...]]]:
    """The answers of a query over a state: the names of its variables, and their values.

    A witness is among them if it is asked for, and what is only negated is not.
    """
    out = Asp([_fact(key, row) for key, rows in state.items() for row in rows])
    positive = [literal for literal in body if not _is_negated(literal)]
    optional = {v for literal in positive if isinstance(literal, Aggregate) for v in literal.witnesses}
    shown = sorted({v for literal in positive for v in variables(literal)}, key=lambda v: v.number)
    shown = [v for v in shown if v not in optional or v.name.lstrip("?") in asked]
    for branch in branches(body):
        out.add(f"answer({','.join(['0', *(f'V{v.number}' for v in shown)])})", out.body(branch))
    rows = _solved("\n".join(out.lines), {"answer"})["answer"]
    return [v.name.lstrip("?") for v in shown], {row[1:] for row in rows}


def _is_negated(literal: Literal) -> bool:
    return isinstance(literal, NotAll) or (isinstance(literal, Atom) and literal.negated)


def _written(program: Program, rules: Iterable[Rule], facts: Facts) -> str:
    """A relation without a rule that has min or max in its head is not a limit relation."""
    out, there = Asp(), [*program.fixed, *rules]
    limits = {head.relation for rule in there if rule.function in ("min", "max") for head in rule.heads}
    for relation, row in facts:
        out.lines.append(_fact(relation.key + ("_all" if relation in limits else ""), row))
    for rule in there:
        out.rule(rule)
    for relation in program.relations:
        if relation in limits or relation.kind == "eqrel":
            _meaning(relation, out)
    return "\n".join(out.lines)


def _fact(key: str, row: tuple[str, ...]) -> str:
    return f"{key}({','.join(row)})." if row else f"{key}."


def _meaning(relation: Relation, out: Asp) -> None:
    key = relation.key
    match relation.kind:
        case "eqrel":
            out.lines += [f"{key}(X,X) :- {key}(X,_).", f"{key}(Y,X) :- {key}(X,Y)."]
            out.lines += [f"{key}(X,Z) :- {key}(X,Y); {key}(Y,Z)."]
        case "min" | "max" as function:
            groups = [f"G{i}" for i in range(len(relation.types) - 1)]
            inside = f"V : {key}_all({','.join([*groups, 'V'])})"
            some = f"{key}_all({','.join([*groups, '_'])})"
            out.lines.append(f"{key}({','.join([*groups, 'M'])}) :- {some}; M = #{function} {{ {inside} }}.")


def _solved(text: str, keys: set[str]) -> State:
    control = clingo.Control(["--warn=none"], message_limit=5)
    control.add("base", [], text)
    control.ground([("base", [])], context=Functors())
    found: State = {key: set() for key in keys}
    for atom in control.symbolic_atoms:
        if atom.symbol.name in found:
            if not atom.is_fact:
                raise AssertionError(f"clingo did not decide {atom.symbol}")
            found[atom.symbol.name].add(tuple(map(str, atom.symbol.arguments)))
    return found
