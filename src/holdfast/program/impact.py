"""The impact of a rule change: ZodiacEdge's directly impacted hyper-nodes (DIHN, its Algorithms 2 and 3) and the
execution plan that follows from them (Algorithm 4).

A hyper-node is impacted directly when one of its rules is added or removed, when it merges or splits, or when its
explicit facts change.  Its changes may then impact its readers, so the plan is everything that can be reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping

from holdfast.program.model import AggregateRule, HyperNode, Program, Rule
from holdfast.program.show import shown_names
from holdfast.quick_dataclass import dataclass

AnyRule = Rule | AggregateRule


@dataclass(frozen=True)
class Impacted:
    """A hyper-node of the execution plan.  `node` belongs to the program after the change."""

    node: HyperNode
    names: tuple[str, ...]  # its predicates, as displayed
    relations: tuple[str, ...]  # its relations as the user knows them; empty if the checker made it
    added: tuple[str, ...]  # names of added rules
    removed: tuple[str, ...]  # names of removed rules
    is_regrouped: bool  # its predicates were not one hyper-node before
    was_recursive: bool
    has_new_facts: bool  # explicit facts are inserted or deleted
    is_direct: bool


def impact(old: Program, new: Program, given: Container[str] = ()) -> tuple[Impacted, ...]:
    """The execution plan from one program to another; `given` are predicates whose explicit facts change.

    A predicate that the new program no longer mentions must still be among its relations.
    """
    added, removed = _difference(new, old), _difference(old, new)
    groups = {predicate: node for node in old.nodes for predicate in node.predicates}
    plan: list[Impacted] = []
    reached: set[int] = set()
    for node in new.nodes:
        found = _impacted(node, new, groups, (added, removed), given)
        if found.is_direct or reached.intersection((*node.positive, *node.negative)):
            reached.add(node.index)
            plan.append(found)
    return tuple(plan)


def rule_key(rule: AnyRule) -> object:
    """The key by which two rules are the same, whatever their names."""
    if isinstance(rule, AggregateRule):
        return (rule.predicate, rule.source, rule.group, rule.function, rule.target)
    return (rule.predicate, rule.arguments, rule.body, rule.limit)


def _difference(program: Program, other: Program) -> dict[str, list[AnyRule]]:
    """The rules of a program that the other one lacks, by predicate."""
    left = Counter(map(rule_key, _rules(other)))
    found: dict[str, list[AnyRule]] = {}
    for rule in _rules(program):
        if left[rule_key(rule)]:
            left[rule_key(rule)] -= 1
        else:
            found.setdefault(rule.predicate, []).append(rule)
    return found


def _rules(program: Program) -> tuple[AnyRule, ...]:
    return (*program.rules, *program.aggregates)


def _impacted(
    node: HyperNode,
    program: Program,
    groups: Mapping[str, HyperNode],
    changes: tuple[Mapping[str, list[AnyRule]], ...],
    given: Container[str],
) -> Impacted:
    added, removed = ([rule for p in node.predicates for rule in change.get(p, ())] for change in changes)
    before = {groups[p].index: groups[p] for p in node.predicates if p in groups}
    is_regrouped = any(set(other.predicates) != set(node.predicates) for other in before.values())
    has_new_facts = any(predicate in given for predicate in node.predicates)
    relations = tuple(program.relations[p].display for p in node.predicates if not program.relations[p].auxiliary)
    names = shown_names(node.predicates, program.relations)
    return Impacted(
        node,
        names,
        relations,
        _names(added),
        _names(removed),
        is_regrouped,
        any(other.is_recursive for other in before.values()),
        has_new_facts,
        bool(added or removed or is_regrouped or has_new_facts),
    )


def _names(rules: Iterable[AnyRule]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule.name for rule in rules))
