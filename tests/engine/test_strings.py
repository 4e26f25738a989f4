"""Functors of strings, in facts of the text (folded by the checker) and over columns (computed by the engine)."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('lower("ÄbC")', "äbc"),
        ('upper("äbc1")', "ÄBC1"),
        ('trim("  a b\\t")', "a b"),
        ('replace("a-b-c", "-", "+")', "a+b+c"),
        ('replace("abc", "", "+")', "abc"),
        ('split("a,b,c", ",", 1)', "b"),
        ('split("a,b", ",", 2)', ""),
        ('split("a,b", ",", -1)', ""),
        ('split("abc", "", 2)', "c"),
        ('split("", ",", 0)', ""),
    ],
)
def test_functors(expression: str, value: str) -> None:
    assert list(holdfast.from_text(f"p({expression}).")["p"]) == [(value,)]
    first, *rest = expression.partition("(")[2].removesuffix(")").split(", ")
    rule = f"s({first}). p({expression.partition('(')[0]}({', '.join(['x', *rest])})) :- s(x)."
    assert list(holdfast.from_text(rule)["p"]) == [(value,)]


def test_conditions() -> None:
    text = """
    w("holdfast"). w("fasten"). w("").
    first(x) :- w(x), starts_with("fast", x).
    last(x) :- w(x), ends_with("fast", x).
    neither(x) :- w(x), !starts_with("fast", x), !ends_with("fast", x).
    """
    kb = holdfast.from_text(text)
    assert [set(kb[name]) for name in ("first", "last", "neither")] == [{("fasten",)}, {("holdfast",)}, {("",)}]


def test_an_aggregate_may_stand_in_a_fact() -> None:
    kb = holdfast.from_text("q(1). q(2). total(sum x : { q(x) }). many(count : { q(_) }, 1 + max x : { q(x) }).")
    assert (set(kb["total"]), set(kb["many"])) == ({(3,)}, {(2, 3)})
    kb.apply(holdfast.Update(insert={"q": [(7,)]}))
    assert (set(kb["total"]), set(kb["many"])) == ({(10,)}, {(3, 8)})


def test_question_marks_in_names() -> None:
    kb = holdfast.from_text("is?(1). a?b(?x?) :- is?(?x?).")
    assert set(kb["a?b"]) == {(1,)}


def test_capitals_are_a_slip() -> None:
    kb = holdfast.from_text("edge(1, 2). path(x, y) :- Edge(x, y).")
    assert [warning.code for warning in kb.program.warnings] == ["W0007"]
    assert "did you mean edge?" in kb.program.warnings[0].render()


def test_aggregates_over_what_lies_outside_a_recursion() -> None:
    kb = holdfast.from_text("e(1, 2). e(2, 3). e(1, 3). p(1, 0). p(y, n) :- p(x, _), e(x, y), n = count : { e(y, _) }.")
    assert set(kb["p"]) == {(1, 0), (2, 1), (3, 0)}


def test_output_to_the_terminal_is_no_file(tmp_path: Path) -> None:
    kb = holdfast.from_text("p(1). q(2).\n.output p(IO=stdout)\n.output q\n", output=tmp_path)
    assert [path.name for path in kb.write_outputs(tmp_path)] == ["q.csv"]
