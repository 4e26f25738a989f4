"""What threads read while an update is computed: the facts of the last commit, and of earlier commits that are pinned.

Every commit holds `lock`; readers hold it only briefly, to find the frozen relation to read.  The reading itself needs
no lock that a writer takes.  Before a commit changes a relation, each pinned version that does not have the relation
yet captures it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from holdfast.backends.abilities import ImplicitRelation, VirtualFacts
from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.frozen import FrozenRelation, FrozenTable, ReadTable, frozen
from holdfast.backends.memory.table import Table
from holdfast.program.model import Relation

if TYPE_CHECKING:
    from holdfast.backends.memory.store import MemoryBackend

_FEW_PINNED = 64  # versions, from which on those that are no longer read are dropped
_MOST_FLIPS = 64  # changes of a relation between two reads; after more, its status is read again


class CommittedFacts:
    """The facts of the last commit, for readers."""

    def __init__(self, tables: Mapping[str, Table], virtual: Mapping[str, VirtualFacts], lock: threading.RLock) -> None:
        self._tables, self._virtual, self.lock = tables, virtual, lock
        self._now: dict[str, FrozenRelation] = {}
        self._pinned: list[weakref.ref[PinnedVersion]] = []  # no WeakSet: readers end in any thread, at any moment
        self._most_pinned = _FEW_PINNED

    # --- for readers -----------------------------------------------------------------------------------

    def pin(self) -> PinnedVersion:
        """Pin the facts of the last commit: they stay readable whatever is committed later."""
        with self.lock:
            pinned = PinnedVersion(self)
            self._pinned.append(weakref.ref(pinned))
            if len(self._pinned) > self._most_pinned:
                self._pinned = [each for each in self._pinned if each() is not None]
                self._most_pinned = max(_FEW_PINNED, 2 * len(self._pinned))
            return pinned

    def latest(self, name: str, arity: int) -> FrozenRelation:
        """A relation as of the last commit; use it while holding the lock, or share or pin it."""
        table, known = self._tables.get(name), self._now.get(name)
        if table is None:  # its types are being changed, which only happens while it is empty
            return frozen(Table(name, arity), None)
        if known is None or known.table.rows is not table.rows:
            virtual = self._virtual.get(name)
            known = frozen(table, None if virtual is None else virtual.now(), None if known is None else known.table)
        elif known.flips:
            del self._now[name]  # if this is interrupted, its status is read again
            known = known.next(table.size)
        self._now[name] = known
        return known

    # --- for the writer --------------------------------------------------------------------------------

    def changing(self, rows: Mapping[str, Ids], bit: np.uint8, on: bool) -> None:
        """Call before rows enter or leave E or I."""
        with self.lock:
            for name, ids in rows.items():
                if len(ids):
                    self._capture(name)
                    self._note(name, (ids, bit, on))

    def _note(self, name: str, flip: tuple[Ids, np.uint8, bool]) -> None:
        known = self._now.get(name)
        if known is None:
            return
        if known.implicit is not None or name in self._virtual or len(known.flips) >= _MOST_FLIPS:
            del self._now[name]
        else:
            known.flips.append(flip)

    def dropping(self, name: str) -> None:
        """Call before a relation is dropped."""
        with self.lock:
            self._capture(name)
            self._now.pop(name, None)

    def forget(self, names: Iterable[str]) -> None:
        """Call when the rows of relations have got other ids, or their status was repaired."""
        with self.lock:
            for name in names:
                self._now.pop(name, None)

    def _capture(self, name: str) -> None:
        """Capture a relation in each pinned version that lacks it."""
        table = self._tables.get(name)
        alive = () if table is None else (each() for each in self._pinned)
        lacking = [pinned for pinned in alive if pinned is not None and name not in pinned]
        if lacking and table is not None:
            try:
                known = self.latest(name, table.arity)
            except MemoryError:  # a commit must not fail
                known = None
            for pinned in lacking:
                pinned.keep(name, known)


class PinnedVersion:
    """The facts of one version; they never change."""

    def __init__(self, committed: CommittedFacts) -> None:
        self._committed = committed
        self._kept: dict[str, FrozenRelation | None] = {}  # None: out of memory when it was captured

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    def keep(self, name: str, relation: FrozenRelation | None) -> None:
        """Capture a relation as it is now."""
        if relation is not None:
            relation.is_shared = True
        self._kept[name] = relation

    def relation(self, relation: Relation) -> ImplicitRelation:
        """The facts of a relation."""
        return self._frozen(relation).relation

    def explicit(self, relation: Relation) -> ImplicitRelation:
        """The explicit facts of a relation."""
        return self._frozen(relation).explicit

    def matching(self, relation: Relation, key: tuple[int, ...], values: Rows, *, explicit: bool = False) -> Rows:
        """The facts whose key columns equal one of the given distinct rows, in ascending order."""
        return self._frozen(relation).matching(key, values, explicit=explicit)

    def _frozen(self, relation: Relation) -> FrozenRelation:
        with self._committed.lock:
            if relation.name not in self._kept:  # unchanged since this version
                self.keep(relation.name, self._committed.latest(relation.name, relation.arity))
            found = self._kept[relation.name]
        if found is None:
            raise MemoryError(f"there was no memory to keep an earlier version of {relation.display}")
        return found

    @contextmanager
    def backend(self, backend: MemoryBackend, relations: Iterable[Relation]) -> Iterator[MemoryBackend]:
        """A backend with the facts of some relations only, for one query in one thread."""
        used: list[ReadTable] = []
        try:
            for relation in relations:
                held = self._frozen(relation)
                with held.table.lock:
                    held.table.running += 1
                used.append(held.table)
                _hold(backend, relation, held)
            for kept in (backend.explicit, backend.materialisation):
                kept.mend()  # a row's status says whether it is in the relation
            yield backend
        finally:
            for table in used:
                with table.lock:
                    table.running -= 1


def _hold(backend: MemoryBackend, relation: Relation, held: FrozenRelation) -> None:
    """Let a backend read a relation; facts that only a module knows become rows of a table of its own."""
    if held.implicit is not None:
        implicit = held.implicit
        backend.add_relation(relation)
        backend.explicit |= backend.facts({relation.name: held.explicit.codes()})
        backend.defer(relation.name, implicit.size, lambda _size: implicit)
        return
    name, watch = relation.name, backend.watch
    backend.relations[name] = relation
    backend.tables[name] = FrozenTable(name, held, lambda nbytes: watch.grown(f"{name} for a query", nbytes))
