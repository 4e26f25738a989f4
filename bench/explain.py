"""`python -m bench.explain`: what explanations cost on about a million facts, in milliseconds of processor time."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from random import Random
from statistics import median

import holdfast
from holdfast.modules import MODULES

PEOPLE, ASKED, UPDATES = 30_000, 40, 50
LINEAR = "above(x, y) :- boss(x, y).  above(x, z) :- above(x, y), boss(y, z)."
DOUBLE = "above(x, y) :- boss(x, y).  above(x, z) :- above(x, y), above(y, z)."
CASES = (("linear", LINEAR, ()), ("linear, module", LINEAR, MODULES), ("double, module", DOUBLE, MODULES))


def edges(dice: Random) -> list[tuple[int, int]]:
    """A tree of people, each below one of the last ones before, so that ways up are long."""
    return [(n, dice.randrange(n // 2, n)) for n in range(1, PEOPLE)]


def measured(ask: Callable[[str], object], facts: list[str]) -> dict[str, float]:
    """The first question, which builds indexes, and the median and the 99th percentile of the others."""
    took = []
    for fact in facts:
        start = time.process_time()
        ask(fact)
        took.append(1000 * (time.process_time() - start))
    rest = sorted(took[1:])
    return {"first": took[0], "median": median(rest), "p99": rest[int(0.99 * len(rest))]}


def main() -> int:
    """Measure, and print a line of JSON for each case."""
    for name, rules, modules in CASES:
        dice = Random(1)
        boss = edges(dice)
        kb = holdfast.from_text(rules, facts={"boss": boss}, modules=modules)
        people = [dice.randrange(PEOPLE // 2, PEOPLE - 1) for _ in range(ASKED)]
        shown = {"case": name, "facts": sum(kb.sizes().values())}
        print(json.dumps({**shown, "ask": "why", **measured(kb.why, [f"above({x}, 0)" for x in people])}), flush=True)
        missing = [f"above({x}, {x + 1})" for x in people]
        print(json.dumps({**shown, "ask": "why-not", **measured(kb.why_not, missing)}), flush=True)
        for pair in dice.sample(boss[PEOPLE // 2 :], UPDATES):
            kb.apply(holdfast.Update(delete={"boss": [pair]}, insert={"boss": [(pair[0], 0)]}))
        after = measured(kb.why, [f"above({x}, 0)" for x in people])
        print(json.dumps({**shown, "ask": f"why, after {UPDATES} updates", **after}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
