"""Sizes of tables, and how many facts share a key: from an index where there is one, else from a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from holdfast.backends.abilities import VirtualFacts
from holdfast.backends.memory.table import Table

_SAMPLE = 8_192
_MULTIPLIER = np.int64(-0x61C8864680B583EB)


class TableStatistics:
    """Statistics of the current tables; an estimate is sampled again when its table has grown much."""

    many = 1e5  # some milliseconds; a round without much work takes one

    def __init__(self, tables: Mapping[str, Table], virtual: Mapping[str, VirtualFacts] = MappingProxyType({})) -> None:
        self._tables = tables
        self._virtual = virtual
        self._sampled: dict[tuple[str, tuple[int, ...]], tuple[int, float]] = {}
        self._smallest: dict[tuple[str, int], tuple[Table, int, int]] = {}  # table, rows read, least

    def forget(self, predicate: str) -> None:
        """Forget a dropped table; another may take its name."""
        self._sampled = {place: known for place, known in self._sampled.items() if place[0] != predicate}

    def size(self, predicate: str) -> float:
        """The number of rows of a table, counting virtual facts as rows."""
        virtual = self._virtual.get(predicate)
        return float(self._tables[predicate].size if virtual is None else virtual.size)

    def smallest(self, predicate: str, column: int) -> float:
        """The least number ever seen in a column; reads only rows added since the last call."""
        table = self._tables[predicate]
        if predicate in self._virtual:
            return -math.inf  # virtual facts may have smaller numbers
        known, seen, least = self._smallest.get((predicate, column), (table, 0, 2**63 - 1))
        if known is not table or seen > table.size:
            seen, least = 0, 2**63 - 1
        least = min(least, int(table.rows[seen : table.size, column].min(initial=2**63 - 1)))
        self._smallest[predicate, column] = (table, table.size, least)
        return least

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        """The average number of facts that share their values in these columns; at most 1 for all columns."""
        table = self._tables[predicate]
        if len(columns) == arity:
            return min(1.0, self._whole_row(predicate, table))
        indexed = table.keys(columns)
        keys = self._keys(predicate, columns, table) if indexed is None else indexed
        return self.size(predicate) / max(1.0, keys)

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        """The number of rows that the index does not cover; 0 for a key of all columns, which needs no index."""
        return float(self._tables[predicate].unindexed(columns))

    def _whole_row(self, predicate: str, table: Table) -> float:
        """The probability that a row of values from the table's columns is a fact."""
        rows = 1.0
        for column in range(table.arity):
            rows *= max(1.0, self._keys(predicate, (column,), table))
        return self.size(predicate) / rows

    def _keys(self, predicate: str, columns: tuple[int, ...], table: Table) -> float:
        size, share = self._sampled.get((predicate, columns), (0, 1.0))
        if not size or table.size > 4 * size:
            share = _distinct_share(table, columns)
            self._sampled[predicate, columns] = (table.size, share)
        return share * table.size


def _distinct_share(table: Table, columns: tuple[int, ...]) -> float:
    """Distinct keys per fact, estimated from a sample.

    Uses the guaranteed-error estimator of Charikar et al. (PODS 2000): each key seen once in a sample of r out of n
    facts stands for the square root of n/r keys, every other key for itself.
    """
    if not table.size:
        return 1.0
    places = np.arange(min(table.size, _SAMPLE))
    if table.size > _SAMPLE:
        places = places * table.size // _SAMPLE
    mixed = np.zeros(len(places), np.int64)
    for column in columns:
        mixed = (mixed ^ table.rows[places, column]) * _MULTIPLIER
    _, counts = np.unique(mixed, return_counts=True)
    once = int((counts == 1).sum())
    keys = len(counts) - once + np.sqrt(table.size / len(places)) * once
    return float(min(1.0, keys / table.size))
