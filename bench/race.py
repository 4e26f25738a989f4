"""All systems on one workload, taking turns, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bench import data, plain
from bench.engines import ENGINES, OURS, Engine
from bench.outcomes import Failure, Measured, Outcome
from bench.processes import Limits, measure
from bench.workloads import Size, Workload

Tell: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Series:
    """The runs of one system on one workload, or why there are none."""

    engine: str
    variant: str
    runs: tuple[Measured, ...] = ()
    failure: str = ""
    wrong: bool = False  # a wrong number of facts, which is worse than any other failure

    def median(self, figure: Callable[[Measured], float]) -> float:
        """The median of a figure over the runs."""
        return statistics.median(map(figure, self.runs))

    def spread(self, figure: Callable[[Measured], float]) -> tuple[float, float]:
        """The smallest and the largest of a figure."""
        figures = [figure(run) for run in self.runs]
        return min(figures), max(figures)


@dataclass(frozen=True)
class Result:
    """All systems on one workload."""

    workload: Workload
    facts: int  # given
    expected: int  # that must come out
    series: tuple[Series, ...]

    @property
    def ours(self) -> Series | None:
        """holdfast's own runs, if there are any."""
        return next((series for series in self.series if series.engine == OURS and series.runs), None)

    def ratio(self, theirs: Series) -> float | None:
        """Our seconds for each of theirs; with loading where theirs cannot be told apart from evaluation."""
        if self.ours is None or not theirs.runs or theirs is self.ours:
            return None
        together = theirs.runs[0].load is None
        figure = _total if together else _evaluation
        return self.ours.median(figure) / max(theirs.median(figure), 1e-9)

    @property
    def sound(self) -> bool:
        """Whether holdfast ran, if it was asked to, and every count is right."""
        asked = any(series.engine == OURS for series in self.series)
        return not any(series.wrong for series in self.series) and (self.ours is not None or not asked)


def _total(run: Measured) -> float:
    return run.total


def _evaluation(run: Measured) -> float:
    return run.evaluation


def race(workload: Workload, size: Size, engines: Sequence[Engine], limits: Limits, runs: int, tell: Tell) -> Result:
    """Measure the engines on a workload."""
    facts = workload.facts[size]()
    expected = workload.expected if size == "paper" else plain.count(workload, facts)
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        data.write(workload, facts, Path(folder))
        given = sum(map(len, facts.values()))
        del facts
        series = _Race(workload, Path(folder), expected, limits, tell).run(engines, runs)
    return Result(workload, given, expected, tuple(series))


def warm_up(workload: Workload, limits: Limits) -> Outcome:
    """One run of holdfast on small facts that nobody looks at: afterwards the kernels are compiled."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        data.write(workload, workload.facts["small"](), Path(folder))
        return measure("bench.child", [OURS, "", workload.name, folder], limits)


class _Race:
    """The state of a race: who is still in it, and what each has done."""

    def __init__(self, workload: Workload, folder: Path, expected: int, limits: Limits, tell: Tell) -> None:
        self.workload, self.folder, self.expected, self.limits, self.tell = workload, folder, expected, limits, tell
        self.series: dict[tuple[str, str], Series] = {}

    def run(self, engines: Sequence[Engine], runs: int) -> list[Series]:
        """As many turns as runs; after the first, only the best variant of each engine goes on."""
        for engine in engines:
            for variant in engine.variants(self.workload) if engine.installed else ("",):
                missing = "" if engine.installed else f"not installed ({engine.package})"
                self.series[engine.name, variant] = Series(engine.name, variant, failure=missing)
        for turn in range(runs):
            for key, series in self.series.items():
                if not series.failure:
                    self.tell(f"{self.workload.name}: {' '.join(key).strip()}, run {turn + 1} of {runs}")
                    self.series[key] = self._one_more(series)
            self._keep_best()
        return list(self.series.values())

    def _one_more(self, series: Series) -> Series:
        arguments = [series.engine, series.variant, self.workload.name, str(self.folder)]
        match measure("bench.child", arguments, self.limits):
            case Failure(reason):
                return Series(series.engine, series.variant, failure=reason)
            case Measured(facts=facts) if facts != self.expected:
                reason = f"WRONG: {facts:,} facts instead of {self.expected:,}"
                return Series(series.engine, series.variant, failure=reason, wrong=True)
            case Measured() as run:
                return Series(series.engine, series.variant, (*series.runs, run))

    def _keep_best(self) -> None:
        for name in ENGINES:
            mine = {key: series for key, series in self.series.items() if key[0] == name}
            best = min(mine, key=lambda key: self._rank(mine[key]), default=None)
            for key, series in mine.items():
                if key != best and not series.wrong:
                    del self.series[key]

    @staticmethod
    def _rank(series: Series) -> tuple[bool, float]:
        return not series.runs, series.median(_evaluation) if series.runs else 0.0
