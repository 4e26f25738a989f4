"""The tests bite: every deliberately broken copy of an algorithm is caught by a short run of the same property.

What is whole passes the same scripts, or a mutant would be caught by anything.
"""

from __future__ import annotations

from random import Random

import pytest

from holdfast.errors import HoldfastError

from .checking import run
from .lanes import STRATEGIES, Lane
from .mutants import MUTANTS, Mutant, broken
from .scripts import random_script

ENOUGH = 100  # scripts; most mutants are caught by one of the first ten


def caught(policy: str) -> int | None:
    """The first script that fails, be it that it breaks off."""
    for seed in range(ENOUGH):
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
        assert caught(mutant.policy) is not None


@pytest.mark.parametrize("policy", sorted({mutant.policy for mutant in MUTANTS}))
def test_what_is_whole_is_not_caught(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ENOUGH", 40)
    assert caught(policy) is None
