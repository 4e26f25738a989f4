"""The first thing that a report says: where we win and where we lose, in words and a table for each."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from bench.sheets import Sheet, duration, factor, paper_ratio, times
from bench.tables import OURS, Figure, PaperTable, Row

EVALUATION = "evaluation"
COMPACT = "modules"  # the variant that does not enumerate what it derives


def summary(tables: Sequence[PaperTable]) -> list[Sheet]:
    """Beside the papers, beside other systems, and what did not come to an end."""
    made = [_papers(tables), _systems(tables), _lost(tables)]
    return [sheet for sheet in made if sheet.rows]


# --- beside the papers ------------------------------------------------------------------------------------


def _papers(tables: Sequence[PaperTable]) -> Sheet:
    rows = tuple(_paper_line(table) for table in tables if any(_ratios(table)))
    return Sheet(
        "Beside the papers' own figures",
        ("table", "figures", "we are ahead in", "median of paper ÷ ours", "furthest ahead", "worst"),
        rows,
        (
            "The papers measured on other machines, and some of their data cannot be had: orders of magnitude "
            "say something, small factors do not.  Each figure is compared with that of the same algorithm.",
        ),
    )


def _ratios(table: PaperTable) -> Iterator[tuple[float, Row, Figure]]:
    for row in table.rows:
        for figure in row.figures:
            ratio = paper_ratio(figure) if figure.system == OURS else None
            if ratio is not None:
                yield ratio, row, figure


def _paper_line(table: PaperTable) -> tuple[str, ...]:
    found = sorted(_ratios(table), key=lambda one: one[0])
    ahead = sum(ratio > 1 for ratio, _, _ in found)
    return (
        f"{table.paper}: {table.title}" if table.paper else table.title,
        str(len(found)),
        str(ahead),
        times(statistics.median(ratio for ratio, _, _ in found)),
        _named(*found[-1]),
        _named(*found[0]),
    )


def _named(ratio: float, row: Row, figure: Figure) -> str:
    return f"{row.name}{f', {figure.variant}' if figure.variant else ''}: {times(ratio)}"


# --- beside other systems ---------------------------------------------------------------------------------


def _systems(tables: Sequence[PaperTable]) -> Sheet:
    rows = tuple(line for table in tables for row in table.rows if (line := _against_peers(table, row)))
    return Sheet(
        "Beside the quickest other system",
        ("workload", "we take", "quickest other", "it takes", "the same work", "kept compact", "so"),
        rows,
        (
            "*the same work*: how many times as long the other took as we do when we derive and store every "
            "fact; *kept compact*: as we do with a closure that a module keeps, which is less work.  *even*: "
            "the runs of both lie among each other.",
        ),
    )


def _against_peers(table: PaperTable, row: Row) -> tuple[str, ...]:
    ours = [figure for figure in row.figures if figure.system == OURS and figure.runs]
    peers = [figure for figure in row.figures if figure.system != OURS and figure.runs]
    if not ours or not peers or table.paper:
        return ()
    best = min(peers, key=_seconds)
    same = [figure for figure in ours if figure.variant != COMPACT]
    compact = [figure for figure in ours if figure.variant == COMPACT]
    shown = min(same or compact, key=_seconds)
    ratios = [
        min((factor(_seconds(one), _seconds(best), "s") for one in some), default=None) for some in (same, compact)
    ]
    return (
        row.name,
        duration(_seconds(shown)),
        best.name,
        duration(_seconds(best)),
        *map(times, ratios),
        _verdict(ratios[0] if ratios[0] is not None else ratios[1], shown, best),
    )


def _seconds(figure: Figure) -> float:
    return figure.median or 0.0


def _verdict(ratio: float | None, ours: Figure, theirs: Figure) -> str:
    """Nobody wins where the runs of both lie among each other."""
    mine, other = ours.range, theirs.range
    if mine and other and mine[1] >= other[0] and other[1] >= mine[0]:
        return "even"
    return "**we win**" if ratio is not None and ratio > 1 else "**we lose**"


# --- without a figure -------------------------------------------------------------------------------------


def _lost(tables: Sequence[PaperTable]) -> Sheet:
    rows = tuple(
        (table.title, row.name, figure.variant or OURS, figure.failure)
        for table in tables
        for row in table.rows
        for figure in row.figures
        if figure.system == OURS and not figure.runs
    )
    return Sheet("What we did not get to", ("table", "case", "way", "why"), rows)
