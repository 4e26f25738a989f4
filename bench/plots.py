"""Tables with an axis as pictures: SVG without a background, in tones that can be read on white and on black."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench.results import Result
from bench.sheets import duration
from bench.tables import OURS, PaperTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#7a7a7a"  # as far from white as from black
COLOURS = ("#2f7fc1", "#d9730d", "#2e9c69", "#c2498d", "#8467d7", "#a98600", "#d1483a", "#3f97a8")
MARKS = "osD^vPX*"
_LINES = 5  # in one panel: with more, names that begin alike get a panel of their own
_STYLE = {
    "font.size": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "holdfast",
    "svg.fonttype": "path",
    "legend.frameon": False,
    "grid.color": GREY,
    "grid.alpha": 0.25,
    "axes.grid": True,
    "font.family": "DejaVu Sans",
}


@dataclass(frozen=True)
class Line:
    """What is drawn in one colour: places on the axis, each with its median and the range of its runs."""

    name: str
    points: tuple[tuple[float, float, float, float], ...]


def write_plots(result: Result, folder: Path) -> dict[str, Path]:
    """A picture for each table that has an axis and at least two places on it, by the table's key."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = dict[str, Path]()
    for table in result.tables:
        found = panels(table)
        if found:
            pictures[table.key] = folder / f"{result.name}-{table.key}.svg"
            with mpl.rc_context(_STYLE):
                _drawn(table, found).savefig(pictures[table.key], transparent=True, metadata={"Date": None})
    return pictures


def panels(table: PaperTable) -> dict[str, list[Line]]:
    """The lines of a table, by panel."""
    if not table.axis or len({row.at for row in table.rows if row.at is not None}) < 2:
        return {}
    found = list(_lines(table).values())
    kinds = {line.name.partition(", ")[0] for line in found}
    if len(found) <= _LINES or len(kinds) == 1 or any(", " not in line.name for line in found):
        return {"": found}
    panels = dict[str, list[Line]]()
    for line in found:
        panel, _, name = line.name.partition(", ")
        panels.setdefault(panel, []).append(Line(name, line.points))
    return panels


def _lines(table: PaperTable) -> dict[tuple[object, ...], Line]:
    """Rows whose names differ in numbers only make a line for each system; the same line is not drawn twice."""
    points = dict[str, list[tuple[float, float, float, float]]]()
    kinds = {_kind(row.name) for row in table.rows}
    for row in table.rows:
        for figure in row.figures:
            if row.at is not None and figure.median is not None:
                way = figure.variant if figure.system == OURS and figure.variant else figure.name
                kind = _kind(row.name)
                said = len(kinds) == 1 or way.startswith(f"{kind.partition(', ')[0]}, ")  # by the way's own name
                name = way if said else f"{kind}, {way}"
                point = (row.at, figure.median, *(figure.range or (figure.median, figure.median)))
                points.setdefault(name, []).append(point)
    drawn = {tuple(places): Line(name, tuple(sorted(places))) for name, places in reversed(points.items())}
    return dict(reversed(drawn.items()))


def _kind(name: str) -> str:
    """A row's name without its numbers."""
    return re.sub(r"\s*\b[\d,.]*\d\b( (facts|edges|pairs))?:?", "", name).strip().strip(",").strip()


def _drawn(table: PaperTable, found: Mapping[str, Sequence[Line]]) -> Drawing:
    entries = max(map(len, found.values()))
    drawing = Drawing(figsize=(4.6 * max(len(found), 1.6), 3.4 + 0.22 * entries), layout="constrained")
    for axes, (title, lines) in zip(drawing.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        axes.set_title(title or table.title, fontsize=11)
        for number, line in enumerate(lines):
            _draw(axes, line, number)
        axes.set_xlabel(table.axis)
        axes.set_xscale("log" if table.logarithmic[0] else "linear")
        axes.set_yscale("log" if table.logarithmic[1] else "linear")
        if table.logarithmic[0]:
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        unit = next(figure.unit for row in table.rows for figure in row.figures)
        if unit == "s":
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
            axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylabel("time" if unit == "s" else unit)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=9, ncols=1 if len(found) > 1 else 2)
    return drawing


def _draw(axes: Axes, line: Line, number: int) -> None:
    at, medians, low, high = map(list, zip(*line.points, strict=True))
    reach = [
        [middle - least for middle, least in zip(medians, low, strict=True)],
        [most - middle for middle, most in zip(medians, high, strict=True)],
    ]
    axes.errorbar(
        at,
        medians,
        yerr=reach,
        label=line.name,
        color=COLOURS[number % len(COLOURS)],
        marker=MARKS[number % len(MARKS)],
        markersize=4,
        linewidth=1.4,
        elinewidth=1,
        capsize=2,
    )


def _short(seconds: float) -> str:
    """A mark of the axis: round numbers need no decimals."""
    if seconds <= 0:
        return "0"
    if seconds < 0.001:
        return f"{seconds * 1e6:g} µs"
    return f"{seconds * 1e3:g} ms" if seconds < 1 else f"{seconds:g} s" if seconds < 1e4 else duration(seconds)
