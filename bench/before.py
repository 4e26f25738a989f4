"""This tree beside an older one, in turn: has evaluation or an update become slower?

    git worktree add ../old COMMIT
    python -m bench.before ../old [--size small|paper] [--rounds N] [WORKLOAD …]

Each figure is CPU time in a fresh process; a ratio above 1 says that this tree takes longer. An update deletes ten
facts and then inserts them again, by an algorithm given by name.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa

from bench import data
from bench.processes import ROOT
from bench.workloads import WORKLOADS

ALGORITHMS = ("dred", "dred-counting", "backward-forward", "backward-forward-counting", "auto")
_FACTS, _PAIRS = 10, 9


def main(words: Sequence[str]) -> None:
    """Measure, and print a line for each figure."""
    parser = argparse.ArgumentParser(prog="python -m bench.before")
    parser.add_argument("tree", type=Path, help="the folder of the older tree")
    parser.add_argument("--size", choices=["small", "paper"], default="small")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without", nargs="*", default=[], metavar="ALGORITHM", help="updates that are not measured")
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD")
    asked = parser.parse_intermixed_args(words)
    algorithms = [name for name in ALGORITHMS if name not in asked.without]
    for name in asked.workloads:
        for line in _lines(name, asked.size, asked.rounds, asked.tree.resolve(), algorithms):
            print(line, flush=True)


def _lines(name: str, size: str, rounds: int, tree: Path, algorithms: Sequence[str]) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        data.write(WORKLOADS[name], WORKLOADS[name].facts[size](), Path(folder))  # type: ignore[index]
        _measured(tree, name, folder, algorithms)  # compiles and caches, where that is how a tree does it
        times = [[_measured(each, name, folder, algorithms) for each in (ROOT, tree)] for _ in range(rounds)]
    return [_line(f"{name} {key}", [(ours[key], theirs[key]) for ours, theirs in times]) for key in times[0][0]]


def _line(title: str, times: Sequence[tuple[float, float]]) -> str:
    ours, theirs = (statistics.median(each) * 1e3 for each in zip(*times, strict=True))
    ratios = sorted(one / other for one, other in times)
    middle = statistics.median(ratios)
    spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    return f"{title:<44} this {ours:9.2f} ms   that {theirs:9.2f} ms   ratio {middle:.3f} ({spread})"


def _measured(tree: Path, name: str, folder: str, algorithms: Sequence[str]) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.before", "--child", name, folder, *algorithms]
    places = os.pathsep.join((str(tree / "src"), str(ROOT)))
    environment = os.environ | {"PYTHONPATH": places}
    output = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    return json.loads(output)  # type: ignore[no-any-return]


def _child(name: str, folder: str, *algorithms: str) -> None:
    import holdfast

    _warm()
    workload = WORKLOADS[name]
    facts = data.tables(workload, Path(folder))
    begun = time.process_time()
    kb = holdfast.from_text(workload.program, facts=facts, modules=())
    times = {"evaluation": time.process_time() - begun}
    largest = max(facts, key=lambda relation: facts[relation].num_rows)
    rows = [tuple(row.values()) for row in facts[largest].to_pylist()]
    for algorithm in algorithms:
        chosen = {largest: Random(7).sample(rows, _FACTS * _PAIRS)}  # the same for each
        parts = [{largest: chosen[largest][at::_PAIRS]} for at in range(_PAIRS)]
        spent = []
        for part in parts:
            begun = time.process_time()
            kb.apply(holdfast.Update(delete=part), algorithm=algorithm)
            kb.apply(holdfast.Update(insert=part), algorithm=algorithm)
            spent.append(time.process_time() - begun)
        times[algorithm] = statistics.median(spent)
    print(json.dumps(times))


def _warm() -> None:
    """Load all kernels, by a program that nobody looks at."""
    import holdfast

    facts = {"ready": pa.table({"c1": [1, 2], "c2": [2, 3]})}
    kb = holdfast.from_text("ready(x, z) :- ready(x, y), ready(y, z).", facts=facts, modules=())
    for algorithm in ALGORITHMS:
        kb.apply(holdfast.Update(delete={"ready": [(1, 2)]}), algorithm=algorithm)
        kb.apply(holdfast.Update(insert={"ready": [(1, 2)]}), algorithm=algorithm)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _child(*sys.argv[2:])
    else:
        main(sys.argv[1:])
