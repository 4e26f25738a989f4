"""Random walks for as long as one likes; a failing one is named by its seed and printed as calls.

python -m tests.seams.fuzz [--seed N] [--seconds N] [--engine NAME]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from itertools import count

from .walks import Walk


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.seams.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each run takes the next one")
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on; 0 for one run only")
    parser.add_argument("--engine", help="memory, parted[3] …; by default either")
    parser.add_argument("--keep-going", action="store_true", help="go on after a failure")
    parser.add_argument("--refusals", action="store_true", help="print one refusal for each code")
    options = parser.parse_args()
    begun, done, failed = time.monotonic(), Counter[str](), 0
    refusals: dict[str, str] = {}
    for seed in count(options.seed):
        walk = Walk(seed, options.engine)
        try:
            done += walk.run()
        except Exception as error:
            failed += 1
            calls = "\n".join(walk.log)
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:600]}")
            if not options.keep_going:
                print(calls)
                raise
        refusals |= walk.refusals
        if time.monotonic() - begun > options.seconds:
            break
    for what, number in sorted(done.items()):
        print(f"{number:>8,}  {what}")
    if options.refusals:
        print(*refusals.values(), sep="\n\n")
    print(f"seeds {options.seed} to {seed}, {failed} failed, {time.process_time():.0f} CPU s", flush=True)
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
