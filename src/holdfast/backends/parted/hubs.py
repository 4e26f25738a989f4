"""Finds values that many facts share: if they were not spread, one shard would have most facts of a relation."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Rows
from holdfast.backends.parted.partition import Hubs

LEAST = 10_000
"""A relation with no more facts than this has no hubs, however they are distributed."""
_SAMPLE = 4_096  # facts in the sample that suggests hubs


def hubs_of(rows: Rows, columns: Iterable[int], parts: int, least: float) -> Hubs:
    """The values in these columns that would each fill half of a shard's share, if there are more than `least` rows."""
    found: list[NDArray[np.int64]] = []
    if len(rows) > least and parts > 1:
        found = [frequent(rows[:, column], 0.5 / parts * len(rows)) for column in columns]
    return np.unique(np.concatenate([np.empty(0, np.int64), *found]))


def frequent(values: NDArray[np.int64], least: float) -> NDArray[np.int64]:
    """The values that occur more than `least` times."""
    sample = values
    if len(values) > _SAMPLE:  # at random: every tenth fact would mislead if facts come in a regular pattern
        sample = values[np.random.default_rng(len(values)).integers(len(values), size=_SAMPLE)]
    seen, times = np.unique(sample, return_counts=True)
    likely = seen[times * len(values) > least / 2 * len(sample)]
    counts = np.array([np.count_nonzero(values == value) for value in likely], np.int64)
    return likely[counts > least]
