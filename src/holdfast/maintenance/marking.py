"""Marking: while an update is processed, look at the next one, and keep what is met for it (bf-with-marking,
Algorithm 1).

A fact that the next update deletes is *marked*.  An instance that is met with a marked fact in its body marks its head
(lines 12 and 29), and the next update begins with the marked heads instead of looking for them (line 32).  In sets
that saves something only where *all* instances of a marked fact were met: then its part of the next update's first
step is known as a whole.  That is so for marked facts that came with the current update, and rules that read nothing
of their head's own hyper-node: their instances are kept here, the marked facts are *covered*.

Marks are hints.  What was kept is used only if every covered fact does go, in the very next update, under the same
rules; it is then exactly what the first step would have found.  So facts that are explicit and derived, negation,
aggregates, rule changes and a next update that never comes need no further care.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from holdfast.backends.protocol import Bag, Facts, SummableBag
from holdfast.maintenance.stratum import Stratum
from holdfast.plans import Read
from holdfast.program.model import Program, Rule


@dataclass(frozen=True)
class Marks:
    """How many facts were marked, explicit and implicit ones, and the instances that need not be met again."""

    explicit: int = 0
    implicit: int = 0
    saved: int = 0


@dataclass(frozen=True)
class Covered:
    """Facts all of whose instances were met, by some rules of one hyper-node, and those instances."""

    facts: Facts
    rules: Sequence[Rule]
    instances: SummableBag


@dataclass
class Marking:
    """What is known of the next update.  `look` gives what it deletes, if it is there by now; it never waits."""

    look: Callable[[], Facts | None]
    marks: Marks = field(default_factory=Marks)

    def __post_init__(self) -> None:
        self._marked: Facts | None = None
        self._met: dict[tuple[str, ...], Covered] = {}  # during this update, for the next
        self._known: dict[tuple[str, ...], Covered] = {}  # by the last update, for this one
        self._valid: object = None  # the state of which `_known` speaks

    def begin(self, state: object) -> None:
        """Line 33: what was the next update is the current one."""
        self._known = self._met if state == self._valid else {}
        self._marked, self._met, self.marks = None, {}, Marks()

    def end(self, state: object) -> None:
        """The update is the new state."""
        self._valid = state

    def forget(self) -> None:
        """The update was taken back: what it met was not for the next."""
        self._met, self._valid = {}, None

    def taken(self) -> Marks:
        """The marks of the last update."""
        return self.marks

    def marked(self, more: Facts | None = None) -> Facts | None:
        """Lines 7 to 9: if there is no next update yet, look for one and mark what it deletes; `more` is marked too."""
        if self._marked is None:
            self._marked = self.look()
            if self._marked is not None:
                self.marks = replace(self.marks, explicit=len(self._marked))
        if self._marked is not None and more:
            self._marked = self._marked | more
        return self._marked

    def cover(self, s: Stratum, covered: Covered, *, passes_on: bool) -> None:
        """Lines 12 and 29: heads of instances with a marked fact are marked; DRed uses them to mark others."""
        heads = covered.instances.support()
        self.marks = replace(self.marks, implicit=self.marks.implicit + len(heads))
        self._met[s.O] = covered
        if passes_on:
            self.marked(heads)

    def covered(self, s: Stratum) -> Covered | None:
        """Line 32: what the last update met for this one, if all it speaks of goes."""
        known = self._known.get(s.O)
        return None if known is None or known.facts - s.gone else known

    def saves(self, instances: int) -> None:
        """So many instances were not looked for again."""
        self.marks = replace(self.marks, saved=self.marks.saved + instances)


@dataclass
class MarkedStratum(Stratum):
    """A hyper-node whose first steps use and make marks; the algorithms are the same."""

    marking: Marking = field(kw_only=True)
    passes_on: bool = field(kw_only=True)

    def changed(self, rules: Iterable[Rule], I: Facts, P: Facts, N: Facts) -> Bag:
        """Π⟦I : P, N⟧, of what goes and of what comes."""
        rules = tuple(rules)
        if P is self.gone:
            return self._deleted(rules, I)
        if P is self.come:
            return self._inserted(rules, I)
        return Stratum.changed(self, rules, I, P, N)

    def follows(self, rules: Iterable[Rule], Ip: Facts, In: Facts, Δ: Facts) -> Bag:
        """Π_r⟦Ip, In : Δ⟧; before each step there is a look at the next update."""
        self.marking.marked()
        return Stratum.follows(self, rules, Ip, In, Δ)

    def derived_goals(self, rules: Iterable[Rule], Ip: Facts, In: Facts, goals: Facts) -> Bag:
        """Rules run backwards, after a look."""
        self.marking.marked()
        return Stratum.derived_goals(self, rules, Ip, In, goals)

    def supporting(self, rules: Iterable[Rule], goals: Facts, most: int) -> tuple[Facts, Facts]:
        """Line 20, after a look."""
        self.marking.marked()
        return Stratum.supporting(self, rules, goals, most)

    def _deleted(self, rules: tuple[Rule, ...], I: Facts) -> Bag:
        """Line 23, less what is known already."""
        covered = self.marking.covered(self)
        if covered is None or not set(map(id, covered.rules)) <= set(map(id, rules)):
            return Stratum.changed(self, rules, I, self.gone, self.come)
        own = set(map(id, covered.rules))
        self.marking.saves(len(covered.instances))
        self.figures.deletion -= len(covered.instances)  # which the algorithm is about to count
        rest = Stratum.changed(self, [rule for rule in rules if id(rule) not in own], I, self.gone, self.come)
        others = self._without(covered.rules, I, covered.facts, self.gone, self.come)
        return covered.instances + others + rest

    def _inserted(self, rules: tuple[Rule, ...], J: Facts) -> Bag:
        """Line 28: what has a marked fact in its body stands apart, so that it can be kept (line 29)."""
        marked = self.marking.marked()
        own = {id(rule) for rule in self.kept.nonrecursive}
        covering = tuple(rule for rule in rules if id(rule) in own)
        T = self.come & marked if marked is not None and covering else None
        if not T:
            return Stratum.changed(self, rules, J, self.come, self.gone)
        met = Stratum.changed(self, covering, J, T, T - T)
        assert isinstance(met, SummableBag)
        self.marking.cover(self, Covered(T, covering, met), passes_on=self.passes_on)
        rest = Stratum.changed(self, [rule for rule in rules if id(rule) not in own], J, self.come, self.gone)
        return met + self._without(covering, J, T, self.come, self.gone) + rest

    def _without(self, rules: Sequence[Rule], I: Facts, T: Facts, P: Facts, N: Facts) -> Bag:
        """Π⟦I : P, N⟧ without the instances that have a fact of T ⊆ P in their positive bodies."""
        left = P - T
        plans = self.planner.changed(rules, left.sizes(), N.sizes())
        if not plans:
            return self.backend.apply((), {})
        return self.backend.apply(plans, {
            Read.ALL: I - T, Read.OLD: (I - T) - left, Read.DELTA: left, Read.ABSENT: I, Read.ABSENT_OLD: I | N,
            Read.ABSENT_DELTA: N})


PASSING_ON = frozenset({"counting", "dred", "dred-counting"})
"""The algorithms in which marked implicit facts mark others (section 4): they delete all that depends on a deletion."""


def certain(facts: Facts, program: Program) -> Facts:
    """Facts of predicates that head no rule: they go for certain when they are deleted."""
    derived = {rule.predicate for rule in program.rules} | {rule.predicate for rule in program.aggregates}
    return facts.of([name for name in facts.sizes() if name not in derived])
