"""One hyper-node during an update: its changed inputs, and Π in the papers' notation.

The letters are those of ALGORITHMS.md: E explicit facts, I the old materialisation, D and A the facts deleted and added
so far, O the facts of this hyper-node.  I does not change until the whole update is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from operator import attrgetter
from typing import Literal, NamedTuple

from holdfast.backends.protocol import Backend, Bag, Counters, Facts
from holdfast.maintenance.module_adapter import ModuleAdapter, States
from holdfast.maintenance.watch import Watch
from holdfast.plans import AggregatePlan, AnyPlan, Plan, Planner, Read
from holdfast.program.model import AggregateRule, Atom, HyperNode, Negated, Rule
from holdfast.quick_dataclass import dataclass
from holdfast.values.dictionary import Codes

_READS_OLD = attrgetter("reads_old")
Phase = Literal["deletion", "backward", "forward", "insertion"]


@dataclass(frozen=True)
class RuleChange:
    """The rules of a hyper-node that an update removes or adds, by how they count."""

    nonrecursive: tuple[Rule, ...] = ()
    recursive: tuple[Rule, ...] = ()
    aggregates: tuple[AggregateRule, ...] = ()

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules but the aggregates."""
        return self.nonrecursive + self.recursive

    def __bool__(self) -> bool:
        return bool(self.nonrecursive or self.recursive or self.aggregates)


def is_positive(rules: RuleChange) -> bool:
    """Whether more facts never give less by some rules."""
    negates = (isinstance(literal, Negated) for rule in rules.rules for literal in rule.body)
    return not rules.aggregates and not any(negates)


class NodeChange(NamedTuple):
    """The facts that an update changes for one hyper-node: its own explicit ones, and those that its rules read."""

    E_minus: Facts
    E_plus: Facts
    removed_inputs: Facts
    added_inputs: Facts


class LateInputs(NamedTuple):
    """Facts that an insertion brought, whose instances Cw does not count yet for heads that were there before it."""

    rows: Mapping[str, Codes]
    rank: int  # the highest one before


@dataclass
class Figures:
    """The cost of maintaining one hyper-node; instances are counted by phase."""

    predicates: tuple[str, ...] = ()
    algorithm: str = ""
    why: str = ""  # the reason for the choice
    given: int = 0  # changed facts: its own explicit ones and those it reads
    deletion: int = 0
    backward: int = 0
    forward: int = 0
    insertion: int = 0
    overdeleted: int = 0
    rederived: int = 0
    kept_by_rank: int = 0  # facts kept by a founded derivation alone, counted each time they are visited
    abandoned: int = 0  # instances visited by an algorithm that was then abandoned for recomputation
    requests: int = 0  # messages or jobs, if others do the work
    seconds: float = 0.0
    work: float = 0.0  # seconds, without time spent waiting
    work_abandoned: float = 0.0  # seconds spent on the abandoned algorithm
    deletes: bool = False  # some of the changed facts were deleted
    inserts: bool = False  # some of the changed facts were inserted
    has_deleted: bool = False  # all that goes has gone; what is left to do is to insert
    is_anew: bool = False  # it was evaluated from scratch

    @property
    def instances(self) -> int:
        """The instances of all phases."""
        return self.deletion + self.backward + self.forward + self.insertion + self.abandoned


class _NotKept(Counters):
    """Counters that an algorithm does not keep: it moves them as in the paper, without effect."""

    remembers = False

    def roll_back(self) -> None:
        pass

    def clear_undo(self) -> None:
        pass

    def add(self, facts: Bag | Facts) -> None:
        pass

    def subtract(self, facts: Bag | Facts) -> None:
        pass

    def forget(self, predicates: Iterable[str]) -> None:
        pass

    def zero(self, facts: Facts) -> Facts:
        raise AssertionError("an algorithm reads only counters that it keeps")


_NOT_KEPT = _NotKept()


