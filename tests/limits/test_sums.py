"""Recursion through sum and count: what it means, what is refused, and random programs against the oracle."""

from __future__ import annotations

from collections import Counter

import pytest

import holdfast
from holdfast import HoldfastError, Update

from ..amounts import some
from ..backends.model import ModelBackend
from .judged import Judged
from .sums import sums_script

CONTROL = """
owns("ada", "bolt", 60). owns("bolt", "cog", 30). owns("ada", "cog", 25).
owns("cog", "dent", 51). owns("dent", "ada", 90).
controls(x, x) :- owns(x, _, _).
stake(x, y, sum(n)) :- controls(x, z), owns(z, y, n).
controls(x, y) :- stake(x, y, s), s > 50.
"""
CORE = """
edge(1, 2). edge(2, 3). edge(3, 1). edge(3, 4). edge(4, 5).
link(x, y), link(y, x) :- edge(x, y).
degree(x, count(y)) :- link(x, y).
lost(x, count(y)) :- link(x, y), out(y).
out(x) :- degree(x, n), n < 2.
out(x) :- degree(x, n), lost(x, m), n - m < 2.
"""
RARE = 38  # the seed of a script with a number below 0
SHAPES = (
    "limits: min or max in its heads; recomputed, since a sum is part of its recursion",
    "no end: E0705",
    "refused",
    "rule changes",
    "what-if",
)


def controlled(kb: holdfast.KnowledgeBase) -> set[tuple[str, str]]:
    return {(x, y) for x, y in kb["controls"] if x != y}


def test_company_control() -> None:
    kb = holdfast.from_text(CONTROL)
    everything = {("ada", "bolt"), ("ada", "cog"), ("ada", "dent"), ("cog", "dent"), ("dent", "ada"), ("cog", "ada")}
    more = {("dent", "bolt"), ("dent", "cog"), ("cog", "bolt")}
    assert controlled(kb) == everything | more
    change = kb.apply(Update(delete={"owns": [("ada", "cog", 25)]}))
    assert controlled(kb) == {
        ("ada", "bolt"),
        ("cog", "dent"),
        ("dent", "ada"),
        ("dent", "bolt"),
        ("cog", "ada"),
        ("cog", "bolt"),
    }
    assert set(change.removed["controls"]) == {("ada", "cog"), ("ada", "dent"), ("dent", "cog")}
    assert kb.what_if(Update(insert={"owns": [("ada", "cog", 25)]})).added["controls"]


def test_what_is_no_part_of_a_core() -> None:
    kb = holdfast.from_text(CORE)
    assert set(kb["out"]) == {(4,), (5,)}
    kb.apply(Update(insert={"edge": [(5, 3)]}))
    assert set(kb["out"]) == set()
    kb.apply(Update(delete={"edge": [(1, 2)]}))
    assert set(kb["out"]) == {(1,), (2,)}


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("total(p, sum(q * c)) :- part(p, s, q), total(s, c).", "E0504"),
        ("p(x) :- c(x, n), n < 3. c(x, count(y)) :- e(x, y), p(y).", "E0504"),
        ("p(n) :- c(_, n). c(x, count(y)) :- e(x, y), p(y).", "E0504"),
        ("p(x) :- c(x, n), n > 3. c(x, count(y)) :- e(x, y), p(y). c(x, 1) :- p(x).", "E0502"),
        ("p(x) :- c(x, n), n > 3. c(x, mean(y)) :- e(x, y), p(y).", "E0502"),
        ("p(x) :- e(x, _), 3 < count : { p(x) }.", "E0502"),
        ("p(x) :- c(x, n), n > 3.0. c(x, sum(w)) :- e(x, y), p(y), v(y, w).", "E0502"),
        ("d(y, min(v + 1)) :- d(x, v), e(x, y), c(n), n > 2. c(count(x)) :- d(x, v).", "E0502"),
        ("p(x) :- c(x, n), n > 3, !q(x). q(x) :- p(x). c(x, count(y)) :- e(x, y), p(y).", "E0501"),
    ],
)
def test_what_could_fall_again_is_refused(program: str, code: str) -> None:
    with pytest.raises(HoldfastError) as refused:
        holdfast.from_text(program)
    assert [diagnostic.code for diagnostic in refused.value.diagnostics if diagnostic.code[0] == "E"] == [code]


def test_a_number_below_0_is_refused_and_leaves_no_trace() -> None:
    kb = holdfast.from_text(CONTROL)
    before = set(kb["stake"])
    with pytest.raises(HoldfastError, match="E0705"):
        kb.apply(Update(insert={"owns": [("ada", "dent", -5)]}))
    assert set(kb["stake"]) == before


@pytest.mark.only_in_memory("has its own engines")
@pytest.mark.parametrize(("engine", "first", "scripts"), [("memory", 0, 90), (ModelBackend, 1_000, 30)])
def test_random_sums_agree_with_the_oracle(engine: object, first: int, scripts: int) -> None:
    met = Counter[str]()
    for seed in {*range(first, first + some(scripts)), first + RARE}:
        met.update(Judged(sums_script(seed), seed, engine).all())
    assert engine != "memory" or [shape for shape in SHAPES if not met[shape]] == [], dict(met)
