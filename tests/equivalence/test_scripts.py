"""Random scripts: with those of closures 20,000 updates, compared with from-scratch evaluation, some with the oracle.

Every algorithm takes part, the same one all the way, another one each step, another one for each predicate; both ways
to take rules out; and one lane of each script has its rules and their bodies in another order.
"""

from __future__ import annotations

from itertools import count

import pytest

from . import test_modules as closures
from .runs import steps_of

PARTS, STEPS = 23, 800


@pytest.mark.parametrize("part", range(PARTS))
def test_maintenance_agrees_with_evaluation_from_scratch(part: int) -> None:
    seeds, steps = count(part * 1_000), 0
    while steps < STEPS:
        seed = next(seeds)
        try:
            steps += steps_of(seed)
        except Exception as error:
            error.add_note(f"again and cut down: make fuzz SEED={seed} SECONDS=0")
            raise


def test_there_are_enough_steps() -> None:
    assert PARTS * STEPS + closures.PARTS * closures.STEPS >= 20_000
