"""Bags of facts: the heads of rule instances, as often as they occur."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from holdfast.backends.memory.arrays import Ids, enlarged
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.facts import FactSet, Support
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.truth import NO_IDS
from holdfast.backends.protocol import Bag

_GROWTH = 16  # times the capacity when it grows; it takes no memory until it is written to


Heads: TypeAlias = tuple[str, Ids, Weights]
"""A predicate, row ids, and how many instances each stands for (none given: one)."""


class MemoryBag:
    """The heads of rule instances as row ids, repeated as they occur or with a weight that counts the occurrences."""

    def __init__(
        self,
        tables: Mapping[str, Table],
        rows: Mapping[str, Ids],
        weights: Mapping[str, Weights] = MappingProxyType({}),
    ) -> None:
        self.tables = tables
        self.rows = rows
        self.weights = weights

    def __len__(self) -> int:
        if not self.weights:
            return sum(map(len, self.rows.values()))
        return sum(int(self.weights[p].sum()) if p in self.weights else len(ids) for p, ids in self.rows.items())

    def support(self) -> FactSet:
        """The facts that occur at least once."""
        return Support(self.tables, self.rows)

    def __add__(self, other: Bag) -> MemoryBag:
        """All occurrences of both."""
        assert isinstance(other, MemoryBag)
        if not self.rows or not other.rows:
            return other if not self.rows else self
        rows, weights = dict(self.rows), dict(self.weights)
        for name, ids in other.rows.items():
            known = rows.get(name)
            if name in other.weights or name in weights:
                parts = [(ids, other.weights.get(name)), *([(known, weights.get(name))] if known is not None else [])]
                weights[name] = np.concatenate([np.ones(len(i), np.int32) if w is None else w for i, w in parts])
            rows[name] = ids if known is None else np.concatenate([ids, known])
        return MemoryBag(self.tables, rows, weights)


class HeadBuffer:
    """Collects the heads of one predicate in place: the heads of a round may take as much memory as all facts."""

    def __init__(self) -> None:
        self.size = 0
        self.ids = NO_IDS
        self.weights = NO_WEIGHTS  # either empty, or one weight for each head

    def add(self, ids: Ids, weights: Weights) -> None:
        """Adds the heads of a batch; without weights each head stands for one instance."""
        if not self.size and not len(weights):
            self.ids, self.size = ids, len(ids)
            return
        begin, self.size = self.size, self.size + len(ids)
        if self.size > len(self.ids):
            capacity = max(self.size, _GROWTH * len(self.ids))
            self.ids = enlarged(self.ids, capacity) if begin else ids
            self.weights = enlarged(self.weights, capacity) if len(self.weights) else NO_WEIGHTS
        if len(weights) and not len(self.weights):
            self.weights = np.zeros(len(self.ids), np.int32)
            self.weights[:begin] = 1
        if self.ids is not ids:
            self.ids[begin : self.size] = ids
        if len(self.weights):
            self.weights[begin : self.size] = weights if len(weights) else 1


def collected(found: Iterable[Heads]) -> tuple[Mapping[str, Ids], Mapping[str, Weights]]:
    """The row ids of each predicate, and their weights where there are any."""
    if isinstance(found, tuple):  # of a few facts: one batch, without weights
        return {predicate: ids for predicate, ids, _ in found}, {}
    heads = defaultdict[str, HeadBuffer](HeadBuffer)
    for predicate, ids, weights in found:
        heads[predicate].add(ids, weights)
    return (
        {name: buffer.ids[: buffer.size] for name, buffer in heads.items()},
        {name: buffer.weights[: buffer.size] for name, buffer in heads.items() if len(buffer.weights)},
    )
