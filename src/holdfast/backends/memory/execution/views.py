"""What each read of a plan means during one call of `apply`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Rows
from holdfast.backends.memory.facts import NO_MARKS, FactSet, Momentary, Support, marked
from holdfast.backends.memory.kept import Kept
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.truth import Run, as_bytes
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

    @classmethod
    def of(cls, facts: FactSet, predicate: str, bits: Mapping[Momentary, np.uint8]) -> Probe:
        """From a run of rows, if the set is one and no rows are added meanwhile."""
        run = cls.by_run(facts, predicate)
        if run is not None:
            return cls(run[0], run[1], NO_STATUS)
        return cls(0, 0, as_bytes(facts.formula(predicate).truth(bits)), facts.column(predicate))

    @staticmethod
    def by_run(facts: FactSet, predicate: str) -> Run | None:
        """The run of rows by which a set is probed, if it is."""
        return facts.run(predicate) if facts.tables[predicate].fetch is None else None

    def view(self, table: Table) -> tuple[Rows, NDArray[np.uint8], NDArray[np.uint8], int, int]:
        """What is seen of a table, as the kernels take it."""
        return table.rows, getattr(table, self.column), self.visible, self.low, self.high


class ReadViews(NamedTuple):
    """What each read means during one call of `apply`: a set to walk through, a probe to look into a table."""

    walks: Mapping[ReadKey, FactSet]
    probes: Mapping[ReadKey, Probe]


class Seen:
    """Views inside a `with`: momentary sets that are probed by status are marked meanwhile."""

    def __init__(self, walks: Mapping[ReadKey, FactSet], probed: Mapping[ReadKey, FactSet]) -> None:
        self._walks, self._probed = walks, probed
        by_status = [
            facts.formula(name) for (_, name), facts in probed.items() if facts.leaves and not Probe.by_run(facts, name)
        ]
        self._marks = marked(by_status) if by_status else NO_MARKS

    @classmethod
    def of(cls, walked: Iterable[ReadKey], probed: Iterable[ReadKey], sources: Mapping[Read, Facts]) -> Seen:
        """The places that are walked through and those that are probed, by what their reads mean."""
        # before anything is marked: evaluating a formula uses the scratch bits
        walks = {place: _walkable(own_snapshot(sources[place[0]]), place[1]) for place in walked}
        return cls(walks, {place: own_snapshot(sources[place[0]]) for place in probed})

    def __enter__(self) -> ReadViews:
        bits = self._marks.__enter__()
        return ReadViews(self._walks, {place: Probe.of(facts, place[1], bits) for place, facts in self._probed.items()})

    def __exit__(self, *_: object) -> None:
        self._marks.__exit__()


def _walkable(facts: FactSet, predicate: str) -> FactSet:
    """A formula as the rows it stands for; runs of rows and kept sets are walked as they are."""
    if isinstance(facts, Momentary | Kept) or facts.run(predicate) is not None:
        return facts
    return Momentary(facts.tables, {predicate: facts.ids(predicate)})


def own_snapshot(facts: Facts) -> FactSet:
    """A fact set of this backend that can be probed; a bag's support cannot."""
    assert isinstance(facts, FactSet)
    return facts.snapshot() if isinstance(facts, Support) else facts
