"""Relations as readers see them: the facts of one version, whatever an update does meanwhile.

The rows of a table are append-only, so readers share the array of rows with the writer.  Everything that changes in
place they have for themselves: the status byte of each row, the hash table and the indexes.  A status array belongs to
one version.  The hash table and the indexes belong to all versions over one array of rows: they may know rows that a
version does not have, because the status of these rows is 0 there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.abilities import ImplicitRelation
from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids, Rows, zeros
from holdfast.backends.memory.index import Index
from holdfast.backends.memory.membership import HashedRows, hashed
from holdfast.backends.memory.table import Table

if TYPE_CHECKING:
    from holdfast.backends.memory.membership import GriddedRows

Status = NDArray[np.uint8]
Flip = tuple[Ids, np.uint8, bool]
"""Rows whose bit is set or cleared."""

EXPLICIT, HOLDS = np.uint8(1), np.uint8(2)
"""The bits of E and I."""


class ReadTable:
    """The rows of a table, with a hash table and indexes for readers.

    Use it with its `lock`.  While queries are `running` on what it gave them, it grows in copies.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows, self.arity = rows, rows.shape[1]
        self._cells = rows.view(np.dtype((np.void, 8 * self.arity))).reshape(-1) if self.arity else None
        self.lock = threading.Lock()
        self.running = 0
        self._known: HashedRows | None = None
        self._indexes: dict[tuple[int, ...], Index] = {}

    def picked(self, ids: NDArray[np.int64]) -> Rows:
        """Some rows, as items of a list: so NumPy keeps Python's lock, which a look-up would have to wait for."""
        return self.rows[ids] if self._cells is None else self._cells[ids].view(np.int64).reshape(-1, self.arity)

    def membership(self, size: int) -> HashedRows:
        """A hash table that has at least the first rows."""
        known, self._known = self._known, None  # none, if this is interrupted
        if known is None:
            known = hashed(self.rows[:size])
        elif known.size < size:
            known, new = known.copy() if self.running else known, self.rows[known.size : size]
            known.reserve(len(new), len(new))
            known.intern(new, self.rows, known.size, np.empty(len(new), np.int32))
        self._known = known
        return known

    def index(self, key: tuple[int, ...], size: int) -> Index:
        """An index on some columns that covers at least the first rows."""
        index = self._indexes.get(key)
        if index is None or index.covered < size:
            self._indexes.pop(key, None)  # none, if this is interrupted
            index = Index(key, self.arity) if index is None else index.copy() if self.running else index
            index.cover(self.rows, size)
            self._indexes[key] = index
        return index

    def present(self, size: int) -> dict[tuple[int, ...], Index]:
        """The indexes that cover the first rows."""
        return {key: index for key, index in self._indexes.items() if index.covered >= size}

    def find(self, wanted: Rows, size: int) -> Ids:
        """The row ids of some facts, -1 for those it does not have."""
        ids = np.empty(len(wanted), np.int32)
        known = self.membership(size)
        kernels.find(wanted, self.rows, known.slots, known.grid, ids)
        return ids

    def matching(self, key: tuple[int, ...], values: Rows, size: int) -> Ids:
        """The rows whose `key` columns, ascending, have one of some distinct tuples of values."""
        if len(key) == self.arity:
            found = self.find(values, size)
            return found[found >= 0]
        return self.index(key, size).rows_of(values)


