"""Turns rules into plans: the steps of a rule in a given join order, and its delta forms."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heappop, heappush
from operator import itemgetter
from types import MappingProxyType
from typing import TypeAlias

from holdfast.deadline import look_at_the_clock
from holdfast.plans.limits import LimitPlans, goal_of
from holdfast.plans.literals import literal_variables, may_fail, step_variables, variables
from holdfast.plans.model import (
    GOAL,
    AggregatePlan,
    AntiJoin,
    AnyPlan,
    Compute,
    Filter,
    Join,
    NodePlans,
    Output,
    Plan,
    Read,
    Scan,
    Step,
    Unnest,
)
from holdfast.plans.order import atom_order, cost, goal_first
from holdfast.plans.readiness import Readiness
from holdfast.plans.statistics import Guess, SizeStatistics
from holdfast.program.model import (
    Argument,
    Assign,
    Atom,
    BodyLiteral,
    Compare,
    Const,
    HyperNode,
    Negated,
    Range,
    Rule,
    Term,
    Test,
    Var,
    Wildcard,
)
from holdfast.program.ranks import Rank, ranks
from holdfast.values import Type

_LATE = 4  # times the work of the cheapest rule
_SCATTERED = 5  # times less work is much in a round of an update, which is smaller than one of an evaluation
_TUPLES = 64  # tuples of rules whose reads are remembered
FEW = 64  # facts: a change of no more is planned for as one of so many
_UPDATES = 32  # with few changes, before plans are looked at again
_NOT_KNOWN: tuple[tuple[Plan, ...], int] = (), 0


class Planner:
    """Plans the rules of one hyper-node from statistics, and again when these have changed much."""

    scattered = False  # whether the facts of a delta may be anywhere among the others, as those of an update

    def __init__(self, node: HyperNode, statistics: SizeStatistics | None = None) -> None:
        self.node = node
        self._own = frozenset(node.predicates)
        self.statistics = statistics or Guess(node.predicates if node.is_recursive else ())
        self._plans: dict[tuple[int, int | None, bool], tuple[Plan, _Sizes]] = {}
        self._backward: dict[int, Rule] = {}
        self._one_by_one: dict[int, tuple[Rule, Plan | None]] = {}  # holding the rule keeps its id unique
        self._readers: dict[int, tuple[Iterable[Rule], _Readers]] = {}  # holding the rules keeps their ids unique
        self._ranks: dict[tuple[int, ...], tuple[Rank, ...]] = {}

    @cached_property
    def bodies_too(self) -> Planner:
        """Plans the same rules; each instance emits its head and then the facts of this hyper-node in its body."""
        from holdfast.plans.instances import BodyPlanner

        return BodyPlanner(self.node, self.statistics)

    @cached_property
    def for_scattered(self) -> Planner:
        """Plans the same rules for deltas that are scattered: of facts that go, or that were there before."""
        planner = Planner(self.node, self.statistics)
        planner.scattered = True
        return planner

    def nonrecursive(self) -> tuple[AnyPlan, ...]:
        """Π_n, and the aggregates."""
        return (*self.whole(self.node.nonrecursive), *(AggregatePlan(rule) for rule in self.node.aggregates))

    def whole(self, rules: Iterable[Rule]) -> tuple[Plan, ...]:
        """Plans for all instances of some rules."""
        return tuple(self._plan(rule, None, 0.0, within=False) for rule in rules)

    def recursive(
        self, delta: Mapping[str, int] | None = None, rules: Iterable[Rule] | None = None
    ) -> tuple[Plan, ...]:
        """Π_r: a plan for each recursive atom of each rule; `delta` has the number of new facts of each predicate.

        If it is given, plans for predicates without new facts are omitted.
        """
        readers = self._readers_of(self.node.recursive if rules is None else rules)
        wanted = self.node.predicates if delta is None else [name for name, size in delta.items() if size]
        found = [use for name in wanted for use in readers.recursive.get(name, ())]
        return tuple(
            self._plan(rule, position, 1e3 if delta is None else delta[name], within=True)
            for _, position, name, rule in sorted(found, key=_PLACE)
        )

    def _readers_of(self, rules: Iterable[Rule]) -> _Readers:
        """The rules by what they read; computed once for a tuple of rules that is passed again."""
        known = self._readers.get(id(rules))
        if known is None:
            if len(self._readers) >= _TUPLES:
                self._readers.clear()
            known = self._readers[id(rules)] = rules, _Readers(rules, self._own)
        return known[1]

    def linear(self, rules: Iterable[Rule]) -> tuple[Plan | None, ...]:
        """For each rule that joins a fact of its head's relation with one of another hyper-node, a plan that begins
        with the former; None for the others."""
        return tuple(map(self._linear, rules))

    def _linear(self, rule: Rule) -> Plan | None:
        known = self._one_by_one.get(id(rule))
        if known is None:
            atoms = [literal.predicate for literal in rule.body if isinstance(literal, Atom)]
            own = [place for place, name in enumerate(atoms) if name in self._own]
            is_linear = len(atoms) == len(rule.body) == 2 and [atoms[place] for place in own] == [rule.predicate]
            plan = make_plan(rule, own[0], (own[0], 1 - own[0]), self._own) if is_linear else None
            known = self._one_by_one[id(rule)] = rule, plan
        return known[1]

    def late(self, delta: Mapping[str, int], rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """The recursive rules for which new facts mean so much work that the others should finish first."""
        if len(rules) < 2 or math.isinf(self.statistics.many):
            return ()
        readers, costs = self._readers_of(rules).recursive, dict[int, float]()
        for name, size in delta.items():
            for number, position, _, rule in readers.get(name, ()) if size else ():
                plan = self._plan(rule, position, size, within=True)
                costs[number] = costs.get(number, 0.0) + self._cost(plan, delta)
        many = self.statistics.many / _SCATTERED if self.scattered else self.statistics.many
        most = max(many, _LATE * min(filter(None, costs.values()), default=0.0))
        return tuple(rules[number] for number in sorted(costs) if costs[number] > most)

    def work(self, own: Mapping[str, int], read: Mapping[str, int]) -> float:
        """The estimated cost of new facts, its own and those it reads, for recursive rules: 1 for each fact walked."""
        plans, delta = (*self.recursive(own), *self.changed(self.node.recursive, read, {})), {**own, **read}
        return sum(self._cost(plan, delta) for plan in plans)

    def _cost(self, plan: Plan, delta: Mapping[str, int]) -> float:
        assert plan.pivot is not None
        return cost(plan.rule, plan.pivot, plan.order, delta[_predicate(plan.rule, plan.pivot)], self.statistics)

    def cannot_circle(self, rules: Sequence[Rule]) -> bool:
        """Whether it is certain that no fact can support itself by these recursive rules."""
        known = self._ranks.get(tuple(map(id, rules)))
        if known is None:
            known = self._ranks[tuple(map(id, rules))] = tuple(ranks(rules, self.node.predicates))
        return any(all(self.statistics.smallest(*place) > 0 for place in rank.positive) for rank in known)

    @cached_property
    def limits(self) -> LimitPlans:
        """Plans for the limit relations of the hyper-node."""
        return LimitPlans(self.node)

    def by_group(self, rules: Iterable[Rule], goals: Mapping[str, int]) -> tuple[Plan, ...]:
        """Plans that emit all heads of some rules, of any value, in the groups of the goals (read as the delta)."""
        return tuple(
            self._plan(self.limits.by_group(rule), 0, goals[rule.predicate], within=True)
            for rule in self._deriving(rules, goals)
        )

    def changed(
        self, rules: Iterable[Rule], positive: Mapping[str, int], negative: Mapping[str, int]
    ) -> tuple[Plan, ...]:
        """Plans for the instances that use a changed fact: P in a positive atom, N in a negated one."""
        if not positive and not negative:
            return ()
        found: list[Plan] = []
        for is_positive, position, name, rule in self._readers_of(rules).changed(tuple(positive), tuple(negative)):
            if size := (positive if is_positive else negative)[name]:
                found.append(self._plan(rule, position, size, within=False))
        return tuple(found)

    def changed_by_few(
        self, rules: Iterable[Rule], positive: Collection[str], negative: Collection[str]
    ) -> tuple[Plan, ...]:
        """Like `changed`, for at most `FEW` facts of each predicate; whether other plans are better now is looked at
        only now and then."""
        known, changed = self._readers_of(rules).by_few, (*positive, None, *negative)
        plans, left = known.get(changed, _NOT_KNOWN)
        if not left:
            plans, left = self.changed(rules, dict.fromkeys(positive, FEW), dict.fromkeys(negative, FEW)), _UPDATES
            if len(known) >= _TUPLES:
                known.clear()
        known[changed] = plans, left - 1
        return plans

    def heads(self, rules: Iterable[Rule], goals: Mapping[str, int]) -> tuple[Plan, ...]:
        """Plans that emit the goals (read as the delta) that a rule derives."""
        return tuple(
            self._plan(self._backwards(rule), 0, goals[rule.predicate], within=True)
            for rule in self._deriving(rules, goals)
        )

    def bodies(self, rules: Iterable[Rule], goals: Mapping[str, int]) -> tuple[Plan, ...]:
        """Plans that emit the facts of this hyper-node in the bodies of instances that derive a goal.

        They start from the goals and carry their numbers, so that a backend can stop when a goal has enough instances.
        """
        return tuple(self._body_plan(self._backwards(rule)) for rule in self._deriving(rules, goals))

    def _deriving(self, rules: Iterable[Rule], goals: Mapping[str, int]) -> list[Rule]:
        """The rules that derive goals, in order."""
        readers = self._readers_of(rules)
        found = [use for name, size in goals.items() if size for use in readers.heads.get(name, ())]
        return [rule for _, _, _, rule in sorted(found, key=_PLACE)]

    def _body_plan(self, rule: Rule) -> Plan:
        place = (id(rule), None, True)
        known = self._plans.get(place)
        if known is None:
            outputs = tuple(
                (a.predicate, _plain(a.arguments))
                for a in rule.body[1:]
                if isinstance(a, Atom) and a.predicate in self._own
            )
            order = goal_first(rule, self.statistics)
            known = self._plans[place] = (make_plan(rule, 0, order, self._own, outputs), _Sizes())
        return known[0]

    def _backwards(self, rule: Rule) -> Rule:
        known = self._backward.get(id(rule))
        if known is None:
            known = self._backward[id(rule)] = backwards(rule)
        return known

    def _plan(self, rule: Rule, pivot: int | None, delta: float, *, within: bool) -> Plan:
        """`within` a hyper-node, only its own facts are new; from outside, any may be."""
        place = (id(rule), pivot, within)
        known = self._plans.get(place)
        if known is not None and known[1].are_near(delta, self.statistics):
            return known[0]
        order = atom_order(rule, pivot, float(delta), self.statistics, scattered=self.scattered)
        if known is None or known[0].order != order:
            plan = self.make(rule, pivot, order, self._own if within else None)
        else:
            plan = known[0]
        read = [literal.predicate for literal in rule.body if isinstance(literal, Atom)]
        self._plans[place] = (plan, _Sizes(delta, {name: self.statistics.size(name) for name in read}))
        return plan

    def make(self, rule: Rule, pivot: int | None, order: Sequence[int], changing: Collection[str] | None) -> Plan:
        """A plan that emits heads; other planners emit more."""
        return make_plan(rule, pivot, order, changing)


_Use: TypeAlias = tuple[int, int, str, Rule]
"""Where a predicate is used: the rule's number, a position in its body, the predicate, the rule."""
_PLACE = itemgetter(0, 1)


