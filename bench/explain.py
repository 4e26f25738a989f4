"""`python -m bench.explain`: what explanations cost on about a million facts, in milliseconds of processor time."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from random import Random
from statistics import median

import holdfast
from holdfast.explanations.proof import fact_text

PEOPLE, FEW, ASKED = 75_000, 8, 60
LINEAR = "above(x, y) :- boss(x, y).  above(x, z) :- above(x, y), boss(y, z)."
DOUBLE = "above(x, y) :- boss(x, y).  above(x, z) :- above(x, y), above(y, z)."


def edges(dice: Random) -> list[tuple[int, int]]:
    """A tree of people, each below one of the last ones before, so that ways up are long."""
    return [(n, dice.randrange(max(0, n // 2), n)) for n in range(1, PEOPLE)]


def measured(ask: Callable[[str], object], facts: list[str]) -> dict[str, float]:
    """The first question, which builds indexes, and the median and the 99th percentile of the others."""
    took = []
    for fact in facts:
        start = time.process_time()
        ask(fact)
        took.append(1000 * (time.process_time() - start))
    rest = sorted(took[1:])
    return {"first": took[0], "median": median(rest), "p99": rest[int(0.99 * len(rest))], "worst": rest[-1]}


def main() -> int:
    """Measure, and print a line of JSON for each case."""
    for name, rules, modules in (
        ("linear", LINEAR, ()),
        ("linear, module", LINEAR, None),
        ("double, module", DOUBLE, None),
    ):
        dice = Random(1)
        more = {} if modules is None else {"modules": modules}
        kb = holdfast.from_text(rules, facts={"boss": edges(dice)}, **more)
        pairs = [dice.randrange(1, PEOPLE) for _ in range(ASKED)]
        hold = [fact_text(("above", (x, 0))) for x in pairs]
        absent = [fact_text(("above", (0, x))) for x in pairs]
        other = [fact_text(("above", (x, x + 1))) for x in pairs]
        for question, ask, facts in (
            ("why", kb.why, hold),
            ("why-not", kb.why_not, absent),
            ("why-not, far up", kb.why_not, other),
        ):
            print(
                json.dumps({"case": name, "facts": sum(kb.sizes().values()), "ask": question, **measured(ask, facts)})
            )
        for step in range(FEW):
            kb.apply(
                holdfast.Update(
                    delete={
                        "boss": [
                            next(iter(kb.query(f"boss({100 + step}, x)")))
                            and (100 + step, next(iter(kb.query(f"boss({100 + step}, x)")))[0])
                        ]
                    }
                )
            )
        hold = [fact_text(("above", (x, y))) for x in pairs for (y,) in list(kb.query(f"above({x}, y)"))[-1:]]
        print(json.dumps({"case": name, "ask": "why, after updates", **measured(kb.why, hold)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
