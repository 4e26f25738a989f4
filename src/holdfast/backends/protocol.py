"""The waist of the hourglass: what a maintenance algorithm may ask of a backend.

The algorithms speak of sets of facts, of bags (facts with multiplicity), of counters, and of one operator:
`apply(plans, sources)`, the multiset Π⟦…⟧ of ALGORITHMS.md.  What a plan's atoms read is named by a `Read`, and
`sources` says which set each name stands for.  Laziness, indexes, batches and storage are the backend's affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, Self, runtime_checkable

from holdfast.plans import AnyPlan, Plan, Read, Statistics


class Facts(Protocol):
    """A set of facts, of any number of predicates."""

    def __or__(self, other: Facts) -> Facts: ...

    def __sub__(self, other: Facts) -> Facts: ...

    def __and__(self, other: Facts) -> Facts: ...

    def __bool__(self) -> bool: ...

    def __len__(self) -> int: ...

    def of(self, predicates: Iterable[str]) -> Facts:
        """The facts of some predicates only."""
        ...

    def sizes(self) -> Mapping[str, int]:
        """How many facts of each predicate there are."""
        ...


class KeptFacts(Facts, Protocol):
    """A set that stays and changes, such as E, I, D and A."""

    def __ior__(self, more: Facts) -> Self: ...

    def __isub__(self, fewer: Facts) -> Self: ...


class ListedFacts(KeptFacts, Protocol):
    """A small set that changes during an update and is empty after it, such as D and A."""

    def clear(self) -> None:
        """Take all facts out."""
        ...


class Bag(Protocol):
    """Facts with multiplicity: the heads of rule instances, one for each instance."""

    def __len__(self) -> int: ...

    def support(self) -> Facts:
        """The facts that occur at least once."""
        ...


@runtime_checkable
class SummableBag(Bag, Protocol):
    """A bag that can be put together with others: an ability that not every backend has."""

    def __add__(self, other: Bag) -> SummableBag: ...


class Counters(Protocol):
    """A number of derivations for each fact."""

    def add(self, facts: Bag | Facts) -> None:
        """Count each occurrence once more."""
        ...

    def subtract(self, facts: Bag | Facts) -> None:
        """Count each occurrence once less."""
        ...

    def forget(self, predicates: Iterable[str]) -> None:
        """Set the numbers of some predicates to 0."""
        ...

    def zero(self, facts: Facts) -> Facts:
        """Those of some facts whose number is 0."""
        ...


class Backend(Protocol):
    """Where facts live and rules run."""

    @property
    def explicit(self) -> KeptFacts:
        """E."""
        ...

    @property
    def materialisation(self) -> KeptFacts:
        """I."""
        ...

    @property
    def deleted(self) -> ListedFacts:
        """D."""
        ...

    @property
    def added(self) -> ListedFacts:
        """A."""
        ...

    @property
    def checked(self) -> ListedFacts:
        """C."""
        ...

    @property
    def proved(self) -> ListedFacts:
        """P."""
        ...

    @property
    def delayed(self) -> ListedFacts:
        """Y."""
        ...

    @property
    def nonrecursive(self) -> Counters:
        """Cn: nonrecursive derivations, plus 1 for an explicit fact."""
        ...

    @property
    def recursive(self) -> Counters:
        """Cr: recursive derivations."""
        ...

    @property
    def statistics(self) -> Statistics:
        """What the planner may know of the facts."""
        ...

    def expand(self, plans: Sequence[Plan], sources: Mapping[Read, Facts], most: int) -> tuple[Bag, Facts]:
        """For backward plans: what at most so many instances a goal tell, and the goals of which that was all."""
        ...

    def elsewhere(self, predicates: Iterable[str], here: Facts, rest: Facts) -> Facts:
        """One set for some predicates, another for all others."""
        ...

    def apply(self, plans: Iterable[AnyPlan], sources: Mapping[Read, Facts]) -> Bag:
        """The heads of all instances of the plans, each atom reading the set that its `Read` stands for."""
        ...
