"""Limit relations on Spark, and what the engine refuses by name: records and functors of the user."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import holdfast
from holdfast import HoldfastError, Update

from ...limits.running import Run
from ...limits.scripts import paths_script, random_script
from .conftest import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
.decl edge(x: number, y: number, w: number)
.decl shut(x: number)
.decl dist(x: number, d: number)
.decl label(x: number, l: symbol)
.decl named(x: number, l: symbol)
.decl low(d: number, x: number)
.decl lost(x: number)
dist(y, min(d + w)) :- dist(x, d), edge(x, y, w), !shut(y).
label(x, min(l)) :- named(x, l).
label(y, min(l)) :- label(x, l), edge(x, y, _).
low(d, max(x)) :- dist(x, d).
lost(x) :- edge(x, _, _), !dist(x, _).
"""
FACTS = {
    "edge": [(1, 2, 4), (2, 3, 0), (3, 2, 0), (1, 3, 9), (3, 4, 1), (4, 5, 1), (5, 4, 0)],
    "dist": [(1, 0), (4, 20)],
    "named": [(2, "b"), (3, "a"), (5, "é")],
}
UPDATES = (
    Update(delete={"edge": [(1, 2, 4)]}),  # a plateau goes up, and a value is beaten no longer
    Update(insert={"shut": [(3,)]}, delete={"named": [(3, "a")]}),
    Update(add_rules=["dist(x, min(1)) :- shut(x)."], insert={"edge": [(5, 1, 1)]}),
)


def everything(kb: holdfast.KnowledgeBase) -> dict[str, set[holdfast.Row]]:
    return {name: set(view) for name, view in kb.relations.items()}


@pytest.mark.parametrize("way", ["driver", pytest.param("far", marks=pytest.mark.slow)])
def test_limit_relations_agree_with_those_in_memory(spark: SparkSession, way: str) -> None:
    here = holdfast.from_text(PROGRAM, FACTS)
    there = holdfast.from_text(PROGRAM, FACTS, engine=session(spark, way))
    assert everything(there) == everything(here)
    for update in UPDATES:
        mine, other = here.apply(update), there.apply(update)
        assert everything(there) == everything(here)
        for name in here.relations:
            for part in ("added", "removed"):
                assert set(getattr(other, part).get(name, ())) == set(getattr(mine, part).get(name, ())), (name, part)


@pytest.mark.parametrize(("make", "seed"), [(paths_script, 3), pytest.param(random_script, 12, marks=pytest.mark.slow)])
def test_random_updates_agree_with_naive_evaluation(spark: SparkSession, make: object, seed: int) -> None:
    script = make(seed)  # type: ignore[operator]
    met = Run(replace(script, steps=script.steps[:3]), session(spark, "driver")).all()
    assert not met["refused"]


def test_values_that_fall_for_ever_are_named(spark: SparkSession) -> None:
    text = "dist(1, 0). dist(y, min(d + w)) :- dist(x, d), edge(x, y, w)."
    kb = holdfast.from_text(text, {"edge": [(1, 2, 1), (2, 1, 1)]}, engine=spark)
    with pytest.raises(HoldfastError, match=r"E0704(.|\n)*dist\(1, _\) -> dist\(2, _\) -> dist\(1, _\)"):
        kb.apply(Update(insert={"edge": [(2, 1, -3)]}))
    assert set(kb["dist"]) == {(1, 0), (2, 1)}


REFUSED = {
    "a column": ".type P = [x: number, y: number]\n.decl p(a: P)\np([1, 2]).",
    "a variant": ".type T = A {} | B {x: number}\n.decl p(a: T)\np($A()).",
    "inside a rule": ".type P = [x: number, y: number]\ne(1). q(a) :- e(x), r = as([x, x], P), r = [a, _].",
    "taken apart": ".type T = A {} | B {x: number}\ne(1). q(x) :- e(x), r = $B(x), r != $A().",
    "a functor": ".functor twice(x: number): number\ne(1). q(@twice(x)) :- e(x).",
}


@pytest.mark.parametrize("what", REFUSED)
def test_records_and_functors_of_the_user_are_refused_by_name(
    spark: SparkSession, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast.functor(name="twice")(lambda x: 2 * x)
    assert holdfast.from_text(REFUSED[what]).relations  # in memory they work
    with pytest.raises(HoldfastError, match="E0917"):
        holdfast.from_text(REFUSED[what], engine=spark)
