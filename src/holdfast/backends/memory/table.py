"""A relation's facts in memory: append-only rows with dense ids, and, aligned with them, status and counters.

Invariants.  A fact that was ever seen has exactly one row, found through `slots`; rows never move and never
change.  Whether a fact is *in* a set is a bit of its status byte (see `facts.py`): rows whose status is 0 are merely
known.  Rows from `size` on are room to grow and hold nothing.  An index covers the rows below its `covered`;
it is brought up to date when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels

Rows = NDArray[np.int64]
Ids = NDArray[np.int32]

_FIRST_ROOM = 64
_GROWTH = 4  # pages of room that is not used yet cost nothing until they are touched
_FULL = 0.7  # of the slots; more makes probing long, less wastes memory
_MOST_ROWS = 2**31 - 2


class Index:
    """The facts of a table by the values of some columns: a hash table of keys, facts of one key chained."""

    def __init__(self, key: tuple[int, ...]) -> None:
        self.key = np.array(key, np.int64)
        self.slots: NDArray[np.uint64] = np.zeros(_FIRST_ROOM, np.uint64)
        self.following: Ids = np.empty(0, np.int32)
        self.covered = 0
        self.keys = 0

    def cover(self, rows: Rows, size: int) -> None:
        """Bring in the rows that came since the last time."""
        if len(self.following) < size:
            self.following = _enlarged(self.following, len(rows))
        while self.covered < size:
            # a chunk can bring at most as many keys as it has rows
            if self.keys + 1 > _FULL * len(self.slots):
                self._more_slots(size)
            chunk = min(size - self.covered, int(_FULL * len(self.slots)) - self.keys)
            self.keys = kernels.grow_index(rows, self.covered, self.covered + chunk, self.key, self.slots,
                                           self.following, self.keys)
            self.covered += chunk

    def _more_slots(self, size: int) -> None:
        wanted = 2 * len(self.slots)
        if self.covered and self.keys / self.covered > 0.5:  # nearly a key for each row: go there at once
            wanted = max(wanted, _slots_for(size))
        fewer, self.slots = self.slots, np.zeros(wanted, np.uint64)
        kernels.move_slots(fewer, self.slots)

    @property
    def nbytes(self) -> int:
        """The memory it takes, untouched room not included."""
        return self.slots.nbytes + self.covered * self.following.itemsize


class WholeRowIndex:
    """The index on all columns: the table's own slots, where no two facts share a key."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.key = np.arange(table.arity, dtype=np.int64)
        self.following: Ids = np.empty(0, np.int32)

    @property
    def slots(self) -> NDArray[np.uint64]:
        """The table's slots, as they are now."""
        return self._table.slots


class Table:
    """The facts of one relation."""

    def __init__(self, name: str, arity: int, grown: Callable[[int], None] = lambda _bytes: None) -> None:
        self.name = name
        self.arity = arity
        self.size = 0
        self.rows: Rows = np.empty((_FIRST_ROOM, arity), np.int64)
        self.status: NDArray[np.uint8] = np.zeros(_FIRST_ROOM, np.uint8)
        self.nonrecursive: NDArray[np.int32] = np.zeros(_FIRST_ROOM, np.int32)
        self.recursive: NDArray[np.int32] = np.zeros(_FIRST_ROOM, np.int32)
        self.slots: NDArray[np.uint64] = np.zeros(2 * _FIRST_ROOM, np.uint64)
        self._indexes: dict[tuple[int, ...], Index] = {}
        self._whole = WholeRowIndex(self)
        self._grown = grown

    def intern(self, new: Rows) -> Ids:
        """The row ids of some facts; those never seen are appended, with status 0."""
        ids = np.empty(len(new), np.int32)
        self._reserve(len(new))
        self.size = kernels.intern(new, len(new), self.rows, self.size, self.slots, ids)
        return ids

    def find(self, wanted: Rows) -> Ids:
        """The row ids of some facts, -1 for those never seen."""
        ids = np.empty(len(wanted), np.int32)
        kernels.find(wanted, len(wanted), self.rows, self.slots, ids)
        return ids

    def index(self, key: tuple[int, ...]) -> Index | WholeRowIndex:
        """The index on some columns, in ascending order, up to date."""
        if len(key) == self.arity:
            return self._whole
        index = self._indexes.get(key)
        if index is None:
            index = self._indexes[key] = Index(key)
        if index.covered < self.size:
            index.cover(self.rows, self.size)
        return index

    @property
    def nbytes(self) -> int:
        """The memory it takes, indexes included and untouched room not."""
        columns = (self.rows, self.status, self.nonrecursive, self.recursive)
        used = self.size * sum(column.nbytes for column in columns) // len(self.rows)
        return used + self.slots.nbytes + sum(index.nbytes for index in self._indexes.values())

    def _reserve(self, more: int) -> None:
        wanted = self.size + more
        if wanted > len(self.rows):
            self._more_rows(max(wanted, len(self.rows) * _GROWTH))
        if wanted > _FULL * len(self.slots):
            fewer, self.slots = self.slots, np.zeros(_slots_for(wanted), np.uint64)
            kernels.move_slots(fewer, self.slots)
            self._grown(self.nbytes)

    def _more_rows(self, room: int) -> None:
        if room > _MOST_ROWS:
            raise MemoryError(f"{self.name} has more than {_MOST_ROWS:,} facts")
        self.rows = _enlarged(self.rows, room)
        self.status = _enlarged(self.status, room)
        self.nonrecursive = _enlarged(self.nonrecursive, room)
        self.recursive = _enlarged(self.recursive, room)
        self._grown(self.nbytes)


def _enlarged(column: NDArray[Any], room: int) -> Any:
    larger = np.zeros((room, *column.shape[1:]), column.dtype)  # untouched until it is written to
    larger[: len(column)] = column
    return larger


def _slots_for(rows: int) -> int:
    """A power of two of slots, filled at most to `_FULL` by so many rows."""
    return 1 << max(7, int(np.ceil(np.log2(max(rows, 1) / _FULL))))
