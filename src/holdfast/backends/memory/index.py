"""Indexes: the facts of a table by the values of some of their columns."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import FULL, Ids, Rows, enlarged, more_slots, slots_for

_FIRST_CAPACITY = 64
_GROWTH = 8  # of the capacity for runs; it takes no memory until it is written to
_SOME = 256  # rows that a look-up may give before it is made again, with as much memory as it needs
_PLACES = 4  # places by value for each key, most of them empty
_TAIL = 0.1  # of the settled rows; a longer tail, which joins read slowly, is settled


class Index:
    """The facts of a table by the values of some columns.

    A hash table numbers the distinct keys.  Most facts stand in runs: those of one key side by side, oldest first,
    their other columns copied beside their ids, so that a join reads memory in order.  Facts added since the
    last settling hang in a linked tail of their key, newest first.  If the key is one column of small numbers, `direct`
    has a place for each that spares the hashing.
    """

    def __init__(self, key: tuple[int, ...], arity: int) -> None:
        self.key = np.array(key, np.int64)
        self.others = np.array([column for column in range(arity) if column not in key], np.int64)
        self.straight = np.arange(len(self.others))
        self.slots: NDArray[np.uint64] = np.zeros(_FIRST_CAPACITY, np.uint64)
        self.direct: Ids = np.empty(0, np.int32)
        self.keys = 0
        self.entries: Rows = np.empty((_FIRST_CAPACITY, len(key) + 2), np.int64)
        self.ids: Ids = np.empty(0, np.int32)
        self.values: Rows = np.empty((0, len(self.others)), np.int64)
        self.tail_key: Ids = np.empty(0, np.int32)
        self.following: Ids = np.empty(0, np.int32)
        self.settled = 0  # rows in runs
        self.covered = 0

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The index as kernels take it."""
        return self.slots, self.direct, self.entries, self.ids, self.values, self.following, self.settled

    def cover(self, rows: Rows, size: int) -> None:
        """Add the rows that are new since the last call."""
        self._reserve_tail(size - self.settled)
        while self.covered < size:
            self.covered, self.keys = kernels.grow_index(
                rows,
                self.covered,
                size,
                self.key,
                self.slots,
                self.direct,
                self.entries,
                self.tail_key,
                self.following,
                self.settled,
                self.keys,
                int(FULL * len(self.slots)),
            )
            if self.covered < size:
                self._more_keys(size)
        if self.covered - self.settled > max(_FIRST_CAPACITY, self.settled * _TAIL):
            self._settle(rows)

    def _reserve_tail(self, wanted: int) -> None:
        if len(self.following) < wanted:
            capacity = max(wanted, 2 * len(self.following))
            self.following, self.tail_key = enlarged(self.following, capacity), enlarged(self.tail_key, capacity)

    def _more_keys(self, size: int) -> None:
        wanted = 2 * len(self.slots)
        if self.covered and self.keys / self.covered > 0.5:  # nearly a key for each row: go there at once
            wanted = max(wanted, slots_for(size))
        self.entries = enlarged(self.entries, wanted)  # first: a kernel enters as many keys as there are slots for
        self.slots = more_slots(self.slots, wanted)

    def _settle(self, rows: Rows) -> None:
        if len(self.ids) < self.covered:
            capacity = max(self.covered, _GROWTH * len(self.ids))
            self.ids, self.values = enlarged(self.ids, capacity), enlarged(self.values, capacity)
        no_tail = np.empty(0, np.int32)
        kernels.settle_index(
            rows,
            self.others,
            self.entries,
            len(self.key),
            self.keys,
            self.settled,
            self.ids,
            self.values,
            self.tail_key[: self.covered - self.settled],
        )
        self.settled, self.following, self.tail_key = self.covered, no_tail, no_tail
        if len(self.key) == 1:
            self._direct()

    def _direct(self) -> None:
        """Number small keys by their values, unless too many places would be empty."""
        values = self.entries[: self.keys, 0]
        largest = int(values.max(initial=0))
        if largest < len(self.direct) or largest >= _PLACES * self.keys or values.min(initial=0) < 0:
            return
        direct = np.zeros(min(2 * (largest + 1), _PLACES * self.keys), np.int32)
        direct[values] = np.arange(1, self.keys + 1, dtype=np.int32)
        self.direct = direct

    def rows_of(self, values: Rows) -> Ids:
        """The rows that have one of some distinct keys."""
        out = np.empty(_SOME, np.int32)
        count = kernels.rows_of_keys(values, self.arrays, out)
        if count > len(out):
            out = np.empty(count, np.int32)
            kernels.rows_of_keys(values, self.arrays, out)
        return out[:count]

    def copy(self) -> Index:
        """The same rows by the same keys, in arrays of its own."""
        other = copy(self)
        other.slots, other.direct = self.slots.copy(), self.direct.copy()
        other.tail_key, other.following = self.tail_key.copy(), self.following.copy()
        other.entries = enlarged(self.entries[: self.keys], len(self.entries))
        other.ids = enlarged(self.ids[: self.settled], len(self.ids))
        other.values = enlarged(self.values[: self.settled], len(self.values))
        return other

    @property
    def nbytes(self) -> int:
        """The memory it takes, untouched capacity not included."""
        runs = self.settled * (4 + 8 * len(self.others))
        keys = self.slots.nbytes + self.direct.nbytes + self.keys * 8 * self.entries.shape[1]
        return int(keys + runs + 8 * (self.covered - self.settled))


class ListIndex(NamedTuple):
    """Some rows of a table by the values of some columns: the index has their places in the list."""

    ids: Ids
    rows: Rows
    by_key: Index


def list_index(ids: Ids, rows: Rows, key: tuple[int, ...]) -> ListIndex:
    """An index of some rows of a table alone."""
    own: Rows = rows.take(ids, 0)
    index = Index(key, own.shape[1])
    index.cover(own, len(own))
    return ListIndex(ids, own, index)
