"""Every kind of explanation over shapes that the random scripts do not have: limits, records, RDF terms, components.

`explored` is also for long runs by hand: `python -m tests.explanations.test_shapes 600 1` goes on for so many seconds.
"""

from __future__ import annotations

import sys
import time
from random import Random

import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.explanations.terms import fact_text
from holdfast.knowledge.relations import written_name
from holdfast.modules import MODULES

from ..amounts import amount
from .judging import judge, missing
from .shapes import SHAPES, Shape
from .test_causes import judged, moved, undone
from .test_repair import as_edits, by_brute_force


def explored(name: str, seed: int) -> tuple[int, int, int]:
    """Explain facts after random updates; gives how many proofs and absences, causes and repairs were judged."""
    dice, shape = Random(f"{name} {seed}"), SHAPES[name]
    modules = dice.choice(((), MODULES))
    kb = holdfast.from_text(shape.rules, facts=shape.facts(dice, 5), modules=modules)
    explained, caused = sum(judge(kb, dice, 2)), 0
    for _ in range(3):
        update = shape.update(kb, dice)
        tried = kb.what_if(update)
        before = {fact: tried.why(*fact[:2], seconds=None) for fact in moved(tried)[:1]}
        change = kb.apply(update)
        for (relation, row, came), found in before.items():
            assert found is not None
            assert found.came == came
            assert undone(kb, found, relation, row)
        caused += judged(kb, change, dice, 3)
        explained += sum(judge(kb, dice, 1))
    return explained, caused, repaired(kb, shape, dice)


def repaired(kb: holdfast.KnowledgeBase, shape: Shape, dice: Random) -> int:
    """Compare the repairs of one edit with brute force, for a fact that holds and for one that does not."""
    derived = [name for name in kb.relations if name not in shape.base and len(kb[name])]
    asked = 0
    for name in dice.sample(derived, min(2, len(derived))):
        rows = sorted(kb[name], key=str)
        for make, some in ((False, rows), (True, sorted(missing(rows, dice, 2), key=str))):
            if some:
                compared(kb, shape, name, dice.choice(some), make=make)
                asked += 1
    return asked


def compared(kb: holdfast.KnowledgeBase, shape: Shape, name: str, row: tuple[object, ...], *, make: bool) -> None:
    editable = [relation for relation in kb.relations if any(_is(relation, known) for known in shape.base)]
    fact = fact_text((written_name(name, len(row), kb.program), row))  # type: ignore[arg-type]
    goal = {"make" if make else "unmake": [fact]}
    found = kb.repair(**goal, may_insert=editable, may_delete=editable, limit=None, edits=1, seconds=None)  # type: ignore[arg-type]
    expected = by_brute_force(kb, name, row, make, editable, 1)  # type: ignore[arg-type]
    shown = {edits for edits in as_edits(found) if len(edits) <= 1}  # type: ignore[arg-type]
    if "range(" in shape.rules:
        shown &= expected  # a range gives values that no fact has, and brute force does not try
    assert shown <= expected, goal
    assert not found.is_complete or shown == expected, (goal, expected - shown)


def _is(relation: str, known: str) -> bool:
    return relation == known or relation.strip("<>").rpartition("/")[2] == known.rpartition(":")[2]


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_explained(name: str) -> None:
    done = [explored(name, seed) for seed in range(1, 1 + amount(6, 2))]
    explained, caused, compared_repairs = (sum(each) for each in zip(*done, strict=True))
    assert explained > 20
    assert caused > 2
    assert compared_repairs > 2


def main(seconds: float, first: int) -> None:
    """Go through seeds until time is over, and say which fail."""
    end, seed, done = time.monotonic() + seconds, first, 0
    while time.monotonic() < end:
        for name in SHAPES:
            try:
                done += sum(explored(name, seed))
            except (AssertionError, HoldfastError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                print(f"{name} {seed}: {type(error).__name__} {str(error)[:600]}", flush=True)
            if time.monotonic() > end:
                break
        seed += 1
        print(f"seeds {first} to {seed - 1}: {done} explanations judged", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
