"""What is measured, as data: a table of a paper (or one of ours), its rows, a figure for each system in each row."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

OURS = "holdfast"
WRONG = "WRONG"  # what a failure says if a result was not the expected one


@dataclass(frozen=True)
class Figure:
    """What one system took for one row; no runs and a reason if it did not get there."""

    system: str  # "holdfast", "DuckDB", …
    variant: str = ""  # algorithm, backend, form of the query
    unit: str = "s"
    runs: tuple[float, ...] = ()
    paper: float | None = None  # what the paper prints in this place
    checked: str = ""  # which result was compared with what before the runs counted
    failure: str = ""  # why there are no runs
    counts: Mapping[str, float] = field(default_factory=dict)  # rule applications, marks, bytes a fact, …
    command: tuple[str, ...] = ()  # module and arguments of the process that measured it, to make a profile of it

    @property
    def range(self) -> tuple[float, float] | None:
        """Where the runs lie: all of them, of five or more the middle half."""
        if not self.runs:
            return None
        if len(self.runs) < 5:
            return min(self.runs), max(self.runs)
        low, _, high = statistics.quantiles(self.runs, n=4, method="inclusive")
        return low, high

    @property
    def name(self) -> str:
        """The system, and which way of it."""
        return f"{self.system} ({self.variant})" if self.variant else self.system

    @property
    def wrong(self) -> bool:
        """Whether something came out that does not follow, which is worse than any other failure."""
        return self.failure.startswith(WRONG) or f" {WRONG}" in self.failure

    @property
    def median(self) -> float | None:
        """The figure that is shown."""
        return statistics.median(self.runs) if self.runs else None


@dataclass(frozen=True)
class Row:
    """One case: a data set and what is done to it."""

    name: str
    figures: tuple[Figure, ...]
    at: float | None = None  # where it stands on the plot's horizontal axis


@dataclass(frozen=True)
class PaperTable:
    """Rows that belong together, as in a table or figure of a paper."""

    key: str  # "optimised-maintenance-table-1": the same in every result, for comparing
    paper: str  # the paper's short name; empty for a table of our own
    title: str
    includes: str  # what a time includes, the same for all systems of the table
    rows: tuple[Row, ...]
    axis: str = ""  # what a plot's horizontal axis says; no plot if empty
    logarithmic: tuple[bool, bool] = (False, False)  # the plot's two axes
    notes: tuple[str, ...] = ()
