"""Updates as tables: what they took in time, and below it the work of one update."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.report import Sheet
from bench.updates.experiments import EXPERIMENTS, Found
from bench.updates.rows import Row

TIMES = ("updates", "first", "median", "spread", "scratch", "ratio")
WORK = ("updates", "changed", "deletion", "backward", "forward", "insertion", "overdeleted", "rederived")


def update_sheets(found: Found) -> list[Sheet]:
    """Two tables for each kind of update; jobs that brought nothing are notes."""
    if found.skipped:
        return [Sheet(f"{found.name}: {EXPERIMENTS[found.name].title}", TIMES[:1], (), (found.skipped,))]
    tables = dict[tuple[str, str], list[Row]]()
    for row in found.rows:
        tables.setdefault((row.group, row.table), []).append(row)
    sheets = [sheet for (group, title), rows in tables.items() for sheet in _two(title, rows, _lost(found, group))]
    without = dict.fromkeys(lost.group for lost in found.lost if lost.group not in {group for group, _ in tables})
    return sheets + [Sheet(f"{found.name} {group}", TIMES[:1], (), _lost(found, group)) for group in without]


def _lost(found: Found, group: str) -> tuple[str, ...]:
    return tuple(f"{lost.job}: {lost.reason}" for lost in found.lost if lost.group == group)


def _two(title: str, rows: Sequence[Row], notes: tuple[str, ...]) -> list[Sheet]:
    shown = [row for row in rows if not row.hidden]
    single = [row for row in rows if row.hidden]
    if single:
        slowest = max(single, key=lambda row: row.median)
        notes = (*notes, f"slowest: {slowest.name}, {duration(slowest.median)}; all of them are in the JSON file")
    return [Sheet(title, TIMES, tuple(map(_times, shown)), notes),
            Sheet(f"{title}: work of one update, mean", WORK, tuple(map(_work, shown)))]


def _times(row: Row) -> tuple[str, ...]:
    low, high = min(row.seconds), max(row.seconds)
    return (
        _name(row),
        "" if row.first is None else duration(row.first),
        duration(row.median),
        f"{duration(low)}–{duration(high)}" if len(row.seconds) > 1 else "one run",
        duration(statistics.median(row.scratch)) if row.scratch else "",
        "" if row.ratio is None else fraction(row.ratio),
    )


def _work(row: Row) -> tuple[str, ...]:
    work = row.work
    sums = (work.changed, work.deletion, work.backward, work.forward, work.insertion, work.overdeleted, work.rederived)
    return _name(row), *(f"{round(total / len(row.seconds)):,}" for total in sums)


def _name(row: Row) -> str:
    """With what `auto` chose; counting goes without saying, since every program has a part without recursion."""
    chosen = [name for name in row.algorithms if name != "counting"] or row.algorithms
    return f"{row.name} ({', '.join(chosen)})" if row.name == "auto" else row.name


def duration(seconds: float) -> str:
    """In milliseconds below a second."""
    if seconds >= 1:
        return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:,.0f} s"
    return f"{seconds * 1000:.2f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"


def fraction(ratio: float) -> str:
    """A ratio as people say it: 2.50, 0.71, 1/5.3, 1/1,200."""
    if ratio > 0.5:
        return f"{ratio:.2f}"
    return f"1/{1 / ratio:.1f}" if ratio > 0.1 else f"1/{1 / ratio:,.0f}"
