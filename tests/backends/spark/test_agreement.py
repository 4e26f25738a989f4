"""Both backends agree to the last fact and counter, on random programs and updates and on what papers and suites give.

The steps are few, because a step takes a second: what makes a difference between backends (which form a set has,
whether a fact is in a base or a record) is met by each script many times.  `make fuzz` is for the memory backend only.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import holdfast
from holdfast.errors import HoldfastError

from ...equivalence.checking import run
from ...equivalence.runs import lanes_of, script_of
from ...suites.shared_data import needs_shared_data, read_text
from ...suites.test_souffle import expected_outputs, facts_of, program_of, rows_of
from .conftest import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPTS = (
    ("driver", 4, 5),
    ("folded", 100, 2),
    pytest.param("mixed", 301, 2, marks=pytest.mark.slow),
    pytest.param("far", 201, 1, marks=pytest.mark.slow),
)


@pytest.mark.parametrize(("way", "seed", "steps"), SCRIPTS)
def test_random_updates_agree_with_evaluation_in_memory(spark: SparkSession, way: str, seed: int, steps: int) -> None:
    script = script_of(seed)
    lanes = lanes_of(script, seed, only=seed % 4, engine=session(spark, way))
    assert run(script, lanes, oracle=0.0, most=steps) == steps


FUNCTORS = """
.decl n(x: number, y: number)
.decl u(x: unsigned, y: unsigned)
.decl f(x: float, y: float)
.decl s(x: symbol, y: symbol)
.decl a(x: any)
.decl on_numbers(x: number, y: number, r: number, way: number)
on_numbers(x, y, x + y, 1) :- n(x, y), x < 100.
on_numbers(x, y, x * y - x, 2) :- n(x, y), x > -100, x < 100.
on_numbers(x, y, x / y, 3) :- n(x, y), y != 0, x > -100.
on_numbers(x, y, x % y + max(x, y, 3), 4) :- n(x, y), y != 0, x > -100, x < 100.
on_numbers(x, y, x ^ y, 5) :- n(x, y), y > 0, y < 5, x > -100, x < 100.
on_numbers(x, y, (x band y) bxor (x bshl 3) bor (-x bshru 60), 6) :- n(x, y), x > -100, x < 100.
on_numbers(x, y, z, 7) :- n(x, y), x > -10, x < 10, z = range(x, y).
on_numbers(x, x, strlen(to_string(x)), 8) :- n(x, _).
.decl on_unsigned(x: unsigned, y: unsigned, r: unsigned)
on_unsigned(x, y, x / y) :- u(x, y), y != 0, x >= y.
on_unsigned(x, y, min(x, y)) :- u(x, y), x < y.
.decl on_floats(x: float, y: float, r: float, way: number)
on_floats(x, y, x / y, 1) :- f(x, y).
on_floats(x, y, x + y * 0.1, 2) :- f(x, y), x < y.
on_floats(x, y, -x, 3) :- f(x, y), x = x, !(y <= x).
.decl on_symbols(x: symbol, y: symbol, r: symbol)
on_symbols(x, y, cat(x, "|", y)) :- s(x, y), x < y.
on_symbols(x, y, substr(x, 0, 2)) :- s(x, y), contains(y, x).
on_symbols(x, y, "matched") :- s(x, y), match("[a-z]+", y), !match(".*z", x).
.decl on_any(x: any, y: symbol)
on_any(x, str(x)) :- a(x).
on_any(x, str(datatype(x))) :- a(x), is_literal(x).
.decl shared(x: symbol)
shared(x) :- a(x), s(x, _).
.decl grouped(x: number, c: number, t: number, low: number, mid: float, avg: float)
grouped(x, c, t, low, mid, avg) :- n(x, _), x < 100, c = count : { n(x, _) }, t = sum y : { n(x, y), y < 100 },
    low = min y : { n(x, y) }, mid = median y : { n(x, y) }, avg = mean y : { n(x, y) }.
.decl totals(t: float, least: symbol, most: float, big: unsigned)
totals(t, least, most, big) :- t = sum x : { f(x, _), x < 1.0e300 }, least = min x : { s(x, _) },
    most = max x : { f(x, _) }, big = max x : { u(x, _) }.
