"""The three figures of the README: `python -m bench.readme [FILE.json]` takes them from a result and puts them in."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.processes import ROOT
from bench.report import COMMAND
from bench.results import FOLDER, Result, read
from bench.sheets import amount, factor
from bench.summary import COMPACT
from bench.tables import OURS, Figure, Row

BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
PAGE = ROOT / "README.md"
FIGURES = 3
_SIZES = ("paper", "max", "small")  # the first that there is a result of


def newest(folder: Path = FOLDER) -> Path | None:
    """The last result of the size that says the most."""
    found = [sorted(folder.glob(f"*-{size}.json"))[-1:] for size in _SIZES]
    return next((path for [path] in filter(None, found)), None)


def block(result: Result) -> str:
    """What stands between the marks."""
    lines = list(_telling(result))[:FIGURES]
    command = COMMAND.format(result.size)
    machine = f"{result.machine['cores']} cores, commit {result.machine['commit']}"
    return "\n".join(
        [
            "| | holdfast | |",
            "| --- | ---: | --- |",
            *lines,
            "",
            f"`{command}` makes these figures and all others, with their spread, what a time includes, "
            "and where we lose:",
            f"[measurements of {result.date}](bench/results/{result.name}.md), size {result.size}, {machine}.",
            "",
        ]
    )


def _telling(result: Result) -> Iterator[str]:
    """An analysis evaluated, one fact changed, a paper's closure; then what else there is."""
    for row in _rows(result, "evaluation", "points-to"):
        given, _, derived = row.name.partition(": ")[2].partition(" → ")
        yield from _against_peers(row, f"a points-to analysis evaluated, {given} → {derived}")
    for row in [*_rows(result, "updates-by-facts", "LUBM-like")][-1:]:
        yield from _against_scratch(
            row,
            f"one fact deleted from universities with {row.name.partition(', ')[2]}",
            "LUBM-like, one fact deleted",
            "LUBM-like, from scratch",
        )
    for row in _rows(result, "modular-materialisation-table-2", "DAG-R"):
        yield from _against_paper(row, f"{row.name}, a closure of 22 million facts")
    for row in [*_rows(result, "update-sizes", "")][:1]:
        yield from _against_scratch(
            row, "one fact of the universities deleted, and all that follows", "deleted", "from scratch"
        )
    for row in _rows(result, "updates-beside-pathway", ""):
        yield from _against_peers(row, row.name)


def _rows(result: Result, key: str, name: str) -> Iterator[Row]:
    table = result.table(key)
    yield from (row for row in (table.rows if table else ()) if row.name.startswith(name))


def _against_peers(row: Row, what: str) -> Iterator[str]:
    ours = [figure for figure in row.figures if figure.system == OURS and figure.runs and figure.variant != COMPACT]
    peers = [figure for figure in row.figures if figure.system != OURS and figure.runs]
    if ours and peers:
        best = min(peers, key=lambda figure: figure.median or 0)
        others = f"{_shown(best)} by {best.name}, the quickest of {len(peers)} others"
        yield _line(what, ours[0], others if len(peers) > 1 else f"{_shown(best)} by {best.name}", best)


def _against_scratch(row: Row, what: str, variant: str, scratch: str) -> Iterator[str]:
    found = {figure.variant: figure for figure in row.figures if figure.runs}
    if variant in found and scratch in found:
        yield _line(what, found[variant], f"{_shown(found[scratch])} to compute everything anew", found[scratch])


def _against_paper(row: Row, what: str) -> Iterator[str]:
    """What a user gets beside the best that the paper has."""
    printed = [figure.paper for figure in row.figures if figure.paper is not None]
    measured = [figure for figure in row.figures if figure.runs]
    if printed and measured:
        ours = min(measured, key=lambda figure: figure.median or 0)
        yield _line(
            what,
            ours,
            f"{amount(min(printed), ours.unit)} in the paper, on its machine",
            Figure("paper", runs=(min(printed),)),
        )


def _line(what: str, ours: Figure, beside: str, theirs: Figure) -> str:
    ratio = factor(ours.median or 0, theirs.median or 0, ours.unit)
    times, whose = (ratio, "") if ratio >= 1 else (1 / ratio, "we take ")
    return f"| {what} | **{_shown(ours)}** | {beside}: {whose}{times:,.{0 if times >= 10 else 1}f} times as long |"


def _shown(figure: Figure) -> str:
    return amount(figure.median or 0, figure.unit)


def used(page: str) -> Path | None:
    """The result that a page's figures are from."""
    named = re.search(r"\(bench/results/([\w-]+)\.md\)", _between(page))
    return FOLDER / f"{named[1]}.json" if named else None


def _between(page: str) -> str:
    return page.partition(BEGIN)[2].partition(END)[0]


def rewritten(page: str, text: str) -> str:
    """The page with other figures."""
    return page.replace(f"{BEGIN}{_between(page)}{END}", f"{BEGIN}{text}{END}")


def main(file: str | None = None) -> int:
    """Put the figures into the README."""
    path = Path(file) if file else newest()
    if path is None:
        print("there is no result in bench/results; `make bench BENCH=--save` makes one", file=sys.stderr)
        return 1
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), block(read(path))), encoding="utf-8")
    print(f"written: {PAGE.name}, from {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
