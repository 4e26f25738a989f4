"""Plans whose instances emit not only their heads but also facts of their bodies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from holdfast.plans.model import Output, Plan
from holdfast.plans.planner import Planner, make_plan, named_body
from holdfast.plans.statistics import SizeStatistics
from holdfast.program.model import Argument, Atom, HyperNode, Negated, Rule, Term, Wildcard


class InstancePlanner(Planner):
    """Plans the rules of one hyper-node; every plan emits the head first and then the facts of the body's atoms.

    It has rules of its own (`node.nonrecursive`, `node.recursive`), in which wildcards have names.
    """

    def __init__(self, node: HyperNode, statistics: SizeStatistics) -> None:
        nonrecursive, recursive = (tuple(map(named_rule, rules)) for rules in (node.nonrecursive, node.recursive))
        super().__init__(replace(node, nonrecursive=nonrecursive, recursive=recursive), statistics)

    def make(self, rule: Rule, pivot: int | None, order: Sequence[int], changing: Collection[str] | None) -> Plan:
        """Emits the head, then each atom; backwards, without the goal that the body begins with."""
        atoms = [literal for literal in rule.body if isinstance(literal, Atom | Negated)]
        is_backward = any(rule is known for known in self._backward.values()) or self.limits.starts_from_groups(rule)
        outputs: list[Output] = [(rule.predicate, rule.arguments)]
        outputs += [(atom.predicate, _terms(atom.arguments)) for atom in atoms[is_backward:]]
        return make_plan(rule, pivot, order, changing, tuple(outputs), counts_goals=False)


class BodyPlanner(Planner):
    """Plans the rules of one hyper-node; every plan emits the head and then the body's facts of the hyper-node."""

    scattered = True

    def __init__(self, node: HyperNode, statistics: SizeStatistics) -> None:
        super().__init__(node, statistics)
        self._named: dict[int, tuple[Rule, Rule]] = {}  # by the id of the rule; holding the rule keeps the id unique

    def _plan(self, rule: Rule, pivot: int | None, delta: float, *, within: bool) -> Plan:
        if self._is_backward(rule):
            return super()._plan(rule, pivot, delta, within=within)
        known = self._named.get(id(rule))
        if known is None:
            known = self._named[id(rule)] = rule, named_rule(rule)
        return super()._plan(known[1], pivot, delta, within=within)

    def make(self, rule: Rule, pivot: int | None, order: Sequence[int], changing: Collection[str] | None) -> Plan:
        """Emits the head, then each positive atom of the hyper-node; backwards, without the goal."""
        own = [atom for atom in rule.body if isinstance(atom, Atom) and atom.predicate in self._own]
        own = own[self._is_backward(rule) :]
        outputs = ((rule.predicate, rule.arguments), *((atom.predicate, _terms(atom.arguments)) for atom in own))
        return make_plan(rule, pivot, order, changing, outputs, counts_goals=False)

    def _is_backward(self, rule: Rule) -> bool:
        return any(rule is known for known in self._backward.values())


def body_atoms(plan: Plan) -> list[Atom | Negated]:
    """The atoms of the body whose facts are emitted after the head, in order."""
    atoms = [literal for literal in plan.rule.body if isinstance(literal, Atom | Negated)]
    return atoms[len(atoms) + 1 - len(plan.outputs) :]


def named_rule(rule: Rule) -> Rule:
    """The rule with names for the wildcards of its positive atoms."""
    return Rule(rule.name, rule.predicate, rule.arguments, tuple(named_body(rule)), rule.span, rule.limit)


def _terms(arguments: tuple[Argument, ...]) -> tuple[Term, ...]:
    terms = tuple(argument for argument in arguments if not isinstance(argument, Wildcard))
    assert len(terms) == len(arguments), "a negated atom of a maintained program is a whole fact"
    return terms
