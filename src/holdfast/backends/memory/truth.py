"""Sets of status bytes as truth tables, and the rows that they select."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids

TruthTable = int
"""256 truth values: bit s says whether a fact with status byte s is selected.  Connectives are those of integers."""

Run = tuple[int, int]
"""The first of some consecutive rows, and the one after the last."""

ALWAYS: TruthTable = (1 << 256) - 1
NO_BITS = np.uint8(0)
NO_IDS: Ids = np.empty(0, np.int32)
_SEEN = np.uint8(128)


StatusTruth = NDArray[np.uint8]
"""The same as 256 bytes, the form that the kernels take."""


@cache
def as_bytes(truth: TruthTable) -> StatusTruth:
    """A truth table in the form that the kernels take."""
    return np.unpackbits(np.frombuffer(truth.to_bytes(32, "little"), np.uint8), bitorder="little")


@cache
def has_bit(bit: int) -> TruthTable:
    """The truth table of all status bytes that have a bit set."""
    return sum(1 << status for status in range(256) if status & bit)


ANY_STATUS: StatusTruth = as_bytes(ALWAYS)


def distinct(column: NDArray[np.uint8], candidates: Ids, visible: StatusTruth) -> Ids:
    """The candidates whose status byte is in the truth table, each once."""
    out = np.empty(len(candidates), np.int32)
    return out[: kernels.distinct(candidates, column, visible, _SEEN, out)]


def run_of(ids: Ids) -> Run | None:
    """The run of consecutive rows that these ids form in any order, or None."""
    if not len(ids):
        return (0, 0)
    first, last = kernels.ends(ids)
    return (first, last + 1) if last - first == len(ids) - 1 else None
