"""Moves facts of one relation to other shards, with their counters and ranks; between updates only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.parted.partition import Hubs, among, routed

if TYPE_CHECKING:
    from holdfast.backends.parted.shard import Shard


class Moving:
    """The facts that one shard sends and receives when a relation spreads the facts of more hubs.

    Rows stay in the table.  Their status is set once all shards have received their rows, without allocating memory.
    """

    def __init__(self, shard: Shard, name: str, column: int, hubs: Hubs) -> None:
        self._shard, self._name, self._table, self._hubs = shard, name, shard.tables[name], hubs
        table = self._table
        values, old = table.rows[: table.size, column], shard.spread[name]
        is_moving = among(values, hubs) & ~among(values, old) & (table.status[: table.size] != 0)
        self._gone: Ids = np.flatnonzero(is_moving).astype(np.int32)
        counters = table.nonrecursive[self._gone], table.recursive[self._gone]
        numbers = [column.astype(np.int64) for column in (*counters, *shard.ranking.numbers(name, self._gone))]
        beside = np.stack([table.status[self._gone].astype(np.int64), *numbers], axis=1)
        rows = np.hstack([table.rows[self._gone], beside])
        self.boxes = routed(rows, column, shard.parts, hubs, slice(table.arity))
        self._came: list[tuple[Ids, NDArray[np.int32]]] = []

    def receive(self, rows: Rows) -> None:
        """Enter facts that now belong to this shard."""
        ids = self._table.intern(np.ascontiguousarray(rows[:, : self._table.arity]))
        self._shard.ranking.numbers(self._name, ids, has_some=bool(rows[:, -2:].any()))
        self._came.append((ids, rows[:, self._table.arity :].astype(np.int32)))

    def finish(self) -> None:
        """Make the received facts valid, and remove those that were sent."""
        table, shard, gone = self._table, self._shard, self._gone
        table.status[gone] = 0
        table.nonrecursive[gone] = 0
        table.recursive[gone] = 0
        for ids, numbers in self._came:
            table.status[ids] = numbers[:, 0]
            table.nonrecursive[ids], table.recursive[ids] = numbers[:, 1], numbers[:, 2]
            shard.ranking.set_numbers(self._name, ids, numbers[:, 3], numbers[:, 4])
        for kept in (shard.explicit, shard.materialisation):
            kept.take_over(self._name, None)
        shard.spread[self._name] = self._hubs
        shard.count_removed(self._name, len(gone))
