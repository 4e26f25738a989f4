"""Random programs with limit relations under random updates of facts and rules, each state and each net change against
naive evaluation; `what_if` leaves no trace, and neither does an update that is refused or has no end.

What this cannot catch: anything that needs more than a few facts, and Spark (`test_engines.py` has little of it).
"""

from __future__ import annotations

from collections import Counter

import pytest

from ..amounts import some
from ..backends.model import ModelBackend
from .running import Run
from .scripts import paths_script, random_script, supporting_script

ENGINES = {"memory": "memory", "model": ModelBackend}

SHAPES = (
    "came back",
    "circles of 0",
    "closure",
    "comparison",
    "group gone",
    "limit column first",
    "limits: min or max in its heads; every offer moves with its values",
    "limits: min or max in its heads; no offer is better than what it is made of",
    "limits: min or max in its heads; not recursive",
    "limits: min or max in its heads; recomputed, since an offer may be better than what it is made of",
    "limits: min or max in its heads; recomputed, since open is no limit relation",
    "limits: min or max in its heads; recomputed, since they were not there before",
    "recompute: min or max in its heads before",
    "negated atom",
    "no end: E0704",
    "overdeleted",
    "ranked",
    "refused",
    "rule changes",
    "two recursive atoms",
    "value changed",
)


@pytest.mark.only_in_memory("has its own engines")
def test_random_scripts_agree_with_naive_evaluation() -> None:
    met = Counter[str]()
    for seed in range(some(150)):
        met.update(Run(random_script(seed)).all())
    missing = [shape for shape in SHAPES if not met[shape]]
    assert not missing, dict(met)


@pytest.mark.only_in_memory("has its own engines")
def test_random_scripts_on_the_model_agree_with_naive_evaluation() -> None:
    for seed in range(1_000, 1_000 + some(50)):
        Run(random_script(seed), ModelBackend).all()


@pytest.mark.only_in_memory("has its own engines")
@pytest.mark.parametrize("engine", ENGINES)
def test_paths_agree_with_naive_evaluation(engine: str) -> None:
    met = Counter[str]()
    for seed in range(some(60)):
        met.update(Run(paths_script(seed), ENGINES[engine]).all())
    assert met["no end: E0704"], dict(met)
    assert met["overdeleted"] > met["came back"] > 0, dict(met)


@pytest.mark.only_in_memory("has its own engines")
@pytest.mark.parametrize("engine", ENGINES)
def test_facts_that_support_each_other_agree_with_naive_evaluation(engine: str) -> None:
    met = Counter[str]()
    for seed in range(some(60)):
        met.update(Run(supporting_script(seed), ENGINES[engine]).all())
    assert sum(count for shape, count in met.items() if "recomputed" in shape) > some(20), dict(met)


@pytest.mark.only_in_memory("has its own engines")
def test_recomputing_agrees_too() -> None:
    for seed in range(some(30)):
        Run(random_script(seed), "memory", "recompute").all()
