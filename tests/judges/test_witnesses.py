"""The target of `min` and `max` is a witness like any other variable of the inner body, whatever else says about it."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast.errors import ProgramError
from holdfast.language import parse

from ..amounts import amount, some
from ..oracle.evaluate import evaluate
from .programs import WITNESSES, sketch
from .test_engine import expected_facts, expected_of, facts_of

FACTS = "e(3, 3). e(1, 2). e(2, 2). e(2, 1). e(4, 1). e(5, 6).\n"
BODIES = [
    "m = max y : { e(x, y) }",
    "m = min y : { e(x, y) }, y < 3",
    "m = max y : { e(x, y) }, y = m - 1",
    "m = max y : { e(x, y) }, y = m + 0",
    "m = max y : { e(x, y), y < 6 }",
    "m = max y : { e(x, y) }, e(m, y)",
    "m = max y : { e(x, y) }, e(y, m)",
    "m = max y + 1 : { e(x, y) }, y = m - 1",
    "m = max y + 1 : { e(x, y) }",
    "m = max y : { e(y, z) }, z = m - 1",
    "m = min y : { e(x, y) ; e(y, x) }",
    "y = count : { e(w, _) }, m = max v : { e(w, v) }, w > 1",
    "m = max v : { e(w, v) }, y = count : { e(w, _) }, w > 1",
    "m = max v : { e(w, v) }, y = max v : { e(v, w) }",
    "y = min v : { e(m, v) }, m = max v - 1 : { e(w, v) }, w > 1",
    "m = max v - 1 : { e(w, v) }, y = min v : { e(m, v) }, w > 1",
]


@pytest.mark.parametrize("body", BODIES)
def test_engine_and_oracle_agree(body: str) -> None:
    text = f"{FACTS}b(x, m, y) :- e(x, _), {body}."
    expected = {tuple(value for _, value in row) for row in evaluate(parse(text), {}).facts["b"]}
    assert set(holdfast.from_text(text)["b"]) == expected


def judged(seed: int) -> bool:
    """Whether the program of a seed was compared: an aggregate may have to wait for what needs it."""
    program = sketch(Random(seed).randint, WITNESSES)
    try:
        kb = holdfast.from_text(program.text, facts=program.facts)
    except ProgramError as refused:
        assert {d.code for d in refused.diagnostics if d.code[0] == "E"} <= {"E0301", "E0306", "E0502"}, program
        return False
    assert facts_of(kb, program) == expected_facts(expected_of(program), program), program
    return True


def test_random_programs_agree_with_the_oracle() -> None:
    number = amount(some(250), 3)
    assert sum(map(judged, range(number))) > 0.7 * number
