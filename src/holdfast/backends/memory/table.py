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
from holdfast.backends.memory.threads import side_by_side, worth_splitting

Rows = NDArray[np.int64]
Ids = NDArray[np.int32]

_NOWHERE = np.empty(0, np.int64)
_FIRST_ROOM = 64
_GROWTH = 4  # pages of room that is not used yet cost nothing until they are touched
_FULL = 0.7  # of the slots; more makes probing long, less wastes memory
_TAIL = 0.5  # of the settled rows; a longer tail is settled
_MOST_ROWS = 2**31 - 2


class Index:
    """The facts of a table by the values of some columns.

    A hash table numbers the distinct keys.  Most facts stand in runs: those of one key side by side, oldest first,
    their other columns copied beside their ids, so that a join reads memory in order.  Facts that came since the
    last settling hang in a linked tail of their key, newest first.
    """

    def __init__(self, key: tuple[int, ...], arity: int) -> None:
        self.key = np.array(key, np.int64)
        self.others = np.array([column for column in range(arity) if column not in key], np.int64)
        self.straight = np.arange(len(self.others))
        self.slots: NDArray[np.uint64] = np.zeros(_FIRST_ROOM, np.uint64)
        self.keys = 0
        self.entries: Rows = np.empty((_FIRST_ROOM, len(key) + 2), np.int64)
        self.ids: Ids = np.empty(0, np.int32)
        self.values: Rows = np.empty((0, len(self.others)), np.int64)
        self.tail_key: Ids = np.empty(0, np.int32)
        self.following: Ids = np.empty(0, np.int32)
        self.covered = 0

    @property
    def settled(self) -> int:
        """How many rows stand in runs."""
        return len(self.ids)

    def cover(self, rows: Rows, size: int) -> None:
        """Bring in the rows that came since the last time."""
        self._reserve_tail(size - self.settled)
        while self.covered < size:
            self.covered, self.keys = kernels.grow_index(
                rows, self.covered, size, self.key, self.slots, self.entries, self.tail_key, self.following, self.settled,
                self.keys, int(_FULL * len(self.slots)))
            if self.covered < size:
                self._more_keys(size)
        if self.covered - self.settled > max(_FIRST_ROOM, self.settled * _TAIL):
            self._settle(rows)

    def _reserve_tail(self, wanted: int) -> None:
        if len(self.following) < wanted:
            room = max(wanted, 2 * len(self.following))
            self.following, self.tail_key = _enlarged(self.following, room), _enlarged(self.tail_key, room)

    def _more_keys(self, size: int) -> None:
        wanted = 2 * len(self.slots)
        if self.covered and self.keys / self.covered > 0.5:  # nearly a key for each row: go there at once
            wanted = max(wanted, _slots_for(size))
        fewer, self.slots = self.slots, np.zeros(wanted, np.uint64)
        kernels.move_slots(fewer, self.slots)
        self.entries = _enlarged(self.entries, wanted)

    def _settle(self, rows: Rows) -> None:
        ids = np.empty(self.covered, np.int32)
        values = np.empty((self.covered, len(self.others)), np.int64)
        kernels.settle_index(rows, self.others, self.entries, len(self.key), self.keys, self.settled, self.ids,
                             self.values, self.tail_key[: self.covered - self.settled], ids, values)
        self.ids, self.values = ids, values
        self.following = self.tail_key = np.empty(0, np.int32)

    @property
    def nbytes(self) -> int:
        """The memory it takes, untouched room not included."""
        runs = self.ids.nbytes + self.values.nbytes
        keys = self.slots.nbytes + self.keys * 8 * self.entries.shape[1]
        return keys + runs + 8 * (self.covered - self.settled)


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
        self.all_columns = np.arange(arity)
        self._grown = grown

    def intern(self, new: Rows) -> Ids:
        """The row ids of some facts; those never seen are appended, with status 0."""
        ids = np.empty(len(new), np.int32)
        if len(self.slots) >= kernels.SPLIT and worth_splitting(len(new)):
            self._intern_by_halves(new, ids)
        else:
            self._reserve(len(new))
            self.size = kernels.intern(new, -1, self.size, self.rows, 0, self.slots, ids, _NOWHERE)
        return ids

    def _intern_by_halves(self, new: Rows, ids: Ids) -> None:
        """Each thread takes the facts of one half of the slots; the second writes its new rows behind a gap."""
        self._reserve(len(new), 2 * len(new))
        gap, places = self.size + len(new), np.empty(len(new), np.int64)
        self.size, end = side_by_side(
            kernels.intern,
            (new, 0, self.size, self.rows, 0, self.slots, ids, _NOWHERE),
            (new, 1, gap, self.rows, 1, self.slots, ids, places),
        )
        kernels.close_gap(self.rows, self.size, gap, end, self.slots, ids, places)
        self.size += end - gap

    def find(self, wanted: Rows) -> Ids:
        """The row ids of some facts, -1 for those never seen."""
        ids = np.empty(len(wanted), np.int32)
        kernels.find(wanted, self.rows, self.slots, ids)
        return ids

    def index(self, key: tuple[int, ...]) -> Index:
        """The index on some columns but not all, in ascending order, up to date."""
        index = self._indexes.get(key)
        if index is None:
            index = self._indexes[key] = Index(key, self.arity)
        if index.covered < self.size:
            index.cover(self.rows, self.size)
        return index

    def keys(self, columns: tuple[int, ...]) -> int | None:
        """The number of distinct values in some columns, if an index knows it nearly."""
        index = self._indexes.get(columns)
        return index.keys if index is not None and 2 * index.covered > self.size else None

    @property
    def nbytes(self) -> int:
        """The memory it takes, indexes included and untouched room not."""
        columns = (self.rows, self.status, self.nonrecursive, self.recursive)
        used = self.size * sum(column.nbytes for column in columns) // len(self.rows)
        return used + self.slots.nbytes + sum(index.nbytes for index in self._indexes.values())

    def _reserve(self, more: int, rows: int | None = None) -> None:
        """Make room for some more facts; `rows` may be more than that."""
        wanted = self.size + (rows or more)
        if wanted > len(self.rows):
            self._more_rows(max(wanted, len(self.rows) * _GROWTH))
        wanted = self.size + more
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
