"""The tests bite: every deliberately broken copy of an algorithm is caught by a short run of the same property."""

from __future__ import annotations

from random import Random

import pytest

from holdfast.errors import HoldfastError

from .checking import run
from .lanes import STRATEGIES, Lane
from .mutants import MUTANTS, Mutant, broken
from .scripts import random_script

ENOUGH = 60  # scripts; most mutants are caught by one of the first ten


def caught(policy: str, first: int = 0) -> int | None:
    """The first script that fails, be it that it breaks off."""
    for seed in range(first, first + ENOUGH):
        script = random_script(Random(seed))
        try:
            lane = Lane(script, 0, policy, STRATEGIES[0])
        except HoldfastError:
            continue  # an unsound program
        try:
            run(script, [lane], oracle=0)
        except Exception:
            return seed
    return None


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutant_is_caught(mutant: Mutant) -> None:
    with broken(mutant):
        assert caught(mutant.policy, mutant.seed) is not None
