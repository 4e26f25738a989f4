"""What leaving the choice to `auto` costs: `python -m bench.regret [--size SIZE] [--only WORKLOAD] [--runs N]`; with
`--again`, what recomputing the largest hyper-node takes, over its first evaluation; with `--ranks`, what an evaluation
with ranks takes, over one without.  `--seed N` makes other facts and other updates, and `--explain` prints why `auto`
did what it did.

Each workload is updated by each algorithm and by `auto`, on a knowledge base of its own without modules, after a
warm-up of other sizes: deletions, insertions and both, of 1 fact to a tenth of all.  The regret of `auto` is its time
over that of the best fixed choice.  All times are processor time, so that a loaded machine matters less.

A fixed algorithm that takes more than five times an evaluation is stopped, and not asked for updates of that kind and
size again; the state then moves on by `recompute`.  So every workload comes to an end.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from math import inf
from random import Random
from typing import Literal, TypeAlias, TypeVar
from unittest.mock import patch

import holdfast
from bench.graphs import Facts, Row, chain, generations, modules, random_graph, weighted_dag
from bench.machine import describe
from bench.own import Found, Job, measured
from bench.processes import Limits as ProcessLimits
from bench.race import Tell
from bench.results import FOLDER
from bench.tables import OURS, WRONG, Figure, PaperTable
from bench.tables import Row as TableRow
from bench.workloads import SIZES, WORKLOADS, Size, Workload
from holdfast import KnowledgeBase, Limits, Update
from holdfast.backends.abilities import Ranking
from holdfast.backends.memory.store import MemoryBackend
from holdfast.errors import LimitReached

FIXED = ("recompute", "dred", "dred-counting", "dred-ranked", "backward-forward", "backward-forward-counting")
AUTO = "auto"
MIDDLE: Mapping[str, Callable[[], Facts]] = {  # between the sizes small and paper: some minutes for all
    "tc-random": lambda: random_graph(900, 2_250),
    "chain": lambda: chain(900),
    "sspe": lambda: weighted_dag(25_000, 250_000),
    "same-generation": lambda: generations(12, 220),
    "points-to": lambda: modules(20),
}
NAMES = tuple(MIDDLE)
KINDS = ("delete", "insert", "mixed")
RegretSize: TypeAlias = Size | Literal["middle"]
_WARM_UP = (3, 30)
_SLOWEST = 5  # times as long as an evaluation: then an update is stopped
_PATIENCE = 1.0  # seconds that it may take however quick the evaluation is
_BLINK = 0.005  # seconds below which differences do not count
_STOPPED = f"stopped: more than {_SLOWEST} times an evaluation"
_APART = 1_000  # between the seeds of one generator
_SECONDS = 600  # for the process of one algorithm

A = TypeVar("A")
Fact: TypeAlias = tuple[str, Row]


@dataclass
class Case:
    """One kind of update of one size, and the seconds that each algorithm took; infinite if it was stopped."""

    kind: str
    facts: int
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As rows of tables are called."""
        return f"{self.kind} {self.facts:,}"

    @property
    def best(self) -> str:
        """The best fixed choice; `auto`, if nothing else was measured."""
        return min((name for name in FIXED if name in self.seconds), key=lambda name: self.seconds[name], default=AUTO)

    @property
    def regret(self) -> float:
        """The time of `auto` over that of the best."""
        return max(_BLINK, self.seconds[AUTO]) / max(_BLINK, self.seconds[self.best])


