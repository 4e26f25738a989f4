"""What each read of a plan means during one call of `apply`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.facts import FactSet, Momentary, Run, as_bytes
from holdfast.backends.memory.table import Table
from holdfast.plans.model import Read

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
        """From a run of rows if the set is one, and no rows will come to it meanwhile."""
        run = cls.by_run(facts, predicate)
        if run is not None:
            return cls(run[0], run[1], NO_STATUS)
        return cls(0, 0, as_bytes(facts.formula(predicate).truth(bits)), facts.column(predicate))

    @staticmethod
    def by_run(facts: FactSet, predicate: str) -> Run | None:
        """The run of rows by which a set is probed, if it is."""
        return facts.run(predicate) if facts.tables[predicate].fetch is None else None

    def bytes_of(self, table: Table) -> NDArray[np.uint8]:
        """The byte column that `visible` speaks of."""
        column: NDArray[np.uint8] = getattr(table, self.column)
        return column


class Views(NamedTuple):
    """What each read means during one call of `apply`: a set to walk through, a probe to look into a table."""

    walks: Mapping[tuple[Read, str], FactSet]
    probes: Mapping[tuple[Read, str], Probe]
