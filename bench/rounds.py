"""Time and new facts of each round of semi-naive evaluation."""

from __future__ import annotations

import time
from itertools import pairwise

import holdfast
from bench import plain
from bench.own import Found, Job, measured
from bench.papers.measuring import arrow, check
from bench.processes import Limits
from bench.race import Tell
from bench.tables import OURS, Figure, PaperTable
from bench.workloads import WORKLOADS, Size
from holdfast.settings import Silent

NAMES = ("tc-random", "sspe", "same-generation", "points-to")
_BLANK = PaperTable(
    "rounds",
    "",
    "Evaluation round by round",
    "a round of the largest hyper-node, from its beginning to that of the "
    "next; without modules; after an evaluation of few facts that nobody looks at",
    (),
    axis="round",
    logarithmic=(False, True),
)


def rounds(size: Size, runs: int, limits: Limits, tell: Tell) -> PaperTable:
    """Measure each workload in a process of its own; size max is no other than paper here."""
    jobs = list[Job]()
    for name in NAMES:
        jobs.append(Job("rounds", (name,), Figure(OURS, name), row="round 1"))
    tell(f"round by round: {', '.join(NAMES)}")
    return measured(_BLANK, jobs, "paper" if size == "max" else size, runs, limits)


class _Clock(Silent):
    """Notes when each round of each hyper-node begins, and what the one before it found."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[tuple[float, int]]] = {}
        self.end = 0.0

    def round(self, node: str, round: int, new_facts: int, facts: int) -> None:
        self.nodes.setdefault(node, []).append((time.perf_counter(), new_facts))

    def finished(self) -> None:
        self.end = time.perf_counter()

    def figures(self) -> tuple[list[float], list[int]]:
        """Of the hyper-node with the most rounds: seconds of each, and the new facts that each found.

        The last round has no next one to end it, and finds nothing.
        """
        begun = max(self.nodes.values(), key=len)
        times = [instant for instant, _ in begun]
        return [later - earlier for earlier, later in pairwise(times)], [new for _, new in begun][1:]


def measure(size: Size, runs: int, case: tuple[str, ...]) -> Found:
    """All rounds of one workload, as often as asked."""
    workload = WORKLOADS[case[0]]
    few, facts = workload.facts["small"](), workload.facts[size]()
    expected = workload.expected if size == "paper" else plain.count(workload, facts)
    holdfast.from_text(workload.program, facts={name: arrow(rows) for name, rows in few.items()}, modules=())
    given = {name: arrow(rows) for name, rows in facts.items()}
    seconds, new = list[list[float]](), list[int]()
    for _ in range(runs):
        clock = _Clock()
        kb = holdfast.from_text(workload.program, facts=given, modules=(), progress=clock)
        check(sum(len(kb[name]) for name in workload.counted), expected, workload.name)
        taken, new = clock.figures()
        seconds.append(taken)
    for number, times in enumerate(zip(*seconds, strict=True), 1):
        yield (
            f"round {number}",
            number,
            Figure(
                OURS,
                workload.name,
                runs=times,
                checked=f"{expected:,} facts counted",
                counts={"new facts": new[number - 1]},
            ),
        )
