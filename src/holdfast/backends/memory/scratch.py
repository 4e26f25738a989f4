"""A hyper-node evaluated into tables of its own, and then brought over: what a first evaluation takes, and a lookup of
the facts, most of which come in the order in which they are there.

In the tables that are there, the facts of an evaluation from scratch are scattered among those of before: each join has
to look at the status of every row that it meets.  In new tables they are runs of rows, as in a first evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.ranks import Where
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.protocol import Facts, Watch

ENOUGH = 50_000  # facts of a hyper-node, from which on new tables pay


class _Quiet:
    """Sees work that gives no new facts: limits on time hold, those on facts are for what comes of it."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def batch(self, new_facts: int) -> None:
        """A batch was taken in."""
        self._watch.batch(0)

    def grown(self, table: str, nbytes: int) -> None:
        """Tables that are dropped soon do not count."""

    def left(self) -> tuple[float, float]:
        """Nothing is limited."""
        return math.inf, math.inf


class MemoryScratch:
    """New tables for the predicates of a hyper-node, beside the other tables of a backend."""

    def __init__(self, backend: MemoryBackend, predicates: Iterable[str]) -> None:
        self._real, self._names = backend, tuple(predicates)
        own = {name: backend.relations[name] for name in self._names}
        self.backend = MemoryBackend(own, backend.dictionary, _Quiet(backend.watch))
        self.backend.profile = backend.profile
        for name in self._names:
            self.backend.tables[name].membership = backend.tables[name].membership.for_as_many()
        others = {name: table for name, table in backend.tables.items() if name not in own}
        self.backend.tables.update(others)
        self.backend.relations.update({name: backend.relations[name] for name in others})

    def facts(self, facts: Facts) -> Facts:
        """Facts of the hyper-node in its new tables."""
        return self.backend.facts({name: self._real.rows(name, facts) for name in self._names})

    def reads(self, elsewhere: Facts) -> Facts:
        """The facts of the hyper-node as they come, and what its rules read elsewhere."""
        return self.backend.elsewhere(self._names, self.backend.materialisation, elsewhere)

    def bring_over(self) -> Facts:
        """The facts that have come, in the backend's own tables; with their counters, and their ranks if they have."""
        names, real = self._names, self._real.tables
        before, places = {name: real[name].size for name in names}, {name: self._places(name) for name in names}
        for counters, _ in self._counters():
            counters.forget(names)
        ids = {name: real[name].intern_in_order(self.backend.tables[name].rows[places[name]]) for name in names}
        where = {name: _where(some) for name, some in ids.items()}
        for counters, new in self._counters():
            counters.remember(partial(_clear, counters, before))
            for name in names:
                counters.of(name)[where[name]] = new.of(name)[places[name]]
        self._real.ranking.take_over(self.backend.ranking, places, where)
        return Momentary(real, {name: some for name, some in ids.items() if len(some)})

    def _places(self, name: str) -> Ids | slice:
        """The rows that are facts: all of them, but for offers of limit relations that were beaten later."""
        ids, size = self.backend.materialisation.ids(name), self.backend.tables[name].size
        return slice(0, size) if len(ids) == size else ids

    def _counters(self) -> Iterable[tuple[MemoryCounters, MemoryCounters]]:
        yield self._real.nonrecursive, self.backend.nonrecursive
        yield self._real.recursive, self.backend.recursive


def _where(ids: Ids) -> Where:
    """Some rows, in the form that NumPy is quickest with."""
    first, count = int(ids[0]) if len(ids) else 0, len(ids)
    may_be = count == 0 or int(ids[-1]) == first + count - 1
    is_run = may_be and np.array_equal(ids, np.arange(first, first + count, dtype=np.int32))
    return slice(first, first + count) if is_run else ids.astype(np.intp)


def _clear(counters: MemoryCounters, before: Mapping[str, int]) -> None:
    """The numbers of rows that have come since are 0, as those of all rows that are merely known."""
    for name, size in before.items():
        counters.of(name)[size : counters.tables[name].size] = 0


def worth_scratch(backend: MemoryBackend, predicates: Iterable[str], reads: Iterable[str]) -> bool:
    """Whether a hyper-node is large enough; it is not done where facts are virtual."""
    names = tuple(predicates)
    is_virtual = any(name in backend.virtual for name in (*names, *reads))
    return not is_virtual and sum(backend.tables[name].size for name in names) >= ENOUGH
