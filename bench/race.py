"""All systems on one workload, taking turns, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from bench import data, plain
from bench.engines import ENGINES, OURS, Engine
from bench.graphs import Facts
from bench.outcomes import Failure, Measured, Outcome
from bench.processes import Limits, measure
from bench.tables import WRONG, Figure, PaperTable, Row
from bench.workloads import Size, Workload

Tell: TypeAlias = Callable[[str], None]
_OWN = 4  # times the others' time for a run of ours: it is told apart whether we are slow or hopeless
_ENOUGH = 0.4  # of a system's time for one run: if its runs took more than that together, there is no further one
TITLE = "Evaluation beside other systems"
INCLUDES = (
    "reading the tab-separated files, loading and encoding, evaluation until nothing is new; not: starting "
    "Python, imports, generating facts, counting (but for Nemo, which counts as it reasons).  Kernels are "
    "compiled before: one run on few facts that nobody looks at.  A process for each run; medians."
)
NOTES = (
    "Of DuckDB, asked in one recursive query where one can be written and by a loop in SQL, the quicker one counts.",
    "*modules*: holdfast finds the closure by an algorithm of its own and keeps it compact; pairs are made when they "
    "are asked for.  *generic*: it derives and stores every pair, with two counters for each, as the rules say.  Only "
    "the latter is the same work as the others'.",
)


def evaluation(workload: Workload, engines: Sequence[str]) -> Callable[[Size, int, Limits, Tell], PaperTable]:
    """A workload as an experiment: one row of the table of all of them."""

    def run(size: Size, runs: int, limits: Limits, tell: Tell) -> PaperTable:
        if OURS in engines:
            tell(f"{workload.name}: warm-up of holdfast")
            match warm_up(workload, limits):
                case Failure(reason):
                    tell(f"the warm-up {reason}")
        row = race(workload, size, [ENGINES[name] for name in engines], limits, runs, tell)
        return PaperTable("evaluation", "", TITLE, INCLUDES, (row,), notes=NOTES)

    return run


def unavailable(name: str, reason: str) -> Callable[[Size, int, Limits, Tell], PaperTable]:
    """A workload whose rules cannot be had here, as an experiment all the same."""
    row = Row(name, (Figure(OURS, failure=reason),))
    return lambda size, runs, limits, tell: PaperTable("evaluation", "", TITLE, INCLUDES, (row,), notes=NOTES)


def race(workload: Workload, size: Size, engines: Sequence[Engine], limits: Limits, runs: int, tell: Tell) -> Row:
    """Measure the engines on a workload."""
    facts = workload.facts[size]()
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        data.write(workload, facts, Path(folder))
        given = sum(map(len, facts.values()))
        expected = _known(workload, size, facts)
        del facts
        contest = _Race(workload, size, Path(folder), expected, limits, tell)
        series = contest.run(engines, runs)
    counted = "" if contest.expected is None else f" → {contest.expected:,}"
    return Row(f"{workload.name}: {given:,}{counted} facts", tuple(map(contest.figure, series)))


def _known(workload: Workload, size: Size, facts: Facts) -> int | None:
    """How many facts must come out, if that can be known before."""
    match size:
        case "small":
            return plain.count(workload, facts)
        case "paper":
            return workload.expected
        case "max":
            return None


def warm_up(workload: Workload, limits: Limits) -> Outcome:
    """One run of holdfast on small facts that nobody looks at: afterwards the kernels are compiled."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        data.write(workload, workload.facts["small"](), Path(folder))
        return measure("bench.child", [OURS, "", workload.name, folder], limits)


@dataclass(frozen=True)
class Series:
    """The runs of one system on one workload, or why there are none."""

    engine: str
    variant: str
    runs: tuple[Measured, ...] = ()
    failure: str = ""

    @property
    def best(self) -> float:
        """Seconds of the quickest run."""
        return min((run.total for run in self.runs), default=float("inf"))


