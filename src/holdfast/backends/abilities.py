"""What some backends can do beyond the protocol, each ability a small protocol of its own.

`backend.ability(Kind)` is the ability or None.  A backend declares what it can do by its bases:

    class MemoryBackend(Able, VirtualRelations, Linking): ...

Where a backend without an ability behaves in a plain way of its own (no relation is virtual, modules have no budget,
nothing needs tidying), a function here gives that behaviour: `virtual_relations(backend)` never is None.  One ability,
`maintenance.windows.Windows`, is defined beside the transaction that asks for it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.protocol import Backend, Bag, Counters, Facts, SummableBag, Watch
from holdfast.plans import Plan, Planner, Read
from holdfast.plans.profile import PlanProfile
from holdfast.program.model import AggregateRule, Program, Relation, Rule
from holdfast.quick_dataclass import dataclass
from holdfast.values.dictionary import Codes

A = TypeVar("A")


class Able:
    """A backend whose abilities are its bases."""

    def ability(self, kind: type[A]) -> A | None:
        """Itself, if the ability is one of its bases."""
        return cast("A", self) if kind in type(self).__mro__ else None


# --- virtual relations ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ImplicitRelation:
    """The facts of a relation as the module that derived them knew them when this was made: they need not be rows."""

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
class VirtualFacts:
    """Facts of the materialisation that a module knows and of which only a part are rows of the table.

    A lookup by a key makes rows of what it finds; `materialise_rows` makes rows of all.
    """

    size: int
    known: Callable[[int], ImplicitRelation]  # as they are between updates, given how many there are
    written: int = 0  # rows that lookups made
    covered: dict[int, Codes] = field(default_factory=dict)  # by column: values all of whose facts are rows; sorted

    def now(self) -> ImplicitRelation:
        """As they are now; during an update, as they were before it."""
        return self.known(self.size)


class VirtualRelations(Protocol):
    """Relations whose facts a module knows, so that they become rows only where something reads them."""

    virtual: Mapping[str, VirtualFacts]

    def defer(self, name: str, size: int, known: Callable[[int], ImplicitRelation]) -> None:
        """Take note of facts that are not rows: how many there are, and what knows them."""
        ...

    def materialise_rows(self, predicates: Iterable[str]) -> None:
        """Give a row to each fact of some predicates that has none yet."""
        ...


class _NoVirtualRelations(VirtualRelations):
    """All facts are rows."""

    virtual: Mapping[str, VirtualFacts] = {}

    def defer(self, name: str, size: int, known: Callable[[int], ImplicitRelation]) -> None:
        raise AssertionError("only a backend with VirtualRelations defers facts")

    def materialise_rows(self, predicates: Iterable[str]) -> None:
        pass


_NO_VIRTUAL_RELATIONS = _NoVirtualRelations()


def virtual_relations(backend: Backend) -> VirtualRelations:
    """A backend's virtual relations; it may have none."""
    return backend.ability(VirtualRelations) or _NO_VIRTUAL_RELATIONS


def relation_size(backend: Backend, predicate: str) -> int:
    """The number of facts of a predicate, rows or not."""
    virtual = virtual_relations(backend).virtual.get(predicate)
    return backend.materialisation.size(predicate) if virtual is None else virtual.size


# --- modules -------------------------------------------------------------------------------------------


class ModuleBudget(Protocol):
    """How much modules may do, where they work in one process and the facts are on many."""

    most_for_modules: float  # explicit facts; with more, no module serves rules
    most_by_modules: float  # facts that modules derive; with more, rules do without them


class _Unlimited(ModuleBudget):
    most_for_modules = most_by_modules = math.inf


_UNLIMITED = _Unlimited()


def module_budget(backend: Backend) -> ModuleBudget:
    """What modules may do on a backend."""
    return backend.ability(ModuleBudget) or _UNLIMITED


# --- links ---------------------------------------------------------------------------------------------


class Links(Protocol):
    """From a fact to the heads that copying rules gave it, as they were met (`maintenance/marking.py`)."""

    def learn(self, rules: Sequence[Rule], added: Facts, met: Bag) -> None:
        """All instances of copying rules with new facts: heads in the order of rules, then of facts."""
        ...

    def heads(self, rule: Rule, facts: Facts, J: Facts) -> tuple[Facts, SummableBag]:
        """Those of some facts that are in J and whose instance by a copying rule is known, and these instances."""
        ...

    def clear(self) -> None:
        """Forget all."""
        ...


