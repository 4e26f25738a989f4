"""A result as a page: `python -m bench.report FILE.json` writes it anew from what was measured."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from bench.beside_papers import with_peers
from bench.profiles import Part, Profile
from bench.results import Result, read
from bench.sheets import as_markdown, duration, sheets
from bench.summary import summary
from bench.tables import PaperTable

COMMAND = "make bench SIZE={} BENCH=--save"


def write_report(result: Result, folder: Path) -> list[Path]:
    """The page and its pictures; gives their paths."""
    from bench.plots import write_plots

    pictures = write_plots(result, folder)
    page = folder / f"{result.name}.md"
    page.write_text(text(result, {key: path.relative_to(folder) for key, path in pictures.items()}), encoding="utf-8")
    return [page, *pictures.values()]


def text(result: Result, pictures: dict[str, Path]) -> str:
    """The whole page."""
    papers = [table for table in with_peers(result.tables) if table.paper]
    own = [table for table in result.tables if not table.paper]
    lines = [
        f"# Measurements of {result.date}, size {result.size}",
        "",
        *_circumstances(result),
        "## Summary",
        "",
        *(as_markdown(sheet) for sheet in summary(result.tables)),
    ]
    for title, tables in (("The papers' tables", papers), ("Our own tables", own)):
        lines += [f"## {title}", ""] if tables else []
        for table in tables:
            lines += _table(table)
    drawn = [table for table in result.tables if table.key in pictures]
    lines += ["## Plots", ""] if drawn else []
    for table in drawn:
        lines += [
            f"![{table.title}: {table.axis}]({pictures[table.key].as_posix()})",
            "",
            f"*{table.title}*, from {_key(table)}. Points are medians; bars are the range of the runs.",
            "",
        ]
    lines += ["## Profiles of our slowest rows", ""] if result.profiles else []
    for profile in result.profiles:
        lines += _profile(result, profile)
    return "\n".join(lines).rstrip() + "\n"


def _circumstances(result: Result) -> Iterator[str]:
    machine = result.machine
    yield f"- Made by `{COMMAND.format(result.size)}`, commit {machine['commit']}; [every run]({result.name}.json) is"
    yield "  in the file beside this page, and [how it is measured](../../docs/benchmarks.md) is told apart."
    yield (
        f"- {machine['cores']} cores ({machine['processor']}), {int(machine['memory']) / 2**30:.0f} GiB, "
        f"{machine['system']}, Python {machine['python']}; "
        f"{', '.join(f'{name} {version}' for name, version in machine['packages'].items())}"
    )
    yield (
        f"- Medians of up to {result.runs} runs; ± is half of what lies between the quickest and the slowest, "
        "of five runs or more that of the middle half. Nothing is shown whose result was not checked."
    )
    yield (
        "- Warm-up: before the clock starts, a process of ours has loaded its compiled kernels, and in tables of "
        "updates has done the same once on few facts; one of another system has imported it."
    )
    if result.limits:
        yield (
            f"- A process of ours is stopped after {result.limits['seconds']:g} s where its table has no limit of "
            f"its own, a run of another system after {result.limits['peers']:g} s, either at "
            f"{result.limits['memory'] / 2**30:g} GiB. A system that needed 40 % of its time for the runs so far is "
            "not asked again."
        )
    yield ""


def _table(table: PaperTable) -> list[str]:
    first, *others = sheets(table)
    checks = sorted({figure.checked for row in table.rows for figure in row.figures if figure.checked})
    said = f"A time includes: {table.includes}."
    checked = f"Checked: {checks[0]}{' and so on' if len(checks) > 1 else ''}." if checks else ""
    source = f"*{table.paper}*, {_key(table)}. " if table.paper else f"{_key(table)}. "
    heading, _, grid = as_markdown(first).partition("\n\n")
    return [
        heading,
        "",
        f"{source}{said} {checked}".replace("..", ".").rstrip(),
        "",
        grid,
        *(as_markdown(sheet) for sheet in others),
    ]


def _key(table: PaperTable) -> str:
    return f"`{table.key}`"


def _profile(result: Result, profile: Profile) -> list[str]:
    table = result.table(profile.table)
    row = f"{profile.row}{f', {profile.variant}' if profile.variant else ''}"
    lines = [
        f"### {row}",
        "",
        f"From {table.title if table else profile.table}. One more run under a profiler, "
        "which slows Python down but not the kernels.",
    ]
    if profile.failure:
        return [*lines, "", f"There is none: {profile.failure}.", ""]
    for part in profile.parts:
        lines += [
            "",
            f"**{part.what.capitalize()}**: {part.calls} calls, {duration(part.seconds)}; "
            f"in kernels {sum(part.kernels.values()) / max(part.seconds, 1e-9):.0%}.",
            "",
            *_shares(part),
        ]
    return [*lines, ""]


def _shares(part: Part) -> Iterator[str]:
    yield from ("| share | seconds | where |", "| ---: | ---: | --- |")
    places = [(seconds, f"kernel `{name}`") for name, seconds in part.kernels.items()]
    places += [(seconds, f"`{name}`") for name, seconds in part.functions.items()]
    for seconds, place in sorted(places, reverse=True)[:10]:
        yield f"| {seconds / max(part.seconds, 1e-9):.1%} | {seconds:.3f} | {place} |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        for path in write_report(read(Path(name)), Path(name).parent):
            print(f"written: {path}")
