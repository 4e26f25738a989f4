"""What the outside judges have in common: rules with one head and a conjunction for a body, and no wildcards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, product

from holdfast.language import tree

from ..oracle.scope import aggregates, variables


class UnsupportedError(Exception):
    """The judge has no word for this."""


@dataclass(frozen=True)
class PlainRule:
    """One head, one conjunction; `body` is empty for a fact."""

    head: tree.Atom
    body: tuple[tree.Formula, ...]


def plain_rules(program: tree.Program) -> Iterator[PlainRule]:
    """Every rule of a program, one for each head and each choice of a branch."""
    for item in program.items:
        if isinstance(item, tree.Rule):
            for body in branches(item.body) if item.body is not None else [()]:
                yield from (PlainRule(head, body) for head in item.heads)


def branches(formula: tree.Formula) -> list[tuple[tree.Formula, ...]]:
    """A formula as alternatives of conjunctions."""
    match formula:
        case tree.Conjunction(items=items):
            return [sum(choice, ()) for choice in product(*map(branches, items))]
        case tree.Disjunction(items=items):
            return [branch for item in items for branch in branches(item)]
        case _:
            return [(formula,)]


def outer_variables(rule: PlainRule) -> set[str]:
    """The variables that occur in the rule outside every aggregate."""
    nodes = (rule.head, *rule.body)
    return set().union(*(variables(node, inside_aggregates=False) for node in nodes))


def name_wildcards(atom: tree.Atom, fresh: count[int]) -> tree.Atom:
    """The atom with a variable of its own for each wildcard."""
    arguments = tuple(
        tree.Variable(f"any{next(fresh)}", span=a.span) if isinstance(a, tree.Wildcard) else a for a in atom.arguments
    )
    return tree.Atom(atom.name, arguments, span=atom.span)


def assigned_aggregate(item: tree.Formula) -> tuple[str, tree.Aggregate] | None:
    """(variable, aggregate) when the item is `variable = aggregate`."""
    match item:
        case tree.Comparison(operator="=", left=tree.Variable(name=name), right=tree.Aggregate() as aggregate):
            return name, aggregate
    if aggregates(item):
        raise UnsupportedError("an aggregate that is not assigned to a variable")
    return None
