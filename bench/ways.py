"""The same workloads with kernels built ahead and with Numba's own, in turn: does the built module cost speed?

    python -m bench.ways [--size small|paper] [--rounds N] [WORKLOAD …]

Each figure is user CPU time of evaluating in a fresh process; a ratio above 1 says that the built kernels took longer.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import data
from bench.processes import ROOT
from bench.workloads import WORKLOADS

WAYS = ("built", "numba")


def main(words: Sequence[str]) -> None:
    """Measure, and print a line for each workload."""
    parser = argparse.ArgumentParser(prog="python -m bench.ways")
    parser.add_argument("--size", choices=["small", "paper"], default="paper")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--modules", action="store_true", help="let modules serve closures")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD")
    asked = parser.parse_args(words)
    variant = "modules" if asked.modules else "generic"
    for name in asked.workloads:
        print(_line(name, asked.size, asked.rounds, variant), flush=True)


def _line(name: str, size: str, rounds: int, variant: str) -> str:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        data.write(WORKLOADS[name], WORKLOADS[name].facts[size](), Path(folder))  # type: ignore[index]
        times = [[_measured(way, name, folder, variant) for way in WAYS] for _ in range(rounds)]
    built, numba = (statistics.median(each) for each in zip(*times, strict=True))
    ratios = sorted(one / other for one, other in times)
    middle = statistics.median(ratios)
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    return f"{name:<16} built {built:7.3f} s   numba {numba:7.3f} s   ratio {middle:.3f} ({spread})"


def _measured(way: str, name: str, folder: str, variant: str) -> float:
    command = [sys.executable, "-m", "bench.ways", "--child", way, name, folder, variant]
    return float(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def _child(way: str, name: str, folder: str, variant: str) -> None:
    if way == "numba":
        sys.modules["holdfast._kernels"] = None  # type: ignore[assignment]  # as if nobody had built it
    import holdfast
    from holdfast import compilation
    from holdfast.modules import MODULES

    assert (compilation.built is not None) == (way == "built"), "there is no built module that fits"
    holdfast.from_text("ready(x, z) :- ready(x, y), ready(y, z). ready(1, 2).")  # nobody looks: loads all kernels
    workload = WORKLOADS[name]
    facts = data.tables(workload, Path(folder))
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    holdfast.from_text(workload.program, facts=facts, modules=() if variant == "generic" else MODULES)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _child(*sys.argv[2:])
    else:
        main(sys.argv[1:])
