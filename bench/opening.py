"""Opening a store from its cache beside evaluating its program: `python -m bench.opening --facts 1000000`.

Seconds are those of the processor, since reading files waits for nothing else when they are in memory.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

import holdfast

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
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        measure(Path(folder) / "kb", asked.facts)


def measure(store: Path, facts: int) -> None:
    """Make a store, then open it with a cache and without."""
    begun = time.process_time()
    with holdfast.from_text(PROGRAM, given(facts), store=store) as kb:
        sizes = kb.sizes()
        print(f"{sum(sizes.values()):,} facts, {kb.statistics.facts:,} of them explicit")
        print(f"made in {time.process_time() - begun:.2f} s", flush=True)
    cached = opened(store, sizes)
    size = sum(path.stat().st_size for path in (store / "derived").rglob("*") if path.is_file())
    print(f"opened with a cache of {size >> 20} MiB in {cached:.2f} s")
    shutil.rmtree(store / "derived")
    anew = opened(store, sizes, read_only=True)
    print(f"opened without in {anew:.2f} s: {anew / cached:.1f} times")


def opened(store: Path, sizes: dict[str, int], *, read_only: bool = False) -> float:
    begun = time.process_time()
    with holdfast.open(store, read_only=read_only) as kb:
        seconds = time.process_time() - begun
        assert kb.sizes() == sizes
    return seconds


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
