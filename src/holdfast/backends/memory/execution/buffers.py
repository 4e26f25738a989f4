"""Output buffers of steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Ids, Rows

BATCH = 32_768  # bindings
Weights = NDArray[np.int32]
NO_WEIGHTS: Weights = np.empty(0, np.int32)
_NONE_KNOWN: Ids = np.zeros(1, np.int32)
_TALLY_SLOTS = 2 * BATCH + 1  # at most half full
_MOST_GROUPS = 1 << 31


class Buffer:
    """The output of a step, allocated on first use and reused for each batch."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: Rows = np.empty((0, width), np.int64)

    def of(self, wanted: int) -> Rows:
        wanted = min(wanted, BATCH)
        if len(self.rows) < wanted:
            self.rows = np.empty((wanted, self.width), np.int64)
        return self.rows


class OutputBuffer(Buffer):
    """The output of a join in one thread: rows, and the weights of the rows if it tallies."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.seen: NDArray[np.uint64] = np.empty(0, np.uint64)
        self.counts = self.seen
        self.weights = self.known_weights = NO_WEIGHTS
        self.known: Ids = _NONE_KNOWN

    @property
    def tally(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Weights, Ids, Weights]:
        """The arrays that a kernel counts in: seen, counts, weights, known, known weights."""
        return self.seen, self.counts, self.weights, self.known, self.known_weights

    @property
    def has_known(self) -> bool:
        """Whether the last batch has heads whose row ids are known."""
        return bool(self.known[-1])

    def known_heads(self) -> tuple[Ids, Weights]:
        """The known heads of the last batch, each with the number of its instances."""
        count = self.known[-1]
        return self.known[:count].copy(), self.known_weights[:count]

    def prepare_tally(self, counted_in_place: int) -> None:
        """Allocate the arrays of a tally on first use, and again before the number of groups overflows its 32 bits."""
        if not len(self.seen) or self.seen[-1] > _MOST_GROUPS:
            self.seen, self.weights = np.zeros(_TALLY_SLOTS, np.uint64), np.empty(BATCH, np.int32)
            self.counts = np.zeros(counted_in_place, np.uint64)
            self.known, self.known_weights = np.zeros(2 * BATCH + 1, np.int32), np.empty(2 * BATCH, np.int32)
        self.known[-1] = 0
