"""Results as tables: one set of rows, shown on a screen and written as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table

from bench.race import Result, Series
from bench.startup import Wait

HEADINGS = ("system", "load s", "eval s", "spread", "ratio", "MiB", "B/fact (peak)")
_TOGETHER = "included"  # in evaluation
_NAME = 16  # columns of a screen at least for the names of rows, however wide the figures are


@dataclass(frozen=True)
class Sheet:
    """A table before it is set."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()  # on those that have no row


def sheets(results: Sequence[Result], waits: Sequence[Wait]) -> list[Sheet]:
    """A table for each workload, and one for what users wait for."""
    tables = list(map(_sheet, results))
    if waits:
        tables.append(Sheet("Waiting", ("what", "median", "spread"), tuple(map(_wait, waits))))
    return tables


def _sheet(result: Result) -> Sheet:
    rows = tuple(_row(result, series) for series in result.series if series.runs)
    notes = tuple(f"{_name(series)}: {series.failure}" for series in result.series if not series.runs)
    return Sheet(_title(result), HEADINGS, rows, notes)


def _title(result: Result) -> str:
    return (f"{result.workload.name}: {result.workload.title}, {result.facts:,} facts given, "
            f"{result.expected:,} facts counted")


def _row(result: Result, series: Series) -> tuple[str, ...]:
    ratio = result.ratio(series)
    low, high = series.spread(lambda run: run.evaluation)
    return (
        _name(series),
        _TOGETHER if series.runs[0].load is None else _seconds(series.median(lambda run: run.load or 0.0)),
        _seconds(series.median(lambda run: run.evaluation)),
        f"{_seconds(low)}–{_seconds(high)}",
        "" if ratio is None else f"{ratio:.2f}",
        f"{series.median(lambda run: run.peak or 0) / 2**20:,.0f}",
        _bytes(series),
    )


def _bytes(series: Series) -> str:
    if series.runs[0].bytes_per_fact is None:
        return ""
    own = f"{series.median(lambda run: run.bytes_per_fact or 0.0):,.0f}"
    peak = f" ({series.median(lambda run: run.peak_per_fact or 0.0):,.0f})"
    return own if series.runs[0].peak_per_fact is None else own + peak


def _name(series: Series) -> str:
    return f"{series.engine} ({series.variant})" if series.variant else series.engine


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}"


def _wait(wait: Wait) -> tuple[str, ...]:
    if not wait.figures:
        return wait.name, wait.failure, ""
    show = _seconds if wait.unit == "s" else "{:,.0f}".format
    several = len(wait.figures) > 1
    spread = f"{show(min(wait.figures))}–{show(max(wait.figures))}" if several else "one run"
    return wait.name, f"{show(statistics.median(wait.figures))} {wait.unit}", spread


def on_screen(sheet: Sheet, console: Console) -> None:
    """Show a table."""
    table = Table(title=sheet.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for heading in sheet.headings:
        first = heading == sheet.headings[0]
        table.add_column(heading, justify="left" if first else "right", overflow="fold", no_wrap=not first,
                         min_width=_NAME if first else None)
    for row in sheet.rows:
        table.add_row(*row)
    console.print(table, markup=False)
    for note in sheet.notes:
        console.print(f"  {note}", markup=False)
    console.print()


def as_markdown(sheet: Sheet) -> str:
    """A table as text."""
    rows = [sheet.headings, ("---",) * len(sheet.headings), *sheet.rows]
    return "\n".join([f"## {sheet.title}", "", *(f"| {' | '.join(row)} |" for row in rows), "",
                      *(f"- {note}" for note in sheet.notes), *([""] if sheet.notes else [])])
