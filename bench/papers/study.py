"""A table of a paper before it is measured: its jobs, each in a process of its own, and where their figures go."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from bench.outcomes import Failure
from bench.papers.measuring import Answer
from bench.processes import Limits, last_line
from bench.race import Tell
from bench.tables import Figure, PaperTable, Row
from bench.workloads import Size

PATIENCE = 0.4  # of the time limit: a job begins nothing new after it, so that what it has is not lost


@dataclass(frozen=True)
class Place:
    """Where a figure goes: its row, where that stands on the plot's axis, and the figure without its runs."""

    row: str
    figure: Figure
    at: float | None = None


@dataclass(frozen=True)
class Job:
    """What one process measures: `measure(case, run)` of a module of this package, which yields names and answers."""

    module: str
    case: tuple[str, ...]
    places: Mapping[str, Place]  # by the name under which the process hands in its runs
    seconds: float | None = None  # its own limit
    missing: str = ""  # why it cannot be done here


@dataclass(frozen=True)
class Study:
    """A table: calling it measures it."""

    key: str
    paper: str
    title: str
    includes: str
    jobs: Callable[[Size], Sequence[Job]]
    axis: str = ""
    logarithmic: tuple[bool, bool] = (False, False)
    notes: tuple[str, ...] = ()
    at: str = ""  # the count that says where a row stands on the axis, if its place does not

    def __call__(self, size: Size, runs: int, limits: Limits, tell: Tell) -> PaperTable:
        """Do all jobs, one after the other."""
        rows = dict[str, _Row]()
        for job in self.jobs(size):
            tell(f"{self.key}: {' '.join(job.case)}")
            for place, figure in _figures(job, size, runs, limits):
                rows.setdefault(place.row, _Row(place.at)).figures.append(figure)
        return PaperTable(
            self.key,
            self.paper,
            self.title,
            self.includes,
            tuple(row.finished(name, self.at) for name, row in rows.items()),
            self.axis,
            self.logarithmic,
            self.notes,
        )


def apart(ways: Iterable[str], size: Size) -> list[tuple[str, ...]]:
    """Each in a process of its own, where one may take long; all in one in size small."""
    return [tuple(ways)] if size == "small" else [(way,) for way in ways]


@dataclass
class _Row:
    at: float | None
    figures: list[Figure] = field(default_factory=list)

    def finished(self, name: str, count: str) -> Row:
        measured = (figure.counts[count] for figure in self.figures if count in figure.counts)
        return Row(name, tuple(self.figures), next(measured, self.at))


def _figures(job: Job, size: Size, runs: int, limits: Limits) -> list[tuple[Place, Figure]]:
    limits = limits.own(job.seconds)
    theirs = size != "small"  # few facts are nothing to compare with a paper's
    found = _Found({}, job.missing) if job.missing else _measured(job.module, job.case, size, runs, limits)
    return [
        (place, found.figure(place.figure if theirs else replace(place.figure, paper=None), name))
        for name, place in job.places.items()
    ]


@dataclass(frozen=True)
class _Found:
    answers: Mapping[str, Answer]
    failure: str  # of what has no answer
    command: tuple[str, ...] = ()  # that does it again

    def figure(self, blank: Figure, name: str) -> Figure:
        if name not in self.answers:
            return replace(blank, failure=self.failure)
        answer = self.answers[name]
        return replace(blank, runs=answer.runs, checked=answer.checked, counts=answer.counts, command=self.command)


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    """What processes leave for each other, until this one ends."""
    return tempfile.TemporaryDirectory(prefix="holdfast-bench-")


@cache
def _measured(module: str, case: tuple[str, ...], size: Size, runs: int, limits: Limits) -> _Found:
    """What a process hands in; two tables that need the same job share it."""
    patience, kept = limits.seconds * PATIENCE, _kept().name
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        file = Path(folder, "answers")
        file.touch()
        arguments = [kept, str(file), module, size, str(runs), str(patience), *case]
        outcome = last_line("bench.papers.child", arguments, limits)
        lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        answers = {name: Answer.read(value) for name, value in lines}
    if isinstance(outcome, Failure):
        return _Found(answers if outcome.late else {}, outcome.reason)  # after an error nothing can be trusted
    again = ("bench.papers.child", "", os.devnull, module, size, "1", str(patience), *case)
    return _Found(answers, f"not begun within {patience:g} s", again)
