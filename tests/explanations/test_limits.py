"""A search stops when its time is over, also in the middle of a level.  The clock goes by looks at it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast
from holdfast.errors import LimitReached

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
