"""What each read of a plan means during one call of `apply`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Rows
from holdfast.backends.memory.facts import NO_MARKS, FactSet, Momentary, Support, marked
from holdfast.backends.memory.formulas import Lasting
from holdfast.backends.memory.kept import Kept
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.truth import as_bytes
from holdfast.backends.protocol import Facts
from holdfast.plans.model import Read

ReadKey = tuple[Read, str]

NO_STATUS: NDArray[np.uint8] = np.empty(0, np.uint8)

OF_THE_PAST = frozenset({Read.ALL, Read.OLD, Read.ABSENT, Read.ABSENT_OLD})
"""Reads of what held before, of which some may not be rows yet; changed facts always are."""


class Probe(NamedTuple):
    """Which rows of a table a read sees: those from `low` to `high`, or, if `visible` is not empty, those with such
    a status."""

    low: int
    high: int
    visible: NDArray[np.uint8]
    column: str = "status"

    def view(self, table: Table) -> tuple[Rows, NDArray[np.uint8], NDArray[np.uint8], int, int]:
        """What is seen of a table, as the kernels take it."""
        return table.rows, getattr(table, self.column), self.visible, self.low, self.high


class ReadViews(NamedTuple):
    """What each read means during one call of `apply`: a set to walk through, a probe to look into a table, or a list
    of changed facts to join with."""

    walks: Mapping[ReadKey, FactSet]
    probes: Mapping[ReadKey, Probe]
    lists: Mapping[ReadKey, Momentary]


class Seen:
    """Views inside a `with`: momentary sets that are probed by status are marked meanwhile."""

    def __init__(
        self,
        walked: Iterable[ReadKey],
        probed: Iterable[ReadKey],
        joined: Iterable[ReadKey],
        sources: Mapping[Read, Facts],
    ) -> None:
        """The places that are walked through, those that are probed, and those of joins with changed facts, by what
        their reads mean."""
        # before anything is marked: evaluating a formula uses the scratch bits
        self._walks = {place: _walkable(own_snapshot(sources[place[0]]), place[1]) for place in walked}
        self._probes: dict[ReadKey, Probe] = {}
        self._lists = {place: some for place in joined if (some := _scattered(sources[place[0]], place[1])) is not None}
        self._by_marks: list[tuple[ReadKey, FactSet]] = []
        for place in chain(probed, (place for place in joined if place not in self._lists)):
            facts, name = own_snapshot(sources[place[0]]), place[1]
            run = facts.run(name) if facts.tables[name].fetch is None else None  # unless rows are added meanwhile
            if run is not None:
                self._probes[place] = Probe(run[0], run[1], NO_STATUS)
            elif isinstance(facts, Lasting):
                self._probes[place] = Probe(0, 0, facts.selects[True], facts.column(name))
            else:
                self._by_marks.append((place, facts))
        self._marks = (
            marked([facts.formula(name) for (_, name), facts in self._by_marks]) if self._by_marks else NO_MARKS
        )

    def __enter__(self) -> ReadViews:
        if self._by_marks:
            bits = self._marks.__enter__()
            for place, facts in self._by_marks:
                name = place[1]
                self._probes[place] = Probe(0, 0, as_bytes(facts.formula(name).truth(bits)), facts.column(name))
        return ReadViews(self._walks, self._probes, self._lists)

    def __exit__(self, *_: object) -> None:
        if self._marks is not NO_MARKS:
            self._marks.__exit__()


def _walkable(facts: FactSet, predicate: str) -> FactSet:
    """A formula as the rows it stands for; runs of rows and kept sets are walked as they are."""
    if isinstance(facts, Momentary | Kept) or facts.run(predicate) is not None:
        return facts
    return Momentary(facts.tables, {predicate: facts.ids(predicate)})


def _scattered(facts: Facts, predicate: str) -> Momentary | None:
    """Facts that are anywhere among the others: a join through the index of all would look at the status of each."""
    own = own_snapshot(facts)
    return own if isinstance(own, Momentary) and own.run(predicate) is None else None


def own_snapshot(facts: Facts) -> FactSet:
    """A fact set of this backend that can be probed; a bag's support cannot."""
    assert isinstance(facts, FactSet)
    return facts.snapshot() if isinstance(facts, Support) else facts