class Linking(Protocol):
    """Keeps links; marking needs them."""

    def links(self) -> Links:
        """An empty set of links."""
        ...


# --- counting ------------------------------------------------------------------------------------------


class CountedChange(NamedTuple):
    """What an update changed for a hyper-node, and in it."""

    gone: int  # changed facts: its own explicit ones and those that it reads
    come: int
    losses: int  # instances of rules
    gains: int
    deleted: int
    added: int


class Counting(Protocol):
    """Counting without sets and bags: `maintain_nonrecursive` of `maintenance/dred_counting.py`, a call for each
    hyper-node, in topological order.  Counters, D and A are the backend's."""

    def begin(self, E_minus: Facts, E_plus: Facts) -> None:
        """Another update begins."""
        ...

    def maintain(
        self,
        planner: Planner,
        rules: tuple[Rule, ...],
        aggregates: tuple[AggregateRule, ...],
        reads: Iterable[str],
        most: int,
        give_way: Callable[[], None],
    ) -> CountedChange | None:
        """Bring a hyper-node up to date, which has these rules and no other, none of them recursive or changed by the
        update; they read some predicates.  None, with no effect, if more than `most` changed facts have gone."""
        ...

    def net(self) -> tuple[Facts, Facts]:
        """D \\ A and A \\ D, when all hyper-nodes are done."""
        ...


# --- ranks ---------------------------------------------------------------------------------------------


