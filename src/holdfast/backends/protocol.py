"""The waist of the hourglass: what a maintenance algorithm may ask of a backend.

The algorithms speak of sets of facts, of bags (facts with multiplicity), of counters, and of one operator:
`apply(plans, sources)`, the multiset Π⟦…⟧ of ALGORITHMS.md.  What a plan's atoms read is named by a `Read`, and
`sources` says which set each name stands for.  Laziness, indexes, batches and storage are the backend's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from holdfast.encoding import Codes
from holdfast.plans import AnyPlan, Plan, Read, Statistics
from holdfast.program.model import Const, Relation
from holdfast.quick_dataclass import dataclass


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

    def predicates(self) -> Iterable[str]:
        """The predicates that may have facts in it."""
        ...

    def worked_out(self) -> Facts:
        """The same facts, whatever becomes of the sets that this one was made from."""
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

    remembers: bool  # during an update, so that it can be taken back

    def take_back(self) -> None:
        """Undo everything since `settle`."""
        ...

    def settle(self) -> None:
        """What was done before this is not taken back any more."""
        ...

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


class Deferred(Protocol):
    """The facts of a relation as they were when it was asked for, left where they are until somebody looks."""

    def __len__(self) -> int: ...

    def codes(self) -> Codes:
        """The facts, brought here."""
        ...

    def frame(self) -> Any:
        """The facts as a Spark DataFrame."""
        ...


@dataclass(frozen=True, eq=False)
class Compact:
    """The facts of a relation as whoever derived them knew them when this was made: they need not be rows."""

    size: int
    columns: int
    parts: Callable[[], Iterable[Codes]]  # all
    matching: Callable[[int, Codes], Iterable[Codes]]  # those that have one of some values in a column
    has: Callable[[Codes], NDArray[np.bool_]]  # of each row, whether it is one

    def __len__(self) -> int:
        return self.size

    def codes(self) -> Codes:
        """All facts."""
        return np.concatenate([np.empty((0, self.columns), np.int64), *self.parts()])


@dataclass
class Unwritten:
    """Facts of the materialisation that are known to whoever derived them and are rows of the table only in part.

    What is looked up in them by a key is made rows first; whoever wants all has them written out.
    """

    size: int
    known: Callable[[int], Compact]  # as they are between updates, given how many there are
    written: int = 0  # rows that were made of what was looked up
    covered: dict[int, Codes] = field(default_factory=dict)  # by column: values all of whose facts are rows; sorted

    def now(self) -> Compact:
        """As they are now; during an update, as they were before it."""
        return self.known(self.size)


Leave: TypeAlias = Callable[[str, int, Callable[[int], Compact]], None]
"""Takes note of facts that are not written out: a predicate, how many there are, and who knows them."""


class Backend(Protocol):
    """Where facts live and rules run."""

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The relations it has room for."""
        ...

    def add_relation(self, relation: Relation) -> None:
        """Make room for the facts of one more relation."""
        ...

    def drop_relation(self, name: str) -> None:
        """Forget a relation and its facts."""
        ...

    def forget_plans(self) -> None:
        """Rules have changed: what was prepared for the old ones is of no use."""
        ...

    def tidy(self, removed: Facts) -> None:
        """Facts have gone for good, and nothing is under way: a good moment to clear up."""
        ...

    @property
    def repeats(self) -> bool:
        """Whether to take facts into E or I, or out, a second time, or after it was cut short, makes it right."""
        ...

    def mend(self) -> None:
        """Something was cut short, who knows where: make everything from E and I that can be, and forget the rest.

        Counters need not be right afterwards.
        """
        ...

    @property
    def nbytes(self) -> int:
        """The memory that facts, counters and indexes take in this process."""
        ...

    def takes(self, data: object) -> bool:
        """Whether facts may be given as this, without being encoded."""
        ...

    def facts(self, rows: Mapping[str, Codes], frames: Mapping[str, Sequence[Any]] = ...) -> Facts:
        """Encoded rows, and what the backend `takes`, as a set of facts."""
        ...

    def known_facts(self, rows: Mapping[str, Codes], frames: Mapping[str, Sequence[Any]] = ...) -> Facts:
        """As `facts`; those that were never seen may be left out."""
        ...

    def several(self, rows: Sequence[Mapping[str, Codes]], *, known: bool = False) -> Sequence[Facts]:
        """Several sets of facts at once, as `facts` gives them or, with `known`, as `known_facts` does."""
        ...

    def rows(self, predicate: str, facts: Facts) -> Codes | Deferred:
        """The rows of a set's facts of one predicate."""
        ...

    def derivations(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them Cn and Cr."""
        ...

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

    @property
    def unwritten(self) -> dict[str, Unwritten]:
        """Predicates whose facts are rows only in part; none where no module leaves any."""
        ...

    @property
    def leave(self) -> Leave | None:
        """Takes note of facts that are not written out; None where all are."""
        ...

    @property
    def most_for_modules(self) -> float:
        """How many explicit facts there may be if modules are to serve rules."""
        ...

    @property
    def tells_of_new_facts(self) -> bool:
        """Whether `apply` tells the watch of heads that were not there before; else who evaluates does, after it."""
        ...

    @property
    def most_at_once(self) -> int:
        """How many rules of hyper-nodes that do not read one another are evaluated together, because a round costs
        more than its rows; 0 if hyper-nodes, and the relations that are loaded, had better come one after the other."""
        ...

    @property
    def most_by_modules(self) -> float:
        """How many facts modules may derive, when a program is opened and later; with more, rules do without them."""
        ...

    def code(self, constant: Const) -> int:
        """The code by which modules see a constant."""
        ...

    @property
    def packings(self) -> int:
        """How often facts have been moved between updates; what refers to them by their places is void then."""
        ...

    def write_out(self, predicates: Iterable[str]) -> None:
        """Give a row to each fact of some predicates that has none yet."""
        ...

    def size(self, predicate: str) -> int:
        """How many facts of a predicate there are, written out or not."""
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
