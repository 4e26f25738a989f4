"""Hyper-nodes: the strongly connected components of the predicates, in topological order.

The graph is ZodiacEdge's hyper-node rule dependency graph (HRDG): an edge leads from each predicate of a rule's
body to its head, negative through negation and aggregation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from holdfast.program.model import AggregateRule, Atom, HyperNode, Negated, Rule

T = TypeVar("T")


def components(nodes: Iterable[str], successors: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Strongly connected components, each after all that it reaches (Tarjan 1972, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    on_stack: set[str] = set()
    stack: list[str] = []
    found: list[tuple[str, ...]] = []
    for root in nodes:
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            following = successors.get(node, ())
            if position:
                low[node] = min(low[node], low[following[position - 1]])
            while position < len(following):
                successor = following[position]
                position += 1
                if successor not in index:
                    work += [(node, position), (successor, 0)]
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                if low[node] == index[node]:
                    found.append(_popped(stack, on_stack, node))
    return found


def _popped(stack: list[str], on_stack: set[str], node: str) -> tuple[str, ...]:
    start = len(stack) - 1
    while stack[start] != node:
        start -= 1
    members = tuple(stack[start:])
    del stack[start:]
    on_stack.difference_update(members)
    return members


def hyper_nodes(
    predicates: Sequence[str],
    rules: Sequence[Rule],
    aggregates: Sequence[AggregateRule],
) -> tuple[HyperNode, ...]:
    """The hyper-nodes of the predicates; a predicate that is read but not among them is given and has no node."""
    reads: dict[str, list[str]] = {name: [] for name in predicates}
    for head, body in _reading(rules, aggregates):
        if body in reads:
            reads[head].append(body)
    order = {name: position for position, name in enumerate(predicates)}
    groups = [tuple(sorted(group, key=order.__getitem__)) for group in components(predicates, reads)]
    number = {name: index for index, group in enumerate(groups) for name in group}
    rules_of: list[list[Rule]] = [[] for _ in groups]
    aggregates_of: list[list[AggregateRule]] = [[] for _ in groups]
    for rule in rules:
        rules_of[number[rule.predicate]].append(rule)
    for aggregate in aggregates:
        aggregates_of[number[aggregate.predicate]].append(aggregate)
    return tuple(
        _hyper_node(index, group, rules_of[index], aggregates_of[index], number) for index, group in enumerate(groups)
    )


def _reading(rules: Iterable[Rule], aggregates: Iterable[AggregateRule]) -> Iterable[tuple[str, str]]:
    for rule in rules:
        for literal in rule.body:
            if isinstance(literal, (Atom, Negated)):
                yield rule.predicate, literal.predicate
    for aggregate in aggregates:
        yield aggregate.predicate, aggregate.source


def _hyper_node(
    index: int,
    predicates: tuple[str, ...],
    rules: list[Rule],
    aggregates: list[AggregateRule],
    number: Mapping[str, int],
) -> HyperNode:
    positive = {number.get(name) for rule in rules for name in _positive(rule)}
    negative = {number.get(lit.predicate) for rule in rules for lit in rule.body if isinstance(lit, Negated)}
    negative |= {number.get(aggregate.source) for aggregate in aggregates}
    is_recursive = [any(number.get(name) == index for name in _positive(rule)) for rule in rules]
    return HyperNode(
        index,
        predicates,
        tuple(rule for rule, recursive in zip(rules, is_recursive, strict=True) if not recursive),
        tuple(rule for rule, recursive in zip(rules, is_recursive, strict=True) if recursive),
        tuple(aggregates),
        tuple(sorted(n for n in positive if n is not None and n != index)),
        tuple(sorted(n for n in negative if n is not None)),
    )


def _positive(rule: Rule) -> list[str]:
    return [literal.predicate for literal in rule.body if isinstance(literal, Atom)]


def rule_names(node: HyperNode) -> list[str]:
    """The names of a node's rules, each once."""
    names = [rule.name for rule in (*node.nonrecursive, *node.recursive)]
    names += [rule.name for rule in node.aggregates]
    return list(dict.fromkeys(names))
