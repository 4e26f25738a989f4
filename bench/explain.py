"""`python -m bench.explain`: what explanations cost on about a million facts, in milliseconds of processor time.

The last lines are ratios, measured in turn in one process: what a profile costs; `python -m bench.explain profile`
has only them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from random import Random
from statistics import median

import holdfast
from bench.durable import PROGRAM as ACCESS
from bench.graphs import Facts, modules
from bench.workloads import POINTS_TO
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
    """What a profile costs: processor time with one over that without, in turn in one process."""
    boss = edges(Random(1), PEOPLE)
    few = [("boss", pair) for pair in boss[-UPDATES // 5 :]]
    statements = modules(20)
    many = [(name, row) for name, rows in statements.items() for row in rows]
    members = [("member", (n, n % 100)) for n in range(10_000)]
    access = {"member": [row for _, row in members], "grant": [(n, n % 7) for n in range(100)], "blocked": [(0,)]}
    cases = (
        (ACCESS, access, members, 10, UPDATES, "auto", 10),
        (LINEAR, {"boss": boss}, few, 1, UPDATES // 5, "auto", 10),
        (POINTS_TO, statements, many, UPDATES // 5, 4, "dred-ranked", 6),
        (POINTS_TO, statements, many, UPDATES // 5, 4, "dred", 6),
    )
    for rules, facts, changed, size, number, algorithm, turns in cases:
        chosen = Random(2).sample(changed, min(len(changed), number * size))
        updates = [updated(chosen[at : at + size]) for at in range(0, len(chosen), size)]
        ratios = [compared(rules, facts, updates, algorithm, turn % 2 == 0) for turn in range(turns)]
        for what, values in zip(
            ("evaluation", f"updates of {size}, {algorithm}"), zip(*ratios, strict=True), strict=True
        ):
            print(json.dumps({"profile costs": what, "ratio": round(median(values), 4)}), flush=True)


def updated(facts: list[tuple[str, tuple[int, ...]]]) -> holdfast.Update:
    """The deletion of some facts."""
    gone: dict[str, list[tuple[int, ...]]] = {}
    for name, row in facts:
        gone.setdefault(name, []).append(row)
    return holdfast.Update(delete=gone)


def compared(
    rules: str, facts: Facts, updates: list[holdfast.Update], algorithm: str, profile_first: bool
) -> tuple[float, float]:
    """Evaluation, and updates and their inverses one by one: with a profile over without."""
    took = {True: [0.0, 0.0], False: [0.0, 0.0]}
    kbs = {}
    for profile in (profile_first, not profile_first):
        start = time.process_time()
        kbs[profile] = holdfast.from_text(rules, facts=facts, modules=(), profile=profile)
        took[profile][0] = time.process_time() - start
    for turn, update in enumerate(updates):
        for change in (update, holdfast.Update(insert=update.delete)):
            for profile in (turn % 2 == 0, turn % 2 == 1):
                start = time.process_time()
                kbs[profile].apply(change, algorithm=algorithm)
                took[profile][1] += time.process_time() - start
    return took[True][0] / took[False][0], took[True][1] / took[False][1]


def main() -> int:
    """Measure, and print a line of JSON for each case."""
    for case in () if "profile" in sys.argv[1:] else CASES:
        run_case(*case)
    profile_cost()
    return 0


if __name__ == "__main__":
    sys.exit(main())
