"""Random programs and texts for as long as one likes: `python -m tests.grammar.fuzz --seed 1 --seconds 1200`."""

from __future__ import annotations

import argparse
import time
from collections import Counter

import holdfast

from .corrupt import corrupted
from .judge import judge, judge_text
from .programs import program


def judged(seed: int) -> list[str]:
    """Judge the program of a seed, and a text that is one no more; says how far each came."""
    came = judge_text(corrupted(seed))
    return [judge(program(seed)), "text ran" if isinstance(came, holdfast.KnowledgeBase) else f"text {came}"]


def run(seed: int, seconds: float) -> tuple[Counter[str], int | None]:
    """Judge seed after seed until the time is over; says what came how often, and which seed failed."""
    begun, came = time.monotonic(), Counter[str]()
    while True:
        try:
            came.update(judged(seed))
        except Exception as error:
            print(f"grammar seed {seed} fails: {type(error).__name__}: {ascii(str(error))[:2000]}", flush=True)
            print(f"again with: python -m tests.grammar.fuzz --seed {seed} --seconds 0")
            return came, seed
        seed += 1
        if time.monotonic() - begun > seconds:
            print(f"{came.total():,} programs and texts: {dict(came)}", flush=True)
            return came, None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.grammar.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    return int(run(options.seed, options.seconds)[1] is not None)


if __name__ == "__main__":
    raise SystemExit(main())