@dataclass
class Stratum:
    """An algorithm's view of one hyper-node.  `kept` are its rules from before the update."""

    planner: Planner
    backend: Backend
    watch: Watch
    E_minus: Facts  # E- ∩ O
    E_plus: Facts  # E+ ∩ O
    removed_inputs: Facts  # D \ A of earlier hyper-nodes
    added_inputs: Facts  # A \ D
    kept: RuleChange
    removed: RuleChange
    added: RuleChange
    inputs: Collection[str]  # the predicates that the kept rules, aggregates and modules read, and its own
    figures: Figures = field(default_factory=Figures)
    served: Sequence[ModuleAdapter] = ()  # by modules; then the rules above are those that no module serves
    states: States = field(default_factory=States)
    keeps_nonrecursive: bool = True  # Cn
    keeps_recursive: bool = True  # Cr
    phase: Phase = "deletion"  # the phase that instances are counted in
    late: tuple[LateInputs, ...] = ()  # the first ones first
    is_ranked: bool = False  # the ranks of a recursion through min or max are correct, before and after

    def __post_init__(self) -> None:
        backend = self.backend
        self.E, self.I = backend.explicit, backend.materialisation
        self.D, self.A = backend.deleted, backend.added
        self.Cn: Counters = backend.nonrecursive if self.keeps_nonrecursive else _NOT_KEPT
        self.Cr: Counters = backend.recursive if self.keeps_recursive else _NOT_KEPT

    @property
    def node(self) -> HyperNode:
        """The hyper-node."""
        return self.planner.node

    @property
    def O(self) -> tuple[str, ...]:  # noqa: E743, N802  the papers' letter
        """The predicates of the hyper-node."""
        return self.node.predicates

    @property
    def nothing(self) -> Facts:
        """∅."""
        return self.E_minus.of(())

    def of_node(self, facts: Facts) -> Facts:
        """`… ∩ O`."""
        return facts.of(self.O)

    # --- what an algorithm does, and its figures ---------------------------------------------------------

    def delete(self, Δ: Facts) -> None:
        """D := D ∪ Δ."""
        self.figures.overdeleted += len(Δ)
        self.D |= Δ

    def begin_insertion(self, R: Facts | None = None) -> None:
        """Begin INSERT with the facts that were rederived, if there are any."""
        self.figures.rederived += 0 if R is None else len(R)
        self.figures.has_deleted = True
        self.phase = "insertion"

    def count(self, instances: int, phase: Phase | None = None) -> None:
        """Count rule instances."""
        figures, phase = self.figures, phase or self.phase
        setattr(figures, phase, getattr(figures, phase) + instances)

    # --- Π ---------------------------------------------------------------------------------------------

    def apply(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts], phase: Phase | None = None) -> Bag:
        """The heads of all instances; counts the instances."""
        self.watch.give_way()
        instances = self.backend.apply(plans, sources)
        self.watch.give_way()
        self.count(len(instances), phase)
        return instances

    def instances(self, rules: Iterable[Rule], I: Facts) -> Bag:
        """Π⟦Ip, In⟧."""
        return self.apply(self.planner.whole(rules), {Read.ALL: I, Read.ABSENT: I})

    def delta_heads(self, rules: Iterable[Rule], I: Facts, P: Facts, N: Facts) -> Bag:
        """Π⟦I : P, N⟧."""
        plans = self.planner.changed(rules, P.sizes(), N.sizes()) if rules else ()
        if not plans:
            return self.backend.apply((), {})
        return self.apply(plans, delta_sources(I, P, N, plans))

    def lost_heads(self, rules: tuple[Rule, ...], I: Facts) -> Bag:
        """Π⟦I : D\\A, A\\D⟧: the heads that lose an instance by changes in earlier hyper-nodes."""
        return self.delta_heads(rules, I, self.removed_inputs, self.added_inputs)

    def gained_heads(self, rules: tuple[Rule, ...], J: Facts) -> Bag:
        """Π⟦J : A\\D, D\\A⟧: the heads that gain one."""
        return self.delta_heads(rules, J, self.added_inputs, self.removed_inputs)

    def recursive_heads(self, rules: Iterable[Rule], Ip: Facts, In: Facts, Δ: Facts, phase: Phase | None = None) -> Bag:
        """Π_r⟦Ip, In : Δ⟧ for new or deleted facts of this hyper-node."""
        plans = self.planner.for_scattered.recursive(Δ.sizes(), rules) if rules else ()
        if not plans:
            return self.backend.apply((), {})
        sources = {Read.ALL: Ip, Read.DELTA: Δ, Read.ABSENT: In}
        if read_old(plans):
            sources[Read.OLD] = Ip - Δ
        return self.apply(plans, sources, phase)

    def derived_goals(self, rules: Iterable[Rule], Ip: Facts, In: Facts, goals: Facts) -> Bag:
        """The goals that are heads of instances over (Ip, In), once for each instance: rules run backwards."""
        plans = self.planner.heads(rules, goals.sizes())
        if not plans:
            return self.backend.apply((), {})
        return self.apply(plans, {Read.ALL: Ip, Read.DELTA: goals, Read.ABSENT: In}, "backward")

    def supporting(self, rules: Iterable[Rule], goals: Facts, most: int) -> tuple[Facts, Facts]:
        """The body facts in O of a bounded number of instances per goal, and the goals that have no more instances.

        The instances are over (I \\ (D\\A), I ∪ A); the bound applies to each rule.
        """
        I, D, A = self.I, self.D, self.A
        plans = self.planner.bodies(rules, goals.sizes())
        sources = {Read.ALL: I - (D - A), Read.DELTA: goals, Read.ABSENT: I | A}
        instances, exhausted = self.backend.expand(plans, sources, most)
        self.count(len(instances) // max(1, min((len(plan.outputs) for plan in plans), default=1)), "backward")
        return instances.support(), exhausted

    def aggregated(self, rules: Iterable[AggregateRule], I: Facts) -> Bag:
        """The aggregates of whole relations."""
        return self.apply([AggregatePlan(rule) for rule in rules], {Read.ALL: I})

    def aggregates_touched(self, I: Facts) -> Bag:
        """The kept aggregates of the groups that a changed fact belongs to; other groups are not read."""
        if not self.kept.aggregates:
            return self.backend.apply((), {})
        changes = self.removed_inputs | self.added_inputs
        touched = [AggregatePlan(rule) for rule in self.kept.aggregates if changes.sizes().get(rule.source)]
        return self.apply(touched, {Read.ALL: I, Read.DELTA: changes})


def read_old(plans: Iterable[Plan]) -> bool:
    """Whether some plan reads what is there without the changed facts; to make that set takes part of a small round."""
    return any(map(_READS_OLD, plans))


def delta_sources(I: Facts, P: Facts, N: Facts, plans: Iterable[Plan] | None = None) -> dict[Read, Facts]:
    """The sources of the atoms of Π⟦I : P, N⟧; of some plans, if they are given, only what they read."""
    found = {Read.ALL: I, Read.DELTA: P, Read.ABSENT: I, Read.ABSENT_DELTA: N}
    if plans is None or read_old(plans):
        found |= {Read.OLD: I - P, Read.ABSENT_OLD: I | N}
    return found


def predicates_read(rules: RuleChange) -> set[str]:
    """The predicates in the bodies of some rules."""
    bodies = (literal for rule in (*rules.nonrecursive, *rules.recursive) for literal in rule.body)
    return {literal.predicate for literal in bodies if isinstance(literal, Atom | Negated)} | {
        rule.source for rule in rules.aggregates
    }
