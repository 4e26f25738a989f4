"""Growing arrays, and hash tables of slots (`kernels/hashing.py` describes a slot)."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels

Rows = NDArray[np.int64]
Ids = NDArray[np.int32]
RowNumbers = NDArray[np.int32]  # one for each row, or for each row of a selection
Slots = NDArray[np.uint64]

FULL = 0.7  # share of slots in use; more makes probing slow, less wastes memory
_LARGE = 1 << 14  # slots; copying a smaller table costs nothing
_SPARE = 16  # reserve this many times the slots, to grow in place
_WORTH_PAGES = 1 << 20  # bytes
_OWN_PAGES = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0)


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any] | type[np.generic]) -> Any:
    """An array of zeros that takes no memory until it is written to.

    A large one gets pages of its own: NumPy might reuse memory and would have to write all zeros at once.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _WORTH_PAGES or not _OWN_PAGES:
        return np.zeros(shape, dtype)
    try:
        return np.ndarray(shape, dtype, mmap.mmap(-1, size, flags=_OWN_PAGES))
    except OSError as error:
        raise MemoryError(f"the system refused {size >> 20:,} MiB") from error


def enlarged(column: NDArray[Any], capacity: int) -> Any:
    """A copy of a column with a larger capacity, undefined beyond its size; untouched memory costs nothing."""
    larger = np.empty((capacity, *column.shape[1:]), column.dtype)
    larger[: len(column)] = column
    return larger


def padded(column: NDArray[Any], capacity: int) -> Any:
    """A copy of a column with a larger capacity, filled with zeros that take no memory until they are written to."""
    larger = zeros((capacity, *column.shape[1:]), column.dtype)
    larger[: len(column)] = column
    return larger


def slots_for(rows: int) -> int:
    """The number of slots for this many rows: a power of two, filled at most to `FULL`."""
    return 1 << max(7, int(np.ceil(np.log2(max(rows, 1) / FULL))))


def more_slots(fewer: Slots, count: int) -> Slots:
    """A hash table with the same entries and more slots; the smaller one must not be used again.

    The table grows in place, into reserved slots that cost no memory until then.  One thread does it: two would contend
    for the new pages of memory.
    """
    reserved = fewer.base
    if reserved is not None and count <= len(reserved):
        slots: Slots = reserved[:count]
        kernels.spread_slots(slots, len(fewer), np.empty_like(fewer))
        return slots
    slots = empty_slots(count)
    kernels.move_slots(fewer, slots)
    return slots


def empty_slots(count: int) -> Slots:
    """A hash table without entries, which can grow in place if it is large."""
    slots: Slots = zeros((count * _SPARE if count >= _LARGE else count,), np.uint64)[:count]
    return slots