class _Readers:
    """Rules by the predicates in them, so that rules that a change does not concern cost nothing."""

    def __init__(self, rules: Iterable[Rule], own: Collection[str]) -> None:
        self.positive: dict[str, list[_Use]] = {}
        self.negative: dict[str, list[_Use]] = {}
        self.heads: dict[str, list[_Use]] = {}
        for number, rule in enumerate(rules):
            self.heads.setdefault(rule.predicate, []).append((number, 0, rule.predicate, rule))
            for position, literal in enumerate(rule.body):
                if isinstance(literal, Atom | Negated):
                    uses = self.positive if isinstance(literal, Atom) else self.negative
                    uses.setdefault(literal.predicate, []).append((number, position, literal.predicate, rule))
        self.recursive = {name: uses for name, uses in self.positive.items() if name in own}
        self.by_few: dict[tuple[str | None, ...], tuple[tuple[Plan, ...], int]] = {}
        self._changed: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[bool, int, str, Rule]]] = {}

    def changed(self, positive: tuple[str, ...], negative: tuple[str, ...]) -> list[tuple[bool, int, str, Rule]]:
        """Where some predicates are read in positive atoms, and others in negated ones, in order: whether the atom is
        positive, its position, its predicate, the rule.  Updates change the same predicates again and again."""
        known = self._changed.get((positive, negative))
        if known is None:
            if len(self._changed) >= _TUPLES:
                self._changed.clear()
            parts = (self.positive, positive, True), (self.negative, negative, False)
            found = [(use, sign) for uses, names, sign in parts for name in names for use in uses.get(name, ())]
            found.sort(key=lambda each: each[0][:2])
            known = self._changed[positive, negative] = [(sign, *use[1:]) for use, sign in found]
        return known


