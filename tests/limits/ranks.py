"""Ranks of limit relations by their definition: every fact is explicit, or has a derivation from facts of its
hyper-node that come before it, by their values or, where these are equal, by their ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from holdfast import KnowledgeBase
from holdfast.backends.abilities import Ranking
from holdfast.maintenance.node_plans import NodePlan

from .rules import Binding, Fact, Lit, Rule, World, bindings

Order = dict[tuple[str, Fact], tuple[int, int]]
"""Of each fact, how good it is and its rank: what comes before another is less."""


def unfounded(kb: KnowledgeBase, rules: list[Rule], explicit: World, world: World) -> str | None:
    """A fact that is not as it should be, in a hyper-node whose ranks are said to be right."""
    for plan in ranked(kb):
        order = _order(kb, plan)
        for name, fact in order:
            if fact not in explicit.get(name, ()) and not _has_proof(name, fact, rules, world, order):
                return f"{name}{fact} has no derivation from facts before it"
    return None


def ranked(kb: KnowledgeBase) -> list[NodePlan]:
    """The hyper-nodes with limit relations whose ranks are said to be right."""
    found = [plan for plan in kb._maintainer.nodes if plan.node.limits and plan.node.is_recursive]
    return [plan for plan in found if kb._maintainer.ledger.ranks_are_right(plan)]


def _order(kb: KnowledgeBase, plan: NodePlan) -> Order:
    ranks, found = kb._backend.ability(Ranking), Order()
    assert ranks is not None
    for name, limit in plan.node.limits.items():
        for row, rank, _ in zip(*ranks.ranks(name), strict=True):
            value = int(row[limit.column]) if limit.function == "min" else -int(row[limit.column])
            found[name, tuple(row.tolist())] = value, rank
    return found


def _has_proof(name: str, fact: Fact, rules: list[Rule], world: World, order: Order) -> bool:
    named = [replace(rule, body=tuple(_named(rule.body))) for rule in rules if rule.predicate == name]
    return any(
        all(order[read] < order[name, fact] for read in _read(rule, binding) if read in order)
        for rule in named
        for binding in bindings(rule.body, world, {})
        if tuple(term.value(binding) for term in rule.arguments) == fact
    )


def _named(body: tuple[Lit, ...]) -> Iterator[Lit]:
    """Positive atoms without wildcards."""
    for place, literal in enumerate(body):
        arguments = tuple(f"any{place}_{i}" if a == "_" else a for i, a in enumerate(literal.arguments))
        yield literal if literal.negated else replace(literal, arguments=arguments)


def _read(rule: Rule, binding: Binding) -> Iterator[tuple[str, Fact]]:
    for literal in rule.body:
        if literal.predicate and not literal.negated:
            values = (int(a) if a.lstrip("-").isdigit() else binding[a] for a in literal.arguments)
            yield literal.predicate, tuple(values)
