"""`python -m tests.atomic.signalled --seed N --updates N`: real signals at random moments, on tables that grow.

A thread sends SIGINT to this process while an update is applied.  After each, the state is the old one or the new one,
and now and then everything agrees with an evaluation from scratch.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.modules import MODULES
from holdfast.values import Row

from .judging import judge, sound

PROGRAM = """
hop(x, y) :- edge(x, y), !closed(y).
two(x, z) :- hop(x, y), hop(y, z).
reach(x, y) :- hop(x, y).
reach(x, z) :- reach(x, y), hop(y, z).
name(cat("n", to_string(x))) :- edge(x, _).
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
"""
CLOSURE = """
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), reach(y, z).
seen(y) :- closed(x), reach(x, y).
"""
NODES = 4_000


class Killer:
    """Sends one signal some time after it was armed, unless it is disarmed before."""

    def __init__(self) -> None:
        self.seconds, self.sent = 0.0, 0
        self._armed, self._idle = threading.Event(), threading.Event()
        self._idle.set()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self._armed.wait()
            self._armed.clear()
            time.sleep(self.seconds)
            os.kill(os.getpid(), signal.SIGINT)
            self.sent += 1
            self._idle.set()

    def arm(self, seconds: float) -> None:
        self.seconds = seconds
        self._idle.clear()
        self._armed.set()

    def wait(self) -> None:
        """Until the signal has come."""
        self._idle.wait()
        time.sleep(0)


def random_update(dice: Random, edges: int) -> Update:
    def some(most: int) -> list[tuple[int, int]]:
        return [(x := dice.randrange(NODES), (x + dice.randrange(1, 40)) % NODES) for _ in range(dice.randrange(most))]

    return Update(insert={"edge": some(edges), "closed": [(dice.randrange(NODES),)]}, delete={"edge": some(edges)})


def actions(kb: KnowledgeBase, dice: Random) -> tuple[Callable[[], object], Sequence[Update]]:
    """Something to interrupt, and the updates that it makes, all or none."""
    update = random_update(dice, dice.choice([3, 30, 600]))
    algorithm = dice.choice(["auto", "dred", "backward-forward", "dred-counting", "dred-ranked", "recompute"])
    match dice.randrange(7):
        case 0:
            several = [update, random_update(dice, 20), random_update(dice, 20)]
            return lambda: kb.apply_all(several), several
        case 1:
            return lambda: kb.what_if(update), ()
        case 2:
            return lambda: set(kb.query(f"reach({dice.randrange(NODES)}, y), edge(y, z)")), ()
        case 3:
            rule = f"extra{dice.randrange(9)}(x, y) :- edge(x, y), x < {dice.randrange(NODES)}."
            changed = Update(add_rules=[rule], insert=update.insert)
            return lambda: kb.apply(changed), [changed]
        case _:
            return lambda: kb.apply(update, algorithm=algorithm), [update]


def explicit_of(kb: KnowledgeBase) -> dict[str, set[Row]]:
    return {name: set(kb.explicit(name)) for name in ("edge", "closed")}


def after(facts: dict[str, set[Row]], updates: Sequence[Update]) -> dict[str, set[Row]]:
    """The explicit facts after some updates."""
    for update in updates:
        facts = {
            name: rows.difference(update.delete.get(name, ())).union(update.insert.get(name, ()))  # type: ignore[arg-type]
            for name, rows in facts.items()
        }
    return facts


def run(seed: int, updates: int, modules: Sequence[str]) -> tuple[int, int]:
    """Gives how many signals were sent, and how many updates they kept from being made."""
    dice, killer, took, kept_off = Random(seed), Killer(), 0.002, 0
    kb = _opened(dice, modules)
    for number in range(updates):
        before, (action, made) = explicit_of(kb), actions(kb, dice)
        begun = time.perf_counter()
        with suppress(KeyboardInterrupt):
            try:
                killer.arm(dice.random() * took * 1.2)
                action()
            finally:
                took = 0.7 * took + 0.3 * (time.perf_counter() - begun)
                killer.wait()
        sound(kb)
        found, new = explicit_of(kb), after(before, made)
        assert found in (before, new), f"neither the old state nor the new one, seed {seed}, update {number}"
        kept_off += found != new
        if number % 20 == 19:
            judge(kb)
        if len(kb.relations) > 12:
            kb = _opened(dice, modules)
    judge(kb, (random_update(dice, 30),))
    return killer.sent, kept_off


def _opened(dice: Random, modules: Sequence[str]) -> KnowledgeBase:
    return holdfast.from_text(CLOSURE if modules else PROGRAM, _facts(dice), modules=modules)


def _facts(dice: Random) -> dict[str, list[tuple[int, ...]]]:
    return {"edge": [(x, (x + dice.randrange(1, 30)) % NODES) for x in range(0, NODES, 7)], "closed": [(0,), (7,)]}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.atomic.signalled", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--updates", type=int, default=100)
    options = parser.parse_args()
    faulthandler.enable()
    for modules in ((), MODULES):
        sent, kept_off = run(options.seed, options.updates, modules)
        print(f"{sent} signals, {kept_off} updates not made, {'with' if modules else 'without'} modules", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
