"""Arrays that grow, and hash tables of slots (see `kernels.py` for what a slot is)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels

Rows = NDArray[np.int64]
Ids = NDArray[np.int32]
Slots = NDArray[np.uint64]

FULLEST = 0.9  # of one half of a large table
FULL = 0.7  # of the slots; more makes probing long, less wastes memory


def enlarged(column: NDArray[Any], room: int) -> Any:
    """A column with more room, in which anything may stand; it takes no memory until it is written to."""
    larger = np.empty((room, *column.shape[1:]), column.dtype)
    larger[: len(column)] = column
    return larger


def padded(column: NDArray[Any], room: int) -> Any:
    """A column with more room, full of zeros; it takes no memory until it is written to."""
    larger = np.zeros((room, *column.shape[1:]), column.dtype)
    larger[: len(column)] = column
    return larger


def slots_for(rows: int) -> int:
    """A power of two of slots, filled at most to `FULL` by so many rows."""
    return 1 << max(7, int(np.ceil(np.log2(max(rows, 1) / FULL))))


def more_slots(fewer: Slots, count: int) -> Slots:
    """A larger hash table with the same entries."""
    slots: Slots = np.zeros(count, np.uint64)
    kernels.move_slots(fewer, slots)  # two threads would wait for each other's new pages of memory
    return slots
