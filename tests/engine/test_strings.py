"""Functors of strings, in facts of the text (folded by the checker) and over columns (computed by the engine)."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.regular_expressions import PatternError, groups


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


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('regex_group("key = 12; x = 7", "([a-z]+) = ([0-9]+)", 2)', "12"),
        ('regex_group("key = 12; x = 7", "([a-z]+) = ([0-9]+)", 0)', "key = 12"),
        ('regex_group("Ärger", "^(\\\\pL)", 1)', "Ä"),
        ('regex_group("abc", "x(y)?", 1)', ""),
        ('regex_group("ac", "a(b)?c", 1)', ""),
        ('regex_group("two\\nlines", "(?m)^l.*$", 0)', "lines"),
        ('regex_group("abcabc", "b|c(a)", 0)', "b"),
        ('regex_replace("2024-02-29", "([0-9]+)-([0-9]+)", "\\\\2/\\\\1")', "02/2024-29"),
        ('regex_replace("aaa", "a", "bc")', "bcbcbc"),
        ('regex_replace("abc", "x*", "-")', "-a-b-c-"),
        ('regex_replace("äöü", "ö", "\\\\\\\\")', "ä\\ü"),
    ],
)
def test_regular_expressions_with_groups(expression: str, value: str) -> None:
    test_functors(expression, value)


@pytest.mark.parametrize(
    ("expression", "codes", "why"),
    [
        ('regex_group("a", "(a)", 2)', ["E0406", "E0701"], "has no group 2: it has one group"),
        ('regex_group("a", "a", -1)', ["E0406", "E0701"], "has no group -1: it has no group"),
        ('regex_group("a", "(a", 0)', ["E0410", "E0410"], "is not a regular expression"),
        ('regex_replace("a", "(a)(?=b)", "")', ["E0410", "E0410"], "is not a regular expression"),
        ('regex_replace("a", "(a)", "\\\\2")', ["E0406", "E0701"], "cannot replace"),
        ('regex_group("ü", "\\\\C", 0)', ["E0410", "E0410"], "is a byte"),
    ],
)
def test_wrong_patterns_and_groups(expression: str, codes: list[str], why: str) -> None:
    first, *rest = expression.partition("(")[2].removesuffix(")").split(", ")
    rule = f"s({first}). p({expression.partition('(')[0]}({', '.join(['x', *rest])})) :- s(x)."
    for text, code in zip((f"p({expression}).", rule), codes, strict=True):
        with pytest.raises(holdfast.HoldfastError, match=why) as refused:
            holdfast.from_text(text)
        assert [found.code for found in refused.value.diagnostics] == [code]


@pytest.mark.parametrize("functor", ["replace", "regex_replace"])
def test_what_replacing_makes_is_counted_before_it_is_made(functor: str) -> None:
    """A product of two strings of a megabyte would have 10^12 characters."""
    text = f'made({functor}(s, "a", t)) :- one(s), other(t).'
    facts = {"one": [("a" * 10**6,)], "other": [("b" * 10**6,)]}
    with pytest.raises(holdfast.HoldfastError, match="strings take more than") as refused:
        holdfast.from_text(text, facts, limits=holdfast.Limits(memory=2**26))
    assert [found.code for found in refused.value.diagnostics] == ["E0804"]


@given(st.text("ab()|*+?.[]^", min_size=1, max_size=6), st.text("abü\n", max_size=5))
def test_groups_are_those_of_python(pattern: str, text: str) -> None:
    """Python backtracks, but finds the same leftmost match; in groups that repeat it takes an empty round, too."""
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of `[[`, which may mean more one day
            compiled = re.compile(pattern)
        found = [groups([text], [pattern], [number])[0] for number in range(compiled.groups + 1)]
    except (re.error, PatternError):
        return
    first = compiled.search(text)
    wanted = [(first[number] or "") if first else "" for number in range(compiled.groups + 1)]
    assert found[0] == wanted[0]
    assert found == wanted or re.search(r"\)[*+]", pattern)
