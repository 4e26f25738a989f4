"""The experiments by name, and how one is done: a process for each of its jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.outcomes import Failure
from bench.processes import Limits, last_line
from bench.updates import closures, curve, lengths, rule_changes, streams
from bench.updates.rows import Row
from bench.updates.timing import Run
from bench.workloads import Size

_PATIENCE = 0.4  # of the time limit: a job begins nothing new after it, so that what it has is not lost


def _always() -> str:
    return ""


@dataclass(frozen=True)
class Experiment:
    """Some jobs, and what a process does for one of them."""

    title: str
    jobs: Callable[[Size], list[tuple[str, ...]]]
    run: Callable[[tuple[str, ...], Run], list[Row]]
    missing: Callable[[], str] = _always
    """Why it cannot be done here; empty if it can."""


EXPERIMENTS = {
    "sspe": Experiment("edges deleted and inserted, by each algorithm", lengths.jobs, lengths.run),
    "curve": Experiment("one-fact updates on more and more facts", curve.jobs, curve.run),
    "streams": Experiment("update streams, by each algorithm", streams.jobs, streams.run, streams.missing),
    "closures": Experiment("closures, by modules and generic", closures.jobs, closures.run),
    "rules": Experiment("rules removed and added", rule_changes.jobs, rule_changes.run),
}


@dataclass(frozen=True)
class Lost:
    """A job without rows."""

    job: str
    group: str
    reason: str
    late: bool  # stopped at a limit, which says something; anything else is an error


@dataclass(frozen=True)
class Found:
    """All that an experiment brought."""

    name: str
    rows: tuple[Row, ...]
    lost: tuple[Lost, ...] = ()
    skipped: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing went wrong; wrong facts end a job with an error."""
        return all(lost.late for lost in self.lost)

    def as_json(self) -> dict[str, Any]:
        """For the file of results."""
        return {"name": self.name, "rows": [row.as_json() for row in self.rows],
                "lost": [vars(lost) for lost in self.lost], "skipped": self.skipped}


def experiment(name: str, size: Size, runs: int, limits: Limits, tell: Callable[[str], None]) -> Found:
    """Do all jobs of an experiment, one after the other."""
    asked, rows, lost = EXPERIMENTS[name], list[Row](), list[Lost]()
    if reason := asked.missing():
        return Found(name, (), skipped=reason)
    for job in asked.jobs(size):
        group = " ".join(job[:-1])
        tell(f"updates, {name}: {' '.join(job)}")
        match _job(name, size, runs, job, limits):
            case Failure(reason) as failure:
                lost.append(Lost(" ".join(job), group, reason, failure.late))
            case found:
                rows += [replace(row, group=group) for row in found]
    return Found(name, tuple(rows), tuple(lost))


def _job(name: str, size: Size, runs: int, job: Sequence[str], limits: Limits) -> list[Row] | Failure:
    arguments = [name, size, str(runs), str(limits.seconds * _PATIENCE), *job]
    match last_line("bench.updates.child", arguments, limits):
        case Failure() as failure:
            return failure
        case line:
            return [Row.from_json(value) for value in json.loads(line)]
