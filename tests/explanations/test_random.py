"""Random programs, updates, algorithms and modules: what holds has a proof, what does not an absence.

What this cannot catch: a mistake in the meaning of written rules that the search shares with the checker, if the
engine's facts happen to agree with it.
"""

from __future__ import annotations

from random import Random

import pytest

from holdfast.errors import HoldfastError

from ..amounts import amount
from ..equivalence.checking import Course
from ..equivalence.runs import lanes_of, script_of
from .judging import judge


def explained(seed: int, steps: int, most: int) -> tuple[int, int]:
    """Run the script of a seed on its lanes, and explain facts of each after each update."""
    script, dice = script_of(seed), Random(seed)
    try:
        lanes = lanes_of(script, seed)
    except HoldfastError:
        return 0, 0
    course, proofs, absences = Course(script, lanes, 0.0), 0, 0
    for step in (None, *script.steps[:steps]):
        if step is not None:
            course.advance(step)
        lane = dice.choice(lanes)
        more = judge(lane.kb, dice, most)
        proofs, absences = proofs + more[0], absences + more[1]
    return proofs, absences


@pytest.mark.parametrize("kind", [1, -1], ids=["rules", "closures"])
def test_everything_is_explained(kind: int) -> None:
    done = [explained(kind * seed, 4, 2) for seed in range(1, 1 + amount(12, 3))]
    assert sum(proofs for proofs, _ in done) > 50
    assert sum(absences for _, absences in done) > 20
