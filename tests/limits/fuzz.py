"""Random programs with limit relations under random updates, for as long as one likes.

    python -m tests.limits.fuzz [--seed N] [--seconds N] [--only KIND]

A failing script is named by its kind and seed, and the next ones are run too.  Two of three seeds lower thresholds.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from random import Random

from ..thresholds import lowered
from .forms import Form
from .judged import Judged
from .running import Run
from .scripts import paths_script, random_script, supporting_script
from .sums import sums_script
from .wide import wide_script

KINDS: dict[str, Callable[[int], Counter[str]]] = {
    "random": lambda seed: Run(random_script(seed)).all(),
    "paths": lambda seed: Run(paths_script(seed)).all(),
    "supporting": lambda seed: Run(supporting_script(seed)).all(),
    "wide": lambda seed: Judged(wide_script(seed), seed).all(),
    "sums": lambda seed: Judged(sums_script(seed), seed).all(),
    "forms": lambda seed: Judged(script := wide_script(seed), seed, form=Form(script, Random(seed))).all(),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.limits.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each run takes the next one")
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on; 0 for one run only")
    parser.add_argument("--only", choices=list(KINDS), help="scripts of one kind")
    options = parser.parse_args()
    kinds = [name for name in KINDS if options.only in (None, name)]
    begun, met, failed = time.monotonic(), Counter[str](), 0
    for seed in count(options.seed):
        for kind in kinds:
            try:
                with lowered(Random(seed)) if seed % 3 else nullcontext():
                    met.update(KINDS[kind](seed))
            except Exception as error:
                failed += 1
                print(f"seed {seed} of {kind} fails: {type(error).__name__}: {error}", flush=True)
        if time.monotonic() - begun > options.seconds:
            break
    for shape, number in sorted(met.items()):
        print(f"{number:9,} {shape}")
    print(f"seeds {options.seed} to {seed} of {', '.join(kinds)}: {failed} failed, {time.process_time():.0f} CPU s")
    return min(failed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