def backwards(rule: Rule) -> Rule:
    """A rule that starts from its head, `head :- goal(head), body`; without wildcards, so that facts can be emitted."""
    goal, computed = goal_of(rule)
    return Rule(rule.name, rule.predicate, goal, (Atom(rule.predicate, goal), *named_body(rule), *computed), rule.span)


def named_body(rule: Rule) -> list[BodyLiteral]:
    """The body without wildcards in its positive atoms, so that their facts can be emitted."""
    return [_named(literal, place) if isinstance(literal, Atom) else literal for place, literal in enumerate(rule.body)]


def _named(atom: Atom, place: int) -> Atom:
    """The atom with a name for each wildcard; the type of such a variable does not matter."""
    arguments = (
        Var(f"body{place}.{column}", Type.ANY) if isinstance(argument, Wildcard) else argument
        for column, argument in enumerate(atom.arguments)
    )
    return Atom(atom.predicate, tuple(arguments))


def _plain(arguments: tuple[Argument, ...]) -> tuple[Term, ...]:
    return tuple(argument for argument in arguments if not isinstance(argument, Wildcard))


def plan_node(node: HyperNode, statistics: SizeStatistics | None = None) -> NodePlans:
    """The plans that evaluate a hyper-node from scratch."""
    planner = Planner(node, statistics)
    return NodePlans(node.predicates, planner.nonrecursive(), planner.recursive())


