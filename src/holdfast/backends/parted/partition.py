"""Where facts live among shards, and what has to move when a plan runs: plain data and pure functions.

A relation has a *primary* table: a fact is on the shard that its value in one column hashes to.  A join that probes by
another column reads a *copy*, the same facts placed by that column.  A plan is cut into *segments* where bindings have
to move to another shard; its heads move to their primaries.  Column -1 places all facts of a relation on shard 0.

A *hub* is a value that many facts share.  The facts with a hub in the column that places them are spread by the hash of
the whole row, so that no shard has them all.  A binding with a hub may be on any shard.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Rows
from holdfast.plans.model import AggregatePlan, Plan, Read
from holdfast.program.model import Var
from holdfast.quick_dataclass import dataclass

Carried: TypeAlias = tuple[Var, ...]
"""The variables that a binding carries, in order."""

Hubs: TypeAlias = NDArray[np.int64]
"""Some values, ascending."""

ON_ONE: Final = -1
"""In place of a column: all facts are on shard 0."""
NO_HUBS: Final[Hubs] = np.empty(0, np.int64)
BINDINGS: Final = "#"
"""In place of a predicate: what a segment emits are bindings for the next one."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(32)


# --- owners --------------------------------------------------------------------------------------------


def owners(values: NDArray[np.int64], parts: int) -> NDArray[np.uint64]:
    """The shard of each value; the same for all relations and columns, so that equal values meet."""
    mixed = values.astype(np.uint64) * _MULTIPLIER
    return (mixed >> _HIGH) % np.uint64(parts)


def owner(value: int, parts: int) -> int:
    """The shard of one value."""
    return int(owners(np.array([value], np.int64), parts)[0])


def among(values: NDArray[np.int64], hubs: Hubs) -> NDArray[np.bool_]:
    """Of each value, whether it is a hub."""
    return np.isin(values, hubs) if len(hubs) else np.zeros(len(values), np.bool_)


def row_hashes(rows: Rows) -> NDArray[np.int64]:
    """A number for each row that all its values decide."""
    mixed = np.zeros(len(rows), np.uint64)
    for column in range(rows.shape[1]):
        mixed = (mixed ^ rows[:, column].astype(np.uint64)) * _MULTIPLIER
        mixed ^= mixed >> _HIGH
    return mixed.astype(np.int64)


def routed(rows: Rows, column: int, parts: int, hubs: Hubs = NO_HUBS, fact: slice = slice(None)) -> list[Rows]:
    """Copies of some rows by the shard that they belong to; `fact` are the columns that spread those with hubs."""
    if column == ON_ONE or parts == 1:
        return [rows.copy(), *([rows[:0]] * (parts - 1))]
    places = owners(rows[:, column], parts).astype(np.uint16)
    is_hub = among(rows[:, column], hubs)
    if is_hub.any():
        places[is_hub] = owners(row_hashes(rows[is_hub, fact]), parts)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=parts)).tolist()
    sorted_rows = rows[order]
    return [sorted_rows[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


# --- tables --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copy:
    """A table with the facts of a relation once more, to be probed by other columns than the primary.

    Its facts are placed by a column ("column"), the same without regard to hubs ("whole"), all on each shard
    ("all"), or those with a hub in a column on each shard ("hubs").
    """

    predicate: str
    kind: str
    column: int = ON_ONE

    @property
    def name(self) -> str:
        """Of the table; no relation has such a name."""
        return f"{self.predicate}@{'*' if self.kind == 'all' else self.column}{_SUFFIXES[self.kind]}"

    def dealt(self, rows: Rows, parts: int, hubs: Hubs, fact: slice = slice(None)) -> list[Rows]:
        """Copies of some facts by the shards that have them in this table."""
        if self.kind in ("column", "whole"):
            return routed(rows, self.column, parts, hubs if self.kind == "column" else NO_HUBS, fact)
        return [rows[among(rows[:, self.column], hubs)] if self.kind == "hubs" else rows.copy()] * parts


_SUFFIXES = {"column": "", "whole": "=", "hubs": "+", "all": ""}


# --- plans for shards ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Route:
    """Where the rows go that a segment emits: nowhere ("here"), by a column, to one shard, or to all.

    By a column, facts with hubs go where their table has them.  Bindings with hubs go to all shards ("to hubs"), or
    stay ("past hubs"), and others go by the column.
    """

    kind: str
    number: int = 0  # of the column or of the shard
    table: str = ""  # of the facts that go by a column
    fact: tuple[int, int] = (0, 0)  # their columns


HERE: Final = Route("here")


@dataclass(frozen=True)
class Segment:
    """A run of steps between two exchanges, as a plan of its own that begins with bindings."""

    before: Carried  # what these bindings carry
    plan: Plan
    routes: tuple[Route, ...]  # one for each output
    of_hubs: Plan | None = None  # instead of the plan, for bindings with hubs
    hub_column: int = 0  # of these bindings

    @property
    def moves(self) -> bool:
        """Whether it may send rows to other shards."""
        return any(route != HERE for route in self.routes)


@dataclass(frozen=True, eq=False)
class PartedPlan:
    """A plan for shards.  Equal only to itself, as a plan is."""

    plan: Plan
    segments: tuple[Segment, ...]
    is_everywhere: bool  # it starts from facts; otherwise shard 0 has the one binding that it starts from
    reads: frozenset[tuple[Read, Copy]]  # the copies that it reads

    @property
    def is_local(self) -> bool:
        """Whether nothing moves."""
        return self.is_everywhere and len(self.segments) == 1 and not self.segments[0].moves


@dataclass(frozen=True, eq=False)
class PartedAggregate:
    """An aggregate for shards: each group is on one shard."""

    plan: AggregatePlan  # of the table that it reads
    route: Route
    reads: frozenset[tuple[Read, Copy]]


@dataclass(frozen=True)
class Hop:
    """Where one fact of an instance is looked up: the instance goes there."""

    predicate: str
    columns: slice  # of the instance's row
    route: Route


@dataclass(frozen=True, eq=False)
class RankedPlan:
    """A plan whose instances are rows, the head and then facts of the body side by side.

    An instance goes from the primary of one of its facts to the next; to that of the head last.
    """

    parted: PartedPlan
    hops: tuple[Hop, ...]

    @property
    def reads(self) -> frozenset[tuple[Read, Copy]]:
        """The copies that it reads."""
        return self.parted.reads


AnyParted: TypeAlias = PartedPlan | PartedAggregate | RankedPlan
