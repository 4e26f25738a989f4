"""The waist of the hourglass: what a maintenance algorithm may ask of a backend.

The algorithms work with sets of facts, bags (facts with multiplicity), counters, and one operator:
`apply(plans, sources)`, the multiset Π⟦…⟧ of ALGORITHMS.md.  A `Read` names what an atom of a plan reads, and `sources`
maps each name to a set.  Laziness, indexes, batches and storage are up to the backend.  What only some backends can do
is an ability (`abilities.py`): an algorithm asks for it and does without it where it is missing.

The laws.  `tests/backends/test_laws.py` checks them on every backend; `tests/backends/model.py` is the shortest
backend that obeys them.

Sets
    1. A set is a set: `|`, `-` and `&` mean union, difference and intersection, predicate by predicate.  `sizes()` has
       exactly the predicates with facts; `predicates()` may have more.
    2. Sets of two backends do not mix: combining them raises `TypeError`.
    3. `facts(rows)`, `support()`, `zero()` and `snapshot()` are snapshots: they never change.
    4. `|`, `-` and `&` may be views or snapshots.  Use the result before an operand changes, or take a `snapshot()`.
    5. `of()` is a snapshot, except that of E and I it may be a view.
    6. `elsewhere(predicates, here, rest)` is a live view: it reads `here` and `rest` each time it is used.  BACKWARD/
       FORWARD and recomputation need that: they read the set that they add to.
    7. E, I, D, A, C, P and Y are kept: each is one object for the life of the backend, and `|=` and `-=` change it in
       place.  The right side is evaluated first, so it may mention the left.  Every live view sees the change.
       Only snapshots of facts that they contain are subtracted from E and I.

Π
    8. `apply` emits each rule instance once: the multiplicity of a fact in the bag is the number of pairs of a plan
       and a binding that satisfies its body, for each of the plan's outputs.  A wildcard binds like a variable.
    9. `apply` reads every source as it is at the call and changes no set and no counter.  All sources of one call may
       be views over at most three snapshots.
    10. A plan's atoms read what their `Read` stands for in `sources`; an anti-join keeps the bindings for which there
        is no such fact.  An `AggregatePlan` aggregates the groups of `Read.ALL`; with `Read.DELTA` among the sources,
        only the groups that a fact of the delta belongs to.
    11. `expand(plans, sources, most)` is `apply` that may stop early: it returns a part of that bag, and the goals of
        the delta that are complete in it.  Every other goal has at least `most` instances of some
        plan in the bag.

Counters
    12. `add` and `subtract` move the number of each fact by its multiplicity (by 1 for a set); `zero(facts)` are the
        facts whose number is 0; `forget` sets all numbers of a predicate to 0.
    13. While `remembers` is set, changes are recorded.  `clear_undo` drops the record.  `roll_back` restores the
        numbers of the last `clear_undo`, whatever happened in between.  Both counters are rolled back together or not
        at all.

Transactions and relations
    14. Between updates D, A, C, P and Y are empty.  An update ends with one `commit()`, after E and I have changed, or
        with one `restore()`, after the counters were rolled back and before anything else happens.
    15. `drop_relation` removes a relation with its facts and numbers; if it is added again, it begins empty.
    16. An exception that is not the backend's own may cut any call short.  `mend()` then rebuilds everything that
        follows from E and I, and empties D, A, C, P and Y; the numbers may be wrong.  Where `repeats` is true, `|=`
        and `-=` of E and I that were interrupted are completed by repeating them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from holdfast.errors import HoldfastError
from holdfast.plans import AnyPlan, Plan, Read, SizeStatistics
from holdfast.program.model import Relation
from holdfast.values.dictionary import Codes, Dictionary

A = TypeVar("A")


class Facts(Protocol):
    """A set of facts of any number of predicates."""

    def __or__(self, other: Facts) -> Facts: ...

    def __sub__(self, other: Facts) -> Facts: ...

    def __and__(self, other: Facts) -> Facts: ...

    def __bool__(self) -> bool: ...

    def __len__(self) -> int: ...

    def of(self, predicates: Iterable[str]) -> Facts:
        """The facts of some predicates only."""
        ...

    def size(self, predicate: str) -> int:
        """The number of facts of one predicate."""
        ...

    def sizes(self) -> Mapping[str, int]:
        """The number of facts of each predicate that has any."""
        ...

    def predicates(self) -> Iterable[str]:
        """The predicates that may have facts in the set."""
        ...

    def snapshot(self) -> Facts:
        """The facts that are in the set now."""
        ...


class KeptFacts(Facts, Protocol):
    """A set that the backend keeps and changes, such as E, I, D and A."""

    def __ior__(self, more: Facts) -> Self: ...

    def __isub__(self, fewer: Facts) -> Self: ...


class ListedFacts(KeptFacts, Protocol):
    """A small set that changes during an update and is empty after it, such as D and A."""

    def clear(self) -> None:
        """Remove all facts."""
        ...


class Bag(Protocol):
    """Facts with multiplicity: what rule instances emit, once for each instance."""

    def __len__(self) -> int: ...

    def support(self) -> Facts:
        """The facts that occur at least once."""
        ...


@runtime_checkable
class SummableBag(Bag, Protocol):
    """A bag that can be added to others; marking needs it, and every backend with `Linking` has it."""

    def __add__(self, other: Bag) -> SummableBag: ...


class Counters(Protocol):
    """A number of derivations for each fact."""

    remembers: bool  # whether changes are recorded, so that they can be rolled back

    def roll_back(self) -> None:
        """Undo everything since `clear_undo`."""
        ...

    def clear_undo(self) -> None:
        """Drop the record: what was done before this stays."""
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
        """The facts whose number is 0."""
        ...


class Deferred(Protocol):
    """The facts of a relation at the time of the call, fetched when they are read."""

    def __len__(self) -> int: ...

    def codes(self) -> Codes:
        """The facts, fetched to the driver."""
        ...

    def frame(self) -> Any:
        """The facts as a Spark DataFrame."""
        ...


class UndoneError(HoldfastError):
    """The backend has lost what an update did so far, and cannot repeat it: the state is the one before the update."""


class Watch(Protocol):
    """Observes work, also inside a round; raises to stop it."""

    def batch(self, new_facts: int) -> None:
        """A batch of rule instances was processed, with this number of new facts."""
        ...

    def grown(self, table: str, nbytes: int) -> None:
        """A table now takes this number of bytes."""
        ...

    def left(self) -> tuple[float, float]:
        """The new facts and the bytes that the limits allow."""
        ...


class Backend(Protocol):
    """Stores facts and runs rules."""

    @property
    def relations(self) -> Mapping[str, Relation]:
        """The relations whose facts it can hold."""
        ...

    @property
    def dictionary(self) -> Dictionary:
        """Encodes the constants of rules in the same way as facts."""
        ...

    def add_relation(self, relation: Relation) -> None:
        """Add a relation, without facts."""
        ...

    def drop_relation(self, name: str) -> None:
        """Drop a relation and its facts."""
        ...

    def facts(self, rows: Mapping[str, Codes], *, known: bool = False) -> Facts:
        """Encoded rows as a set of facts; with `known`, facts that the backend never saw may be omitted."""
        ...

    def rows(self, predicate: str, facts: Facts) -> Codes | Deferred:
        """The rows of a set's facts of one predicate, each once."""
        ...

    def derivations(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        """The rows of I of one predicate, with Cn and Cr of each."""
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
    def statistics(self) -> SizeStatistics:
        """The statistics that the planner may use."""
        ...

    def elsewhere(self, predicates: Iterable[str], here: Facts, rest: Facts) -> Facts:
        """A live view: one set for some predicates, another for all others."""
        ...

    def apply(self, plans: Iterable[AnyPlan], sources: Mapping[Read, Facts]) -> Bag:
        """The outputs of all instances of the plans, each atom reading the set that its `Read` stands for."""
        ...

    def expand(self, plans: Sequence[Plan], sources: Mapping[Read, Facts], most: int) -> tuple[Bag, Facts]:
        """The outputs of a bounded number of instances for each goal of backward plans, and the exhausted goals."""
        ...

    def commit(self) -> None:
        """An update is complete: the current state is the one that `restore` returns to."""
        ...

    def restore(self) -> None:
        """An update was rolled back: the backend holds what it held at the last `commit`."""
        ...

    @property
    def repeats(self) -> bool:
        """Whether repeating an interrupted change of E or I completes it."""
        ...

    def mend(self) -> None:
        """A call was interrupted: rebuild everything from E and I, and empty the sets of updates."""
        ...

    def ability(self, kind: type[A]) -> A | None:
        """The implementation of an optional protocol, or None if the backend does not have it."""
        ...


Engine: TypeAlias = Callable[[Mapping[str, Relation], Dictionary, Watch], Backend]
"""Makes a backend for some relations."""
