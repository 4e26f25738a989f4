"""Proofs of the least height, by ball search, and the lists that negation and aggregates in them rest on.

The ball of radius r holds all facts that some chain of at most r rule instances leads down to from the goal.  Every
proof of height r or less lies in it.  Inside, facts are ranked from those that were given upwards; the first radius
not below the goal's rank shows that the rank is the least height.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from holdfast.arguments import expect_number
from holdfast.deadline import within
from holdfast.errors import Diagnostic, LimitReached
from holdfast.explanations.chains import ClosureRules, chain, closure_of
from holdfast.explanations.matching import ANY, USED, Binding, Fact, FactPattern, Matcher, order_of
from holdfast.explanations.proof import Proof, ProofStep
from holdfast.explanations.terms import Unknown, fact_text, text_of
from holdfast.explanations.written_rules import RuleHead
from holdfast.language import tree
from holdfast.language.printer import show_formula
from holdfast.language.syntax import nodes
from holdfast.quick_dataclass import dataclass

T = TypeVar("T")
NOT_FOUND = "E0806"
_AT_ONCE = 1_000  # patterns that are looked at before the next look at the clock
_FEW = 100  # patterns of one form that are listed, however few facts there are


@dataclass(frozen=True, eq=False)
class Instance:
    """A rule instance: what it derives, and from what."""

    conclusion: Fact
    rule: RuleHead
    binding: Mapping[str, object]
    premises: tuple[Fact, ...]
    module: str = ""  # what found it, if not a search by rules
    is_bound: bool = False  # whether its conclusion is a sum of a part of the members


class SearchLimit:
    """What a search may take: seconds, and facts looked at."""

    def __init__(self, seconds: float | None, size: int | None) -> None:
        expect_number(seconds, "seconds", whole=False)
        expect_number(size, "size")
        self.seconds, self.size = seconds, size
        self._end = None if seconds is None else time.monotonic() + seconds

    def reached(self, what: str) -> LimitReached:
        """The error that says that time has run out."""
        return _not_found(what, f"{self.seconds or 0:g} seconds", "seconds")

    @contextmanager
    def heeded(self, what: str) -> Iterator[None]:
        """Inside a `with` evaluation stops when time has run out."""
        try:
            with within(None if self._end is None else max(0.0, self._end - time.monotonic())):
                yield
        except LimitReached as error:
            self.check(0, what)
            raise error

    def look(self, what: str) -> None:
        """Raise if time has run out."""
        if self._end is not None and time.monotonic() > self._end:
            raise self.reached(what)

    def check(self, size: int, what: str) -> None:
        """Raise if it is reached."""
        self.look(what)
        if self.size is not None and size > self.size:
            raise _not_found(what, f"{self.size:,} facts", "size")


def _not_found(what: str, limit: str, name: str) -> LimitReached:
    help = f"raise the limit, {name}=…; finding none says nothing about the fact"
    return LimitReached(Diagnostic(NOT_FOUND, f"no {what} was found within {limit}", help=help))


class Search:
    """Searches proofs of facts that hold.  What one search learns, the next one uses."""

    def __init__(self, source: Matcher, limit: SearchLimit, *, chains: bool = True) -> None:
        self._source, self._limit, self._chains = source, limit, chains
        if limit.seconds is not None:
            source.limit = limit
        self.rank: dict[Fact, int] = {}
        self._proved: set[Fact] = set()  # those whose rank is the least
        self._instances: dict[Fact, list[Instance]] = {}
        self._users: dict[Fact, list[Instance]] = {}
        self._given: dict[Fact, bool] = {}
        self._closures: dict[str, ClosureRules | None] = {}
        self._halves: dict[Fact, Any] = {}
        self._links: set[Fact] = set()  # of chains: a transitive rule need not derive them

    def prove(self, goals: Iterable[Fact]) -> None:
        """Rank facts that hold, and with them all that their proofs rest on."""
        frontiers = {goal: [goal] for goal in goals if goal not in self._proved}
        new, seen, radius = [*frontiers], {goal: {goal} for goal in frontiers}, 0
        self._look(new)
        while frontiers := {g: f for g, f in frontiers.items() if f and self.rank.get(g, radius + 1) > radius}:
            self._limit.check(len(self._given), f"proof of {fact_text(next(iter(frontiers)))}")
            self._widen(dict.fromkeys(fact for frontier in frontiers.values() for fact in frontier))
            radius += 1
            for goal, frontier in frontiers.items():
                below = dict.fromkeys(premise for fact in frontier for premise in self._promising(fact))
                frontiers[goal] = [fact for fact in below if fact not in seen[goal]]
                seen[goal].update(frontiers[goal])
        if any(goal not in self.rank for goal in new):
            self._go_by_stages()
        for goal in new:
            if goal not in self.rank:
                raise Unknown(f"{fact_text(goal)} holds, and the rules as they are written give no proof of it")
        self._proved.update(new)

    def _look(self, facts: Iterable[Fact]) -> None:
        new = [fact for fact in facts if fact not in self._given]
        derived = [fact for fact in new if (fact[0], len(fact[1])) in self._source.heads]
        given = self._source.together(lambda: self._source.given(derived)) | {
            fact for fact in new if (fact[0], len(fact[1])) not in self._source.heads
        }
        for fact in new:
            self._given[fact] = fact in given
        for fact in given:
            self._settle(fact, 0)

    def _widen(self, frontier: Iterable[Fact]) -> None:
        """Meet all instances that derive facts of the frontier."""
        goals = [fact for fact in frontier if fact not in self._instances and not self._given[fact]]
        met = self.instances(goals)
        self._look(dict.fromkeys(premise for instances in met.values() for i in instances for premise in i.premises))
        for fact, instances in met.items():
            self._instances[fact] = instances
            for instance in instances:
                for premise in instance.premises:
                    self._source.tick(1)
                    self._users.setdefault(premise, []).append(instance)
                self._try(instance)

    def _promising(self, fact: Fact) -> Iterator[Fact]:
        """The premises that may give a fact a lower rank.  The ranks that DRed^w keeps would leave only lower ones."""
        if self.rank.get(fact, 3) > 2:  # a premise that was not given has rank 1 or more
            for instance in self._instances.get(fact, ()):
                yield from (premise for premise in instance.premises if not self._given[premise])

    def _try(self, instance: Instance) -> None:
        self._source.tick(len(instance.premises))
        if all(premise in self.rank for premise in instance.premises):
            rank = 1 + max((self.rank[premise] for premise in instance.premises), default=0)
            if rank < self.rank.get(instance.conclusion, rank + 1):
                self._settle(instance.conclusion, rank)

    def _settle(self, fact: Fact, rank: int) -> None:
        """A fact has a lower rank than was known; what it is used for may have one too."""
        self._source.tick(1)
        self.rank[fact] = rank
        waiting = [fact]
        while waiting:
            for user in self._users.get(waiting.pop(), ()):
                self._source.tick(1)
                if all(premise in self.rank for premise in user.premises):
                    rank = 1 + max(self.rank[premise] for premise in user.premises)
                    if rank < self.rank.get(user.conclusion, rank + 1):
                        self.rank[user.conclusion] = rank
                        waiting.append(user.conclusion)

    def _go_by_stages(self) -> None:
        """Rank what rests on sums that depend on themselves: fewer members give a lower bound, which may be enough."""
        bounds: dict[Fact, Fact] = {}
        tried: set[tuple[Instance, tuple[Fact, ...]]] = set()
        inside = [i for some in self._instances.values() for i in some if i.rule.has_sums]
        before = -1
        while before < len(tried):
            before = len(tried)
            for instance in (i for i in inside if i.conclusion not in self.rank):
                self._source.tick(len(instance.premises))
                premises = tuple(p if p in self.rank else bounds.get(p, p) for p in instance.premises)
                ranked, is_sum = tuple(p for p in premises if p in self.rank), instance.rule.has_aggregates
                if (instance, ranked) not in tried and (len(ranked) == len(premises) or (is_sum and ranked)):
                    tried.add((instance, ranked))
                    for new in self._source.together(partial(self._staged, instance, ranked)):
                        bounds[instance.conclusion] = new.conclusion
                        self._given.setdefault(new.conclusion, False)
                        self._instances.setdefault(new.conclusion, []).append(new)
                        self._try(new)

    def _staged(self, instance: Instance, premises: tuple[Fact, ...]) -> list[Instance]:
        """What a rule gives with other premises: a sum of them, or the same conclusion."""
        name, row = instance.conclusion
        pattern = (self._source.group((name, row)) or (name, row))[1] if instance.rule.has_aggregates else row
        return [
            Instance((name, value), instance.rule, b, tuple(dict.fromkeys(b.get(USED, ()))), is_bound=value != row)
            for value, b in with_premises(self._source, instance.rule, (pattern, {}), premises)
        ]

    def best(self, fact: Fact) -> Instance | None:
        """The instance by which a ranked fact is proved: of the least rank, with the fewest premises; None if it was
        given.  Of several the first by their texts, so that every engine gives the same proof."""
        if not self.rank[fact]:
            return None
        self._source.tick(sum(len(instance.premises) for instance in self._instances[fact]))
        met = (i for i in self._instances[fact] if all(premise in self.rank for premise in i.premises))
        below = self.rank[fact] - 1
        founded = [i for i in met if max((self.rank[premise] for premise in i.premises), default=0) == below]
        return founded[0] if len(founded) == 1 else min(founded, key=_simplicity)

    def instances(self, goals: Sequence[Fact]) -> dict[Fact, list[Instance]]:
        """All rule instances that derive some facts."""
        found: dict[Fact, list[Instance]] = {goal: [] for goal in goals}
        by_relation: dict[tuple[str, int], list[Fact]] = {}
        for goal in goals:
            if self._chains and (chained := self._chained(goal)) is not None:
                found[goal] = [chained]
                continue
            by_relation.setdefault((goal[0], len(goal[1])), []).append(goal)
        for instance in self._source.together(lambda: [*self._matched(by_relation)]):
            found[instance.conclusion].append(instance)
        return found

    def _matched(self, goals: Mapping[tuple[str, int], list[Fact]]) -> Iterator[Instance]:
        self._source.prefetch([goal for some in goals.values() for goal in some])
        for place, some in goals.items():
            closure = self._closures.get(place[0])
            for rule in self._source.heads.get(place, ()):
                if closure is not None and rule is closure.transitive:
                    continue  # what is left are links of chains
                for number, _, b in self._source.quick_instances(rule, [(row, {}) for _, row in some]):
                    premises = tuple(dict.fromkeys(b.get(USED, ())))
                    if some[number] not in premises:
                        yield Instance(some[number], rule, b, premises)

    def _chained(self, fact: Fact) -> Instance | None:
        """The instance of a transitive rule that halves a shortest chain, if the fact's relation is a large closure."""
        name = fact[0]
        if name not in self._closures:
            self._closures[name] = closure_of(name, self._source)
        closure = self._closures[name]
        if closure is None or fact in self._links or (fact[1][0] == fact[1][1] and not closure.has_loops):
            return None
        if fact not in self._halves:
            values = chain(closure, fact, self._source)
            if values is None:
                raise Unknown(f"{fact_text(fact)} holds, and there is no chain of facts to it")
            self._halve(name, values, closure.is_symmetric)
        if fact in self._links:
            return None
        values = self._halves[fact]
        binding = dict(zip(closure.names, (fact[1][0], values, fact[1][1]), strict=True))
        halves = ((name, (fact[1][0], values)), (name, (values, fact[1][1])))
        return Instance(fact, closure.transitive, binding, halves, "chain")

    def _halve(self, name: str, values: list[Any], both_ways: bool) -> None:
        """Remember in the middle of which value a part of a chain is halved."""
        waiting = [(0, len(values) - 1)]
        while waiting:
            low, high = waiting.pop()
            fact = (name, (values[low], values[high]))
            if high - low == 1:
                self._links |= {fact, (name, (values[high], values[low]))} if both_ways else {fact}
            elif fact not in self._halves:
                middle = (low + high) // 2
                self._halves[fact] = values[middle]
                waiting += [(low, middle), (middle, high)]