class FrozenRelation:
    """The facts of a relation in one version: immutable, except that the next version may take over its status array
    when nothing uses this one."""

    def __init__(
        self,
        table: ReadTable,
        status: Status,
        size: int,
        implicit: ImplicitRelation | None = None,
        counts: dict[int, int] | None = None,
    ) -> None:
        self.table, self.status, self.size = table, status, size
        self.implicit = implicit
        """The facts that hold, if not all of them are rows."""
        self.pins = 0  # readers that use it just now
        self.is_shared = False  # a snapshot or a view has it, for an unknown time
        self.flips: list[Flip] = []  # what the versions since have changed
        self._counts = counts or {}

    @property
    def relation(self) -> ImplicitRelation:
        """The facts that hold."""
        return self.implicit or self._facts(HOLDS)

    @property
    def explicit(self) -> ImplicitRelation:
        """The explicit facts."""
        return self._facts(EXPLICIT)

    def matching(self, key: tuple[int, ...], values: Rows, *, explicit: bool = False) -> Rows:
        """The facts that hold, or the explicit ones, with the values of one of some distinct rows in some columns."""
        if self.implicit is None or explicit:
            return self.table.picked(self._rows_of(key, values, EXPLICIT if explicit else HOLDS))
        if len(key) == self.table.arity:
            return values[self.implicit.has(values)]
        first = np.unique(values[:, 0])
        found: Rows = np.concatenate([self.table.rows[:0], *self.implicit.matching(key[0], first)])
        if len(key) == 1:
            return found
        wanted = set(map(tuple, values.tolist()))
        fits = [tuple(row) in wanted for row in found[:, list(key)].tolist()]
        return found[np.array(fits, np.bool_)]

    def next(self, size: int) -> FrozenRelation:
        """The next version: with the flips, and so many rows."""
        status = _own(self.status, self.size) if self.is_shared or self.pins else self.status
        counts = dict(self._counts)
        for ids, bit, on in self.flips:
            had = int(np.count_nonzero(status[ids] & bit))
            if int(bit) in counts:
                counts[int(bit)] += len(ids) - had if on else -had
            kernels.restatus(ids, status, np.uint8(0) if on else bit, bit if on else np.uint8(0))
        self.flips = []
        return FrozenRelation(self.table, status, size, None, counts)

    def _facts(self, bit: np.uint8) -> ImplicitRelation:
        return ImplicitRelation(
            self._count(bit),
            self.table.arity,
            partial(self._all, bit),
            lambda column, values: [self.table.rows[self._rows_of((column,), values.reshape(-1, 1), bit)]],
            partial(self._has, bit),
        )

    def _count(self, bit: np.uint8) -> int:
        found = self._counts.get(int(bit))
        if found is None:
            found = self._counts[int(bit)] = int(np.count_nonzero(self.status[: self.size] & bit))
        return found

    def _all(self, bit: np.uint8) -> Iterable[Rows]:
        return (self.table.rows[np.flatnonzero(self.status[: self.size] & bit)],)

    def _has(self, bit: np.uint8, rows: Rows) -> NDArray[np.bool_]:
        with self.table.lock:
            ids = self.table.find(np.ascontiguousarray(rows), self.size)
        found: NDArray[np.bool_] = ids >= 0
        found[found] = self.status[ids[found]] & bit != 0
        return found

    def _rows_of(self, key: tuple[int, ...], values: Rows, bit: np.uint8) -> NDArray[np.int64]:
        with self.table.lock:
            found = self.table.matching(key, np.ascontiguousarray(values), self.size)
        ids = found.astype(np.int64)  # NumPy's own kind of index: with another it gives up Python's lock
        seen: NDArray[np.int64] = ids[self.status[ids] & bit != 0]
        return seen


def _own(status: Status, size: int) -> Status:
    """A copy of the status of the first rows, with the same capacity."""
    own: Status = zeros((len(status),), np.uint8)
    own[:size] = status[:size]
    return own


def frozen(table: Table, implicit: ImplicitRelation | None, known: ReadTable | None = None) -> FrozenRelation:
    """The committed facts of a table.  An update may be computed meanwhile, but none may be committed.

    The update may replace arrays by larger ones with the same content, and sets bits of its own in the old or the new
    status, so the order of the reads does not matter.
    """
    rows, status = table.rows, table.status
    size = min(table.size, len(rows), len(status))
    own: Status = zeros((len(rows),), np.uint8)
    np.bitwise_and(status[:size], EXPLICIT | HOLDS, out=own[:size])
    return FrozenRelation(known if known is not None and known.rows is rows else ReadTable(rows), own, size, implicit)


class FrozenTable(Table):
    """A table for one query: it reads a frozen relation, has a status of its own, and takes no facts."""

    def __init__(self, name: str, relation: FrozenRelation, grown: Callable[[int], None]) -> None:
        super().__init__(name, relation.table.arity, grown)
        self.shared = shared = relation.table
        capacity = (len(shared.rows),)
        self.rows, self.size = shared.rows, relation.size
        self.status, self.proof = _own(relation.status, relation.size), zeros(capacity, np.uint8)
        self.nonrecursive, self.recursive = zeros(capacity, np.int32), zeros(capacity, np.int32)
        self._membership: HashedRows | None = None
        with shared.lock:
            self._indexes = shared.present(self.size)

    @property
    def membership(self) -> HashedRows | GriddedRows:
        """The hash table, made when it is first used."""
        if self._membership is None:
            with self.shared.lock:
                self._membership = self.shared.membership(self.size)
        return self._membership

    @membership.setter
    def membership(self, _unused: HashedRows | GriddedRows) -> None:
        """A new table sets an empty one, which this one has no use for."""

    def index(self, key: tuple[int, ...]) -> Index:
        """The index on some columns, as all readers know it."""
        if key not in self._indexes:
            with self.shared.lock:
                self._indexes[key] = self.shared.index(key, self.size)
            self._grown(self.nbytes)
        return self._indexes[key]

    @property
    def nbytes(self) -> int:
        """The memory that this query needs, or makes for others too: not the rows."""
        return self.size + sum(index.nbytes for index in self._indexes.values())

    def intern(self, new: Rows, coming: int = 0) -> Ids:
        """The row ids of facts that it has."""
        ids = self.find(new)
        if len(ids) and ids.min() < 0:
            raise AssertionError("a frozen table takes no facts")
        return ids
