"""A search stops when its time is over, also in the middle of a level.  The clock goes by looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import holdfast
from holdfast.errors import LimitReached, UsageError

RULES = """
pair(x, y) :- e(x, z), e(z, y).
many(n) :- n = count : { pair(_, _) }.
odd(x, y) :- e(x, z), e(z, y), e(y, w), e(w, v), x + y + v < 0.
none(n) :- n = count : { odd(_, _) }.
"""
EDGES = [(x, y) for x in range(15) for y in range(15) if (x + y) % 3]
STEP = 0.01


class Clock:
    """Each look takes as long as the one before."""

    def __init__(self) -> None:
        self.looks = 0

    def monotonic(self) -> float:
        self.looks += 1
        return STEP * self.looks


@pytest.fixture(scope="module")
def kb() -> holdfast.KnowledgeBase:
    return holdfast.from_text(RULES, facts={"e": EDGES})


ASKED: dict[str, Callable[[holdfast.KnowledgeBase], object]] = {
    "why": lambda kb: kb.why(f"many({len(kb['pair'])})", seconds=3 * STEP),
    "all ways": lambda kb: kb.why(f"many({len(kb['pair'])})", ways="all", seconds=3 * STEP),
    "supports": lambda kb: kb.supports(f"many({len(kb['pair'])})", seconds=3 * STEP),
    "a certificate": lambda kb: kb.why_not("odd(_, _)", seconds=3 * STEP).to_json(),  # type: ignore[union-attr]
    "a proof's lists": lambda kb: kb.why("none(0)", seconds=3 * STEP).to_json(),  # type: ignore[union-attr]
}


@pytest.mark.only_in_memory("counts looks at the clock")
@pytest.mark.parametrize("name", ASKED)
def test_time_is_kept_inside_a_level(name: str, kb: holdfast.KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("holdfast.explanations.search.time", clock)
    with pytest.raises(LimitReached, match="E0806"):
        ASKED[name](kb)
    assert 3 < clock.looks < 20


def test_with_time_enough_all_is_found(kb: holdfast.KnowledgeBase) -> None:
    many, none = kb.why(f"many({len(kb['pair'])})", seconds=None), kb.why("none(0)", seconds=None)
    assert many is not None
    assert none is not None
    for proof in (many, none):
        assert holdfast.check_proof(proof.to_json(), RULES, {"e": EDGES}) == proof.as_json()["finalConclusion"]


class Looks(Clock):
    """Counts the calls of functions between two looks; time stands still."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = self.most = 0

    def monotonic(self) -> float:
        self.looks, self.most, self.calls = self.looks + 1, max(self.most, self.calls), 0
        return 0.0

    def called(self, frame: object, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")


MANY = """
knows(x, y) :- likes(x, y), !hates(x, y).
wide(x) :- x = range(0, 5000), age(_, x).
deg(x, n) :- knows(x, _), n = count : { knows(x, _) }.
all(n) :- n = count : { likes(_, _) }.
ages(n) :- n = count : { age(_, _) }.
ring(x) :- likes(x, y), likes(y, z), likes(z, x), age(x, a), a > 1000.
"""
WITHOUT_A_LOOK: dict[str, Callable[[holdfast.KnowledgeBase], object]] = {
    "why": lambda kb: kb.why(f"all({len(kb['likes'])})"),
    "a range": lambda kb: kb.why_not("wide(500)"),
    "a fact": lambda kb: kb.why_not('knows("person 1", "nobody")'),
    "a pattern": lambda kb: kb.why_not('knows("nobody", _)'),
    "a count": lambda kb: kb.why_not("all(7)"),
    "a long body": lambda kb: kb.why_not('ring("person 1")'),
    "a certificate": lambda kb: kb.why_not('ring("person 1")').certificate(),  # type: ignore[union-attr]
    "supports": lambda kb: kb.supports("ages(200)"),
    "repair": lambda kb: kb.repair(make=['knows("person 1", "person 2")']),
}


@pytest.fixture(scope="module")
def people() -> holdfast.KnowledgeBase:
    dice = Random(1)
    names = [f"person {number}" for number in range(200)]
    likes = sorted({(dice.choice(names), dice.choice(names)) for _ in range(1_000)})
    facts = {"likes": likes, "hates": likes[:100], "age": [(name, dice.randrange(100)) for name in names]}
    return holdfast.from_text(MANY, facts=facts)


@pytest.mark.only_in_memory("counts looks at the clock")
@pytest.mark.parametrize("name", WITHOUT_A_LOOK)
def test_little_is_done_between_looks(
    name: str, people: holdfast.KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a look after every 20 steps; updates that a repair tries out look at another clock."""
    clock = Looks()
    monkeypatch.setattr("holdfast.explanations.search.time", clock)
    monkeypatch.setattr("holdfast.knowledge.explaining._OFTEN", 20)
    monkeypatch.setattr("holdfast.knowledge.explaining._AT_ONCE", 100)
    sys.setprofile(clock.called)
    try:
        WITHOUT_A_LOOK[name](people)
    finally:
        sys.setprofile(None)
    clock.monotonic()
    assert clock.looks > 1
    assert clock.most < (40_000 if name == "repair" else 8_000)


@pytest.mark.only_in_memory("counts looks at the clock")
def test_reasons_that_are_found_in_time_are_shown(
    people: holdfast.KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("holdfast.explanations.search.time", clock)
    absence = people.why_not('ring("person 1")', seconds=20 * STEP)
    assert absence is not None
    assert "a > 1000 fails" in str(absence) or "there is no" in str(absence)
    assert clock.looks < 40


@pytest.mark.parametrize(
    "limits", [{"seconds": "5"}, {"seconds": -1}, {"seconds": float("nan")}, {"size": 1.5}, {"size": -1}]
)
def test_limits_that_are_none(kb: holdfast.KnowledgeBase, limits: dict[str, Any]) -> None:
    for ask in (kb.why, kb.why_not):
        with pytest.raises(UsageError, match="E0926"):
            ask("pair(1, 1)", **limits)


def test_numbers_of_answers_that_are_none(kb: holdfast.KnowledgeBase) -> None:
    for limit in (-1, "3", True):
        with pytest.raises(UsageError, match="E0926"):
            kb.supports("pair(1, 1)", limit=limit)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="E0926"):
            kb.why("pair(1, 1)", ways="all", limit=limit)  # type: ignore[call-overload]
        with pytest.raises(UsageError, match="E0926"):
            kb.repair(unmake=["pair(1, 1)"], limit=limit)  # type: ignore[arg-type]
    assert kb.why("pair(1, 1)", ways="all", limit=None)