def _simplicity(instance: Instance) -> tuple[int, str, str]:
    return len(instance.premises), instance.rule.name, str(sorted(map(str, instance.premises)))


class Explainer:
    """Makes proofs, with all that a checker needs."""

    def __init__(self, source: Matcher, limit: SearchLimit) -> None:
        self._source, self._limit = source, limit
        self._search = Search(source, limit)
        self._inferences: dict[Fact, ProofStep] = {}
        self._complete: dict[Fact, tuple[Fact, ...]] = {}
        self._listed_before: dict[tuple[str, tuple[bool, ...]], int] = {}

    def proof(self, goal: Fact) -> Proof:
        """A proof of a fact that holds; if it cannot be certified within the limits, it says so."""
        self._search.prove([goal])
        try:
            self._prove([goal])
        except LimitReached as limit:
            if goal not in self._inferences:
                raise
            return Proof(goal, tuple(self._ordered(goal)), limit=limit, names=self._source.names)
        return Proof(goal, tuple(self._ordered(goal)), tuple(self._complete.items()), names=self._source.names)

    def steps(self, goal: Fact) -> list[ProofStep]:
        """The inferences of a proof, premises first, without the lists that a checker needs.

        The source's `exact` has then the patterns that negation and aggregates in them looked up, and the groups of
        best facts, each with its fact.
        """
        self._search.prove([goal])
        self._source.exact = {}
        steps = [step for step, _ in self._source.together(lambda: self._from([goal], {})).values()]
        for step in steps:
            group = None if step.is_bound else self._source.group(step.conclusion)
            if group is not None:
                self._source.exact.setdefault(group, step.conclusion)
        return steps

    def complete(self, pattern: Fact) -> tuple[tuple[ProofStep, ...], tuple[tuple[Fact, tuple[Fact, ...]], ...]]:
        """The inferences and lists which show that a pattern has just the facts that it has."""
        if (pattern[0], len(pattern[1])) in self._source.heads:
            self._prove(self._close({pattern: self._source.group(pattern) is not None}))
        return tuple(self._inferences.values()), tuple(self._complete.items())

    def _prove(self, goals: Iterable[Fact]) -> None:
        """Inferences for facts, and lists for what these ask about."""
        waiting = list(goals)
        while waiting:
            some = [goal for goal in dict.fromkeys(waiting[-_AT_ONCE:]) if goal not in self._inferences]
            del waiting[-_AT_ONCE:]
            self._search.prove(some)
            asked: dict[Fact, bool] = {}
            for fact, (step, new) in self._source.together(partial(self._from, some, self._inferences)).items():
                self._inferences[fact] = step
                asked |= new
            waiting += self._close(asked)

    def _from(self, goals: Sequence[Fact], known: Container[Fact]) -> dict[Fact, tuple[ProofStep, dict[Fact, bool]]]:
        """The inferences of proofs without those that are known, each after its premises, and what they ask about."""
        ordered: dict[Fact, tuple[ProofStep, dict[Fact, bool]]] = {}
        made: dict[Fact, tuple[ProofStep, dict[Fact, bool]]] = {}
        stack = [(goal, False) for goal in goals]
        while stack:
            fact, done = stack.pop()
            self._source.tick(1)
            if done:
                ordered[fact] = made[fact]
            elif fact not in made and fact not in known:
                made[fact] = self._inference(fact)
                stack.append((fact, True))
                stack += [(premise, False) for premise in reversed(made[fact][0].premises)]
        return ordered

    def _inference(self, fact: Fact) -> tuple[ProofStep, dict[Fact, bool]]:
        best = self._search.best(fact)
        step, asked = (ProofStep(fact), {}) if best is None else inference(self._source, best)
        group = self._source.group(fact)  # that nothing better is offered
        return step, asked if group is None else {group: False, **asked}

    def _close(self, asked: dict[Fact, bool]) -> list[Fact]:
        """Lists for patterns, and for all that the rules ask to show them complete; gives facts that need proofs."""
        exact: list[Fact] = []
        while asked:
            self._limit.check(len(self._complete), "certificate of what is absent")
            self._source.together(partial(self._look_up, asked))
            new: dict[tuple[str, int], list[FactPattern]] = {}
            for name, pattern in sorted(asked, key=lambda fact: (fact[0], order_of(fact[1]))):
                if asked[name, pattern]:
                    _, whole = self._source.group((name, pattern)) or (name, pattern)
                    exact += [(name, row) for row in self._source.in_order(self._source.facts(name, [whole])[0])]
                if (name, pattern) in self._complete or (listed := self._listed(name, pattern)) in self._complete:
                    continue
                self._complete[listed] = tuple(
                    (name, row) for row in self._source.in_order(self._source.facts(name, [listed[1]])[0])
                )
                new.setdefault((name, len(pattern)), []).append(listed[1])
            self._source.asked = {}
            self._source.together(partial(self._ask, new))
            asked = self._source.asked
        return exact

    def _ask(self, wanted: Mapping[tuple[str, int], Sequence[FactPattern]]) -> None:
        """Look everything up that lists for some patterns rest on."""
        for place, patterns in wanted.items():
            for rule in self._source.heads[place]:
                for first in range(0, len(patterns), _AT_ONCE):
                    self._limit.check(len(self._complete), "certificate of what is absent")
                    self._source.inside = rule.circle
                    self._source.ask(rule, patterns[first : first + _AT_ONCE])

    def _look_up(self, asked: Mapping[Fact, bool]) -> None:
        for name, pattern in asked:
            self._source.facts(name, [(self._source.group((name, pattern)) or (name, pattern))[1]])

    def _listed(self, name: str, pattern: FactPattern) -> Fact:
        """The pattern itself; of more patterns than a relation has facts, the one that all facts fit.

        Without that, `n(x + 1) :- n(x)` would ask why there is no n(-1), n(-2) and so on.
        """
        name, pattern = self._source.group((name, pattern)) or (name, pattern)
        place = (name, tuple(value is ANY for value in pattern))
        self._listed_before[place] = count = self._listed_before.get(place, 0) + 1
        if count > _FEW and count > self._source.size(name, len(pattern)):
            return name, (ANY,) * len(pattern)
        return name, pattern

    def _ordered(self, goal: Fact) -> list[ProofStep]:
        """All inferences, the goal's last."""
        last = self._inferences.pop(goal)
        self._inferences[goal] = last
        return list(self._inferences.values())