class _Race:
    """The state of a race: who is still in it, and what each has done."""

    def __init__(
        self, workload: Workload, size: Size, folder: Path, expected: int | None, limits: Limits, tell: Tell
    ) -> None:
        self.workload, self.size, self.folder, self.expected = workload, size, folder, expected
        self.limits, self.tell = limits, tell
        self.agreed = ""  # who had the expected number if nobody knew it before
        self.series: dict[tuple[str, str], Series] = {}

    def run(self, engines: Sequence[Engine], runs: int) -> list[Series]:
        """As many turns as runs; after the first, only the best variant of each other system goes on."""
        for engine in engines:
            for variant in engine.variants(self.workload) if engine.installed else ("",):
                missing = "" if engine.installed else f"not installed ({engine.package})"
                self.series[engine.name, variant] = Series(engine.name, variant, failure=missing)
        for turn in range(runs):
            for key, series in self.series.items():
                if self._goes_on(series):
                    self.tell(f"{self.workload.name}: {' '.join(key).strip()}, run {turn + 1} of {runs}")
                    self.series[key] = self._one_more(series)
            self._keep_best()
        if self.expected is None:
            self._agree()
        return [self._checked(series) for series in self.series.values()]

    def _seconds(self, engine: str) -> float:
        return min(self.limits.seconds, _OWN * self.limits.peers) if engine == OURS else self.limits.peers

    def _goes_on(self, series: Series) -> bool:
        spent = sum(run.total for run in series.runs)
        return not series.failure and spent <= _ENOUGH * self._seconds(series.engine)

    def _one_more(self, series: Series) -> Series:
        arguments = [series.engine, series.variant, self.workload.name, str(self.folder)]
        limits = replace(self.limits, seconds=self._seconds(series.engine))
        match measure("bench.child", arguments, limits):
            case Failure(reason):
                return replace(series, runs=(), failure=reason)
            case Measured() as run:
                return self._checked(replace(series, runs=(*series.runs, run)))

    def _checked(self, series: Series) -> Series:
        """Without its runs if they did not come to what they should."""
        for run in series.runs:
            if self.expected is not None and run.facts != self.expected:
                return replace(series, runs=(), failure=f"{WRONG}: {run.facts:,} facts instead of {self.expected:,}")
        return series

    def _agree(self) -> None:
        """Take the number of facts that two systems have; without two of them nothing counts."""
        found = dict[int, list[str]]()
        for series in self.series.values():
            if series.runs and series.engine not in found.setdefault(series.runs[0].facts, []):
                found[series.runs[0].facts].append(series.engine)
        number, systems = max(found.items(), key=lambda pair: len(pair[1]), default=(0, []))
        if len(systems) > 1:
            self.expected, self.agreed = number, " and ".join(systems[:2])
        else:
            self.series = {
                key: replace(series, runs=(), failure=series.failure or "no other system to check it by")
                for key, series in self.series.items()
            }

    def _keep_best(self) -> None:
        for name in ENGINES:
            mine = {key: series for key, series in self.series.items() if key[0] == name}
            best = min(mine, key=lambda key: mine[key].best, default=None)
            for key, series in mine.items():
                if name != OURS and key != best and not series.failure.startswith(WRONG):
                    del self.series[key]

    def figure(self, series: Series) -> Figure:
        """A series as the report has it."""
        source = {True: f"{self.agreed} agree", False: "known"}[bool(self.agreed)]
        command = ("bench.alone", self.workload.name, series.variant, self.size)
        return Figure(
            series.engine,
            series.variant,
            runs=tuple(run.total for run in series.runs),
            failure=series.failure,
            checked=f"{self.expected:,} facts counted ({source})" if series.runs else "",
            counts=_counts(series.runs),
            command=command if series.engine == OURS else (),
        )


def _counts(runs: Sequence[Measured]) -> dict[str, float]:
    """What else was measured, of the run in the middle."""
    if not runs:
        return {}
    run = sorted(runs, key=lambda run: run.total)[len(runs) // 2]
    figures = {
        "evaluation s": None if run.load is None else run.evaluation,
        "rounds": run.rounds,
        "MiB": run.peak and run.peak / 2**20,
        "B/fact": run.bytes_per_fact,
        "peak B/fact": run.peak_per_fact,
    }
    return {name: float(figure) for name, figure in figures.items() if figure is not None}
