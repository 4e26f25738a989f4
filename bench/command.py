"""`python -m bench`: what may be asked, and the order in which it is done."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rich.console import Console

from bench.engines import ENGINES, OURS
from bench.machine import describe
from bench.outcomes import Failure
from bench.processes import ROOT, Limits
from bench.race import Result, Tell, race, warm_up
from bench.report import on_screen, sheets
from bench.saving import save
from bench.startup import Wait, all_waits
from bench.updates.experiments import EXPERIMENTS, Found, experiment
from bench.updates.sheets import update_sheets
from bench.workloads import SIZES, WORKLOADS

_ROOM = 160  # columns for a table in a file or a pipe


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, show, and save if asked; 1 if holdfast did not run or any count was wrong."""
    asked = _parser().parse_args(arguments)
    console, progress = Console(highlight=False), Console(stderr=True, highlight=False)
    if not console.is_terminal:
        console.width = _ROOM
    limits = Limits(asked.timeout, int(asked.memory * 2**30))

    def tell(text: str) -> None:
        progress.print(f"… {text}", style="dim", markup=False)

    results = list[Result]()
    for name in () if asked.no_workloads else asked.workloads:
        result = _one(name, asked, limits, tell)
        results.append(result)
        on_screen(sheets([result], [])[0], console)
    waits = [] if asked.no_waits else all_waits(asked.size, asked.runs, limits, tell)
    for sheet in sheets([], waits):
        on_screen(sheet, console)
    updates = list[Found]()
    for name in () if asked.no_updates else asked.updates:
        updates.append(experiment(name, asked.size, asked.runs, limits, tell))
        for sheet in update_sheets(updates[-1]):
            on_screen(sheet, console)
    if asked.save:
        for path in save(asked.size, describe(), results, waits, updates):
            console.print(f"written: {path.relative_to(ROOT)}", markup=False)
    return _verdict(results, waits, updates, progress)


def _one(name: str, asked: argparse.Namespace, limits: Limits, tell: Tell) -> Result:
    workload = WORKLOADS[name]
    engines = [ENGINES[engine] for engine in asked.engines]
    if OURS in asked.engines:
        tell(f"{name}: warm-up of holdfast")
        match warm_up(workload, limits):
            case Failure(reason):
                tell(f"the warm-up {reason}")
    return race(workload, asked.size, engines, limits, asked.runs, tell)


def _verdict(results: Sequence[Result], waits: Sequence[Wait], updates: Sequence[Found], console: Console) -> int:
    """Say what is wrong, if anything is."""
    bad = [result.workload.name for result in results if not result.sound]
    bad += [wait.name for wait in waits if wait.failure]
    bad += [f"updates, {found.name}" for found in updates if not found.sound]
    for name in bad:
        console.print(f"not right: {name}", style="bold red", markup=False)
    return 1 if bad else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure holdfast beside other systems.")
    parser.add_argument("--size", choices=SIZES, default="paper", help="how many facts (default: paper)")
    parser.add_argument("--runs", type=_positive, default=3, help="runs of each system (default: 3)")
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS), metavar="NAME",
                        help=f"only these, of {', '.join(WORKLOADS)}")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="NAME",
                        help=f"only these, of {', '.join(ENGINES)}")
    parser.add_argument("--updates", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS), metavar="NAME",
                        help=f"of the experiments with updates only these, of {', '.join(EXPERIMENTS)}")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run (default: 120)")
    parser.add_argument("--memory", type=float, default=12, help="GiB for one run (default: 12)")
    parser.add_argument("--no-waits", action="store_true", help="leave out starting and loading")
    parser.add_argument("--no-workloads", action="store_true", help="leave out other systems")
    parser.add_argument("--no-updates", action="store_true", help="leave out updates")
    parser.add_argument("--save", action="store_true", help="write the results to bench/results/")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one run is needed")
    return number
