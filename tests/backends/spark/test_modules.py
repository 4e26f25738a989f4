"""Modules serve closures on the driver, whatever form the facts have; above a limit they serve none.

Random programs with modules are in test_agreement.py; here it is seen that modules are at work at all.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import holdfast

from ...cli.shell import holdfast as command
from .conftest import session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TEXT = """
.decl edge(x: symbol, y: symbol, kind: symbol)
.decl near(x: symbol, y: symbol)
.decl path(x: symbol, y: symbol, kind: symbol)
near(x, y) :- edge(x, y, "road").
near(x, z) :- near(x, y), near(y, z).
near(y, x) :- near(x, y).
path(x, y, k) :- edge(x, y, k).
path(x, z, "rail") :- path(x, y, "rail"), path(y, z, "rail").
path(x, y, "any") :- path(x, y, _).
"""
EDGES = [("a", "b", "rail"), ("b", "c", "rail"), ("c", "a", "road"), ("c", "d", "rail"), ("e", "c", "road")]
UPDATES = [
    holdfast.Update(delete={"edge": [("b", "c", "rail")]}, insert={"edge": [("d", "e", "road")]}),
    holdfast.Update(insert={"edge": [("b", "d", "rail"), ("d", "a", "rail")]}),
]


@pytest.mark.parametrize("way", ["driver", pytest.param("far", marks=pytest.mark.slow)])
def test_closures_are_as_in_memory(spark: SparkSession, way: str) -> None:
    here = holdfast.from_text(TEXT, {"edge": EDGES})
    there = holdfast.from_text(TEXT, {"edge": EDGES}, engine=session(spark, way))
    for update in UPDATES:
        changes = [kb.apply(update) for kb in (here, there)]
        assert [figures.algorithm for figures in changes[1].figures] == [f.algorithm for f in changes[0].figures]
        for side in ("added", "removed"):
            ours, theirs = ({name: set(view) for name, view in getattr(change, side).items()} for change in changes)
            assert theirs == ours
    assert "exact" in {figures.algorithm for figures in changes[1].figures}
    for name in ("near", "path"):
        assert set(there[name]) == set(here[name])
        assert there.counters(name) == here.counters(name)


def test_too_many_facts_for_modules(spark: SparkSession) -> None:
    engine = spark.newSession()
    engine.conf.set("spark.holdfast.moduleRows", "1")
    kb = holdfast.from_text("p(x, z) :- p(x, y), p(y, z).", {"p": [(1, 2), (2, 3)]}, engine=engine)
    change = kb.apply(holdfast.Update(insert={"p": [(3, 4)]}))
    assert [figures.algorithm for figures in change.figures] == ["dred-counting"]
    assert len(kb["p"]) == 6


@pytest.mark.parametrize(
    "text",
    [
        "q(x, y) :- p(x, y).\nq(x, z) :- q(x, y), q(y, z).",
        "q(x, y) :- p(x, y).\nq(x, z) :- q(x, y), q(y, z).\nq(y, x) :- q(x, y), x < 0.",
    ],
)
def test_modules_that_would_derive_too_much_are_left_out(spark: SparkSession, text: str) -> None:
    engine = spark.newSession()
    edges = [(node, node + 1) for node in range(5)]
    for most, instances in ((10, 5), (9, 25)):  # 15 facts, 5 of them by rules; alone, a module gives all
        engine.conf.set("spark.holdfast.moduleFacts", str(most + 5 * ("<" not in text)))
        kb = holdfast.from_text(text, {"p": edges}, engine=engine)
        assert len(kb["q"]) == 15
        assert kb.statistics.nodes[-1].instances == instances
        if most == 10:  # updates make more: they are left out then
            change = kb.apply(holdfast.Update(insert={"p": [(5, 6)]}))
            assert "exact" not in [figures.algorithm for figures in change.figures]
            assert set(change.added["q"]) == {(node, 6) for node in range(6)}
            scratch = holdfast.from_text(text, {"p": [*edges, (5, 6)]}, modules=())
            assert kb.counters("q") == scratch.counters("q")


def test_streams(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n", "utf-8")
    updates = ({"insert": {"edge": [[1, 2], [2, 3]]}}, {"delete": {"edge": [[1, 2]]}})
    (tmp_path / "u.jsonl").write_text("\n".join(map(json.dumps, updates)), "utf-8")
    outcomes = [
        command("stream", tmp_path / "p.dl", "--updates", tmp_path / "u.jsonl", "--engine", engine)
        for engine in ("memory", "spark")
    ]
    assert outcomes[1].out == outcomes[0].out
    assert [outcome.code for outcome in outcomes] == [0, 0]
