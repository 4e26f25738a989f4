"""A script and its lanes from one number, and what is left of a script that fails when all is cut away that may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.knowledge.engines import EngineChoice
from holdfast.modules import MODULES

from .. import amounts
from ..clocks import by_chance
from .checking import run
from .lanes import POLICIES, STRATEGIES, Lane
from .scripts import Script, closure_writer, random_script, record_writer, shuffled, witness_writer
from .shape_runs import LANES as SHAPE_LANES
from .shape_runs import run_shaped
from .shape_runs import script_of as shaped_script
from .shard_runs import on_shards

LANES = 4  # of the nine policies, in each run


def script_of(seed: int) -> Script:
    """Scripts of closures have negative seeds."""
    random = Random(seed)
    return random_script(random, writer=closure_writer(random)) if seed < 0 else random_script(random)


def lanes_of(script: Script, seed: int, only: int | None = None, engine: EngineChoice | None = None) -> list[Lane]:
    """Lanes with different policies and modules; the first has its rules and their bodies in another order."""
    random = Random(seed + 1)
    policies = random.sample(POLICIES, LANES)
    lanes = []
    for number, policy in enumerate(policies):
        strategy, order = random.choice(STRATEGIES), shuffled(Random(seed)) if number == 0 else str
        rules = Random(seed).sample(script.rules, len(script.rules)) if number == 0 else script.rules
        modules = random.choice(((), MODULES, [module for module in MODULES if random.random() < 0.5]))
        if only in (None, number):
            lanes.append(
                Lane(
                    replace(script, rules=tuple(rules)), number, policy, strategy, order, engine=engine, modules=modules
                )
            )
    return lanes


def on_lanes(script: Script, seed: int, only: int | None = None, most: int | None = None) -> int:
    """Run a script on one lane or on all; gives the number of steps, none when the program itself is refused.

    Of two seeds, one has a clock that goes by chance.
    """
    with by_chance(seed) if seed % 2 else nullcontext():
        try:
            lanes = lanes_of(script, seed, only)
        except HoldfastError:
            return 0
        return run(script, lanes, most=most)


def steps_of(seed: int, most: int | None = None) -> int:
    """Run the script of a seed, on Spark on one lane only; gives the number of steps."""
    return on_lanes(script_of(seed), seed, Random(seed).randrange(LANES) if amounts.ENGINE == "spark" else None, most)


def take(steps: int, first_seed: int) -> None:
    """Run scripts from a seed on until there were so many steps."""
    for seed in count(first_seed):
        if steps <= 0:
            return
        try:
            steps -= steps_of(seed, steps)
        except Exception as error:
            kind, number = (KINDS[1], -seed - 1) if seed < 0 else (KINDS[0], seed)
            error.add_note(f"again and cut down: {kind.again(number)}")
            raise


@dataclass(frozen=True)
class Kind:
    """Random scripts of one kind, each from a number."""

    name: str
    script: Callable[[int], Script]
    run: Callable[[Script, int, int | None], int]  # on one lane or on all; gives the number of steps
    lanes: int

    def steps(self, seed: int) -> int:
        """Run the script of a seed; gives the number of steps."""
        return self.run(self.script(seed), seed, None)

    def again(self, seed: int) -> str:
        """How to see a seed fail once more."""
        return f"python -m tests.equivalence.fuzz --only {self.name} --seed {seed} --seconds 0"

    def failure(self, script: Script, seed: int, only: int | None = None) -> str | None:
        """How a script fails, on one lane or on all; None when it does not."""
        try:
            self.run(script, seed, only)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def smallest_failure(self, seed: int) -> tuple[Script, str]:
        """The script of a failing seed cut down, on one lane if one is enough, and how it fails."""
        script = self.script(seed)
        only = next((number for number in range(self.lanes) if self.failure(script, seed, number)), None)
        small = smallest(script, lambda smaller: self.failure(smaller, seed, only) is not None)
        return small, self.failure(small, seed, only) or "it does not fail again"


def _closures(script: Script, seed: int, only: int | None) -> int:
    return on_lanes(script, -seed - 1, only)


def script_of_records(seed: int) -> Script:
    """A script whose facts hold records and values of algebraic data types."""
    random = Random(seed)
    return random_script(random, writer=record_writer(random))


def script_of_witnesses(seed: int) -> Script:
    """A script whose rules use witnesses of min and max."""
    random = Random(seed)
    return random_script(random, writer=witness_writer(random))


RECORDS = Kind("records", script_of_records, on_lanes, LANES)
WITNESSES = Kind("witnesses", script_of_witnesses, on_lanes, LANES)
ON_SHARDS = Kind("shards", script_of, on_shards, LANES)
SHAPES = Kind("shapes", shaped_script, run_shaped, SHAPE_LANES)
KINDS = (
    Kind("rules", script_of, on_lanes, LANES),
    Kind("closures", lambda seed: script_of(-seed - 1), _closures, LANES),
    SHAPES,
    RECORDS,
    WITNESSES,
    ON_SHARDS,
)
"""All that `make fuzz` runs: any rules, closures beside any rules, closures of every shape in every way, records,
witnesses of min and max, any rules on shards."""


# --- cutting down ------------------------------------------------------------------------------------


def smallest(script: Script, fails: Callable[[Script], bool]) -> Script:
    """A script of which nothing more can be left out without losing the failure."""
    again = True
    while again:
        again = False
        for smaller in _smaller(script):
            if fails(smaller):
                script, again = smaller, True
                break
    return script


def _smaller(script: Script) -> Iterator[Script]:
    steps = script.steps
    yield from (replace(script, steps=steps[:n]) for n in (len(steps) // 2, len(steps) - 1) if n < len(steps))
    yield from (replace(script, steps=(*steps[:i], *steps[i + 1 :])) for i in range(len(steps)))
    yield from (replace(script, rules=left) for left in _without_one(script.rules))
    yield from (replace(script, facts=left) for left in _without_one(script.facts))
    for i, step in enumerate(steps):
        for part in ("delete", "insert", "add", "remove"):
            for left in _without_one(getattr(step, part)):
                yield replace(script, steps=(*steps[:i], replace(step, **{part: left}), *steps[i + 1 :]))


def _without_one(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if len(items) > 3:
        yield items[: len(items) // 2]
        yield items[len(items) // 2 :]
    for i in range(len(items)):
        yield (*items[:i], *items[i + 1 :])
