"""Recursion through `sum` and `count`: a head with one of them may be part of its own circle.

Facts only come while a recursion runs, and no contribution is below 0, so a sum only grows.  Its relation is then a
limit relation under `max`: one fact for each group, whose value rules of the circle may compare from below.  What is
summed must be finished when it comes, so it may not be a value of the circle itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from holdfast.errors import Diagnostics
from holdfast.language import tree
from holdfast.program.core import CoreAggregate, CoreAtom, CoreLimit, CoreProgram, CoreRule
from holdfast.program.graph import components
from holdfast.program.model import HyperNode, Relation
from holdfast.program.names import Names
from holdfast.values import Type

SUMS = ("sum", "count")


def reading(program: CoreProgram) -> Iterable[tuple[str, str]]:
    """Which predicate reads which."""
    for rule in program.rules:
        yield from ((rule.head.predicate, atom.predicate) for atom in rule.body if isinstance(atom, CoreAtom))
    yield from ((aggregate.predicate, aggregate.source) for aggregate in program.aggregates)


def circles(program: CoreProgram, scope: Names) -> dict[str, int]:
    """A number for each predicate: those that depend on each other have the same."""
    reads: dict[str, list[str]] = {}
    for head, body in reading(program):
        reads.setdefault(head, []).append(body)
    return {name: i for i, group in enumerate(components(scope.relations, reads)) for name in group}


def with_sums(program: CoreProgram, scope: Names) -> CoreProgram:
    """The rules whose sum or count is part of their own circle offer it to a limit column; others stay as they are."""
    if not any(aggregate.function in SUMS and aggregate.in_head for aggregate in program.aggregates):
        return program
    circle = circles(program, scope)
    inside = {
        aggregate.predicate: aggregate
        for aggregate in program.aggregates
        if aggregate.in_head and aggregate.function in SUMS and circle[aggregate.predicate] == circle[aggregate.source]
    }
    if not inside:
        return program
    rules = tuple(_offering(rule, inside, circle, program.rules) for rule in program.rules)
    taken = {_read(rule) for rule in rules if rule.limit is not None}
    aggregates = tuple(replace(each, recursive=each.predicate in taken & inside.keys()) for each in program.aggregates)
    return replace(program, rules=rules, aggregates=aggregates)


def _read(rule: CoreRule) -> str:
    """What the only atom of a body reads."""
    match rule.body:
        case (CoreAtom(predicate=predicate),):
            return predicate
    return ""


def _offering(
    rule: CoreRule, inside: Mapping[str, CoreAggregate], circle: Mapping[str, int], rules: tuple[CoreRule, ...]
) -> CoreRule:
    """A rule `h(x, s) :- h.sum(x, s)` of a circle, if `h` has no other."""
    aggregate, head = inside.get(_read(rule)), rule.head
    if aggregate is None or circle[head.predicate] != circle[aggregate.predicate]:
        return rule
    if sum(other.head.predicate == head.predicate for other in rules) > 1:
        return rule
    (atom,) = rule.body
    assert isinstance(atom, CoreAtom)
    value = atom.arguments[-1]
    assert isinstance(value, tree.Variable)
    column = next(i for i, a in enumerate(head.arguments) if isinstance(a, tree.Variable) and a.name == value.name)
    return replace(rule, limit=CoreLimit(column, "max", aggregate.span))


def without_refused(nodes: Iterable[HyperNode], program: CoreProgram) -> tuple[HyperNode, ...]:
    """The hyper-nodes without those that have an aggregate in their circle which may not be there."""
    refused = {aggregate.predicate for aggregate in program.aggregates if not aggregate.recursive}
    return tuple(node for node in nodes if not any(rule.predicate in refused for rule in node.sums))


def check_sums(nodes: Iterable[HyperNode], relations: Mapping[str, Relation], diagnostics: Diagnostics) -> None:
    """Report sums of a circle whose result depends on the order, or whose facts are replaced while they are summed."""
    for node in nodes:
        for aggregate in node.sums:
            source = relations[aggregate.source]
            if aggregate.source in node.limits:
                message = f"the {aggregate.function} ranges over {source.display}, whose values can still get better"
                help = f"take the {aggregate.function} in a rule after the recursion"
                diagnostics.error("E0502", message, aggregate.span, help=help)
            elif aggregate.target is not None and source.types[aggregate.target] is Type.FLOAT:
                message = "a sum of floats cannot be part of a recursion: it depends on the order of its terms"
                diagnostics.error("E0502", message, aggregate.span, help="sum integers, in cents or thousandths, say")