def plan_rule(
    rule: Rule,
    pivot: int | None,
    statistics: SizeStatistics,
    changing: Collection[str] | None = None,
    delta: float = 1e3,
) -> Plan:
    """A plan for one rule, its joins in the cheapest order."""
    return make_plan(rule, pivot, atom_order(rule, pivot, delta, statistics), changing)


def make_plan(
    rule: Rule,
    pivot: int | None,
    order: Sequence[int],
    changing: Collection[str] | None = None,
    outputs: tuple[Output, ...] | None = None,
    *,
    counts_goals: bool | None = None,
) -> Plan:
    """A plan with the positive atoms in a given order.

    `changing` are the predicates that may have facts in the delta (None: all); the others are read as they are.
    `outputs` is what each instance emits if that is not its head; such a plan also carries the goal's number, unless
    `counts_goals` is false.
    """
    counts = outputs is not None if counts_goals is None else counts_goals
    steps = tuple(_Steps(rule, pivot, order, changing).all(atom_first=counts))
    gives = ((rule.predicate, rule.arguments),) if outputs is None else outputs
    return Plan(rule, pivot, tuple(order), gives, steps, _live(gives, steps, counts_goals=counts))


def positions(rule: Rule, predicates: Iterable[str]) -> list[int]:
    """The positions in the body of the positive atoms of some predicates."""
    return [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom) and literal.predicate in predicates]


def _predicate(rule: Rule, position: int) -> str:
    literal = rule.body[position]
    assert isinstance(literal, Atom | Negated)
    return literal.predicate


class _Sizes:
    """The numbers of facts when a plan was made; it stays good until one grows or shrinks fourfold."""

    def __init__(self, delta: float = 0.0, of: Mapping[str, float] = MappingProxyType({})) -> None:
        self._delta = _near(delta)
        self._of = [(name, *_near(size)) for name, size in of.items()]

    def are_near(self, delta: float, now: SizeStatistics) -> bool:
        """Whether the sizes are about the same now."""
        least, most = self._delta
        if not least < delta < most:
            return False
        for name, low, high in self._of:  # noqa: SIM110  a generator takes as long as the rest of it
            if not low < now.size(name) < high:
                return False
        return True


def _near(size: float) -> tuple[float, float]:
    """Bounds; all sizes up to `FEW` count as equal."""
    least = max(size, float(FEW))
    return (least / 4 if least >= 4 * FEW else -1.0), 4 * least


