"""Programs on the spark engine: functors, modules, limit relations and explanations are those of memory.

Random programs and updates run on shards in threads (`test_shards.py`); these look whether all of it is there on Spark.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

import pytest

import holdfast
from holdfast import HoldfastError, Update

from ...cli.shell import holdfast as command
from .conftest import small

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.only_in_memory("has its own engine")

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
.decl ordered(x: symbol, y: symbol)
ordered(x, y) :- s(x, _), s(y, _), ord(x) < ord(y).
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
    for name in ("on_numbers", "on_any", "grouped"):
        assert counted(there, name) == counted(here, name)


def counted(kb: holdfast.KnowledgeBase, name: str) -> set[str]:
    """As text; Python takes 7 and 7.0 for the same key, so which of them it shows is left open."""
    return {repr(([float(v) if v == 7 else v for v in row], counts)) for row, counts in kb.counters(name).items()}


def test_a_functor_without_a_value_names_its_rule_and_leaves_no_trace(spark: SparkSession) -> None:
    text = "p(1, 2). p(4, 2). q(x, x / y) :- p(x, y)."
    kb = holdfast.from_text(text, engine=spark)
    before = everything(kb), kb.counters("q")
    with pytest.raises(HoldfastError, match=r"rule r1 has no value for some facts: 1 / 0: division by zero"):
        kb.apply(holdfast.Update(insert={"p": [(1, 0), (6, 3)]}, delete={"p": [(4, 2)]}))
    assert (everything(kb), kb.counters("q")) == before
    with kb.update() as update:
        update.insert("p", [(6, 3)])
    assert set(kb["q"]) == {(1, 0), (4, 2), (6, 2)}


def test_several_updates_in_one_pass_are_refused_and_leave_no_trace(spark: SparkSession) -> None:
    kb = holdfast.from_text("q(x) :- p(x), !r(x).", {"p": [(1,)]}, engine=spark)
    updates = [holdfast.Update(insert={"p": [(2,)]}), holdfast.Update(insert={"r": [(1,)]})]
    with pytest.raises(HoldfastError, match="E0917"):
        kb.apply_all(updates)
    assert set(kb["q"]) == {(1,)}
    change = kb.apply_net(updates)
    assert (set(change.added["q"]), set(change.removed["q"])) == ({(2,)}, {(1,)})


CLOSURES = """
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
CLOSURE_UPDATES = [
    Update(delete={"edge": [("b", "c", "rail")]}, insert={"edge": [("d", "e", "road")]}),
    Update(insert={"edge": [("b", "d", "rail"), ("d", "a", "rail")]}),
]


def test_closures_are_as_in_memory(spark: SparkSession) -> None:
    here = holdfast.from_text(CLOSURES, {"edge": EDGES})
    there = holdfast.from_text(CLOSURES, {"edge": EDGES}, engine=spark)
    for update in CLOSURE_UPDATES:
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
    engine = small(spark, moduleRows=1)
    kb = holdfast.from_text("p(x, z) :- p(x, y), p(y, z).", {"p": [(1, 2), (2, 3)]}, engine=engine)
    change = kb.apply(Update(insert={"p": [(3, 4)]}))
    assert [figures.algorithm for figures in change.figures] == ["dred-ranked"]
    assert len(kb["p"]) == 6


@pytest.mark.parametrize(
    "text",
    [
        "q(x, y) :- p(x, y).\nq(x, z) :- q(x, y), q(y, z).",
        "q(x, y) :- p(x, y).\nq(x, z) :- q(x, y), q(y, z).\nq(y, x) :- q(x, y), x < 0.",
    ],
)
def test_modules_that_would_derive_too_much_are_left_out(spark: SparkSession, text: str) -> None:
    edges = [(node, node + 1) for node in range(5)]
    for most, instances in ((10, 5), (9, 25)):  # 15 facts, 5 of them by rules; alone, a module gives all
        engine = small(spark, moduleFacts=most + 5 * ("<" not in text))
        kb = holdfast.from_text(text, {"p": edges}, engine=engine)
        assert len(kb["q"]) == 15
        assert kb.statistics.nodes[-1].instances == instances
        if most == 10:  # updates make more: they are left out then
            change = kb.apply(Update(insert={"p": [(5, 6)]}))
            assert "exact" not in [figures.algorithm for figures in change.figures]
            assert set(change.added["q"]) == {(node, 6) for node in range(6)}
            scratch = holdfast.from_text(text, {"p": [*edges, (5, 6)]}, modules=())
            assert kb.counters("q") == scratch.counters("q")


