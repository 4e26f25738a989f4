"""The distribution of facts over shards, and what has to move when a plan runs: plain data and pure functions.

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
"""Values in ascending order."""

ON_ONE: Final = -1
"""Instead of a column: all facts are on shard 0."""
NO_HUBS: Final[Hubs] = np.empty(0, np.int64)
BINDINGS: Final = "#"
"""Instead of a predicate: the segment emits bindings for the next one."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(32)


# --- owners --------------------------------------------------------------------------------------------


def owners(values: NDArray[np.int64], parts: int) -> NDArray[np.uint64]:
    """The shard of each value; the same for all relations and columns, so that equal values are on one shard."""
    mixed = values.astype(np.uint64) * _MULTIPLIER
    return (mixed >> _HIGH) % np.uint64(parts)


def owner(value: int, parts: int) -> int:
    """The shard of one value."""
    return int(owners(np.array([value], np.int64), parts)[0])


def among(values: NDArray[np.int64], hubs: Hubs) -> NDArray[np.bool_]:
    """Whether each value is a hub."""
    return np.isin(values, hubs) if len(hubs) else np.zeros(len(values), np.bool_)


def row_hashes(rows: Rows) -> NDArray[np.int64]:
    """A hash of each row over all its values."""
    mixed = np.zeros(len(rows), np.uint64)
    for column in range(rows.shape[1]):
        mixed = (mixed ^ rows[:, column].astype(np.uint64)) * _MULTIPLIER
        mixed ^= mixed >> _HIGH
    return mixed.astype(np.int64)


def routed(rows: Rows, column: int, parts: int, hubs: Hubs = NO_HUBS, fact: slice = slice(None)) -> list[Rows]:
    """Copies of rows by the shard that they belong to; rows with hubs are spread by the columns in `fact`."""
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
    """A table that holds the facts of a relation again, to be probed by other columns than the primary.

    It holds the facts placed by a column ("column"), the same without regard to hubs ("whole"), all facts on each shard
    ("all"), or the facts with a hub in a column on each shard ("hubs").
    """

    predicate: str
    kind: str
    column: int = ON_ONE

    @property
    def name(self) -> str:
        """The name of the table; no relation has such a name."""
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
    """The destination of the rows that a segment emits: none ("here"), by a column, one shard, or all shards.

    By a column, facts with hubs go where their table has them.  Bindings with hubs go to all shards ("to hubs") or stay
    ("past hubs"); others go by the column.
    """

    kind: str
    number: int = 0  # the number of the column or of the shard
    table: str = ""  # the table of facts that go by a column
    fact: tuple[int, int] = (0, 0)  # the columns of the fact within the row


HERE: Final = Route("here")


@dataclass(frozen=True)
class Segment:
    """The steps between two exchanges, as a plan of its own that begins with bindings."""

    before: Carried  # the variables that these bindings carry
    plan: Plan
    routes: tuple[Route, ...]  # one for each output
    of_hubs: Plan | None = None  # replaces the plan for bindings with hubs
    hub_column: int = 0  # the column of these bindings that may hold a hub

    @property
    def moves(self) -> bool:
        """Whether it may send rows to other shards."""
        return any(route != HERE for route in self.routes)


@dataclass(frozen=True, eq=False)
class PartedPlan:
    """A plan for shards.  Compares by identity, as a plan does."""

    plan: Plan
    segments: tuple[Segment, ...]
    is_everywhere: bool  # it starts from facts; otherwise from a single binding on shard 0
    reads: frozenset[tuple[Read, Copy]]  # the copies that it reads

    @property
    def is_local(self) -> bool:
        """Whether nothing moves."""
        return self.is_everywhere and len(self.segments) == 1 and not self.segments[0].moves


@dataclass(frozen=True, eq=False)
class PartedAggregate:
    """An aggregate for shards: each group is on one shard."""

    plan: AggregatePlan  # for the table that it reads
    route: Route
    reads: frozenset[tuple[Read, Copy]]


@dataclass(frozen=True)
class Hop:
    """The lookup of one fact of an instance: the instance moves to the fact's shard."""

    predicate: str
    columns: slice  # the fact's columns within the instance's row
    route: Route


@dataclass(frozen=True, eq=False)
class RankedPlan:
    """A plan whose instances are rows: the head followed by facts of the body.

    An instance visits the primaries of its facts one after the other, that of the head last.
    """

    parted: PartedPlan
    hops: tuple[Hop, ...]

    @property
    def reads(self) -> frozenset[tuple[Read, Copy]]:
        """The copies that it reads."""
        return self.parted.reads


AnyParted: TypeAlias = PartedPlan | PartedAggregate | RankedPlan
