"""A clock that goes by chance: what `auto` does on a slow machine, or a busy one, is met on any.

`auto` abandons an algorithm, recomputes, prefers rules to modules and does without ranks by the seconds that updates
take, and does so only where there are many facts.  Under this clock any of that happens at any point of a run with few
facts, and the same seed does it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

from holdfast.maintenance.watch import Stopwatch

LOW: Mapping[str, tuple[float, ...]] = {  # numbers of facts and seconds from which on something is done, usually many
    "choose._MANY": (1,),
    "choose._PLENTY": (1, 4),
    "choose._MANY_INSTANCES": (1,),
    "walk.MANY_GONE": (0, 10_000),
    "choose.MANY_GONE": (0, 10_000),
    "budget._FEW": (1, 10_000),
    "dred_ranked._MANY": (1, 8),
    "dred_ranked._MOST": (1, 16),
    "rivals._LEAST_PRICE": (0.0, 0.05),
    "seminaive._TOGETHER": (0, 2, 64),
}


def clock(dice: Random) -> Callable[[], float]:
    """It goes on by some microseconds, or by up to ten seconds, whenever it is read."""
    now, slow = 0.0, dice.choice((0.02, 0.1, 0.4))

    def read() -> float:
        nonlocal now
        now += 10 ** dice.uniform(-2, 1) if dice.random() < slow else 1e-5
        return now

    return read


@contextmanager
def by_chance(seed: int) -> Iterator[None]:
    """All that is chosen by the clock, or by how much there is, is chosen by chance."""
    dice = Random(seed)
    with patch.multiple(Stopwatch, clock=(read := clock(dice)), processor=read):
        patches = [patch(f"holdfast.maintenance.{name}", dice.choice(low)) for name, low in LOW.items()]
        patches.append(patch("holdfast.backends.memory.scratch.ENOUGH", dice.choice((1, 50_000))))
        patches.append(patch("holdfast.backends.memory.statistics.TableStatistics.many", dice.choice((0.0, 5.0, 1e5))))
        patches.append(patch("holdfast.backends.memory.execution.groups._ENOUGH", dice.choice((1, 64))))
        patches.append(patch("holdfast.plans.planner._LATE", dice.choice((0, 1, 4))))
        for one in patches:
            one.start()
        try:
            yield
        finally:
            for one in patches:
                one.stop()