def test_a_stream_of_the_command(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n", "utf-8")
    updates = ({"insert": {"edge": [[1, 2], [2, 3]]}}, {"delete": {"edge": [[1, 2]]}})
    (tmp_path / "u.jsonl").write_text("\n".join(map(json.dumps, updates)), "utf-8")
    outcomes = [
        command("stream", tmp_path / "p.dl", "--updates", tmp_path / "u.jsonl", "--engine", engine)
        for engine in ("memory", "spark", "spark[1]")
    ]
    assert outcomes[2].out == outcomes[1].out == outcomes[0].out
    assert [outcome.code for outcome in outcomes] == [0, 0, 0]


LIMITS = """
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
LIMIT_FACTS = {
    "edge": [(1, 2, 4), (2, 3, 0), (3, 2, 0), (1, 3, 9), (3, 4, 1), (4, 5, 1), (5, 4, 0)],
    "dist": [(1, 0), (4, 20)],
    "named": [(2, "b"), (3, "a"), (5, "é")],
}
LIMIT_UPDATES = (
    Update(delete={"edge": [(1, 2, 4)]}),  # a plateau goes up, and a value is beaten no longer
    Update(insert={"shut": [(3,)]}, delete={"named": [(3, "a")]}),
    Update(add_rules=["dist(x, min(1)) :- shut(x)."], insert={"edge": [(5, 1, 1)]}),
)


def test_limit_relations_agree_with_those_in_memory(spark: SparkSession) -> None:
    here = holdfast.from_text(LIMITS, LIMIT_FACTS)
    there = holdfast.from_text(LIMITS, LIMIT_FACTS, engine=spark)
    assert everything(there) == everything(here)
    for update in LIMIT_UPDATES:
        mine, other = here.apply(update), there.apply(update)
        assert everything(there) == everything(here)
        for name in here.relations:
            for part in ("added", "removed"):
                assert set(getattr(other, part).get(name, ())) == set(getattr(mine, part).get(name, ())), (name, part)


def test_values_that_fall_for_ever_are_named(spark: SparkSession) -> None:
    text = "dist(1, 0). dist(y, min(d + w)) :- dist(x, d), edge(x, y, w)."
    kb = holdfast.from_text(text, {"edge": [(1, 2, 1), (2, 1, 1)]}, engine=spark)
    with pytest.raises(HoldfastError, match=r"E0704(.|\n)*dist\(1, _\) -> dist\(2, _\) -> dist\(1, _\)"):
        kb.apply(Update(insert={"edge": [(2, 1, -3)]}))
    assert set(kb["dist"]) == {(1, 0), (2, 1)}


PATHS = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
end(x) :- path(_, x), !edge(x, _).
"""
EDGE_FACTS = {"edge": [(1, 2), (2, 3), (3, 4), (7, 8)]}


def test_the_same_explanations_as_in_memory(spark: SparkSession) -> None:
    kb = holdfast.from_text(PATHS, facts=EDGE_FACTS, engine=small(spark, driverRows=2), modules=())
    here = holdfast.from_text(PATHS, facts=EDGE_FACTS, modules=())
    proof = kb.why("path(1, 4)", seconds=None)
    assert proof is not None
    assert proof.to_json() == here.why("path(1, 4)").to_json()  # type: ignore[union-attr]
    absence = kb.why_not("path(4, 1)", seconds=None)
    assert absence is not None
    assert absence.to_json() == here.why_not("path(4, 1)").to_json()  # type: ignore[union-attr]
    update = Update(insert={"edge": [(4, 5)]}, delete={"edge": [(7, 8)]})
    change, other = kb.apply(update), here.apply(update)
    for fact in ("path(1, 5)", "end(8)", "end(4)"):
        assert change.why(fact, seconds=None).parts == other.why(fact).parts  # type: ignore[union-attr]
    assert str(kb.supports("path(1, 5)", seconds=None)) == str(here.supports("path(1, 5)"))
    assert kb.repair(make=["end(2)"], edits=1, seconds=None)[0].deletes == ("edge(2, 3)",)


def test_a_profile_is_refused(spark: SparkSession) -> None:
    with pytest.raises(HoldfastError, match="E0917"):
        holdfast.from_text(PATHS, facts=EDGE_FACTS, engine=spark, profile=True)


class ConnectSession:
    """As far as it differs: it has no context."""

    conf: ClassVar[dict[str, str]] = {}

    def newSession(self) -> ConnectSession:  # noqa: N802
        return self

    @property
    def sparkContext(self) -> None:  # noqa: N802
        raise NotImplementedError


def test_sessions_of_spark_connect_are_refused() -> None:
    with pytest.raises(HoldfastError, match=r"E0917.*the spark engine cannot run in this session.*Spark Connect"):
        holdfast.from_text(PATHS, engine=ConnectSession())  # type: ignore[arg-type]
