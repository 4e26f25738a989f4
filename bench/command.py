"""`python -m bench`: what may be asked, and the order in which it is done."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from bench.engines import ENGINES
from bench.processes import ROOT, Limits
from bench.profiles import profiles
from bench.report import write_report
from bench.results import FOLDER, Result, read
from bench.screen import on_screen
from bench.sections import chosen, sections
from bench.sheets import sheets
from bench.tables import OURS, PaperTable
from bench.workloads import SIZES, Size

LIMITS: Mapping[Size, tuple[float, float]] = {"small": (90, 20), "paper": (90, 10), "max": (600, 120)}
"""Seconds for one process of ours, and for one run of another system."""
RUNS: Mapping[Size, int] = {"small": 3, "paper": 2, "max": 2}  # so that size paper is done in some 40 minutes
_ROOM = 160  # columns for a table in a file or a pipe


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, show, and save if asked; 1 if holdfast did not run or any result was wrong."""
    asked = _parser().parse_args(arguments)
    console, progress = Console(highlight=False), Console(stderr=True, highlight=False)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that a process that is being measured is ended, too
    for each in (console, progress):
        if not each.is_terminal:
            each.width = _ROOM
    asked.runs = asked.runs or RUNS[asked.size]
    seconds, peers = LIMITS[asked.size]
    limits = Limits(
        asked.timeout or seconds,
        int(asked.memory * 2**30),
        asked.peer_timeout or peers,
        strict=asked.timeout is not None,
    )
    every = sections(asked.engines)
    if asked.list:
        console.print("\n".join(every), markup=False)
        return 0
    keys = chosen(list(every), asked.only, asked.without)
    if not keys:
        progress.print("nothing of that name is measured; --list shows what is", style="bold red")
        return 2
    result, bad, begun = _begun(asked, limits), list[str](), time.monotonic()

    def tell(text: str) -> None:
        progress.print(f"… {(time.monotonic() - begun) / 60:4.1f} min  {text}", style="dim", markup=False)

    for key in keys:
        table = every[key](asked.size, asked.runs, limits, tell)
        for sheet in sheets(table):
            if not sheet.aside:
                on_screen(sheet, console)
        bad += _wrong(table)
        result = result.with_table(table)
        if asked.save:
            result.write(asked.folder)  # what is there is not lost if the run is stopped
    if asked.save:
        if asked.profiles:
            result = replace(result, profiles=profiles(result.tables, asked.profiles, limits, tell))
        for path in [result.write(asked.folder), *write_report(result, asked.folder)]:
            console.print(f"written: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}", markup=False)
    for name in bad:
        progress.print(f"not right: {name}", style="bold red", markup=False)
    return 1 if bad else 0


def _begun(asked: argparse.Namespace, limits: Limits) -> Result:
    """A new result, or that of an earlier run of the same day, size and commit, to be added to."""
    new = Result.begun(
        asked.size, asked.runs, {"seconds": limits.seconds, "peers": limits.peers, "memory": limits.memory}
    )
    path = asked.folder / f"{new.name}.json"
    if asked.save and path.exists() and new.continues(old := read(path)):
        return replace(new, tables=old.tables, profiles=old.profiles)
    return new


def _wrong(table: PaperTable) -> list[str]:
    """What must not be: a result of ours that does not follow, or an error of ours; others' are in the table."""
    found = list[str]()
    for row in table.rows:
        ours = [figure for figure in row.figures if figure.system == OURS]
        found += [f"{table.key}, {row.name}, {figure.name}: {figure.failure}" for figure in ours if figure.wrong]
        failed = [figure for figure in ours if figure.failure.startswith("failed")]
        found += [f"{table.key}, {row.name}, {figure.name}: {figure.failure}" for figure in failed if not figure.wrong]
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure holdfast: the papers' tables, other systems beside ours, updates, waiting.",
    )
    parser.add_argument("--size", choices=SIZES, default="paper", help="how many facts (default: paper)")
    parser.add_argument(
        "--runs",
        type=_positive,
        help=f"runs of each system (default: {', '.join(f'{size} {runs}' for size, runs in RUNS.items())})",
    )
    parser.add_argument("--only", nargs="+", metavar="KEY", help="only these tables, or rows: evaluation/chain")
    parser.add_argument("--without", nargs="+", metavar="KEY", default=[], help="not these")
    parser.add_argument("--list", action="store_true", help="show the keys of all tables, and measure nothing")
    parser.add_argument(
        "--engines",
        nargs="+",
        choices=ENGINES,
        default=list(ENGINES),
        metavar="NAME",
        help=f"in the table `evaluation` only these, of {', '.join(ENGINES)}",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        metavar="S",
        help="seconds for one process of ours (default: "
        f"{_told(0)}; some tables have a longer one unless this is said)",
    )
    parser.add_argument(
        "--peer-timeout",
        type=_seconds,
        metavar="S",
        help=f"seconds for one run of another system (default: {_told(1)})",
    )
    parser.add_argument("--memory", type=float, default=12, help="GiB for one process (default: 12)")
    parser.add_argument(
        "--profiles",
        type=int,
        default=3,
        metavar="N",
        help="with --save, of so many of our slowest rows (default: 3; 0 keeps those that are there)",
    )
    parser.add_argument(
        "--save",
        action="store_true",
        help="write the result to bench/results/, or add to that of the same day, size and commit",
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help=argparse.SUPPRESS)
    return parser


def _told(which: int) -> str:
    return ", ".join(f"{size} {limits[which]:g}" for size, limits in LIMITS.items())


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("a time limit is more than 0 seconds")
    return number


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one run is needed")
    return number
