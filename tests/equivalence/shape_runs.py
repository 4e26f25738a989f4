"""Scripts of closures of every shape, run in every way: update by update on several lanes, in windows, with marks.

Every state is judged by the oracle.  The ways take turns, so that within six thousand seeds each combination of rules
goes each way.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from random import Random

from holdfast.errors import HoldfastError
from holdfast.modules import MODULES, Module

from .. import amounts
from .checking import run
from .closure_shapes import drawn
from .glimpses import MOMENTS, overlapping
from .lanes import POLICIES, STRATEGIES, Lane
from .scripts import Script, shuffled
from .test_marking import POLICIES as WITH_MARKS
from .test_marking import with_marks
from .test_window import in_windows

LANES = 2


class Way(Enum):
    """How the updates of a script are applied."""

    SINGLE = "one by one"
    WINDOWS = "in windows"
    MARKS = "with marks"


def way_of(seed: int) -> Way:
    """Only the memory engine has windows and marks."""
    return tuple(Way)[seed % 3] if amounts.ENGINE == "memory" else Way.SINGLE


def rules_change(seed: int) -> bool:
    """They do not in windows."""
    return way_of(seed) is not Way.WINDOWS


def script_of(seed: int) -> Script:
    """The script of a number, such as suits the way it goes."""
    script = drawn(seed, rules_change=rules_change(seed))[0]
    return overlapping(script, Random(seed)) if way_of(seed) is Way.MARKS else script


def some_modules(random: Random) -> Sequence[Module]:
    """All, none, or some."""
    return random.choice((MODULES, (), [module for module in MODULES if random.random() < 0.5]))


def lanes_of(script: Script, seed: int, only: int | None = None) -> list[Lane]:
    """What one gets by default, and another one, with the bodies of its rules in another order."""
    random = Random(seed)
    number = random.choice((1, 3))  # 3 looks facts up and never asks for counters
    policy, strategy, modules = random.choice(POLICIES), random.choice(STRATEGIES), some_modules(random)
    makers = (
        partial(Lane, script, number, "auto", "counters"),
        partial(Lane, script, 0, policy, strategy, shuffled(random), modules=modules),
    )
    return [make() for place, make in enumerate(makers) if only in (None, place)]


def run_shaped(script: Script, seed: int, only: int | None = None) -> int:
    """Run a script the way of its seed, on one lane or on all if there are several; gives how often an update was
    applied and compared, not at all if the program is refused."""
    random, way = Random(seed), way_of(seed)
    if way is Way.SINGLE:
        try:
            lanes = lanes_of(script, seed, only)
        except HoldfastError:
            return 0  # an unsound program
        return run(script, lanes, oracle=1.0)
    if way is Way.WINDOWS:
        return in_windows(script, random, modules=random.choice((MODULES, MODULES, ())), oracle=True)
    with_marks(
        script, random.choice(WITH_MARKS), random.choice(MOMENTS), random, modules=some_modules(random), oracle=1.0
    )
    return len(script.steps)
