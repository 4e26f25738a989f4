"""Measured tables as rows of text, for a screen and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.tables import OURS, Figure, PaperTable, Row

_MANY = 25  # rows of a table that has a plot: of more only the first are shown
_SHOWN = 12
_LEVEL = 0.02  # nobody is slower by less


@dataclass(frozen=True)
class Sheet:
    """A table before it is set."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    aside: bool = False  # for those who want to know


def sheets(table: PaperTable) -> list[Sheet]:
    """The times, and aside what else was counted."""
    times = _beside_paper(table) if has_paper(table) else _side_by_side(table)
    return [times, *_counts(table)]


def as_markdown(sheet: Sheet, level: int = 3) -> str:
    """A table as text; what is aside can be unfolded."""
    lines = [f"{'#' * level} {sheet.title}", "", *_grid(sheet), "", *(f"- {note}" for note in sheet.notes)]
    if sheet.aside:
        lines = ["<details>", f"<summary>{sheet.title}</summary>", "", *_grid(sheet), "", "</details>"]
    return "\n".join([*lines, ""])


def _grid(sheet: Sheet) -> list[str]:
    places = ("---", *("---:" for _ in sheet.headings[1:]))
    cells = (tuple(cell.replace("|", "\\|") for cell in row) for row in (sheet.headings, places, *sheet.rows))
    return [f"| {' | '.join(row)} |" for row in cells]


# --- a paper's figures beside ours ------------------------------------------------------------------------


def has_paper(table: PaperTable) -> bool:
    """Whether there is a figure of the paper itself."""
    return any(figure.paper is not None for row in table.rows for figure in row.figures)


def _beside_paper(table: PaperTable) -> Sheet:
    """A line for each of our ways; other systems have columns of their own, filled once for each case."""
    peers = _names(figure for row in table.rows for figure in row.figures if figure.system != OURS)
    ways = any(figure.variant for row in table.rows for figure in row.figures if figure.system == OURS)
    headings = ("case", *(["way"] if ways else []), "paper", "ours", "spread", "paper ÷ ours", *peers)
    lines = list[tuple[str, ...]]()
    for row in table.rows:
        others = {figure.name: shown(figure) for figure in row.figures if figure.system != OURS}
        for number, figure in enumerate(figure for figure in row.figures if figure.system == OURS):
            first = number == 0
            lines.append(
                (
                    row.name if first else "",
                    *([figure.variant] if ways else []),
                    _paper(figure),
                    _alone(figure),
                    spread(figure),
                    times(paper_ratio(figure)),
                    *(others.get(peer, "") if first else "" for peer in peers),
                )
            )
    return Sheet(table.title, headings, tuple(lines), table.notes)


def _paper(figure: Figure) -> str:
    return "" if figure.paper is None else amount(figure.paper, figure.unit)


def paper_ratio(figure: Figure) -> float | None:
    """How many times as long the paper's system took; of what should be large, how many times as much we do."""
    if figure.median is None or figure.paper is None:
        return None
    return factor(figure.median, figure.paper, figure.unit)


def factor(ours: float, theirs: float, unit: str) -> float:
    """How many times better the first is; less than 1 if it is worse."""
    upwards = unit.endswith("/s")
    return max(ours, 1e-12) / max(theirs, 1e-12) if upwards else max(theirs, 1e-12) / max(ours, 1e-12)


# --- systems beside each other ----------------------------------------------------------------------------


def _side_by_side(table: PaperTable) -> Sheet:
    """A column for each system and way; the best of a row in bold where there are several systems."""
    names = _names(figure for row in table.rows for figure in row.figures)
    columns = [name for name in names if name.startswith(OURS)] + [name for name in names if not name.startswith(OURS)]
    rows = table.rows[:_SHOWN] if table.axis and len(table.rows) > _MANY else table.rows
    cut = (f"The first {_SHOWN} of {len(table.rows)} rows; all are in the JSON file and in the plot.",)
    ours = all(figure.system == OURS and figure.variant for row in rows for figure in row.figures)
    headings = [name.removeprefix(f"{OURS} (").removesuffix(")") for name in columns] if ours else columns
    return Sheet(
        table.title,
        ("case", *headings),
        tuple(_cells(row, columns) for row in rows),
        (*table.notes, *(cut if len(rows) < len(table.rows) else ())),
    )


def _cells(row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    found = {figure.name: figure for figure in row.figures}
    ranked = sorted((figure for figure in row.figures if figure.runs), key=lambda figure: _rank(figure))
    rivals = {figure.system for figure in row.figures} != {OURS}
    best = ranked[0].name if ranked and rivals else ""
    cells = {name: f"**{shown(figure)}**" if name == best else shown(figure) for name, figure in found.items()}
    return row.name, *(cells.get(name, "") for name in columns)


def _rank(figure: Figure) -> float:
    value = figure.median or 0.0
    return -value if figure.unit.endswith("/s") else value


def _names(figures: Iterable[Figure]) -> list[str]:
    return list(dict.fromkeys(figure.name for figure in figures))


# --- what else was counted --------------------------------------------------------------------------------


def _counts(table: PaperTable) -> list[Sheet]:
    counted = [(row, figure) for row in table.rows for figure in row.figures if figure.counts]
    names = list(dict.fromkeys(name for _, figure in counted for name in figure.counts))
    if not names or (table.axis and len(table.rows) > _MANY):
        return []
    rows = tuple(
        (f"{row.name}, {figure.name}", *(_number(figure.counts.get(name)) for name in names)) for row, figure in counted
    )
    return [Sheet(f"{table.title}: what else was counted", ("case", *names), rows, aside=True)]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:,.3g}"


# --- figures as text --------------------------------------------------------------------------------------


def shown(figure: Figure) -> str:
    """A median with its spread, or why there is none."""
    return f"{_alone(figure)} {spread(figure)}".strip()


def _alone(figure: Figure) -> str:
    return figure.failure if figure.median is None else amount(figure.median, figure.unit)


def spread(figure: Figure) -> str:
    """Half of what lies between the ends of the range of runs, in percent of the median."""
    if figure.median is None or figure.range is None:
        return ""
    if len(figure.runs) < 2:
        return "(1 run)"
    low, high = figure.range
    return f"±{50 * (high - low) / max(figure.median, 1e-12):.0f} %"


def amount(value: float, unit: str) -> str:
    """A figure with its unit."""
    if unit == "s":
        return duration(value)
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:,.3g} {unit}"


def duration(seconds: float) -> str:
    """In milliseconds below a second."""
    if seconds >= 1:
        return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:,.0f} s"
    return f"{seconds * 1000:.2f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"


def times(ratio: float | None) -> str:
    """A ratio as people say it."""
    if ratio is None:
        return ""
    if ratio >= 10:
        return f"{ratio:,.0f}×"
    return f"{ratio:.1f}×" if ratio >= 1 - _LEVEL else f"{ratio:.2g}× (slower)"
