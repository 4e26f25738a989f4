"""The same program said to Nemo.  It has no nullary predicates and knows aggregates only in heads.

A nullary predicate gets a constant column; an aggregate becomes a rule of its own, and a second rule says for
counts and sums that a group without rows has 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from nmo_python import NemoEngine, load_string

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

OPERATORS = ("+", "-", "*")


def evaluate(
    program: tree.Program,
    facts: Mapping[str, Iterable[Row]],
    arities: Mapping[str, int],
) -> dict[str, set[Fact]]:
    """All facts that Nemo derives for the predicates of `arities`."""
    text = "\n".join([*translate(program, facts), *(f"@output {name} ." for name in arities)])
    engine = NemoEngine(load_string(text))
    try:
        engine.reason()
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # Rust's, not derived from Exception
            raise UnsupportedError("Nemo itself fails on this program") from None
        raise
    return {name: {tuple(map(_value, row))[:arity] for row in engine.result(name)} for name, arity in arities.items()}


def translate(program: tree.Program, facts: Mapping[str, Iterable[Row]]) -> list[str]:
    """The program as lines of Nemo's language."""
    fresh = count()
    lines = [f"{name}{_arguments(map(_constant, row))} ." for name, rows in facts.items() for row in rows]
    for rule in plain_rules(program):
        lines += _rules(rule, fresh)
    return lines


def _rules(rule: PlainRule, fresh: count[int]) -> list[str]:
    outer, bodies, lines = outer_variables(rule), [list[str]()], list[str]()
    for item in rule.body:
        assigned = assigned_aggregate(item)
        if assigned:
            more, options = _aggregate(*assigned, outer, fresh)
            lines += more
        elif isinstance(item, tree.Negation) and isinstance(item.operand, tree.Atom):
            projection, literal = _negation(item.operand, fresh)
            lines.append(projection)
            options = [[literal]]
        else:
            options = [[_literal(item)]]
        bodies = [body + option for body in bodies for option in options]
    head = _atom(rule.head)
    return lines + [f"{head} :- {', '.join(body)} ." if body else f"{head} ." for body in bodies]


def _aggregate(
    name: str,
    aggregate: tree.Aggregate,
    outer: set[str],
    fresh: count[int],
) -> tuple[list[str], list[list[str]]]:
    """Rules for the aggregate, and what may stand in the outer body: a row of it, or the absence of any."""
    if aggregate.function not in ("count", "sum", "min", "max"):
        raise UnsupportedError(aggregate.function)
    [items] = branches(aggregate.body)
    inner = [name_wildcards(item, fresh) if isinstance(item, tree.Atom) else item for item in items]
    used = set().union(*map(variables, inner))
    group, local = sorted(used & outer), sorted(used - outer)
    target = [] if aggregate.target is None else [_term(aggregate.target)]
    number, body = next(fresh), ", ".join(map(_literal, inner))
    distinct = [] if aggregate.function in ("min", "max") else map(_variable, local)
    terms = ", ".join(dict.fromkeys([*target, *distinct]))
    keys = list(map(_variable, group))
    head = f"agg{number}({', '.join([*keys, f'#{aggregate.function}({terms})'])})"
    lines = [f"has{number}({', '.join([*keys, '0'])}) :- {body} ."]
    if local or target:
        lines.append(f"{head} :- {body} .")
    else:  # one row a group at most, and nothing to count in it
        lines.append(f"agg{number}({', '.join([*keys, '1'])}) :- {body} .")
    options = [[f"agg{number}({', '.join([*keys, _variable(name)])})"]]
    if aggregate.function in ("count", "sum"):
        options.append([f"~has{number}({', '.join([*keys, '0'])})", f"{_variable(name)} = 0"])
    return lines, options


def _negation(atom: tree.Atom, fresh: count[int]) -> tuple[str, str]:
    """A projection without the wildcards, and its negation: Nemo misreads some negated atoms that have wildcards."""
    number = next(fresh)
    kept = [i for i, argument in enumerate(atom.arguments) if not isinstance(argument, tree.Wildcard)]
    columns = [f"?c{i}" if i in kept else "_" for i in range(len(atom.arguments))]
    projection = f"not{number}{_arguments(columns[i] for i in kept)} :- {atom.name.text}{_arguments(columns)} ."
    return projection, f"~not{number}{_arguments(_term(atom.arguments[i]) for i in kept)}"


def _literal(item: tree.Formula) -> str:
    match item:
        case tree.Atom():
            return _atom(item)
        case tree.Comparison(operator=operator, left=left, right=right):
            return f"{_term(left)} {operator} {_term(right)}"
        case _:
            raise UnsupportedError(str(item))


def _atom(atom: tree.Atom) -> str:
    return atom.name.text + _arguments(map(_term, atom.arguments))


def _arguments(terms: Iterable[str]) -> str:
    return f"({', '.join(terms) or '0'})"


def _variable(name: str) -> str:
    return f"?{name.removeprefix('?')}"


def _term(term: tree.Term) -> str:
    match term:
        case tree.Variable(name=name):
            return _variable(name)
        case tree.Wildcard():
            return "_"
        case tree.Number(text=text, kind=tree.NumberKind.NUMBER):
            return str(int(text, 0))
        case tree.String(value=value):
            return _constant(value)
        case tree.Unary(operator="-", operand=tree.Number(text=text)):
            return f"-{text}"
        case tree.Binary(operator=operator, left=left, right=right) if operator in OPERATORS:
            return f"({_term(left)} {operator} {_term(right)})"
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


def _value(value: object) -> tuple[str, object]:
    """Strings come with their quotes."""
    return tag(value.strip('"') if isinstance(value, str) else value)  # type: ignore[arg-type]