def updates(every: Sequence[Fact], sizes: Sequence[int], seed: int) -> Iterator[tuple[str, int, Update]]:
    """Updates of all kinds and sizes; those of no kind only prepare the next, and at the end all facts are back."""
    for number in sizes:
        random = Random(seed + number)
        one = random.sample(every, number)
        yield "delete", number, Update(delete=_grouped(one))
        yield "insert", number, Update(insert=_grouped(one))
        gone, come = one[: (number + 1) // 2], random.sample(every, (number + 1) // 2)
        come = sorted({*come} - {*gone})
        yield "", number, Update(delete=_grouped(come))
        yield "mixed", number, Update(delete=_grouped(gone), insert=_grouped(come))
        yield "", number, Update(insert=_grouped(gone))


def sizes_of(facts: int) -> list[int]:
    """1, 10, 100, 1,000, and 1% and 10% of the explicit facts."""
    return sorted({n for n in (1, 10, 100, 1_000, facts // 100, facts // 10) if 0 < n <= max(1, facts // 10)})


class Course:
    """One algorithm on its way through all updates of a workload."""

    def __init__(self, workload: Workload, facts: Facts, algorithm: str, seed: int = 0) -> None:
        self.algorithm, self.workload, self._seed = algorithm, workload, _APART * seed
        self.every = [(relation, row) for relation, rows in facts.items() for row in rows]
        begun, clock = time.process_time(), time.monotonic()
        self.kb = self._opened(facts, Limits())
        self.evaluation = time.process_time() - begun
        if algorithm not in (AUTO, "recompute"):
            self.kb = self._opened(facts, Limits(seconds=max(_PATIENCE, _SLOWEST * (time.monotonic() - clock))))
        self.facts = self.size()
        self._stopped: dict[str, int] = {}  # by kind, the smallest size
        self.reasons = list[tuple[str, int, str]]()  # of each update, why its hyper-nodes were updated as they were

    def _opened(self, facts: Facts, limits: Limits) -> KnowledgeBase:
        return holdfast.from_text(self.workload.program, facts=facts, modules=(), limits=limits)

    def size(self) -> int:
        """How many facts there are now."""
        return sum(len(self.kb[name]) for name in self.workload.counted)

    def times(self) -> Iterator[tuple[str, int, float, int]]:
        """The kind and size of each update, the seconds that it took, and how many facts there are then."""
        for kind, number, update in updates(
            self.every, [n for n in _WARM_UP if n <= len(self.every) // 10], self._seed + 7
        ):
            self._apply(kind, number, update)
        for kind, number, update in updates(self.every, sizes_of(len(self.every)), self._seed + 1):
            seconds = self._apply(kind, number, update)
            if kind:
                yield kind, number, seconds, self.size()
        if self.size() != self.facts:
            raise AssertionError(f"{self.algorithm}: {self.size():,} facts are left of {self.facts:,}")

    def _apply(self, kind: str, number: int, update: Update) -> float:
        kind = kind or ("delete" if update.delete else "insert")
        if number < self._stopped.get(kind, inf):
            begun = time.process_time()
            try:
                figures = self.kb.apply(update, algorithm=self.algorithm).figures
                seconds = time.process_time() - begun
                self.reasons += [(kind, number, f"{node.algorithm} {node.work:.4f} s: {node.why}") for node in figures]
                return seconds
            except LimitReached:
                self._stopped[kind] = number
        self.kb.apply(update, algorithm="recompute")
        return inf


def facts_of(workload: Workload, size: RegretSize, seed: int = 0) -> Facts:
    """The facts of a workload in some size."""
    with patch("bench.graphs.Random", lambda own: Random(own + _APART * seed)):
        return MIDDLE[workload.name]() if size == "middle" else workload.facts[size]()


def cases_of(
    workload: Workload,
    size: RegretSize,
    algorithms: Sequence[str] = (*FIXED, AUTO),
    runs: int = 1,
    seed: int = 0,
    explain: Callable[[str], object] = lambda _line: None,
) -> tuple[float, list[Case]]:
    """The seconds of evaluation, and all cases: medians of so many runs."""
    found: dict[tuple[str, int], dict[str, list[float]]] = {}
    evaluation, facts, states = inf, facts_of(workload, size, seed), dict[tuple[str, int], int]()
    for algorithm in algorithms:
        for _ in range(runs):
            course = Course(workload, facts, algorithm, seed)
            evaluation = min(evaluation, course.evaluation)
            for kind, number, seconds, left in course.times():
                found.setdefault((kind, number), {}).setdefault(algorithm, []).append(seconds)
                if states.setdefault((kind, number), left) != left:
                    raise AssertionError(f"{kind} {number} by {algorithm}: {left:,} facts instead of {states}")
            for kind, number, reason in course.reasons if algorithm == AUTO else ():
                explain(f"{kind} {number}: {reason}")
    medians = ({name: statistics.median(times) for name, times in each.items()} for each in found.values())
    return evaluation, [Case(*case, seconds) for case, seconds in zip(found, medians, strict=True)]


def again(workload: Workload, size: RegretSize, runs: int) -> tuple[float, float]:
    """The seconds of the largest hyper-node's first evaluation, and of its recomputation: medians.

    Both are work, without loading and commit, and with counters and ranks.  A fact is deleted and inserted again, and
    the insertion counts: then all facts are there as at first.
    """
    first, later, facts = list[float](), list[float](), facts_of(workload, size)
    every = [(relation, row) for relation, rows in facts.items() for row in rows]
    for run in range(runs):
        kb = holdfast.from_text(workload.program, facts=facts, modules=())
        first.append(max(node.work for node in kb.statistics.nodes))
        one = _grouped(Random(run).sample(every, 1))
        kb.apply(Update(delete=one), algorithm="recompute")
        later.append(max(node.work for node in kb.apply(Update(insert=one), algorithm="recompute").figures))
    return statistics.median(first), statistics.median(later)


def ranks(workload: Workload, size: RegretSize, runs: int) -> tuple[float, float]:
    """What evaluating the largest hyper-node takes with ranks, over what it takes without.

    Both are evaluated in turn, in one process, so that the machine's speed is the same for both: gives the median of
    the ratios of neighbours, and the ratio of the least times.
    """
    times: dict[bool, list[float]] = {True: [], False: []}
    facts, ability = facts_of(workload, size), MemoryBackend.ability

    def without_ranks(backend: MemoryBackend, kind: type[A]) -> A | None:
        return None if kind is Ranking else ability(backend, kind)

    gc.disable()  # or it may run in one of the two only
    for run in range(2 * runs):
        is_ranked = run % 4 in (0, 3)  # neither always comes after the other
        with nullcontext() if is_ranked else patch.object(MemoryBackend, "ability", without_ranks):
            kb = holdfast.from_text(workload.program, facts=facts, modules=())
        times[is_ranked].append(max(node.work for node in kb.statistics.nodes))
        del kb
        gc.collect()
    gc.enable()
    ratios = [one / other for one, other in zip(*times.values(), strict=True)]
    return statistics.median(ratios), min(times[True]) / min(times[False])


def _grouped(some: Sequence[Fact]) -> Mapping[str, list[Row]]:
    grouped = dict[str, list[Row]]()
    for relation, row in some:
        grouped.setdefault(relation, []).append(row)
    return grouped


# --- as a table of `python -m bench` -------------------------------------------------------------------


def table_of(name: str) -> Callable[[Size, int, ProcessLimits, Tell], PaperTable]:
    """The regret of one workload: each algorithm in a process of its own; size paper is `middle` here, max is paper."""

    def study(size: Size, runs: int, limits: ProcessLimits, tell: Tell) -> PaperTable:
        tell(f"regret of auto: {name}")
        jobs = [Job("regret", (name, algorithm), Figure(OURS, algorithm)) for algorithm in (*FIXED, AUTO)]
        return compared(measured(_blank(name), jobs, size, runs, limits.own(_SECONDS)))

    return study


def _blank(name: str) -> PaperTable:
    return PaperTable(
        f"regret/{name}",
        "",
        f"Updates by each algorithm and by auto, {WORKLOADS[name].title}",
        "all of `kb.apply`, in processor time, without modules, after a warm-up of other sizes",
        (),
    )


def measure(size: Size, runs: int, case: tuple[str, ...]) -> Found:
    """All updates of one workload by one algorithm, so often."""
    (name, algorithm), times, left = case, dict[tuple[str, int], list[float]](), dict[tuple[str, int], int]()
    used: RegretSize = {"small": "small", "paper": "middle", "max": "paper"}[size]  # type: ignore[assignment]
    facts = facts_of(WORKLOADS[name], used)
    for _ in range(runs):
        for kind, number, seconds, size_then in Course(WORKLOADS[name], facts, algorithm).times():
            times.setdefault((kind, number), []).append(seconds)
            left[kind, number] = size_then
    for (kind, number), each in times.items():
        figure = Figure(OURS, algorithm, checked=_CHECKED, counts={"facts": left[kind, number]})
        done = replace(figure, failure=_STOPPED) if inf in each else replace(figure, runs=tuple(each))
        yield Case(kind, number).name, number, done


_CHECKED = "the number of facts after each update, which all algorithms must agree on"


def compared(table: PaperTable) -> PaperTable:
    """With the regret of each row beside the time of `auto`, and that of all rows as a note."""
    rows, cases = list[TableRow](), list[Case]()
    for row in table.rows:
        seconds = {figure.variant: figure.median for figure in row.figures if figure.median is not None}
        kind, _, _ = row.name.partition(" ")
        case = Case(kind, int(row.at or 0), seconds)
        if AUTO in seconds and len(seconds) > 1:
            cases.append(case)
        rows.append(replace(row, figures=tuple(_judged(figure, case, row) for figure in row.figures)))
    return replace(table, rows=tuple(rows), notes=(total(cases),) if cases else ())


def _judged(figure: Figure, case: Case, row: TableRow) -> Figure:
    sizes = {other.counts["facts"] for other in row.figures if "facts" in other.counts}
    if len(sizes) > 1:
        return replace(figure, failure=f"{WRONG}: the algorithms leave {sorted(sizes)} facts")
    if figure.variant != AUTO or AUTO not in case.seconds or len(case.seconds) == 1:
        return figure
    return replace(figure, counts={**figure.counts, "times the best": round(case.regret, 2)})


# --- by itself -----------------------------------------------------------------------------------------


def lines(name: str, evaluation: float, cases: Sequence[Case]) -> Iterator[str]:
    """Lines of Markdown."""
    columns = (*FIXED, AUTO)
    yield f"## {name} (loaded and evaluated in {evaluation:.3f} CPU s)"
    yield ""
    yield f"| update | {' | '.join(columns)} | best | regret |"
    yield "|---" * (len(columns) + 3) + "|"
    for case in cases:
        times = " | ".join(_shown(case.seconds[column]) if column in case.seconds else "" for column in columns)
        yield f"| {case.name} | {times} | {case.best} | {case.regret:.2f} |"
    yield ""


def _shown(seconds: float) -> str:
    return f"> {_SLOWEST} evaluations" if seconds == inf else f"{seconds:.3f}"


def total(cases: Sequence[Case]) -> str:
    """The regret of all cases together, and the greatest of one."""
    auto = sum(case.seconds[AUTO] for case in cases)
    best = sum(case.seconds[case.best] for case in cases)
    worst = max(cases, key=lambda case: case.regret)
    return (
        f"auto {auto:.2f} s, best fixed choice for each {best:.2f} s: {auto / best:.2f} times; "
        f"worst {worst.regret:.2f} times ({worst.name})"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.regret", description=__doc__)
    parser.add_argument("--size", choices=("middle", *SIZES), default="middle")
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--algorithm", action="append", choices=(*FIXED, AUTO), help="only these")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--explain", action="store_true", help="also print what auto does, and why")
    parser.add_argument("--save", action="store_true", help="add the tables to bench/results/DATE-regret.md")
    parser.add_argument("--again", action="store_true", help="only recomputation over first evaluation")
    parser.add_argument("--ranks", action="store_true", help="only evaluation with ranks over one without")
    asked = parser.parse_args(arguments)
    for name in asked.only or NAMES if asked.again else ():
        first, later = again(WORKLOADS[name], asked.size, asked.runs)
        print(f"{name}: evaluated in {first:.3f} s, again in {later:.3f} s: {later / first:.2f} times", flush=True)
    for name in asked.only or NAMES if asked.ranks else ():
        median, least = ranks(WORKLOADS[name], asked.size, asked.runs)
        print(f"{name}: ranks cost {median - 1:+.1%} (median), {least - 1:+.1%} (least times)", flush=True)
    if asked.again or asked.ranks:
        return
    every, algorithms, found = list[Case](), asked.algorithm or (*FIXED, AUTO), list[str]()
    for name in asked.only or NAMES:
        evaluation, cases = cases_of(
            WORKLOADS[name], asked.size, algorithms, asked.runs, asked.seed, print if asked.explain else lambda _: None
        )
        every += cases
        for case in cases:
            case.seconds.setdefault(AUTO, inf)
        table = [*lines(name, evaluation, cases), total(cases), ""]
        print("\n".join(table), flush=True)
        found += table
    print(f"all workloads: {total(every)}")
    if asked.save:
        save(" ".join(arguments or sys.argv[1:]), found)


def save(options: str, found: Sequence[str]) -> None:
    """Add tables to the file of today."""
    path = FOLDER / f"{datetime.date.today().isoformat()}-regret.md"
    machine = describe()
    about = f"`python -m bench.regret {options}`, commit {machine['commit']}, {machine['processor']}:"
    before = path.read_text() if path.exists() else "# What `auto` costs\n\n"
    path.write_text("\n".join([before + about, "", *found]) + "\n")


if __name__ == "__main__":
    main()
