"""Chooses the column by which each relation is placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from holdfast.program.model import Atom, Negated, Program, Rule, Var

_RECURSIVE = 4  # how many times as often a recursive rule is evaluated, roughly


def primaries(program: Program) -> dict[str, int]:
    """For each relation the column that joins and groups use most."""
    votes: dict[str, Counter[int]] = {}
    for predicate, column, weight in _votes(program):
        votes.setdefault(predicate, Counter())[column] += weight
    found = {name: max(sorted(counted), key=counted.__getitem__) for name, counted in votes.items()}
    for _ in range(3):  # place a relation that nothing joins where a rule that derives it is evaluated
        for rule in program.rules:
            if rule.predicate not in votes and len(rule.arguments) > 1:
                _place_with_body(rule, found)
    return found


def joined_columns(program: Program) -> dict[str, set[int]]:
    """For each relation the columns whose values reach a join or a group, directly or through heads."""
    found: dict[str, set[int]] = {}
    for predicate, column, _ in _votes(program):
        found.setdefault(predicate, set()).add(column)
    is_growing = True
    while is_growing:
        is_growing = False
        for rule in program.rules:
            wanted = {rule.arguments[column] for column in found.get(rule.predicate, ())}
            for atom in (literal for literal in rule.body if isinstance(literal, Atom)):
                arguments = enumerate(atom.arguments)
                more = {column for column, term in arguments if isinstance(term, Var) and term in wanted}
                there = found.setdefault(atom.predicate, set())
                is_growing |= not more <= there
                there |= more
    return found


def _votes(program: Program) -> Iterator[tuple[str, int, int]]:
    for node in program.nodes:
        weighted = [*((rule, 1) for rule in node.nonrecursive), *((rule, _RECURSIVE) for rule in node.recursive)]
        for rule, weight in weighted:
            atoms = [literal for literal in rule.body if isinstance(literal, Atom | Negated)]
            uses = Counter(v for atom in atoms for v in {v for v in atom.arguments if isinstance(v, Var)})
            for atom in atoms:
                for column, term in enumerate(atom.arguments):
                    if isinstance(term, Var) and uses[term] > 1:
                        yield atom.predicate, column, weight
        for aggregate in node.aggregates:
            for column in aggregate.group[:1]:
                yield aggregate.source, column, 1
        for name, limit in node.limits.items():
            for column in limit.group(len(program.relations[name].columns))[:1]:
                yield name, column, _RECURSIVE


def _place_with_body(rule: Rule, found: dict[str, int]) -> None:
    first = next((literal for literal in rule.body if isinstance(literal, Atom)), None)
    if first is not None and first.arguments:
        at = first.arguments[found.get(first.predicate, 0)]
        if isinstance(at, Var) and at in rule.arguments:
            found.setdefault(rule.predicate, rule.arguments.index(at))
