"""Random scripts: with those of closures 2,400 updates, compared with from-scratch evaluation, some with the oracle.

Every algorithm takes part, the same one all the way, another one each step, another one for each predicate; both ways
to take rules out; and one lane of each script has its rules and their bodies in another order.
"""

from __future__ import annotations

import pytest

from ..amounts import amount, some
from . import test_modules as closures
from .runs import RECORDS, take

PARTS, STEPS = 4, 400


@pytest.mark.parametrize("part", range(PARTS))
def test_maintenance_agrees_with_evaluation_from_scratch(part: int) -> None:
    take(amount(some(STEPS), 2), part * 1_000)


@pytest.mark.parametrize("part", range(2))
def test_records_are_maintained(part: int) -> None:
    steps, seed = amount(some(200), 2), part * 1_000
    while steps > 0:
        steps -= RECORDS.steps(seed)
        seed += 1


def test_there_are_enough_steps() -> None:
    assert PARTS * STEPS + closures.PARTS * closures.STEPS >= 2_400
