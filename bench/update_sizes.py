"""Time against the size of an update: from one fact of the universities to a tenth of them, out and in again."""

from __future__ import annotations

import statistics
from random import Random

import holdfast
from bench import ontology
from bench.graphs import Facts, Row
from bench.own import Found, Job, measured
from bench.papers.measuring import arrow, check, evaluation, fingerprint, from_scratch, size_of, timed
from bench.processes import Limits
from bench.race import Tell
from bench.tables import OURS, Figure, PaperTable
from bench.universities import universities
from bench.workloads import Size
from holdfast import Update

_CHECKED = "all facts by number and hash, against evaluation from scratch"
_BLANK = PaperTable(
    "update-sizes",
    "",
    "Time against the size of an update, universities",
    "all of `kb.apply` by `auto`, against evaluating all hyper-nodes anew on the facts that are left; a process that "
    "did the same on few facts before; the first update, which builds indexes, is not among the runs",
    (),
    axis="facts in the update",
    logarithmic=(True, True),
)


def update_sizes(size: Size, runs: int, limits: Limits, tell: Tell) -> PaperTable:
    """Measure all sizes in one process."""
    tell("updates of all sizes, universities")
    return measured(_BLANK, [Job("update_sizes", (), Figure(OURS, "auto"))], size, runs, limits)


def _campus(size: Size) -> Facts:
    return universities(1, (1, 1)) if size == "small" else universities(4 if size == "paper" else 30)


def measure(size: Size, runs: int, case: tuple[str, ...]) -> Found:
    """Deletions and insertions of 1, 10, 100, … facts."""
    if size != "small":
        list(measure("small", 1, case))  # nobody looks: everything is loaded now
    facts = _campus(size)
    every = [(relation, row) for relation, rows in facts.items() for row in rows]
    kb = holdfast.from_text(ontology.program(), facts={name: arrow(rows) for name, rows in facts.items()})
    whole, number, first = fingerprint(kb), 1, True
    while number <= len(every) // 10:
        deleted, inserted, scratch = list[float](), list[float](), list[float]()
        for turn in range(runs + first):
            some = _grouped(Random(number + turn).sample(every, number))
            deleted.append(timed(kb, Update(delete=some)).seconds)
            seconds, right = from_scratch(ontology.program(), _without(facts, some))
            scratch.append(seconds)
            check(fingerprint(kb), right, f"deleting {number:,} facts")
            inserted.append(timed(kb, Update(insert=some)).seconds)
            check(fingerprint(kb), whole, f"inserting {number:,} facts again")
        for name, times in (("deleted", deleted), ("inserted", inserted), ("from scratch", scratch)):
            counts = {"facts": float(size_of(kb)), "evaluation s": evaluation(kb)}
            counts["changes a second"] = number / statistics.median(times)
            yield (
                f"{number:,} facts",
                number,
                Figure(OURS, name, runs=tuple(times[first:]), checked=_CHECKED, counts=counts),
            )
        number, first = number * 10, False


def _grouped(some: list[tuple[str, Row]]) -> dict[str, list[Row]]:
    grouped = dict[str, list[Row]]()
    for relation, row in some:
        grouped.setdefault(relation, []).append(row)
    return grouped


def _without(facts: Facts, some: dict[str, list[Row]]) -> dict[str, object]:
    rest = {name: sorted(set(rows) - set(some.get(name, ()))) for name, rows in facts.items()}
    return {name: arrow(rows) for name, rows in rest.items() if rows}
