"""Finds values that many facts share: if they were not spread, one shard would have most facts of a relation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Rows
from holdfast.backends.parted.partition import Hubs

LEAST = 10_000
"""A relation with no more facts than this has no hubs, however they are distributed."""
_SAMPLE, _OF_A_BATCH = 4_096, 512  # facts in the sample that suggests hubs
_FEW = 64  # rows of a batch that are not looked at


def hubs_of(rows: Rows, columns: Iterable[int], parts: int, least: float) -> Hubs:
    """The values in these columns that would each fill half of a shard's share, if there are more than `least` rows."""
    found: list[NDArray[np.int64]] = []
    if len(rows) > least and parts > 1:
        found = [frequent(rows[:, column], 0.5 / parts * len(rows)) for column in columns]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


class FrequentValues:
    """The values that are frequent in some rows, of which it sees one batch after the other."""

    def __init__(self, parts: int) -> None:
        self._share = 0.5 / parts
        self.rows: Counter[str] = Counter()
        """By relation."""
        self.times: Counter[tuple[str, int, int]] = Counter()
        """By relation, column and value: in batches in which it is frequent."""

    def see(self, name: str, rows: Rows, columns: Iterable[int]) -> None:
        """Look at some rows of a relation."""
        self.rows[name] += len(rows)
        for column in columns if len(rows) > _FEW else ():
            values = rows[:, column]
            for value in frequent(values, self._share / 2 * len(rows), _OF_A_BATCH).tolist():
                self.times[name, column, value] += int(np.count_nonzero(values == value))

    def found(self, least: float) -> dict[str, Hubs]:
        """Of relations with more than `least` rows: the values that would each fill half of a shard's share."""
        found: dict[str, list[int]] = {}
        for (name, _, value), times in self.times.items():
            if self.rows[name] > least and times > self._share * self.rows[name]:
                found.setdefault(name, []).append(value)
        return {name: np.unique(np.array(values, np.int64)) for name, values in found.items()}


def frequent(values: NDArray[np.int64], least: float, most: int = _SAMPLE) -> NDArray[np.int64]:
    """The values that occur more than `least` times, as a sample of at most so many suggests them."""
    sample = values
    if len(values) > most:  # at random: every tenth fact would mislead if facts come in a regular pattern
        sample = values[np.random.default_rng(len(values)).integers(len(values), size=most)]
    seen, times = np.unique(sample, return_counts=True)
    likely = seen[times * len(values) > least / 2 * len(sample)]
    counts = np.array([np.count_nonzero(values == value) for value in likely], np.int64)
    return likely[counts > least]
