"""The tests bite: every deliberately broken copy of an algorithm is caught by a short run of the same property.

What is whole passes the same scripts, or a mutant would be caught by anything.
"""

from __future__ import annotations

from random import Random

import pytest

from holdfast.errors import HoldfastError
from holdfast.modules import MODULES

from .checking import run
from .glimpses import ALWAYS, overlapping
from .lanes import STRATEGIES, Lane
from .mutants import LOOKUP_MUTANTS, MARKS, MUTANTS, SHAPE_MUTANTS, STREAM_MUTANTS, WINDOW, Mutant, broken
from .runs import SHAPES
from .scripts import closure_writer, random_script
from .test_lookups import lookups_agree
from .test_marking import POLICIES, with_marks
from .test_window import in_windows

pytestmark = [
    pytest.mark.only_in_memory("that tests bite is shown once, by a hundred scripts for each mutant"),
    pytest.mark.many_cases,
]

ENOUGH = 100  # scripts
ALWAYS_STALE = -(10**9)  # values without edges that a closure has to spare
# `auto` chooses by the clock: what it catches once it may miss the next time.
REPEATABLE = tuple("dred-counting" if policy == "auto" else policy for policy in POLICIES)
# Those that catch most are tried first, without and with closures.
SHARP = {False: (0, 2, 8, 31, 29, 6), True: (1, 6, 3, 57, 7, 12, 10, 19)}


def caught(policy: str, modules: bool) -> int | None:
    """The first script that fails, be it that it breaks off."""
    for seed in dict.fromkeys((*SHARP[modules], *range(ENOUGH))):
        random = Random(seed)
        script = random_script(random, writer=closure_writer(random) if modules else None)
        try:
            number = (0, 3)[seed % 2] if modules else 0  # the other one looks facts up and never asks for counters
            lane = Lane(script, number, policy, STRATEGIES[0], modules=MODULES if modules else ())
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
        assert caught(mutant.policy, mutant.modules) is not None


@pytest.mark.parametrize(("policy", "modules"), sorted({(mutant.policy, mutant.modules) for mutant in MUTANTS}))
def test_what_is_whole_is_not_caught(policy: str, modules: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ENOUGH", 0)
    monkeypatch.setitem(SHARP, modules, SHARP[modules][:2])  # test_scripts has many more
    assert caught(policy, modules) is None


@pytest.mark.parametrize("mutant", LOOKUP_MUTANTS, ids=str)
def test_mutant_of_lookups_is_caught(mutant: Mutant) -> None:
    with broken(mutant), pytest.raises(AssertionError):
        for seed in range(20):
            lookups_agree(seed)


@pytest.mark.parametrize("mutant", SHAPE_MUTANTS, ids=str)
def test_mutant_of_closures_is_caught(mutant: Mutant) -> None:
    with broken(mutant):
        seeds = (mutant.hint, *range(ENOUGH))
        assert any(SHAPES.failure(SHAPES.script(seed), seed) for seed in seeds)


def test_what_is_whole_in_closures_is_not_caught() -> None:
    for seed in {mutant.hint for mutant in SHAPE_MUTANTS}:
        assert SHAPES.failure(SHAPES.script(seed), seed) is None


def caught_ahead(way: str, hint: int = 0, *, modules: bool = False) -> int | None:
    """The first stream that fails when what waits is looked at."""
    for seed in (hint, *range(ENOUGH)):
        random = Random(seed)
        writer = closure_writer(random) if modules else None
        script = overlapping(random_script(random, rules_change=way == MARKS and seed % 4 == 0, writer=writer), random)
        try:
            if way == MARKS:
                with_marks(script, REPEATABLE[seed % len(REPEATABLE)], ALWAYS, random)
            else:
                in_windows(script, random)
        except Exception:
            return seed
    return None


@pytest.mark.parametrize("mutant", STREAM_MUTANTS, ids=str)
def test_mutant_of_streams_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.backends.memory.store._FEW", 0)  # row ids change often
    if mutant.anew:
        monkeypatch.setattr("holdfast.modules.closure_state._SPARE", ALWAYS_STALE)
    with broken(mutant):
        assert caught_ahead(mutant.policy, mutant.hint, modules=mutant.modules) is not None


@pytest.mark.parametrize("way", [MARKS, WINDOW])
def test_what_is_whole_in_streams_is_not_caught(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ENOUGH", 4)
    assert caught_ahead(way) is None


def test_closures_that_begin_anew_are_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ENOUGH", 4)
    monkeypatch.setattr("holdfast.modules.closure_state._SPARE", ALWAYS_STALE)
    assert caught_ahead(WINDOW, 26, modules=True) is None