def inference(source: Matcher, instance: Instance) -> tuple[ProofStep, dict[Fact, bool]]:
    """A rule instance as a step of a proof, and the patterns that its negations and aggregates ask about."""
    fact, written = instance.conclusion, instance.rule
    own = {name: value for name, value in instance.binding.items() if not name.startswith(" ")}
    source.asked, source.absent = {}, {}
    instances = with_premises(source, written, (fact[1], own), instance.premises)
    found = [dict.fromkeys(b.get(USED, ())) for _, b in instances]
    same = (tuple(used) for used in found if used.keys() == set(instance.premises))
    absent = tuple(source.absent)
    step = ProofStep(
        fact,
        written.name,
        written.text,
        written.rule.span,
        own,
        next(same, instance.premises),  # in the order in which a checker matches them
        absent,
        aggregates=tuple(_aggregates(written, fact, own)),
        limit=written.limit[1] if written.limit is not None and not written.has_aggregates else "",
        module=instance.module,
        is_bound=instance.is_bound,
    )
    return step, source.asked


def with_premises(
    source: Matcher, rule: RuleHead, goal: tuple[FactPattern, Binding], premises: Sequence[Fact]
) -> list[tuple[FactPattern, Binding]]:
    """The instances of a rule over some premises."""
    source.premises = premises
    try:
        return [(row, b) for _, row, b in source.instances(rule, [goal])]
    finally:
        source.premises = None


def _aggregates(rule: RuleHead, fact: Fact, own: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """What the aggregates of a rule are over and, where a column or a variable has it, their value."""
    functions = [(i, a.function) for i, a in enumerate(rule.head.arguments) if isinstance(a, tree.HeadAggregate)]
    for place, function in functions or ([rule.limit] if rule.limit is not None else []):
        yield {"function": function, "over": show_formula(rule.body), "value": text_of(fact[1][place])}
    for item in (item for item in nodes(rule.body) if isinstance(item, tree.Comparison)):
        for here, there in ((item.left, item.right), (item.right, item.left)):
            if isinstance(there, tree.Aggregate):
                known = isinstance(here, tree.Variable) and here.name in own
                value = {"value": text_of(own[here.name])} if known and isinstance(here, tree.Variable) else {}
                yield {"function": there.function, "over": show_formula(there.body), **value}
