"""Rules made from those of limit relations: they start from groups, read only better levels, or only read groups."""

from __future__ import annotations

from holdfast.plans.model import AggregatePlan, Plan
from holdfast.program.limits import value_of
from holdfast.program.model import (
    AggregateRule,
    Assign,
    Atom,
    Compare,
    Const,
    HyperNode,
    Limit,
    Rule,
    Term,
    Var,
    Wildcard,
)
from holdfast.values import Type


def goal_of(rule: Rule) -> tuple[tuple[Var | Const, ...], list[Assign]]:
    """A rule's head with a variable for each computed term, and the assignments that compute them."""
    fresh = (Var(f"goal{number}", term.type) for number, term in enumerate(rule.arguments))
    goal = tuple(term if isinstance(term, Var | Const) else next(fresh) for term in rule.arguments)
    pairs = zip(goal, rule.arguments, strict=True)
    return goal, [Assign(given, term) for given, term in pairs if isinstance(given, Var) and given != term]


class LimitPlans:
    """The rules derived from those of one hyper-node; each is made once, since plans are kept by a rule's identity."""

    def __init__(self, node: HyperNode) -> None:
        self._node = node
        self._by_group: dict[int, tuple[Rule, Rule]] = {}  # with the rule, which keeps its id unique
        self._founded: dict[tuple[int, str], tuple[Rule, Rule]] = {}
        self._best: dict[str, AggregatePlan] = {}
        self._same: dict[str, Plan] = {}

    def by_group(self, rule: Rule) -> Rule:
        """A rule that starts from groups: `head :- goal(group, _), body`."""
        known = self._by_group.get(id(rule))
        if known is None:
            known = self._by_group[id(rule)] = rule, _by_group(rule)
        return known[1]

    def starts_from_groups(self, rule: Rule) -> bool:
        """Whether a rule was made by `by_group`."""
        return any(rule is made for _, made in self._by_group.values())

    def founded(self, rule: Rule, below: str) -> Rule:
        """A rule whose instances only read values that are `below` what they offer."""
        known = self._founded.get((id(rule), below))
        if known is None:
            known = self._founded[id(rule), below] = rule, _founded(rule, below, self._node)
        return known[1]

    def best(self, predicate: str, limit: Limit, arity: int) -> AggregatePlan:
        """The best value of each group."""
        if predicate not in self._best:
            group = limit.group(arity)
            rule = AggregateRule(
                predicate, predicate, predicate, group, limit.function, limit.column, place=limit.column
            )
            self._best[predicate] = AggregatePlan(rule)
        return self._best[predicate]

    def same_groups(self, predicate: str, limit: Limit, arity: int) -> Plan:
        """The facts that belong to a group of the delta."""
        from holdfast.plans.planner import make_plan

        if predicate not in self._same:
            keys: list[Var] = [Var(f"k{column}", Type.ANY) for column in range(arity)]
            body = tuple(Wildcard() if column == limit.column else key for column, key in enumerate(keys))
            rule = Rule(predicate, predicate, tuple(keys), (Atom(predicate, body), Atom(predicate, tuple(keys))))
            self._same[predicate] = make_plan(rule, 0, (0, 1), None)
        return self._same[predicate]


def _by_group(rule: Rule) -> Rule:
    if rule.limit is None:
        goal, computed = goal_of(rule)
        return Rule(rule.name, rule.predicate, goal, (Atom(rule.predicate, goal), *rule.body, *computed), rule.span)
    column = rule.limit.column
    goal, computed = goal_of(rule)
    given = goal[column]
    kept = [assign for assign in computed if assign.variable != given or given in goal[:column] + goal[column + 1 :]]
    body = tuple(Wildcard() if place == column else term for place, term in enumerate(goal))
    head: list[Term] = [rule.arguments[place] if place == column else term for place, term in enumerate(goal)]
    return Rule(rule.name, rule.predicate, tuple(head), (Atom(rule.predicate, body), *rule.body, *kept), rule.span)


def _founded(rule: Rule, below: str, node: HyperNode) -> Rule:
    assert rule.limit is not None
    offer = rule.arguments[rule.limit.column]
    values = [value_of(a, node.limits) for a in rule.body if isinstance(a, Atom) and a.predicate in node.limits]
    tests = [Compare(below, value, offer) for value in values if value is not None]
    assert len(tests) == len(values), "where levels are used every value has a name"
    return Rule(rule.name, rule.predicate, rule.arguments, (*rule.body, *tests), rule.span)
