"""Plans: how a rule's body is evaluated, as plain data that can be printed and that every backend runs.

A plan is a list of steps that starts from one empty binding and ends with the head.  A `Read` names the facts that an
atom reads; the maintenance algorithms define the reads by passing `apply` a mapping from reads to fact sets.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from typing import ClassVar, TypeAlias

from holdfast.program.model import AggregateRule, Assign, Atom, Compare, Negated, Range, Rule, Term, Test, Var
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type


class Read(Enum):
    """What an atom reads, in the letters of Π⟦Ip, In : P, N⟧ (ALGORITHMS.md, "Notation").

    A delta plan is split at a pivot: atoms before it read OLD, the pivot DELTA, atoms after it ALL, so that an instance
    with several facts of the delta is emitted once.
    """

    ALL = "all"  # Ip
    OLD = "old"  # Ip \ P
    DELTA = "delta"  # P
    ABSENT = "absent"  # for a negated atom: not in In
    ABSENT_OLD = "absent-old"  # neither in In nor in N
    ABSENT_DELTA = "absent-delta"  # in N, and not in In

    __hash__ = object.__hash__  # Enum's own is slow


@dataclass(frozen=True)
class Scan:
    """Bind the atom's variables from every fact it reads; only a first step.  `key` columns hold constants."""

    atom: Atom
    read: Read
    key: tuple[int, ...]


@dataclass(frozen=True)
class Join:
    """Extend each binding by every fact that agrees with it in the `key` columns."""

    atom: Atom
    read: Read
    key: tuple[int, ...]


@dataclass(frozen=True)
class AntiJoin:
    """Keep the bindings for which there is no such fact; `key` are the columns that are not wildcards."""

    atom: Negated
    read: Read
    key: tuple[int, ...]


@dataclass(frozen=True)
class Filter:
    """Keep the bindings that pass a comparison or a test."""

    condition: Compare | Test


@dataclass(frozen=True)
class Compute:
    """Bind a variable to the value of a term."""

    assignment: Assign


@dataclass(frozen=True)
class Unnest:
    """Bind a variable to each value of a range."""

    range: Range


Step: TypeAlias = Scan | Join | AntiJoin | Filter | Compute | Unnest


Output: TypeAlias = tuple[str, tuple[Term, ...]]
"""A predicate and its arguments."""

GOAL = Var("goal#", Type.NUMBER)
"""In a backward plan, the number of the fact that it started from."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The steps of one rule; `pivot` is the position in the body of the literal that reads the delta, if any.

    `live[i]` are the variables that a binding carries after step i.  Plans compare by identity, so that a backend can
    keep what it prepared for a plan without comparing rules.
    """

    rule: Rule
    pivot: int | None
    order: tuple[int, ...]  # the join order of the positive atoms
    outputs: tuple[Output, ...]  # what each instance emits: its head, or, run backwards, facts of its body
    steps: tuple[Step, ...]
    live: tuple[tuple[Var, ...], ...]

    @property
    def predicates(self) -> set[str]:
        """The predicates of the head and of the body's atoms."""
        return {self.rule.predicate, *(a.predicate for a in self.rule.body if isinstance(a, Atom | Negated))}

    @cached_property
    def delta(self) -> tuple[Read, str] | None:
        """The read and the predicate of the changed facts that it starts from, if it does."""
        if self.pivot is None:
            return None
        literal = self.rule.body[self.pivot]
        assert isinstance(literal, Atom | Negated)
        return (Read.DELTA if isinstance(literal, Atom) else Read.ABSENT_DELTA), literal.predicate

    @cached_property
    def reads_old(self) -> bool:
        """Whether it reads what is left without the changed facts, or what is there with them."""
        reads = {step.read for step in self.steps if isinstance(step, Scan | Join | AntiJoin)}
        return not reads.isdisjoint((Read.OLD, Read.ABSENT_OLD))

    @property
    def delta_predicate(self) -> str | None:
        """The predicate whose changed facts start this plan."""
        return None if self.delta is None else self.delta[1]


@dataclass(frozen=True)
class AggregatePlan:
    """One aggregate rule, over all the facts of its source."""

    rule: AggregateRule
    delta: ClassVar[None] = None  # it starts from no changed facts


AnyPlan: TypeAlias = Plan | AggregatePlan


@dataclass(frozen=True)
class NodePlans:
    """The plans that evaluate one hyper-node from scratch."""

    predicates: tuple[str, ...]
    nonrecursive: tuple[AnyPlan, ...]  # Π_n, over all facts
    recursive: tuple[Plan, ...]  # Π_r, one for each recursive atom of each rule