"""
FACTS = {
    "n": [(1, 2), (1, 5), (7, -3), (-9, 4), (0, 0), (2**63 - 1, 1), (-(2**63), 3), (12, 12)],
    "u": [(2**64 - 1, 2), (3, 2**63), (7, 0)],
    "f": [
        (0.1, 0.2),
        (0.2, 0.3),
        (0.0, -0.0),
        (1.0, 0.0),
        (float("nan"), 1.0),
        (float("inf"), -1.0),
        (1e16, 1.0),
        (0.7, 3.3),
    ],
    "s": [("ab", "cab"), ("", "x"), ("7", "é"), ("\ttab", 'quo"te'), ("zz", "zzz"), ("😀", "\ufffd")],
    "a": [
        "7",
        7,
        7.0,
        float("nan"),
        holdfast.Iri("http://a/b"),
        holdfast.BlankNode("x"),
        "ab",
        "",
        holdfast.Literal("chat", None, "fr"),
        holdfast.Literal("5", "http://www.w3.org/2001/XMLSchema#byte"),
    ],
}


def everything(kb: holdfast.KnowledgeBase) -> dict[str, set[str]]:
    """As text, in which NaN is equal to itself."""
    return {name: {repr(row) for row in view} for name, view in kb.relations.items()}


def test_every_kind_of_value_and_functor(spark: SparkSession) -> None:
    facts = {**FACTS, "a": [(value,) for value in FACTS["a"]]}
    here = holdfast.from_text(FUNCTORS, facts)
    there = holdfast.from_text(FUNCTORS, facts, engine=spark)
    assert everything(there) == everything(here)
    assert all(len(view) for view in there.relations.values())
    for kb in (here, there):
        with kb.update() as update:
            update.delete("n", [(1, 5), (-9, 4)])
            update.insert("f", [(0.3, 0.1)])
            update.insert("a", [("zz",)])
    assert everything(there) == everything(here)
    for name in ("on_numbers", "on_any", "grouped"):  # each is a count from scratch on Spark
        assert counted(there, name) == counted(here, name)


def counted(kb: holdfast.KnowledgeBase, name: str) -> set[str]:
    """As text; Python takes 7 and 7.0 for the same key, so which of them it shows is left open."""
    return {repr(([float(v) if v == 7 else v for v in row], counts)) for row, counts in kb.counters(name).items()}


SUITE = ("evaluation/aggregates_complex", "evaluation/binop", "evaluation/neg6", "example/metro")


@needs_shared_data
@pytest.mark.parametrize("test", SUITE)
def test_programs_of_souffle_give_their_csv(spark: SparkSession, test: str, tmp_path: Path) -> None:
    holdfast.open(program_of(test), facts=facts_of(test), engine=spark).write_outputs(tmp_path)
    for name, file in expected_outputs(test).items():
        assert rows_of((tmp_path / f"{name}.csv").read_text(encoding="utf-8")) == rows_of(read_text(file)), name


@pytest.mark.parametrize("way", ["driver", "far"])
def test_a_functor_without_a_value_names_its_rule_and_leaves_no_trace(spark: SparkSession, way: str) -> None:
    engine = session(spark, way)
    text = "p(1, 2). p(4, 2). q(x, x / y) :- p(x, y)."
    kb = holdfast.from_text(text, engine=engine)
    before = everything(kb), kb.counters("q")
    with pytest.raises(HoldfastError, match=r"rule r1 has no value for some facts: 1 / 0: division by zero"):
        kb.apply(holdfast.Update(insert={"p": [(1, 0), (6, 3)]}, delete={"p": [(4, 2)]}))
    assert (everything(kb), kb.counters("q")) == before
    with kb.update() as update:
        update.insert("p", [(6, 3)])
    assert set(kb["q"]) == {(1, 0), (4, 2), (6, 2)}


def test_ord_is_refused(spark: SparkSession) -> None:
    with pytest.raises(HoldfastError, match="uses ord, which the spark engine does not support"):
        holdfast.from_text('p("a"). q(ord(x)) :- p(x).', engine=spark)


def test_several_updates_in_one_pass_are_refused_and_leave_no_trace(spark: SparkSession) -> None:
    kb = holdfast.from_text("q(x) :- p(x), !r(x).", {"p": [(1,)]}, engine=spark)
    updates = [holdfast.Update(insert={"p": [(2,)]}), holdfast.Update(insert={"r": [(1,)]})]
    with pytest.raises(HoldfastError, match="E0917"):
        kb.apply_all(updates)
    assert set(kb["q"]) == {(1,)}
    change = kb.apply_net(updates)
    assert (set(change.added["q"]), set(change.removed["q"])) == ({(2,)}, {(1,)})
