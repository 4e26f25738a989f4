"""The rows of a table by their values: found or appended, through a hash table or a grid."""

from __future__ import annotations

import numpy as np

from holdfast.backends.memory.kernels.arguments import FEW, Grid, Ids, Rows, Slots
from holdfast.backends.memory.kernels.hashing import BLOCK, HIGH, LOW, ONE, find_tags, hash_row, look_up_block, same_row
from holdfast.compilation import int64, njit, types, void

KEEPS_THE_LOCK = FEW


@njit(int64(Rows, int64, Rows, Slots, Ids), nogil=True, cache=True)
def intern(new, size, rows, slots, ids):
    """Find each row of `new` in `rows`, writing those that are not there from row `size` on; gives the next free row.

    The ids go to `ids`.  The caller has made the arrays large enough.
    """
    mask = np.uint64(len(slots) - 1)
    hashes = np.empty(BLOCK, np.uint64)
    starts = np.empty(BLOCK + 1, np.uint64)
    for start in range(0, len(new), BLOCK):
        block = min(BLOCK, len(new) - start)
        for k in range(block):
            hashes[k] = hash_row(new, start + k)
        find_tags(hashes, block, slots, starts, rows)
        for k in range(block):  # not a helper: as a call this loop takes a third more
            tag = hashes[k] & HIGH
            slot = starts[k]
            entry = slots[slot]  # again: a row of this block may have taken it
            row = int64(-1)
            while entry != 0:
                if (entry & HIGH) == tag:
                    candidate = np.int64(entry & LOW) - 1
                    if same_row(new, start + k, rows, candidate):
                        row = candidate
                        break
                slot = (slot + ONE) & mask
                entry = slots[slot]
            if row < 0:
                row = size
                for column in range(rows.shape[1]):
                    rows[row, column] = new[start + k, column]
                slots[slot] = tag | np.uint64(row + 1)
                size += 1
            ids[start + k] = row
    return size


@njit(inline="always")
def _cell(rows, row):
    """Where a grid has the place of a fact with one or two columns."""
    return rows[row, 0], rows[row, 1] if rows.shape[1] > 1 else int64(0)


@njit(types.UniTuple(int64, 3)(Rows), nogil=True, cache=True)
def reach(new):
    """The least value of some facts with one or two columns, and the greatest of each column."""
    least, x_most, y_most = int64(0), int64(0), int64(0)
    for i in range(len(new)):
        x, y = _cell(new, i)
        least = min(least, x, y)
        x_most, y_most = max(x_most, x), max(y_most, y)
    return least, x_most, y_most


@njit(int64(Rows, Rows, int64, Grid, Ids), nogil=True, cache=True)
def intern_in_grid(new, rows, size, grid, ids):
    """As `intern`: a cell of the grid has the row id plus 1, or 0."""
    for start in range(0, len(new), BLOCK):
        stop = min(start + BLOCK, len(new))
        for i in range(start, stop):
            x, y = _cell(new, i)
            ids[i] = grid[x, y]
        for i in range(start, stop):
            row = int64(ids[i])
            if row == 0:
                x, y = _cell(new, i)
                row = int64(grid[x, y])  # again: a row of this block may have taken it
                if row == 0:
                    for column in range(rows.shape[1]):
                        rows[size, column] = new[i, column]
                    size += 1
                    row = size
                    grid[x, y] = row
            ids[i] = row - 1
    return size


@njit
def find_rows(wanted, block, rows, slots, grid, found):
    """The row ids of a block of facts in a table, -1 for those it does not have."""
    if not len(grid):
        look_up_block(wanted, block, rows, slots, found)
        return
    for k in range(block):
        x, y = _cell(wanted, k)
        inside = 0 <= x < grid.shape[0] and 0 <= y < grid.shape[1]
        found[k] = int64(grid[x, y]) - 1 if inside else int64(-1)


@njit(void(Rows, Rows, Slots, Grid, Ids), nogil=True, cache=True)
def find(wanted, rows, slots, grid, ids):
    """The row ids of some facts, -1 for those that are not in `rows`."""
    found = np.empty(BLOCK, np.int64)
    for begin in range(0, len(wanted), BLOCK):
        block = min(BLOCK, len(wanted) - begin)
        find_rows(wanted[begin : begin + block], block, rows, slots, grid, found)
        for k in range(block):
            ids[begin + k] = found[k]
