"""`make fuzz`: random programs over the whole grammar, then random scripts of every kind, each for half of the time.

A failing one is named by its kind and seed; a script is cut down and printed.  Two of three seeds lower thresholds.
"""

from __future__ import annotations

import argparse
import time
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import count
from random import Random
from typing import Any

import holdfast

from .. import amounts
from ..grammar import fuzz as grammar
from ..thresholds import lowered
from .runs import KINDS, Kind


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.equivalence.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each run takes the next one")
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on; 0 for one run only")
    parser.add_argument("--only", choices=[kind.name for kind in KINDS], help="scripts of one kind")
    parser.add_argument("--engine", default="memory", help="what maintains the scripts: memory, parted[3] …")
    parser.add_argument("--every", type=int, default=1_000, help="print a line after so many seeds")
    options = parser.parse_args()
    if options.engine != "memory":
        on_engine(options.engine)
    if (
        options.only is None
        and options.engine == "memory"
        and grammar.run(options.seed, options.seconds / 2)[1] is not None
    ):
        return 1
    seconds = options.seconds if options.only else options.seconds / 2
    kinds = [kind for kind in KINDS if options.only in (None, kind.name)]
    begun, steps = time.monotonic(), 0
    for seed in count(options.seed):
        for kind in kinds:
            try:
                with thresholds(seed):
                    steps += kind.steps(seed)
            except Exception as error:
                with thresholds(seed) as low:
                    report(kind, seed, error)
                print(f"lower: {low}")
                return 1
        is_last = time.monotonic() - begun > seconds
        if is_last or (seed + 1 - options.seed) % options.every == 0:
            names = ", ".join(kind.name for kind in kinds)
            took = f"{time.process_time():.0f} CPU s"
            print(f"{steps:,} updates agree, seeds {options.seed} to {seed} of {names}, {took}", flush=True)
        if is_last:
            break
    return 0


def thresholds(seed: int) -> AbstractContextManager[Any]:
    """What is lower for a seed."""
    return lowered(Random(seed)) if seed % 3 else nullcontext()


def on_engine(engine: str) -> None:
    """Programs that say nothing about their engine have this one; the reference stays in memory."""
    amounts.ENGINE = engine.partition("[")[0]
    for name in ("from_text", "open"):
        setattr(holdfast, name, partial(getattr(holdfast, name), engine=engine))


def report(kind: Kind, seed: int, error: Exception) -> None:
    print(f"seed {seed} of {kind.name} fails: {type(error).__name__}: {error}\ncutting it down …", flush=True)
    script, how = kind.smallest_failure(seed)
    print(f"{script}\n\n{how}\nagain with: {kind.again(seed)}")


if __name__ == "__main__":
    raise SystemExit(main())
