"""Columns that rules connect: where one variable occurs in both, their values are of one kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from holdfast.program.model import Argument, Assign, Atom, Compare, Negated, Program, Rule, Term, Var

ColumnPlace: TypeAlias = tuple[str, int]
"""A column: its predicate and its number."""


def joined_columns(program: Program) -> dict[ColumnPlace, frozenset[ColumnPlace]]:
    """For each column, the columns that it is connected with, including itself."""
    classes: dict[ColumnPlace, set[ColumnPlace]] = {
        (name, i): {(name, i)} for name, relation in program.relations.items() for i in range(relation.arity)
    }
    for one, other in _links(program):
        if (here := classes[one]) is not (there := classes[other]):
            here |= there
            classes |= dict.fromkeys(there, here)
    return {place: frozenset(joined) for place, joined in classes.items()}


def _links(program: Program) -> Iterator[tuple[ColumnPlace, ColumnPlace]]:
    for rule in program.rules:
        yield from _links_of(rule)
    for aggregate in program.aggregates:
        value = aggregate.place % program.relations[aggregate.predicate].arity
        heads = [i for i in range(program.relations[aggregate.predicate].arity) if i != value]
        for head, column in zip(heads, aggregate.group, strict=True):
            yield (aggregate.predicate, head), (aggregate.source, column)
        if aggregate.function in ("min", "max") and aggregate.target is not None:
            yield (aggregate.predicate, value), (aggregate.source, aggregate.target)


def _links_of(rule: Rule) -> Iterator[tuple[ColumnPlace, ColumnPlace]]:
    first: dict[Var, ColumnPlace] = {}
    for predicate, arguments in atoms_of(rule):
        for place, argument in enumerate(arguments):
            if isinstance(argument, Var):
                yield (predicate, place), first.setdefault(argument, (predicate, place))
    for literal in rule.body:
        match literal:
            case Compare(operator="=", left=Var() as left, right=Var() as right) | Assign(variable=left, term=right):
                if isinstance(right, Var) and left in first and right in first:
                    yield first[left], first[right]


def atoms_of(rule: Rule) -> Iterator[tuple[str, tuple[Argument | Term, ...]]]:
    """The predicates and arguments of a rule's head and of its body's atoms, including negated ones."""
    yield rule.predicate, rule.arguments
    for literal in rule.body:
        if isinstance(literal, Atom | Negated):
            yield literal.predicate, literal.arguments
