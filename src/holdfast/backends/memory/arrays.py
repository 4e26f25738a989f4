"""Arrays that grow, and hash tables of slots (see `kernels/hashing.py` for what a slot is)."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels

Rows = NDArray[np.int64]
Ids = NDArray[np.int32]
RowNumbers = NDArray[np.int32]  # one for each row, or for each of some
Slots = NDArray[np.uint64]

FULL = 0.7  # of the slots; more makes probing long, less wastes memory
_LARGE = 1 << 14  # slots; fewer are copied in no time
_SPARE = 16  # times as many slots are reserved to grow into
_WORTH_PAGES = 1 << 20  # bytes
_OWN_PAGES = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any] | type[np.generic]) -> Any:
    """An array of zeros that takes no memory until it is written to.

    A large one has pages of its own: NumPy may get memory that was used before, and writes all zeros at once.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _WORTH_PAGES or not _OWN_PAGES:
        return np.zeros(shape, dtype)
    return np.ndarray(shape, dtype, mmap.mmap(-1, size, flags=_OWN_PAGES))


def enlarged(column: NDArray[Any], capacity: int) -> Any:
    """A column with a larger capacity and undefined values beyond its size; untouched memory costs nothing."""
    larger = np.empty((capacity, *column.shape[1:]), column.dtype)
    larger[: len(column)] = column
    return larger


def padded(column: NDArray[Any], capacity: int) -> Any:
    """A column with more capacity, full of zeros; it takes no memory until it is written to."""
    larger = zeros((capacity, *column.shape[1:]), column.dtype)
    larger[: len(column)] = column
    return larger


def slots_for(rows: int) -> int:
    """The number of slots for some rows: a power of two, filled at most to `FULL`."""
    return 1 << max(7, int(np.ceil(np.log2(max(rows, 1) / FULL))))


def more_slots(fewer: Slots, count: int) -> Slots:
    """A hash table with the same entries and more slots; the smaller one must not be used again.

    It grows in place, into slots that are reserved and cost no memory until then.  On one thread: two would wait
    for each other's new pages of memory.
    """
    reserved = fewer.base
    if reserved is not None and count <= len(reserved):
        slots: Slots = reserved[:count]
        kernels.spread_slots(slots, len(fewer), np.empty_like(fewer))
        return slots
    slots = zeros((count * _SPARE if count >= _LARGE else count,), np.uint64)[:count]
    kernels.move_slots(fewer, slots)
    return slots