class _Steps:
    """Orders the literals: filters and computations as early as possible, then the next atom."""

    def __init__(self, rule: Rule, pivot: int | None, order: Sequence[int], changing: Collection[str] | None) -> None:
        self.rule = rule
        self.pivot = pivot
        self.order = deque(order)
        self.changing = changing
        self.bound: set[Var] = set()
        self.left = dict(enumerate(rule.body))
        self._variables = [literal_variables(literal) for literal in rule.body]
        self._uses = Counter(variable for found in self._variables for variable in found)  # in the remaining literals
        joined = set(order)
        self._readiness = Readiness({i: literal for i, literal in self.left.items() if i not in joined})
        self._ready, self._held = self._readiness.ready, list[int]()  # heaps

    def all(self, *, atom_first: bool = False) -> Iterator[Step]:
        """All steps; a plan that counts goals reads them before it computes anything, even a constant."""
        if atom_first:
            yield self._atom_step(self.order.popleft())
        while self.left:
            look_at_the_clock()
            yield self._next()

    def _next(self) -> Step:
        while self._ready:
            position = heappop(self._ready)
            if not self._waits(position):
                return self._free_step(position)
            heappush(self._held, position)
        return self._atom_step(self.order.popleft()) if self.order else self._free_step(heappop(self._held))

    def _waits(self, position: int) -> bool:
        """A literal that may have no value should only see bindings that pass all others.

        A variable that another literal needs is nevertheless computed at once.
        """
        literal = self.left[position]
        if len(self.left) == 1 or not may_fail(literal):
            return False
        return not isinstance(literal, Assign) or self._uses[literal.variable] == 1

    def _take(self, position: int) -> None:
        del self.left[position]
        self._uses.subtract(self._variables[position])
        new = self._variables[position] - self.bound
        self.bound |= new
        for ready in self._readiness.bind(new):
            heappush(self._ready, ready)

    def _free_step(self, position: int) -> Step:
        step = self._free(position, self.left[position])
        self._take(position)
        return step

    def _free(self, position: int, literal: BodyLiteral) -> Step:
        bound = self.bound
        match literal:
            case Assign(variable=variable, term=Var() as other) if variable in bound and other not in bound:
                return Compute(Assign(other, variable))
            case Assign(variable=variable, term=term):
                return Filter(Compare("=", variable, term)) if variable in bound else Compute(literal)
            case Range():
                return Unnest(literal)
            case Negated(arguments=arguments):
                return AntiJoin(literal, self._read(position), _known(arguments, bound))
            case Compare() | Test():
                return Filter(literal)
        raise AssertionError(literal)

    def _atom_step(self, position: int) -> Step:
        literal = self.left[position]
        assert isinstance(literal, Atom | Negated)
        is_first = len(self.left) == len(self.rule.body)
        key = _known(literal.arguments, self.bound)
        self._take(position)
        atom = Atom(literal.predicate, literal.arguments)
        return (Scan if is_first else Join)(atom, self._read(position), key)

    def _read(self, position: int) -> Read:
        if isinstance(self.rule.body[position], Negated):
            return self._negated_read(position)
        if position == self.pivot:
            return Read.DELTA
        is_fixed = self.changing is not None and _predicate(self.rule, position) not in self.changing
        if self.pivot is None or is_fixed:
            return Read.ALL
        return Read.ALL if position > self.pivot and isinstance(self.rule.body[self.pivot], Atom) else Read.OLD

    def _negated_read(self, position: int) -> Read:
        if position == self.pivot:
            return Read.ABSENT_DELTA
        is_split = self.pivot is not None and isinstance(self.rule.body[self.pivot], Negated)
        return Read.ABSENT_OLD if is_split and position < (self.pivot or 0) else Read.ABSENT


def _known(arguments: tuple[Argument, ...], bound: set[Var]) -> tuple[int, ...]:
    return tuple(i for i, argument in enumerate(arguments) if isinstance(argument, Const) or argument in bound)


def _live(outputs: Sequence[Output], steps: Sequence[Step], *, counts_goals: bool) -> tuple[tuple[Var, ...], ...]:
    """After each step, the bound variables that a later step or an output still needs."""
    used = [sorted(step_variables(step), key=lambda v: v.name) for step in steps]
    last = {variable: number for number, found in enumerate(used) for variable in found}
    last |= {variable: len(steps) for _, terms in outputs for term in terms for variable in variables(term)}
    last[GOAL] = len(steps) - 1
    live, bound, result = [GOAL] if counts_goals else [], {GOAL}, list[tuple[Var, ...]]()
    for number, found in enumerate(used):
        live += [variable for variable in found if variable not in bound]
        bound.update(found)
        live = [variable for variable in live if last[variable] > number]
        result.append(tuple(live))
    return tuple(result)
