"""`make fuzz`: random programs over the whole grammar, then random scripts, each for half of the time.

A failing one is named by its seed; a script is cut down and printed.
"""

from __future__ import annotations

import argparse
import time

from ..grammar import fuzz as grammar
from .runs import smallest_failure, steps_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.equivalence.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each run takes the next one")
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on; 0 for one run only")
    options = parser.parse_args()
    if grammar.run(options.seed, options.seconds / 2)[1] is not None:
        return 1
    begun, seed, steps = time.monotonic(), options.seed, 0
    while True:
        try:
            steps += steps_of(seed)
        except Exception as error:
            report(seed, error)
            return 1
        seed += 1
        if time.monotonic() - begun > options.seconds / 2:
            print(f"{steps:,} updates agree, seeds {options.seed} to {seed - 1}")
            return 0


def report(seed: int, error: Exception) -> None:
    print(f"seed {seed} fails: {type(error).__name__}: {error}\ncutting it down …", flush=True)
    script, how = smallest_failure(seed)
    print(f"{script}\n\n{how}\nagain with: make fuzz SEED={seed} SECONDS=0")


if __name__ == "__main__":
    raise SystemExit(main())
