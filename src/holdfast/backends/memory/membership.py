"""Finds the row of a fact: by hashing or, where numbers fill much of their range or square, by a cell of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.abilities import LateArray
from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import FULL, Ids, Rows, Slots, empty_slots, more_slots, padded, slots_for, zeros
from holdfast.backends.memory.threads import side_by_side, worth_splitting
from holdfast.maintenance.watch import Stopwatch

NO_SLOTS: Slots = np.empty(0, np.uint64)
NO_GRID: NDArray[np.int32] = np.empty((0, 0), np.int32)
_CELLS = 8  # cells of a grid for each fact at most, 32 bytes; a hash table takes 11 to 23 bytes
_WORTH_A_SQUARE = 1 << 16  # facts; a smaller hash table fits in the cache anyway
_WORTH_A_LINE = 1 << 12
_FEW = 256  # rows
_NEWS = 0.3  # share of new rows; below it, two threads look rows up first


class HashedRows:
    """Row ids through a hash table."""

    grid = NO_GRID

    def __init__(self, slots: Slots | None = None, *, may_be_gridded: bool = True) -> None:
        self.slots: Slots = np.zeros(slots_for(0), np.uint64) if slots is None else slots
        self.size = 0  # the number of rows
        self._news = 1.0  # the share of new rows in the last lookup
        self.may_be_gridded = may_be_gridded  # False once a grid has been too small

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.slots.nbytes

    def copy(self) -> HashedRows:
        """The same rows in slots of its own."""
        other = HashedRows(self.slots.copy(), may_be_gridded=self.may_be_gridded)
        other.size = self.size
        return other

    def for_as_many(self) -> HashedRows:
        """No rows, and slots for as many."""
        return HashedRows(empty_slots(self.nbytes // 8), may_be_gridded=self.may_be_gridded)

    def for_these(self, rows: Rows) -> HashedRows:
        """The ids of these rows only, which are distinct."""
        found = HashedRows(np.zeros(slots_for(2 * len(rows)), np.uint64))
        found.intern(rows, rows, 0, np.empty(len(rows), np.int32))  # each is written to where it is
        return found

    def has_capacity(self, more: int) -> bool:
        """Whether this many more rows fit."""
        return self.size + more <= FULL * len(self.slots)

    def reserve(self, more: int, coming: int) -> None:
        """Add slots for these rows, and at once as many as the following ones will probably need."""
        while not self.has_capacity(more):
            self.slots = more_slots(self.slots, max(2 * len(self.slots), slots_for(self.size + coming)))

    def intern(self, new: Rows, rows: Rows, size: int, ids: Ids) -> int:
        """Find the rows and append new ones; returns the new size.

        If most rows are probably known, two threads look them up.  Only one enters new rows: two would contend for the
        new pages of memory.
        """
        if len(new) <= _FEW:
            self.size = kernels.intern(new, size, rows, self.slots, ids)
            return self.size
        if self._news < _NEWS and worth_splitting(len(new)):
            middle = len(new) // 2
            side_by_side(
                kernels.find,
                (new[:middle], rows, self.slots, NO_GRID, ids[:middle]),
                (new[middle:], rows, self.slots, NO_GRID, ids[middle:]),
            )
            unknown = np.flatnonzero(ids < 0)
            entered = np.empty(len(unknown), np.int32)
            self.size = kernels.intern(new[unknown], size, rows, self.slots, entered)
            ids[unknown] = entered
        else:
            self.size = kernels.intern(new, size, rows, self.slots, ids)
        self._news = (self.size - size) / max(1, len(new))
        return self.size


class LateRows(HashedRows):
    """A hash table that is read when it is first needed, or made again if it cannot be read.

    Only updates need it: readers have hash tables of their own.
    """

    def __init__(
        self, rows: Rows, read: LateArray, nbytes: int, took: Callable[[float], None], *, may_be_gridded: bool
    ) -> None:
        super().__init__(may_be_gridded=may_be_gridded)
        del self.slots
        self.size = len(rows)
        self._rows, self._read, self._nbytes, self._took = rows, read, nbytes, took

    @property
    def nbytes(self) -> int:
        """The memory it takes, or will take."""
        return self.slots.nbytes if "slots" in vars(self) else self._nbytes

    def __getattr__(self, name: str) -> Slots:
        """Read the slots: Python calls this for an attribute that does not exist yet."""
        if name != "slots":
            raise AttributeError(name)
        stopwatch, found = Stopwatch(), self._read()
        self.slots = hashed(self._rows).slots if found is None else found
        self._took(stopwatch.work)
        del self._rows, self._read, self._took
        return self.slots


class GriddedRows:
    """Row ids of small numbers or pairs of numbers, each in its own cell: one read, no comparison.

    The values of one column may grow: their cells are added at the end, and take no memory until they are written to.
    """

    slots = NO_SLOTS

    def __init__(self, cells: NDArray[np.int32], growing: int, largest: int) -> None:
        self.cells = cells
        self.growing = growing  # the column of the first dimension
        self.largest = largest  # the largest value of that column

    @property
    def grid(self) -> NDArray[np.int32]:
        """The cells, indexed by first and second column."""
        return self.cells.T if self.growing else self.cells

    @property
    def nbytes(self) -> int:
        """The memory it takes, without untouched capacity."""
        return (self.largest + 1) * self.cells[:1].nbytes

    def for_as_many(self) -> GriddedRows:
        """No rows, and cells for the same ones."""
        return GriddedRows(zeros(self.cells.shape, np.int32), self.growing, self.largest)

    def for_these(self, rows: Rows) -> HashedRows | GriddedRows:
        """The ids of these rows only, which are distinct."""
        if (self.largest + 1) * self.cells.shape[1] > _CELLS * len(rows):
            return HashedRows().for_these(rows)
        found = self.for_as_many()
        found.grid[rows[:, 0], rows[:, -1] if rows.shape[1] > 1 else 0] = np.arange(1, len(rows) + 1, dtype=np.int32)
        return found

    def reserve(self, new: Rows, known: int) -> bool:
        """Make sure that each of the rows has a cell; returns False if the grid would be mostly empty."""
        least, *most = kernels.reach(new)
        largest, other = most[self.growing], most[1 - self.growing]
        if least < 0 or other >= self.cells.shape[1]:
            return False
        if largest >= len(self.cells):
            if (largest + 1) * self.cells.shape[1] > _CELLS * known:
                return False
            self.cells = padded(self.cells, 2 * (largest + 1))
        self.largest = max(self.largest, largest)
        return True

    def intern(self, new: Rows, rows: Rows, size: int, ids: Ids) -> int:
        """Find the rows and append new ones; returns the new size."""
        return int(kernels.intern_in_grid(new, rows, size, self.grid, ids))


def suitable_grid(rows: Rows, new: Rows) -> GriddedRows | None:
    """A grid that holds these rows and has cells for more, if it is worth its memory."""
    match rows.shape[1]:
        case 1:
            return _suitable_line(rows, new)
        case 2:
            return _suitable_square(rows, new)
    return None


def _suitable_line(rows: Rows, new: Rows) -> GriddedRows | None:
    facts, lowest = len(rows) + len(new), min(rows.min(initial=0), new.min(initial=0))
    reach = int(max(rows.max(initial=0), new.max(initial=0)))
    if facts < _WORTH_A_LINE or lowest < 0 or reach >= _CELLS * facts:
        return None
    found = GriddedRows(zeros((2 * (reach + 1), 1), np.int32), 0, reach)
    found.cells[rows[:, 0], 0] = np.arange(1, len(rows) + 1, dtype=np.int32)
    return found


def _suitable_square(rows: Rows, new: Rows) -> GriddedRows | None:
    """A grid of pairs, if at most one column grows: in the other, the first half of the rows must span all values."""
    if len(rows) < _WORTH_A_SQUARE or min(rows.min(), new.min(initial=0)) < 0:
        return None
    half = len(rows) // 2
    early, late = (_largest(part) for part in (rows[:half], rows[half:]))
    largest = np.maximum(np.maximum(early, late), _largest(new))
    grows, second_grows = (early < largest).tolist()
    if (grows and second_grows) or math.prod(n + 1 for n in largest.tolist()) > _CELLS * len(rows):
        return None
    growing = int(second_grows)
    reach, side = largest[[growing, 1 - growing]].tolist()
    capacity = (reach + 1) * (2 if grows or second_grows else 1)
    found = GriddedRows(zeros((capacity, side + 1), np.int32), growing, reach)
    found.grid[rows[:, 0], rows[:, 1]] = np.arange(1, len(rows) + 1, dtype=np.int32)
    return found


def _largest(rows: Rows) -> Rows:
    """The largest value of each column, one column at a time: NumPy is far slower on both at once."""
    return np.array([column.max(initial=0) for column in rows.T])


def hashed(rows: Rows, *, may_be_gridded: bool = False) -> HashedRows:
    """A hash table of rows that are known to be distinct."""
    found = HashedRows(np.zeros(slots_for(2 * len(rows)), np.uint64), may_be_gridded=may_be_gridded)
    found.intern(rows, np.empty_like(rows), 0, np.empty(len(rows), np.int32))
    return found


def hashed_nbytes(rows: int) -> int:
    """The memory that such a hash table takes for so many rows."""
    return 8 * slots_for(2 * rows)
