"""Tables of our own whose figures come from one process each: `python -m bench.own MODULE SIZE RUNS CASE…`.

A module has `measure(size, runs, case)`, which gives names of rows with where they stand, and a figure for each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from typing import TypeAlias

from bench.outcomes import Failure
from bench.processes import Limits, last_line
from bench.tables import OURS, Figure, PaperTable, Row
from bench.workloads import Size

Found: TypeAlias = Iterable[tuple[str, float | None, Figure]]


@dataclass(frozen=True)
class Job:
    """What one process measures, and the figure that stands for it if it brings nothing."""

    module: str
    case: tuple[str, ...]
    blank: Figure
    row: str = ""  # where the blank one goes; to every row if empty


@dataclass
class Rows:
    """Rows as they come together from several processes."""

    at: dict[str, float | None] = field(default_factory=dict)
    figures: dict[str, list[Figure]] = field(default_factory=dict)

    def add(self, name: str, at: float | None, figure: Figure) -> None:
        """One more figure, in a new row or in one that is there."""
        self.at.setdefault(name, at)
        self.figures.setdefault(name, []).append(figure)

    def rows(self) -> tuple[Row, ...]:
        """All of them, in the order in which they came."""
        return tuple(Row(name, tuple(figures), self.at[name]) for name, figures in self.figures.items())


def measured(blank: PaperTable, jobs: Sequence[Job], size: Size, runs: int, limits: Limits) -> PaperTable:
    """A table with the rows that its jobs bring; what a job could not do is said in its place."""
    rows, failed = Rows(), list[tuple[str, Figure]]()
    for job in jobs:
        command = ("bench.own", job.module, size, str(runs), *job.case)
        ours = job.blank.system == OURS
        match last_line(command[0], command[1:], limits if ours else replace(limits, seconds=3 * limits.peers)):
            case Failure(reason):
                failed.append((job.row, replace(job.blank, failure=reason)))
            case line:
                for name, at, figure in json.loads(line):
                    own = Figure(**{**figure, "runs": tuple(figure["runs"]), "command": command if ours else ()})
                    rows.add(name, at, own)
    for row, figure in failed:
        for name in [row] if row else list(rows.figures) or [figure.variant or figure.system]:
            rows.add(name, None, figure)
    return replace(blank, rows=rows.rows())


def main(module: str, size: Size, runs: str, *case: str) -> None:
    """Measure one job."""
    found: Found = import_module(f"bench.{module}").measure(size, int(runs), case)
    print(json.dumps([[name, at, asdict(figure)] for name, at, figure in found]))


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
