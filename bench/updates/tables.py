"""The experiments with updates as tables of the report."""

from __future__ import annotations

from dataclasses import asdict

from bench.processes import Limits
from bench.race import Tell
from bench.tables import OURS, Figure, PaperTable, Row
from bench.updates import rows
from bench.updates.experiments import EXPERIMENTS, Found, experiment
from bench.workloads import Size

INCLUDES = ("all of `kb.apply`: encoding the given facts, maintenance, and the change that it answers with; *from "
            "scratch*: the hyper-nodes' evaluation only, in the same process.  Each process did the same once on few "
            "facts that nobody looks at.  The first update, which builds indexes, is not among the runs.")
CHECKED = "all facts by number and hash, against evaluation from scratch or the digests that came with a stream"
SCRATCH = "from scratch"


def update_table(name: str, size: Size, runs: int, limits: Limits, tell: Tell) -> PaperTable:
    """Do an experiment."""
    return as_table(experiment(name, size, runs, limits, tell))


def as_table(found: Found) -> PaperTable:
    """A row for each kind of update, with a figure for each algorithm or strategy."""
    figures, at = dict[str, dict[str, Figure]](), dict[str, float]()
    for row in found.rows:
        case, variant = _place(found.name, row)
        mine = figures.setdefault(case, {})
        mine[variant] = _figure(row, variant)
        at[case] = row.facts
        if row.scratch and (SCRATCH not in mine or len(mine[SCRATCH].runs) < len(row.scratch)):
            mine[SCRATCH] = Figure(OURS, SCRATCH, runs=row.scratch, checked=CHECKED)
    for lost in found.lost:
        failed = Figure(OURS, lost.job.split()[-1], failure=lost.reason)
        figures.setdefault(lost.group or lost.job, {})[failed.variant] = failed
    made = tuple(Row(case, tuple(own.values()), at.get(case)) for case, own in figures.items())
    return PaperTable(f"updates-{found.name}", "", EXPERIMENTS[found.name].title, INCLUDES, made,
                      axis="facts of the materialisation" if found.name == "curve" else "", logarithmic=(True, True),
                      notes=(found.skipped,) if found.skipped else ())


def _place(experiment: str, row: rows.Row) -> tuple[str, str]:
    """What is done, and the way in which it is done."""
    match experiment:
        case "sspe" | "streams":
            return row.table, row.name
        case "curve":
            return f"{row.table.removeprefix('one-fact updates, ')}, {row.name}", "auto"
        case _:
            case, _, variant = row.name.rpartition(", ")
            return f"{row.table}: {case}", variant


def _figure(row: rows.Row, variant: str) -> Figure:
    work = {name: total / len(row.seconds) for name, total in asdict(row.work).items() if total}
    first = {} if row.first is None else {"first s": row.first}
    return Figure(OURS, variant, runs=row.seconds, checked=CHECKED,
                  counts={**first, **work, **({"from scratch ÷": 1 / row.ratio} if row.ratio else {})})


