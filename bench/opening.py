"""Opening a store from its cache beside evaluating its program: `python -m bench.opening --facts 1000000`.

Seconds are those of the processor, since reading files waits for nothing else when they are in memory.  Each is the
median of three processes that do nothing else, as a service that starts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np

import holdfast

_T = TypeVar("_T")
PROGRAM = """
may(u, d) :- member(u, g), grant(g, d).
open(u, d) :- may(u, d), !blocked(u).
near(x, z) :- link(x, y), link(y, z).
reach(x, y) :- root(x), link(x, y).
reach(x, z) :- reach(x, y), link(y, z).
"""


def main() -> None:
    """Print seconds: evaluated, opened without a cache, opened with it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--facts", type=int, default=1_000_000)
    options.add_argument("--folder", type=Path)
    asked = options.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        measure(Path(folder) / "kb", asked.facts)


def measure(store: Path, facts: int) -> None:
    """Make a store; then evaluate its program, and open it with a cache and without."""
    print(_alone(made, store, facts), flush=True)
    seconds = {"opened with it": _median(opened, store), "evaluated": _median(evaluated, facts)}
    shutil.rmtree(store / "derived", ignore_errors=True)  # a small store has none
    seconds["opened without it"] = _median(opened, store, True)
    for name, taken in seconds.items():
        print(f"{name:20} {taken:6.2f} s, {taken / seconds['evaluated']:.3f} of the evaluation")


def _alone(act: Callable[..., _T], *arguments: object) -> _T:
    """In a process of its own, so that no other work has left anything in its memory."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(act, *arguments).result()


def _median(act: Callable[..., float], *arguments: object) -> float:
    return statistics.median(_alone(act, *arguments) for _ in range(3))


def made(store: Path, facts: int) -> str:
    """Make the store; says what it has."""
    with holdfast.from_text(PROGRAM, given(facts), store=store) as kb:
        sizes = f"{sum(kb.sizes().values()):,} facts, {kb.statistics.facts:,} of them explicit"
    size = sum(path.stat().st_size for path in (store / "derived").rglob("*") if path.is_file())
    return f"{sizes}; a cache of {size >> 20} MiB"


def evaluated(facts: int) -> float:
    """The seconds of an evaluation, with the encoding of the facts."""
    data, begun = given(facts), time.process_time()
    holdfast.from_text(PROGRAM, data)
    return time.process_time() - begun


def opened(store: Path, read_only: bool = False) -> float:
    """The seconds of opening the store; read-only, no cache is written."""
    begun = time.process_time()
    with holdfast.open(store, read_only=read_only):
        return time.process_time() - begun


def given(facts: int) -> dict[str, dict[str, np.ndarray]]:
    chance, half = np.random.default_rng(1), facts // 2
    return {
        "member": {"u": np.arange(half), "g": chance.integers(0, half // 100 + 1, half)},
        "grant": {"g": np.arange(half // 100), "d": chance.integers(0, 1000, half // 100)},
        "blocked": {"u": np.arange(0, half, 17)},
        "link": {"x": chance.integers(0, half, half), "y": chance.integers(0, half, half)},
        "root": {"x": np.arange(10)},
    }


if __name__ == "__main__":
    main()