class Ranking(Protocol):
    """Keeps a rank for each fact of recursive hyper-nodes, and a counter Cw of derivations from lower ranks.

    The facts that enter in one round of evaluation have the same rank, above those of all facts that entered before.
    An instance of a recursive rule is *founded* if all facts of its hyper-node in its body have lower ranks than its
    head.  `defer_rule` makes that test stricter for a rule that did not run in every round.
    """

    founded: Counters  # Cw; its `roll_back` restores the ranks too
    most_rounds: int  # that may have been before an update; with more, `restart` is due

    @property
    def rounds(self) -> int:
        """The highest rank so far."""
        ...

    def rank_anew(self, predicates: Iterable[str]) -> None:
        """A hyper-node is about to be evaluated from scratch: none of its rules is deferred."""
        ...

    def enter(self, *rounds: Facts) -> None:
        """Give facts that enter in one round the next rank; all their derivations by now are founded: Cw := Cr.

        Several rounds may enter together, if Cr of their facts has not moved since each of them.
        """
        ...

    def defer_rule(self, rule: Rule, first: int, last: int) -> None:
        """A rule saw the facts of some ranks only when those of the last one had entered.

        An instance of it whose highest rank is one of these is founded if its head has a rank above the last one.
        """
        ...

    def apply_ranked(self, plans: Iterable[Plan], sources: Mapping[Read, Facts]) -> tuple[Bag, Bag]:
        """As `apply`, for plans that emit the head and then the body's facts of its hyper-node (`BodyPlanner`): the
        heads of all instances, and of the founded ones.  Of a head that is not in (I \\ D) ∪ A none need be found."""
        ...

    def restart(self) -> None:
        """No rank is believed any more: the next one is 1."""
        ...

    def ranks(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them its rank and Cw."""
        ...


class Cascaded(NamedTuple):
    """What a cascade did."""

    gone: Facts  # with those that it began with
    kept: int  # how often a fact that lost an instance was kept by `other` alone


class Cascading(Protocol):
    """Deletes, in one call instead of a round each, what a rule derives from facts of its own relation."""

    def cascades(self, plan: Plan) -> bool:
        """Whether it does so by a plan (`Planner.linear`)."""
        ...

    def cascade(
        self, plan: Plan, facts: Facts, inputs: Facts, other: Counters | None, count: Callable[[int], None]
    ) -> Cascaded:
        """Some facts are in D already; subtract from Cr their instances by a plan, over `inputs`, and from Cw the
        founded ones if that is what `other` is.  D takes in the heads without Cn and `other`, and they go on.

        `count` is given the number of instances on the way, before the watch is asked.
        """
        ...


class LateRanking(Protocol):
    """Counts founded instances some time after they came."""

    def founded_up_to(self, plans: Iterable[Plan], sources: Mapping[Read, Facts], rank: int) -> Bag:
        """As `apply_ranked`, the heads of founded instances only, of heads that have at most this rank."""
        ...


# --- evaluation from scratch ---------------------------------------------------------------------------


class Scratch(Protocol):
    """Where a hyper-node is evaluated from scratch beside the facts that it has; what comes is brought over."""

    @property
    def backend(self) -> Backend:
        """Has no facts of the hyper-node at first."""
        ...

    def facts(self, facts: Facts) -> Facts:
        """Facts of the hyper-node as facts of that backend."""
        ...

    def reads(self, elsewhere: Facts) -> Facts:
        """The facts of the hyper-node as they come, and what its rules read elsewhere; a live view."""
        ...

    def bring_over(self) -> Facts:
        """The facts that have come, with their counters and ranks; those of the hyper-node were 0 before."""
        ...


class Scratching(Protocol):
    """Evaluates large hyper-nodes from scratch more quickly beside their facts than among them."""

    def scratch(self, predicates: Iterable[str], reads: Iterable[str]) -> Scratch | None:
        """For a hyper-node that reads some predicates; None where it does not pay."""
        ...


# --- versions ------------------------------------------------------------------------------------------


class HeldRelation(Protocol):
    """A relation of one version, held for a moment."""

    def matching(self, key: tuple[int, ...], values: Codes) -> Codes:
        """The facts that have the values of one row in some columns, ascending."""
        ...


class PinnedFacts(Protocol):
    """The facts of one version.  They stay as they are, whatever is committed later."""

    def relation(self, relation: Relation) -> ImplicitRelation:
        """The facts of a relation."""
        ...

    def explicit(self, relation: Relation) -> ImplicitRelation:
        """The explicit facts of a relation."""
        ...

    def matching(self, relation: Relation, key: tuple[int, ...], values: Codes, *, explicit: bool = False) -> Codes:
        """The facts, or the explicit ones, that have the values of one of some distinct rows in some columns,
        ascending."""
        ...


class Versioned(Protocol):
    """Lets threads read the facts of the last commit, and of earlier ones, while an update is computed."""

    commit_lock: threading.RLock
    """Every commit holds it, and a reader for a moment."""

    def pin(self) -> PinnedFacts:
        """The facts of the last commit."""
        ...

    def hold(self, relation: Relation) -> HeldRelation:
        """A relation of the last commit, until it is released."""
        ...

    def release(self, held: HeldRelation) -> None:
        """It is no longer read."""
        ...

    def reading(
        self, facts: PinnedFacts, relations: Iterable[Relation], watch: Watch
    ) -> AbstractContextManager[Backend]:
        """A backend of its own for one query over some relations of a version."""
        ...


def committing(backend: Backend) -> AbstractContextManager[object]:
    """What a commit holds while it changes the facts."""
    versions = backend.ability(Versioned)
    return nullcontext() if versions is None else versions.commit_lock


# --- lookups -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FactRequest:
    """The facts of a predicate, or the explicit ones, that have one of some distinct tuples of values in some columns,
    ascending; those of no columns are all."""

    predicate: str
    key: tuple[int, ...]
    values: Codes
    explicit: bool = False
    most: int | None = None  # facts of one shard; if there are more, they are not wanted


class Lookups(Protocol):
    """Looks facts up elsewhere: many lookups at once take as long as one."""

    def looked_up(self, asked: Sequence[FactRequest]) -> list[tuple[Codes, NDArray[np.bool_]] | None]:
        """For each request the facts, and which of them are explicit; None where there are too many."""
        ...


# --- facts in ------------------------------------------------------------------------------------------


class Frames(Protocol):
    """Takes facts as they are, without having them encoded: DataFrames of Spark."""

    def takes(self, data: object) -> bool:
        """Whether facts may be given as this."""
        ...

    def facts_with_frames(self, rows: Mapping[str, Codes], frames: Mapping[str, Sequence[Any]]) -> tuple[Facts, int]:
        """Encoded rows and frames as a set of facts, and the number of given rows, repeated ones included."""
        ...


def given_facts(
    backend: Backend, rows: Mapping[str, Codes], frames: Mapping[str, Sequence[Any]], *, known: bool = False
) -> tuple[Facts, int]:
    """Encoded rows, and frames where the backend takes them, as a set of facts, and the number of given rows."""
    if not frames:
        return backend.facts(rows, known=known), sum(map(len, rows.values()))
    taking = backend.ability(Frames)
    assert taking is not None, "a frame is encoded unless the backend takes it"
    return taking.facts_with_frames(rows, frames)


class PreparedFacts(Protocol):
    """Makes several sets of facts at once, ahead of the updates that they belong to."""

    packings: int  # how often facts were moved between updates, which voids the sets prepared before

    def several(self, rows: Sequence[Mapping[str, Codes]], *, known: bool = False) -> Sequence[Facts]:
        """Several sets of facts, each as `facts` gives it."""
        ...


def facts_each(backend: Backend, rows: Sequence[Mapping[str, Codes]], *, known: bool = False) -> Sequence[Facts]:
    """Several sets of facts, at once where the backend can."""
    prepared = backend.ability(PreparedFacts)
    if prepared is None:
        return [backend.facts(one, known=known) for one in rows]
    return prepared.several(rows, known=known)


def packings(backend: Backend) -> int:
    """How often prepared facts were voided; never, where facts have no places."""
    prepared = backend.ability(PreparedFacts)
    return 0 if prepared is None else prepared.packings


# --- places --------------------------------------------------------------------------------------------


class Arranging(Protocol):
    """Places facts by how rules join them."""

    def arrange(self, program: Program) -> None:
        """Rules of this program will read the facts; there are none yet."""
        ...


def arrange(backend: Backend, program: Program) -> None:
    """Tell a backend which rules will read its facts, where that is of use."""
    arranging = backend.ability(Arranging)
    if arranging is not None:
        arranging.arrange(program)


# --- saving --------------------------------------------------------------------------------------------


LateArray: TypeAlias = Callable[[], NDArray[Any] | None]


@dataclass(frozen=True)
class SavedTable:
    """The facts of a predicate as arrays and numbers whose meaning is the backend's own affair.

    The backend can compute a late array from the others.  It is read when it is first needed; None if that fails.
    """

    arrays: Mapping[str, NDArray[Any]]
    numbers: Mapping[str, int | None]
    late: Mapping[str, LateArray] = field(default_factory=dict)


class Saving(Protocol):
    """Gives what it holds between two updates as arrays, and takes it up again: facts, counters and ranks."""

    def save(self, predicate: str) -> SavedTable:
        """All of a predicate; the arrays are not copies."""
        ...

    def restore_saved(self, tables: Mapping[str, SavedTable], rounds: int) -> None:
        """Take up predicates that have no facts yet, and the highest rank; the arrays are the backend's own then."""
        ...


# --- cores ---------------------------------------------------------------------------------------------


class HoldingCores(Protocol):
    """Keeps cores between two calls, for which others may wait."""

    def release_cores(self) -> None:
        """Give them back; the next call takes them again."""
        ...


# --- costs ---------------------------------------------------------------------------------------------


class Tuning(Protocol):
    """How a backend wants to be driven."""

    reports_new_facts: bool  # `apply` reports new heads to the watch itself
    is_elsewhere: bool  # others do the work: the processor time of this process says little, and a call costs much
    requests: int  # messages or jobs by which others were asked so far
    request_cost: int  # rule instances that take as long as a request
    indexing: float  # seconds so far for indexes that it lacked; later updates use them


class _Plain(Tuning):
    reports_new_facts = is_elsewhere = False
    requests = request_cost = 0
    indexing = 0.0


_PLAIN = _Plain()


def tuning(backend: Backend) -> Tuning:
    """How a backend wants to be driven."""
    return backend.ability(Tuning) or _PLAIN


class Profiling(Protocol):
    """Can say what each plan took, from when it is given a profile."""

    profile: PlanProfile | None


class Housekeeping(Protocol):
    """Keeps something that can be cleared up, and knows how much memory it takes."""

    def forget_plans(self, heads: Container[str]) -> None:
        """The rules with some heads have changed: what was prepared for the old ones is of no use."""
        ...

    def tidy(self, removed: Facts) -> None:
        """Facts were deleted and no update is in progress: release what is no longer needed."""
        ...

    def reclaim(self) -> None:
        """An update was refused, and memory is limited: release what it left, and all that no fact needs."""
        ...

    @property
    def nbytes(self) -> int:
        """The memory that facts, counters and indexes take in this process."""
        ...


class _NothingKept(Housekeeping):
    nbytes = 0

    def forget_plans(self, heads: Container[str]) -> None:
        pass

    def tidy(self, removed: Facts) -> None:
        pass

    def reclaim(self) -> None:
        pass


_NOTHING_KEPT = _NothingKept()


def housekeeping(backend: Backend) -> Housekeeping:
    """What clears up in a backend."""
    return backend.ability(Housekeeping) or _NOTHING_KEPT
