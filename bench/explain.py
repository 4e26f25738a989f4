"""`python -m bench.explain`: what explanations cost on about a million facts, in milliseconds of processor time.

The last lines are ratios, measured in turn in one process: what a profile costs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from random import Random
from statistics import median

import holdfast
from holdfast.modules import MODULES

PEOPLE, ASKED, UPDATES = 30_000, 200, 1_000
LINEAR = "above(x, y) :- boss(x, y).  above(x, z) :- above(x, y), boss(y, z)."
DOUBLE = "above(x, y) :- boss(x, y).  above(x, z) :- above(x, y), above(y, z)."
CASES = (
    ("linear", LINEAR, PEOPLE, ()),
    ("linear, module", LINEAR, PEOPLE, MODULES),
    ("double, module", DOUBLE, PEOPLE, MODULES),
    ("large closure, module", DOUBLE, 4_700, MODULES),
)


def edges(dice: Random, people: int) -> list[tuple[int, int]]:
    """A tree of people, each below one of the last ones before, so that ways up are long."""
    if people < PEOPLE:  # nearly everybody is above everybody: 22 million pairs
        return [(n, dice.randrange(people)) for n in range(people) for _ in range(3)]
    return [(n, dice.randrange(n // 2, n)) for n in range(1, people)]


def measured(ask: Callable[[str], object], facts: Iterable[str]) -> dict[str, float]:
    """The first question, which builds indexes, and the median and the 99th percentile of the others."""
    took = []
    for fact in facts:
        start = time.process_time()
        ask(fact)
        took.append(1000 * (time.process_time() - start))
    rest = sorted(took[1:])
    return {"first": took[0], "median": median(rest), "p99": rest[int(0.99 * len(rest))], "asked": len(rest)}


def say(shown: dict[str, object], ask: str, figures: dict[str, float]) -> None:
    """A line of JSON."""
    rounded = {name: round(value, 2) for name, value in figures.items()}
    print(json.dumps({**shown, "ask": ask, **rounded}), flush=True)


def run_case(name: str, rules: str, people: int, modules: tuple[object, ...]) -> None:
    """Ask about one knowledge base, before and after updates."""
    dice = Random(1)
    boss = edges(dice, people)
    kb = holdfast.from_text(rules, facts={"boss": boss}, modules=modules)  # type: ignore[arg-type]
    asked = [dice.randrange(people // 2, people - 1) for _ in range(ASKED)]
    shown: dict[str, object] = {"case": name, "facts": sum(kb.sizes().values())}
    tops = [0 if people == PEOPLE else dice.randrange(x) for x in asked]
    facts = [f"above({x}, {top})" for x, top in zip(asked, tops, strict=True)]
    say(shown, "why", measured(kb.why, facts))
    if people < PEOPLE:
        return
    absent = [f"above({x}, {x + 1})" for x in asked]
    say(shown, "why-not", measured(kb.why_not, absent))
    say(shown, "why-not with its certificate", measured(lambda fact: kb.why_not(fact).to_json(), absent[:41]))  # type: ignore[union-attr]
    changes = [(pair, kb.what_if(holdfast.Update(delete={"boss": [pair]}))) for pair in dice.sample(boss, 41)]
    by_fact = {f"above({pair[0]}, {pair[1]})": change for pair, change in changes}
    say(shown, "change.why", measured(lambda fact: by_fact[fact].why(fact), by_fact))
    say(shown, "repair, unmake", measured(lambda fact: kb.repair(unmake=[fact], may_insert=()), facts[:21]))
    for pair in dice.sample(boss[PEOPLE // 2 :], UPDATES):
        kb.apply(holdfast.Update(delete={"boss": [pair]}, insert={"boss": [(pair[0], 0)]}))
    say(shown, f"why, after {UPDATES} updates", measured(kb.why, facts))


def profile_cost() -> None:
    """Evaluation and updates with and without a profile, in turn; the median of the ratios."""
    ratios: dict[str, list[float]] = {"evaluation": [], "updates": []}
    boss = edges(Random(1), PEOPLE)
    evaluated(boss, profile=True)
    for turn in range(14):
        took = {profile: evaluated(boss, profile=profile) for profile in (turn % 2 == 0, turn % 2 == 1)}
        for what, values in ratios.items():
            values.append(took[True][what] / took[False][what])
    for what, values in ratios.items():
        print(json.dumps({"profile costs": what, "ratio": round(median(values), 4)}), flush=True)


def evaluated(boss: list[tuple[int, int]], *, profile: bool) -> dict[str, float]:
    """Seconds of processor time."""
    start = time.process_time()
    kb = holdfast.from_text(LINEAR, facts={"boss": boss}, modules=(), profile=profile)
    middle = time.process_time()
    for pair in boss[-200:]:
        kb.apply(holdfast.Update(delete={"boss": [pair]}))
    return {"evaluation": middle - start, "updates": time.process_time() - middle}


def main() -> int:
    """Measure, and print a line of JSON for each case."""
    for case in CASES:
        run_case(*case)
    profile_cost()
    return 0


if __name__ == "__main__":
    sys.exit(main())
