"""Marking: while processing an update, look ahead to the next one and keep what it will need (bf-with-marking,
Algorithm 1).

A fact that the next update deletes is *marked*.  An instance with a marked fact in its body marks its head (lines 12
and 29), and the next update begins with the marked heads instead of searching for them (line 32).  Set at a time, that
only saves work where *all* instances of a marked fact are known: such a fact is *covered*, and needs no join in the
next update's first step.  And since a join takes as long for one fact as for ten, it only saves time where the whole
step of some rules is skipped.  Among the rules that read nothing of their head's own hyper-node, two kinds are covered:

- copying rules, `p(x, y) :- q(x, y).`: a fact has one instance, which is linked to it from the moment the fact is added
  (`links.py`); the paper's program for P_seq does so by a logic variable that both facts share;
- others, if all marked facts that they read were added by the current update: all their instances were just visited.

Marks are hints.  They are used only if every covered fact is in fact deleted, in the very next update, under the same
rules; they are then exactly what the first step would have found.  So facts that are both explicit and derived,
negation, aggregates, rule changes and a next update that never comes need no special treatment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import reduce
from operator import add
from typing import cast

from holdfast.backends.abilities import Links
from holdfast.backends.protocol import Bag, Facts, SummableBag
from holdfast.maintenance.stratum import Stratum
from holdfast.plans import Read
from holdfast.program.model import Atom, Const, HyperNode, Program, Rule, Var, Wildcard
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Marks:
    """The numbers of marked facts, explicit and implicit, and of instances that need not be visited again."""

    explicit: int = 0
    implicit: int = 0
    saved: int = 0


class Copying:
    """A copying rule of a hyper-node."""

    def __init__(self, rule: Rule, node: HyperNode) -> None:
        self.rules = (rule,)
        [self.read] = _read(rule)
        # different facts have different heads
        self.tells_apart = set(rule.arguments).issuperset(cast("Atom", rule.body[0]).arguments)
        heads = [other.predicate for other in (*node.nonrecursive, *node.recursive)]
        heads += [other.predicate for other in node.aggregates]
        self.is_all = self.tells_apart and heads.count(rule.predicate) == 1  # a head has no other derivation


@dataclass(frozen=True)
class Covered:
    """Facts whose instances by some rules of one hyper-node are all known, and those instances."""

    facts: Facts
    rules: Sequence[Rule]
    instances: SummableBag
    copying: Copying | None = None  # if there is a single rule, and it copies


class Coverable:
    """The rules of a hyper-node that read nothing of it and may read marked facts: copying rules and others.

    If a rule in `beside`, which takes part in the same step, reads the same facts, the step stays.
    """

    def __init__(
        self, node: HyperNode, rules: Sequence[Rule], beside: Sequence[Rule], certain: Callable[[str], bool]
    ) -> None:
        elsewhere = {name for rule in beside for name in _read(rule)}
        own = [rule for rule in rules if any(map(certain, _read(rule))) and elsewhere.isdisjoint(_read(rule))]
        self.copying = tuple(rule for rule in own if copies(rule))
        self.each_copying = tuple(Copying(rule, node) for rule in self.copying)
        self.others = tuple(rule for rule in own if not copies(rule))
        self.rest = tuple(rule for rule in rules if rule not in own)
        self.uncopied = self.others + self.rest
        self.joined = frozenset(name for rule in self.others for name in _read(rule))

    def __bool__(self) -> bool:
        return bool(self.copying or self.others)


def _read(rule: Rule) -> set[str]:
    return {literal.predicate for literal in rule.body if isinstance(literal, Atom)}


def copies(rule: Rule) -> bool:
    """Whether each fact of the body has exactly one instance, whatever else holds."""
    if len(rule.body) != 1 or not isinstance(rule.body[0], Atom):
        return False
    variables = [argument for argument in rule.body[0].arguments if not isinstance(argument, Wildcard)]
    plain = all(isinstance(argument, Var) for argument in variables) and len(set(variables)) == len(variables)
    return plain and all(isinstance(term, Var | Const) for term in rule.arguments)


@dataclass
class Marking:
    """The known deletions of the next update.  `look` returns them if they are available; it never waits."""

    look: Callable[[], Facts | None]
    links: Links
    derived: Collection[str]  # predicates that head rules; only facts of others are certain to go when deleted
    is_over: bool = False  # the stream has ended

    def __post_init__(self) -> None:
        self._marked: Facts | None = None
        self._explicit = self._implicit = self._saved = 0
        self._met: dict[tuple[str, ...], list[Covered]] = {}  # found during this update, for the next
        self._known: dict[tuple[str, ...], list[Covered]] = {}  # found by the last update, for this one
        self._valid: object = None  # the state that `_known` refers to
        self._coverable: dict[tuple[tuple[str, ...], bool, bool], Coverable] = {}
        self._vain: dict[tuple[str, ...], int] = {}  # updates since the last cover in a hyper-node
        self._uncovered: dict[tuple[int, frozenset[int]], tuple[Rule, ...]] = {}

    def begin(self, state: object) -> None:
        """Line 33: the next update becomes the current one."""
        self._known = self._met if state == self._valid else {}
        self._marked, self._met = None, {}
        self._explicit = self._implicit = self._saved = 0

    def end(self, state: object) -> None:
        """Record the state after the update."""
        self._valid = state

    def forget(self) -> None:
        """The update was rolled back: drop what it recorded for the next."""
        self._met, self._valid = {}, None

    def rules_changed(self, program: Program) -> None:
        """Forget everything found under the old program: rules have changed, and row ids may have been reused."""
        self.derived = program.derived
        self.forget()
        self.links.clear()
        self._coverable, self._uncovered = {}, {}

    def taken(self) -> Marks:
        """The marks of the last update."""
        return Marks(self._explicit, self._implicit, self._saved)

    def marked(self) -> Facts | None:
        """Lines 7 to 9: if there is no next update yet, look for one and mark what it deletes."""
        if self._marked is None and (deleted := self.look()) is not None:
            self._marked = deleted.of(name for name in deleted.sizes() if name not in self.derived)
            self._explicit = len(self._marked)
        return self._marked

    def cover(self, s: Stratum, covered: Covered, *, passes_on: bool) -> None:
        """Lines 12 and 29: mark the heads of instances with a marked fact; DRed uses them to mark others."""
        heads = covered.instances.support()
        self._implicit += len(covered.instances if covered.copying and covered.copying.tells_apart else heads)
        self._met.setdefault(s.O, []).append(covered)
        self._vain[s.O] = 0
        if passes_on and self._marked is not None:
            self._marked = self._marked | heads

    def covered(self, s: Stratum) -> list[Covered]:
        """Line 32: what the last update found for this one, if all facts it covers are deleted."""
        return [known for known in self._known.get(s.O, ()) if not known.facts - (s.D - s.A)]

    def concerns(self, node: HyperNode, rules: Sequence[Rule], beside: Sequence[Rule], *, passes_on: bool) -> bool:
        """Whether marks can be used or made in a hyper-node, by its rules that read nothing of it.

        After many updates without any cover, only every update whose number since then is a power of two tries again: a
        stream that does not profit from marks spends next to nothing on them.
        """
        if not self.coverable(node, rules, beside, passes_on=passes_on):
            return False  # then nothing is known either
        if node.predicates in self._known:
            return True
        vain = self._vain[node.predicates] = self._vain.get(node.predicates, 0) + 1
        return vain <= PATIENCE or vain & (vain - 1) == 0

    def coverable(
        self, node: HyperNode, rules: Sequence[Rule], beside: Sequence[Rule], *, passes_on: bool
    ) -> Coverable:
        """The rules that may read marked facts (explicit ones, or any); computed once."""
        place = node.predicates, passes_on, bool(beside)
        found = self._coverable.get(place)
        if found is None:
            found = Coverable(node, rules, beside, lambda name: passes_on or name not in self.derived)
            self._coverable[place] = found
        return found

    def uncovered(self, rules: tuple[Rule, ...], covered: Sequence[Covered]) -> tuple[Rule, ...]:
        """The rules without the covered ones; the same tuple each time, as rules stay while the program does."""
        own = frozenset(id(rule) for known in covered for rule in known.rules)
        found = self._uncovered.get((id(rules), own))
        if found is None:
            found = self._uncovered[id(rules), own] = tuple(rule for rule in rules if id(rule) not in own)
        return found

    def saves(self, instances: int) -> None:
        """Count instances that need not be searched for again."""
        self._saved += instances


@dataclass
class MarkedStratum(Stratum):
    """A hyper-node whose first steps use and make marks; the algorithms stay the same."""

    marking: Marking = field(kw_only=True)
    passes_on: bool = field(kw_only=True)
    beside: Sequence[Rule] = field(kw_only=True)  # the rules whose first deletions happen in the same step
    underived: Facts | None = None  # marked facts that are known to have no derivation left

    def derived_goals(self, rules: Iterable[Rule], Ip: Facts, In: Facts, goals: Facts) -> Bag:
        """Rules run backwards, but not for facts whose only derivation was marked and is gone."""
        if self.underived is not None:
            goals = goals - self.underived
        return Stratum.derived_goals(self, rules, Ip, In, goals)

    def supporting(self, rules: Iterable[Rule], goals: Facts, most: int) -> tuple[Facts, Facts]:
        """Line 20, after looking for the next update."""
        self.marking.marked()
        return Stratum.supporting(self, rules, goals, most)

    def lost_heads(self, rules: tuple[Rule, ...], I: Facts) -> Bag:
        """Line 23, without the instances that are known already."""
        known, bags = self.marking.covered(self), list[Bag]()
        if not known:
            return Stratum.lost_heads(self, rules, I)
        for covered in known:
            self.marking.saves(len(covered.instances))
            bags.append(covered.instances)
            if covered.copying is not None and covered.copying.is_all:
                heads = covered.instances.support()
                self.underived = heads if self.underived is None else self.underived | heads
            if covered.copying is None or len(covered.facts) < self.removed_inputs.sizes()[covered.copying.read]:
                bags.append(self._without(covered.rules, I, covered.facts, self.removed_inputs, self.added_inputs))
        return _sum(
            [*bags, *self._changed(self.marking.uncovered(rules, known), I, self.removed_inputs, self.added_inputs)]
        )

    def _changed(self, rules: Sequence[Rule], I: Facts, P: Facts, N: Facts) -> list[Bag]:
        """Π⟦I : P, N⟧, or nothing without rules."""
        return [self.delta_heads(rules, I, P, N)] if rules else []

    def gained_heads(self, rules: tuple[Rule, ...], J: Facts) -> Bag:
        """Line 28, by rules that read nothing of their head's own hyper-node; keeps those of marked facts (line 29)."""
        marked, added, removed = self.marking.marked(), self.added_inputs, self.removed_inputs
        coverable = self.marking.coverable(self.node, rules, self.beside, passes_on=self.passes_on)
        copied = self._copied(coverable, marked, J) if coverable.copying else []
        T = marked.of(coverable.joined) if marked is not None and coverable.others else None
        if not T or T - (self.A - self.D):
            return _sum([*copied, *self._changed(coverable.uncopied, J, added, removed)])
        met = cast("SummableBag", self.delta_heads(coverable.others, J, T, self.nothing))
        self.marking.cover(self, Covered(T, coverable.others, met), passes_on=self.passes_on)
        rest = self._changed(coverable.rest, J, added, removed)
        return _sum([*copied, met, self._without(coverable.others, J, T, added, removed), *rest])

    def _copied(self, rules: Coverable, marked: Facts | None, J: Facts) -> list[Bag]:
        """The instances of copying rules; those of marked facts are known from whenever they were visited."""
        copied = self.delta_heads(rules.copying, J, self.added_inputs, self.removed_inputs)
        self.marking.links.learn(rules.copying, self.added_inputs, copied)
        if marked is None:
            return [copied]
        for copying in rules.each_copying:
            known, instances = self.marking.links.heads(copying.rules[0], marked, J)
            if known:
                covered = Covered(known, copying.rules, instances, copying)
                self.marking.cover(self, covered, passes_on=self.passes_on)
        return [copied]

    def _without(self, rules: Sequence[Rule], I: Facts, T: Facts, P: Facts, N: Facts) -> Bag:
        """Π⟦I : P, N⟧ without the instances that have a fact of T ⊆ P in their positive bodies."""
        if not self.planner.changed(rules, _fewer(P.sizes(), T.sizes()), N.sizes()):
            return self.backend.apply((), {})
        left, positive = P - T, I - T
        return self.apply(
            self.planner.changed(rules, left.sizes(), N.sizes()),
            {
                Read.ALL: positive,
                Read.OLD: positive - left,
                Read.DELTA: left,
                Read.ABSENT: I,
                Read.ABSENT_OLD: I | N,
                Read.ABSENT_DELTA: N,
            },
        )


def _fewer(sizes: Mapping[str, int], less: Mapping[str, int]) -> Mapping[str, int]:
    return {name: size - less.get(name, 0) for name, size in sizes.items()}


def _sum(bags: Sequence[Bag]) -> Bag:
    if len(bags) == 1:
        return bags[0]
    return reduce(add, cast("Sequence[SummableBag]", bags))


PATIENCE = 8  # updates without a cover
