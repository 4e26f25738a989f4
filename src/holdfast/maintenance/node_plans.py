"""The hyper-nodes of a program, with what an update of rules does to each.  Nothing here touches facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TypeAlias

from holdfast.maintenance.module_adapter import States
from holdfast.maintenance.stratum import RuleChange, predicates_read
from holdfast.modules import Allotment, Module, Service, allot
from holdfast.plans import Planner, SizeStatistics
from holdfast.plans.planner import positions
from holdfast.program.impact import rule_key
from holdfast.program.model import AggregateRule, HyperNode, Program, Rule
from holdfast.quick_dataclass import dataclass

AnyRule: TypeAlias = Rule | AggregateRule


@dataclass(frozen=True, eq=False)
class NodePlan:
    """One hyper-node of the new program: the rules that stay, those that go and those that come.

    `recursion_changed` lists the kept rules that become recursive or cease to be, each with whether it was.
    `allotment` says which rules modules serve, `modules_changed` that they served others before.  If `state_reusable`,
    the module that serves the hyper-node alone goes on from the state that was kept for those.
    """

    planner: Planner
    kept: RuleChange
    removed: RuleChange = field(default_factory=RuleChange)
    added: RuleChange = field(default_factory=RuleChange)
    recursion_changed: tuple[tuple[Rule, bool], ...] = ()
    allotment: Allotment = field(default_factory=Allotment)
    modules_changed: bool = False
    state_reusable: bool = False

    @cached_property
    def node(self) -> HyperNode:
        """The hyper-node."""
        return self.planner.node

    @cached_property
    def generic(self) -> RuleChange:
        """The kept rules that no module serves."""
        return self._without_served(self.kept)

    @property
    def added_generic(self) -> RuleChange:
        """The added rules that no module serves."""
        return self._without_served(self.added)

    @property
    def removed_generic(self) -> RuleChange:
        """The removed rules less those that were served by the module whose state is reusable: all recursive ones."""
        return replace(self.removed, recursive=()) if self.state_reusable else self.removed

    def _without_served(self, rules: RuleChange) -> RuleChange:
        served = set(map(id, self.allotment.served))
        return replace(rules, recursive=tuple(rule for rule in rules.recursive if id(rule) not in served))

    @cached_property
    def predicates(self) -> frozenset[str]:
        """Its own."""
        return frozenset(self.node.predicates)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The predicates in the bodies of its rules."""
        return frozenset(predicates_read(self.kept))

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The predicates that its rules and modules read, and its own."""
        served = {slice_.predicate for service in self.allotment.services for slice_ in service.reads}
        return self.reads | served | self.predicates

    @property
    def stays_virtual(self) -> bool:
        """Whether a module that knows its facts has them to itself, before and after."""
        return self.allotment.alone is not None and (self.state_reusable or not self.modules_changed)

    @cached_property
    def has_rules(self) -> bool:
        """Whether a rule derives its facts, or did before."""
        return bool(self.kept or self.removed or self.added)

    @cached_property
    def is_counted(self) -> bool:
        """Whether counting derivations is all there is to do: no recursion, no module, no change of rules."""
        special = self.node.is_recursive or self.node.limits or self.allotment.services
        return not (special or self.edited or self.recursion_changed)

    @cached_property
    def edited(self) -> bool:
        """Whether its rules, or the rules that modules serve, are others than before."""
        return bool(self.removed or self.added or self.modules_changed)


def node_plans(program: Program, statistics: SizeStatistics, modules: Sequence[Module]) -> list[NodePlan]:
    """The hyper-nodes of a program whose rules all stay."""
    return [
        NodePlan(
            Planner(node, statistics),
            RuleChange(node.nonrecursive, node.recursive, node.aggregates),
            allotment=allot(node, program.relations, modules),
        )
        for node in program.nodes
    ]


def changed_plans(
    old: Program,
    new: Program,
    known: Sequence[NodePlan],
    statistics: SizeStatistics,
    modules: Sequence[Module],
    states: States,
) -> list[NodePlan]:
    """The hyper-nodes of a new program.  Those that are as they were keep the plans `known` of the old one."""
    same, difference = _Same(old, new, known), _Difference(old, modules, states)
    return [same.plan(node) or difference.plan(node, new, statistics) for node in new.nodes]


def plans_after_edit(
    old: Program, new: Program, known: Sequence[NodePlan], statistics: SizeStatistics, modules: Sequence[Module]
) -> list[NodePlan]:
    """The hyper-nodes of a program that has taken the place of an old one: all rules stay from now on."""
    same = _Same(old, new, known)
    nodes = [(node, same.plan(node)) for node in new.nodes]
    fresh = replace(new, nodes=tuple(node for node, plan in nodes if plan is None))
    others = iter(node_plans(fresh, statistics, modules))
    return [plan or next(others) for _, plan in nodes]


class _Same:
    """Finds hyper-nodes that a change of rules leaves as they are: predicates, types, rules and their order."""

    def __init__(self, old: Program, new: Program, known: Iterable[NodePlan]) -> None:
        self._known = {plan.node.predicates: plan for plan in known if not plan.edited and not plan.recursion_changed}
        types = {name: relation.types for name, relation in old.relations.items()}
        self._typed = {name for name, relation in new.relations.items() if relation.types == types.get(name)}

    def plan(self, node: HyperNode) -> NodePlan | None:
        """The plan of the hyper-node as it was."""
        plan = self._known.get(node.predicates)
        is_same = plan is not None and _listed(plan.node) == _listed(node) and plan.inputs <= self._typed
        return plan if is_same else None


def _listed(node: HyperNode) -> list[object]:
    """All rules with their places in the text, which errors name."""
    groups: tuple[Sequence[AnyRule], ...] = (node.nonrecursive, node.recursive, node.aggregates)
    return [[(rule, rule.span) for rule in rules] for rules in groups]


class _Difference:
    """What happens to hyper-nodes of an old program."""

    def __init__(self, old: Program, modules: Sequence[Module], states: States) -> None:
        self._relations, self._modules, self._states = old.relations, modules, states
        rules: tuple[AnyRule, ...] = (*old.rules, *old.aggregates)
        self._left = Counter(map(rule_key, rules))
        self._nodes = {predicate: node for node in old.nodes for predicate in node.predicates}
        self._before = {predicate: node.predicates for predicate, node in self._nodes.items()}
        self._rules: dict[str, list[AnyRule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.predicate, []).append(rule)

    def plan(self, node: HyperNode, new: Program, statistics: SizeStatistics) -> NodePlan:
        """One hyper-node of the new program."""
        kept, added = _split((*node.nonrecursive, *node.recursive, *node.aggregates), self._left)
        removed = list(_removed([rule for p in node.predicates for rule in self._rules.get(p, ())], kept))
        here = dict.fromkeys(node.predicates, node.predicates)
        allotment = allot(node, new.relations, self._modules)
        modules_changed = not allotment.same_as(self._allotted_before(node))
        return NodePlan(
            Planner(node, statistics),
            _grouped(kept, here),
            _grouped(removed, self._before),
            _grouped(added, here),
            tuple(_recursion_changed(kept, node, self._before)),
            allotment,
            modules_changed,
            modules_changed and _takes_over(allotment.alone, self._states),
        )

    def _allotted_before(self, node: HyperNode) -> Allotment:
        """What served the predicates of a hyper-node in the old program."""
        found = {self._nodes[name].index: self._nodes[name] for name in node.predicates if name in self._nodes}
        nodes = [found[index] for index in sorted(found)]
        services = [s for before in nodes for s in allot(before, self._relations, self._modules).services]
        return Allotment(tuple(service for service in services if service.slice.predicate in node.predicates))


def _takes_over(service: Service | None, states: States) -> bool:
    state = None if service is None else states.get(service.slice)
    return service is not None and state is not None and service.module.takes_over(service, state)


def _split(rules: Sequence[AnyRule], left: Counter[object]) -> tuple[list[AnyRule], list[AnyRule]]:
    kept, added = [], []
    for rule in rules:
        if left[rule_key(rule)]:
            left[rule_key(rule)] -= 1
            kept.append(rule)
        else:
            added.append(rule)
    return kept, added


def _removed(old: Iterable[AnyRule], kept: Iterable[AnyRule]) -> Iterator[AnyRule]:
    still = Counter(map(rule_key, kept))
    for rule in old:
        if still[rule_key(rule)]:
            still[rule_key(rule)] -= 1
        else:
            yield rule


def _recursion_changed(
    kept: Iterable[AnyRule], node: HyperNode, before: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Rule, bool]]:
    for rule in kept:
        if isinstance(rule, Rule):
            was = _is_recursive(rule, before.get(rule.predicate, ()))
            if was != _is_recursive(rule, node.predicates):
                yield rule, was


def _grouped(rules: Sequence[AnyRule], nodes: Mapping[str, Sequence[str]]) -> RuleChange:
    """Rules by how they count in the hyper-nodes of their heads."""
    plain = [(rule, _is_recursive(rule, nodes[rule.predicate])) for rule in rules if isinstance(rule, Rule)]
    return RuleChange(
        tuple(rule for rule, recursive in plain if not recursive),
        tuple(rule for rule, recursive in plain if recursive),
        tuple(rule for rule in rules if isinstance(rule, AggregateRule)),
    )


def _is_recursive(rule: Rule, predicates: Iterable[str]) -> bool:
    return bool(positions(rule, predicates))
