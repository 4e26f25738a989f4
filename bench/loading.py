"""How quickly a facts file comes in: `python -m bench.loading FOLDER`, where `edge.facts` has two numbers a line."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random

import holdfast
from bench.memory import own_peak
from bench.outcomes import Measured

PROGRAM = ".decl edge(x: number, y: number)\n.input edge\n"


def write(rows: int, folder: Path) -> None:
    """A facts file of so many different rows."""
    random = Random(8)
    lines = (f"{row}\t{random.randrange(1_000_000)}\n" for row in range(rows))
    (folder / "edge.facts").write_text("".join(lines), encoding="utf-8")


def main(folder: str) -> None:
    """Read and store the facts once; there is nothing to derive."""
    holdfast.from_text("ready(1).")
    begun = time.perf_counter()
    kb = holdfast.from_text(PROGRAM, facts=folder)
    seconds = time.perf_counter() - begun
    print(Measured(len(kb["edge"]), evaluation=0.0, load=seconds, peak=own_peak()).line())


if __name__ == "__main__":
    main(*sys.argv[1:])
