"""A relation's facts in memory: append-only rows with dense ids, and, aligned with them, status and counters.

Invariants.  A fact that was ever seen has exactly one row, found through `membership`; rows never move and never
change.  Whether a fact is *in* a set is a bit of its status byte (see `facts.py`): rows whose status is 0 are merely
known.  Rows from `size` on are unused capacity.  An index covers the rows below its `covered`;
it is extended on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids, Rows, enlarged, padded, zeros
from holdfast.backends.memory.index import Index
from holdfast.backends.memory.membership import GriddedRows, HashedRows, hashed, hashed_nbytes, suitable_grid
from holdfast.maintenance.watch import Stopwatch

_FIRST_CAPACITY = 64
_PART = 1 << 16  # rows interned at once, so that capacity is reserved for no more
_GLANCE = 1 << 12  # rows compared at once
_GROWTH = 16  # unused capacity costs nothing until it is touched
_LARGE, _CAPACITY_OF_LARGE = 1 << 14, 1 << 20  # rows from which on a table has at least this capacity
_MOST_ROWS = 2**31 - 2
_Aligned: TypeAlias = tuple[Rows, NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]]


class Table:
    """The facts of one relation."""

    def __init__(
        self,
        name: str,
        arity: int,
        grown: Callable[[int], None] = lambda _bytes: None,
        indexed: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self.name = name
        self.arity = arity
        self.size = 0
        self.rows: Rows = np.empty((_FIRST_CAPACITY, arity), np.int64)
        self.status: NDArray[np.uint8] = np.zeros(_FIRST_CAPACITY, np.uint8)
        self.proof: NDArray[np.uint8] = np.zeros(_FIRST_CAPACITY, np.uint8)  # a second status byte, for B/F's sets
        self.nonrecursive: NDArray[np.int32] = np.zeros(_FIRST_CAPACITY, np.int32)
        self.recursive: NDArray[np.int32] = np.zeros(_FIRST_CAPACITY, np.int32)
        self.membership: HashedRows | GriddedRows = HashedRows()
        self._indexes: dict[tuple[int, ...], Index] = {}
        self.all_columns = np.arange(arity)
        self.fetch: Callable[[tuple[int, ...], Rows], None] | None = None  # makes rows of what is looked up
        self._grown, self._indexed = grown, indexed

    def intern(self, new: Rows, coming: int = 0) -> Ids:
        """The row ids of some facts; those never seen are appended, with status 0.

        `coming` more may follow: capacity is reserved for them too.
        """
        count, known = len(new), self.membership
        if self.size + count > len(self.rows):
            self._reserve(count, coming)
        ids = np.empty(count, np.int32)
        if count <= _PART:
            if not isinstance(known, HashedRows) or not known.has_capacity(count):
                self._prepare_membership(new, count + coming)
                known = self.membership
            self.size = known.intern(new, self.rows, self.size, ids)
            return ids
        for begin in range(0, len(new), _PART):
            part = new[begin : begin + _PART]
            self._prepare_membership(part, len(new) - begin + coming)
            self.size = self.membership.intern(part, self.rows, self.size, ids[begin : begin + _PART])
        return ids

    def intern_in_order(self, new: Rows) -> Ids:
        """As `intern`, of facts that mostly come in the order of the rows that they have: these are only compared."""
        ids, begin, row, part = np.empty(len(new), np.int32), 0, 0, _GLANCE
        while begin < len(new):
            same = _same(new[begin : begin + _GLANCE], self.rows[row : min(row + _GLANCE, self.size)])
            ids[begin : begin + same] = np.arange(row, row + same, dtype=np.int32)
            begin, row = begin + same, row + same
            if same < _GLANCE and begin < len(new):
                found = self.intern(new[begin : begin + part], max(0, len(new) - begin - part))
                ids[begin : begin + len(found)] = found
                begin, row = begin + len(found), int(found[-1]) + 1
            part = min(2 * part, _PART) if 2 * same < _GLANCE else _GLANCE
        return ids

    def _prepare_membership(self, new: Rows, coming: int) -> None:
        """Reserve capacity for new facts, switching to a grid or back where that is better."""
        known = self.membership
        if isinstance(known, GriddedRows):
            before = known.nbytes
            if not known.reserve(new, self.size):
                self.membership = hashed(self.rows[: self.size])
                self._prepare_membership(new, coming)
            elif known.nbytes > before:
                self._grown(self.nbytes)
        elif not known.has_capacity(len(new)):
            grid = suitable_grid(self.rows[: self.size], new) if known.may_be_gridded else None
            if grid is None:
                known.reserve(len(new), coming)
            else:
                self.membership = grid
            self._grown(self.nbytes)

    def keep_only(self, ids: Ids) -> None:
        """Drop all other rows; the ids change.  Between updates only: nothing may hold ids."""
        kept = [column.take(ids, 0) for column in self._columns]  # a third of the time of an index
        columns = cast("_Aligned", kept) if len(ids) >= _FIRST_CAPACITY else _enlarged(kept, _FIRST_CAPACITY)
        membership = self.membership.for_these(columns[0][: len(ids)])
        self._columns, self.size, self.membership, self._indexes = columns, len(ids), membership, {}
        self._grown(self.nbytes)

    @property
    def is_loose(self) -> bool:
        """Whether it has rows that are merely known, or slots for many more rows than it has."""
        has_unused = int(np.count_nonzero(self.status[: self.size])) < self.size
        return has_unused or self.membership.nbytes > hashed_nbytes(self.size)

    def take_over(
        self,
        size: int,
        rows: Rows,
        status: NDArray[np.uint8],
        nonrecursive: NDArray[np.int32],
        recursive: NDArray[np.int32],
        membership: HashedRows | GriddedRows,
    ) -> None:
        """Have this number of rows, in place of none; the arrays may have capacity for more, filled with zeros."""
        self._columns = rows, status, zeros((len(rows),), np.uint8), nonrecursive, recursive
        self.size, self.membership = size, membership
        self._grown(self.nbytes)

    def mend(self, lasting: np.uint8) -> None:
        """A change was interrupted: trust only rows, counters and the `lasting` bits of the status."""
        self.membership, self._indexes = HashedRows(), {}  # memory may be what was missing
        self.membership = hashed(self.rows[: self.size], may_be_gridded=True)
        self.status[: self.size] &= lasting
        self.proof[: self.size] = 0

    def find(self, wanted: Rows) -> Ids:
        """The row ids of some facts, -1 for those never seen."""
        ids = np.empty(len(wanted), np.int32)
        kernels.find(wanted, self.rows, self.membership.slots, self.membership.grid, ids)
        return ids

    def index(self, key: tuple[int, ...]) -> Index:
        """The index on some columns but not all, in ascending order, up to date."""
        index, is_new = self._indexes.get(key), False
        if index is None:
            index, is_new = Index(key, self.arity), True
            self._indexes[key] = index
        if index.covered < self.size:
            stopwatch = Stopwatch() if is_new else None
            index.cover(self.rows, self.size)
            self._grown(self.nbytes)
            if stopwatch is not None:
                self._indexed(stopwatch.work)
        return index

    @property
    def indexes(self) -> dict[tuple[int, ...], Index]:
        """All indexes, by their columns."""
        return self._indexes

    def present_index(self, key: tuple[int, ...]) -> Index | None:
        """The index on some columns, as it is, if there is one."""
        return self._indexes.get(key)

    def matching(self, key: tuple[int, ...], values: Rows) -> Ids:
        """The rows whose `key` columns, ascending, have one of some distinct tuples of values."""
        if len(key) == self.arity:
            found = self.find(values)
            return found[found >= 0]
        return self.index(key).rows_of(values)

    def keys(self, columns: tuple[int, ...]) -> int | None:
        """The number of distinct values in some columns, if an index knows it nearly."""
        index = self._indexes.get(columns)
        return index.keys if index is not None and 2 * index.covered > self.size else None

    def unindexed(self, columns: tuple[int, ...]) -> int:
        """The number of rows that the index on some columns does not cover; without an index, all."""
        index = self._indexes.get(columns)
        covered = 0 if index is None else index.covered
        return max(0, self.size - covered) if len(columns) < self.arity else 0

    @property
    def nbytes(self) -> int:
        """The memory in use, with indexes and without untouched capacity."""
        columns = (self.rows, self.status, self.nonrecursive, self.recursive)
        used = self.size * sum(column.nbytes for column in columns) // len(self.rows)
        return used + self.membership.nbytes + sum(index.nbytes for index in self._indexes.values())

    def _reserve(self, more: int, coming: int) -> None:
        wanted = self.size + more
        if wanted > len(self.rows):
            capacity = max(wanted + coming, len(self.rows) * _GROWTH, _CAPACITY_OF_LARGE if wanted > _LARGE else 0)
            self._more_rows(max(wanted, min(capacity, _MOST_ROWS)))

    def _more_rows(self, capacity: int) -> None:
        if capacity > _MOST_ROWS:
            raise MemoryError(f"{self.name} has more than {_MOST_ROWS:,} facts")
        self._columns = _enlarged(self._columns, capacity)
        self._grown(self.nbytes)

    @property
    def _columns(self) -> _Aligned:
        """The arrays that have a place for each row."""
        return self.rows, self.status, self.proof, self.nonrecursive, self.recursive

    @_columns.setter
    def _columns(self, columns: _Aligned) -> None:
        self.rows, self.status, self.proof, self.nonrecursive, self.recursive = columns


def _same(new: Rows, rows: Rows) -> int:
    """How many rows at the beginning are the same."""
    length = min(len(new), len(rows))
    is_same = new[:length].ravel() == rows[:length].ravel()
    return length if is_same.all() else int(is_same.argmin()) // new.shape[1]


def _enlarged(columns: Sequence[NDArray[Any]], capacity: int) -> _Aligned:
    """All or, if there is no memory, none."""
    rows, status, proof, nonrecursive, recursive = columns
    return (
        enlarged(rows, capacity),
        padded(status, capacity),
        padded(proof, capacity),
        padded(nonrecursive, capacity),
        padded(recursive, capacity),
    )
