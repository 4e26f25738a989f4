"""Closures of every shape, in every way, with and without modules: every state is judged by the oracle.

Each combination of the kinds of rules that a closure may have comes at least once here, and in each way in `make fuzz`.
"""

from __future__ import annotations

from collections import Counter

import pytest

from ..amounts import amount
from .closure_shapes import COMBINATIONS, Combination, Given, Link, Part, combination_of, drawn, shapes_in
from .runs import KINDS, SHAPES
from .shape_runs import rules_change, way_of

PARTS = 8
SEEDS = len(COMBINATIONS)
LEAST = 5  # scripts of the sample with each shape


@pytest.mark.parametrize("part", range(PARTS))
def test_closures_of_every_shape(part: int) -> None:
    for seed in range(part, amount(SEEDS, PARTS), PARTS):
        try:
            SHAPES.steps(seed)
        except Exception as error:
            error.add_note(f"again and cut down: {SHAPES.again(seed)}")
            raise


@pytest.mark.only_in_memory("only the memory engine has windows and marks")
def test_every_shape_comes() -> None:
    """In the sample each shape in several scripts, each combination in one, and each of them in each way in `make
    fuzz`."""
    sample: Counter[Part | Link | Given | Combination] = Counter()
    for seed in range(SEEDS):
        sample.update(shapes_in(*drawn(seed, rules_change=rules_change(seed))))
    assert {shape: sample[shape] for shape in (*Part, *Link, *Given) if sample[shape] < LEAST} == {}
    assert [combination for combination in COMBINATIONS if not sample[combination]] == []
    assert len({(combination_of(seed), way_of(seed)) for seed in range(3 * SEEDS)}) == 3 * SEEDS
    assert SHAPES in KINDS
