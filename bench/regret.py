"""What leaving the choice to `auto` costs: `python -m bench.regret [--size SIZE] [--only WORKLOAD]`.

Each workload is updated by each algorithm and by `auto`, on a knowledge base of its own without modules, after a
warm-up of other sizes: deletions, insertions and both, of 1 fact to a tenth of all.  The regret of `auto` is its time
over that of the best fixed choice.  All times are processor time, so that a loaded machine matters less.  An algorithm
that takes several times as long as an evaluation is given up, and not asked for larger updates of the same kind.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Literal

import holdfast
from bench.graphs import Facts, Row, chain, generations, modules, random_graph, weighted_dag
from bench.workloads import SIZES, WORKLOADS, Size, Workload
from holdfast import KnowledgeBase, Limits, Update
from holdfast.errors import LimitReached

FIXED = ("dred", "dred-counting", "dred-ranked", "backward-forward", "backward-forward-counting", "recompute")
AUTO = "auto"
MIDDLE: Mapping[str, Callable[[], Facts]] = {  # between the sizes small and paper: some minutes for all
    "tc-random": lambda: random_graph(900, 2_250),
    "chain": lambda: chain(900),
    "sspe": lambda: weighted_dag(25_000, 250_000),
    "same-generation": lambda: generations(12, 220),
    "points-to": lambda: modules(35),
}
NAMES = tuple(MIDDLE)
KINDS = ("delete", "insert", "mixed")
_WARM_UP = (3, 30)
_SLOWEST = 5  # times as long as an evaluation: then an update is given up
_PATIENCE = 3.0  # seconds that it may take however quick the evaluation is
_BLINK = 0.005  # seconds below which differences do not count

Fact = tuple[str, Row]


@dataclass
class Case:
    """One kind of update of one size, and the seconds that each algorithm took; infinite if it was given up."""

    kind: str
    facts: int
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The best fixed choice."""
        return min(FIXED, key=lambda name: self.seconds.get(name, inf))

    @property
    def regret(self) -> float:
        """The time of `auto` over that of the best."""
        return max(_BLINK, self.seconds[AUTO]) / max(_BLINK, self.seconds[self.best])


def updates(every: Sequence[Fact], sizes: Sequence[int], seed: int) -> Iterator[tuple[str, int, Update, Update]]:
    """Kinds and sizes of updates, each with one that comes before it, and is not measured, or after it."""
    for number in sizes:
        random = Random(seed + number)
        one = random.sample(every, number)
        yield "delete", number, Update(), Update(delete=_grouped(one))
        yield "insert", number, Update(), Update(insert=_grouped(one))
        gone, come = one[: (number + 1) // 2], random.sample(every, (number + 1) // 2)
        come = sorted({*come} - {*gone})
        yield "mixed", number, Update(delete=_grouped(come)), Update(delete=_grouped(gone), insert=_grouped(come))
        yield "", number, Update(insert=_grouped(gone)), Update()


def sizes_of(facts: int) -> list[int]:
    """1, 10, 100, 1,000, and 1% and 10% of the explicit facts."""
    return sorted({n for n in (1, 10, 100, 1_000, facts // 100, facts // 10) if 0 < n <= max(1, facts // 10)})


def measure(
    workload: Workload, size: Size | Literal["middle"], algorithms: Sequence[str] = (*FIXED, AUTO)
) -> tuple[float, list[Case]]:
    """The seconds of evaluation, and all cases."""
    facts = MIDDLE[workload.name]() if size == "middle" else workload.facts[size]()
    every = [(relation, row) for relation, rows in facts.items() for row in rows]
    cases: dict[tuple[str, int], Case] = {}
    evaluation, limits = inf, Limits()
    for name in sorted(algorithms, key=lambda name: name != "recompute"):  # which is never given up
        begun, clock = time.process_time(), time.monotonic()
        kb = holdfast.from_text(workload.program, facts=facts, modules=(), limits=limits)
        evaluation = min(evaluation, time.process_time() - begun)
        limits = Limits(seconds=max(limits.seconds or 0.0, _PATIENCE, _SLOWEST * (time.monotonic() - clock)))
        given_up = set[str]()
        for _, _, before, update in updates(every, [n for n in _WARM_UP if n <= len(every) // 10], 7):
            for one in (before, update):
                _timed(kb, one, name)
        for kind, number, before, update in updates(every, sizes_of(len(every)), 1):
            _timed(kb, before, "recompute" if given_up else name)
            seconds = inf if kind in given_up else _timed(kb, update, name)
            if kind in given_up:
                kb.apply(update, algorithm="recompute")
            if seconds == inf:
                given_up.add(kind)
            if kind:
                cases.setdefault((kind, number), Case(kind, number)).seconds[name] = seconds
    return evaluation, list(cases.values())


def _timed(kb: KnowledgeBase, update: Update, algorithm: str) -> float:
    begun = time.process_time()
    try:
        kb.apply(update, algorithm=algorithm)
    except LimitReached:
        kb.apply(update, algorithm="recompute")
        return inf
    return time.process_time() - begun


def _grouped(some: Sequence[Fact]) -> Mapping[str, list[Row]]:
    grouped = dict[str, list[Row]]()
    for relation, row in some:
        grouped.setdefault(relation, []).append(row)
    return grouped


def table(name: str, evaluation: float, cases: Sequence[Case]) -> Iterator[str]:
    """Lines of Markdown."""
    columns = (*FIXED, AUTO)
    yield f"### {name} (loaded and evaluated in {evaluation:.2f} CPU s)"
    yield ""
    yield f"| update | {' | '.join(columns)} | best | regret |"
    yield "|---" * (len(columns) + 3) + "|"
    for case in cases:
        times = " | ".join(f"{case.seconds.get(column, float('nan')):.3f}" for column in columns)
        yield f"| {case.kind} {case.facts:,} | {times} | {case.best} | {case.regret:.2f} |"
    yield ""


def total(cases: Sequence[Case]) -> str:
    """The regret of all cases together, and the greatest of one."""
    auto = sum(case.seconds[AUTO] for case in cases)
    best = sum(case.seconds[case.best] for case in cases)
    worst = max(cases, key=lambda case: case.regret)
    return (
        f"auto {auto:.2f} s, best fixed choice for each {best:.2f} s: {auto / best:.2f} times; "
        f"worst {worst.regret:.2f} times ({worst.kind} {worst.facts:,})"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.regret", description=__doc__)
    parser.add_argument("--size", choices=("middle", *SIZES), default="middle")
    parser.add_argument("--only", action="append", choices=NAMES)
    asked = parser.parse_args(arguments)
    every = list[Case]()
    for name in asked.only or NAMES:
        evaluation, cases = measure(WORKLOADS[name], asked.size)
        every += cases
        print("\n".join(table(name, evaluation, cases)), flush=True)
        print(total(cases), end="\n\n", flush=True)
    print(f"all workloads: {total(every)}")


if __name__ == "__main__":
    main()
