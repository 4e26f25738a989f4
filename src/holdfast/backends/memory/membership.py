"""Which row a fact has: by hashing, or, for pairs that fill much of their square, by looking at a place in a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import FULL, FULLEST, Ids, Rows, Slots, more_slots, slots_for
from holdfast.backends.memory.threads import side_by_side, worth_splitting

NO_SLOTS: Slots = np.empty(0, np.uint64)
NO_GRID: NDArray[np.int32] = np.empty((0, 0), np.int32)
_NOWHERE = np.empty(0, np.int64)
_CELLS = 6  # a fact may take so many cells of a grid: 24 bytes; a hash table takes 11 to 23
_WORTH_A_GRID = 1 << 16  # facts; a smaller hash table stays in the cache anyway


class HashedRows:
    """Row ids through a hash table."""

    grid = NO_GRID

    def __init__(self, slots: Slots | None = None, *, may_be_gridded: bool = True) -> None:
        self.slots: Slots = np.zeros(slots_for(0), np.uint64) if slots is None else slots
        self.halves = np.zeros(2, np.int64)  # the rows in each half of the slots
        self.may_be_gridded = may_be_gridded  # not again once a grid has been too small

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.slots.nbytes

    def has_room(self, more: int) -> bool:
        """Whether so many more rows fit in; in a large table all of them in one half, if it comes to the worst."""
        room = len(self.slots)
        if room >= kernels.SPLIT and int(self.halves.max()) + more > FULLEST * room / 2:
            return False
        return int(self.halves.sum()) + more <= FULL * room

    def make_room(self, more: int, coming: int) -> None:
        """Take more slots, so that more rows fit in, and at once as many as those coming will probably need."""
        while not self.has_room(more):
            self.slots = more_slots(self.slots, max(2 * len(self.slots), slots_for(int(self.halves.sum()) + coming)))

    def intern(self, new: Rows, rows: Rows, size: int, ids: Ids) -> int:
        """Find the rows, append those never seen; gives the new size.  `rows` has room for twice as many."""
        if len(self.slots) < kernels.SPLIT or not worth_splitting(len(new)):
            return int(kernels.intern(new, -1, size, rows, self.slots, ids, _NOWHERE, self.halves))
        return self._intern_by_halves(new, rows, size, ids)

    def _intern_by_halves(self, new: Rows, rows: Rows, size: int, ids: Ids) -> int:
        """Each thread takes the facts of one half of the slots; the second writes its new rows behind a gap."""
        gap, places = size + len(new), np.empty(len(new), np.int64)
        size, end = side_by_side(
            kernels.intern,
            (new, 0, size, rows, self.slots, ids, _NOWHERE, self.halves),
            (new, 1, gap, rows, self.slots, ids, places, self.halves),
        )
        kernels.close_gap(rows, size, gap, end, self.slots, ids, places)
        return int(size + end - gap)


class GriddedRows:
    """Row ids of pairs of small numbers, each in its own cell: one read, no comparison."""

    slots = NO_SLOTS

    def __init__(self, grid: NDArray[np.int32]) -> None:
        self.grid = grid

    @property
    def nbytes(self) -> int:
        """The memory it takes."""
        return self.grid.nbytes

    def holds(self, new: Rows) -> bool:
        """Whether the grid has a cell for each of some rows."""
        return bool(kernels.in_grid(new, self.grid))

    def intern(self, new: Rows, rows: Rows, size: int, ids: Ids) -> int:
        """Find the rows, append those never seen; gives the new size."""
        return int(kernels.intern_in_grid(new, rows, size, self.grid, ids))


def suitable_grid(rows: Rows, new: Rows) -> GriddedRows | None:
    """A grid with some rows in it and cells for more, if that is worth its memory.

    Only while the numbers do not grow: the first half of the rows must span what all do.
    """
    if rows.shape[1] != 2 or len(rows) < _WORTH_A_GRID or min(rows.min(), new.min(initial=0)) < 0:
        return None
    largest = np.maximum(rows.max(axis=0), new.max(axis=0, initial=0))
    width, height = (largest + 1).tolist()
    if width * height > _CELLS * len(rows) or (rows[: len(rows) // 2].max(axis=0) < largest).any():
        return None
    grid = np.zeros((width, height), np.int32)
    grid[rows[:, 0], rows[:, 1]] = np.arange(1, len(rows) + 1, dtype=np.int32)
    return GriddedRows(grid)


def hashed(rows: Rows, *, may_be_gridded: bool = False) -> HashedRows:
    """A hash table with some rows in it, known to be distinct."""
    found = HashedRows(np.zeros(slots_for(2 * len(rows)), np.uint64), may_be_gridded=may_be_gridded)
    kernels.intern(rows, -1, 0, np.empty_like(rows), found.slots, np.empty(len(rows), np.int32), _NOWHERE, found.halves)
    return found
