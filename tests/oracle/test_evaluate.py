"""The oracle itself, on cases small enough to do by hand.

What this cannot catch: a misunderstanding of the language; the oracle is held against Soufflé's answers, clingo
and Nemo elsewhere for that.
"""

from __future__ import annotations

import pytest

import holdfast
from holdfast.language import parse
from holdfast.values import Row
from holdfast.values.model import NIL

from .evaluate import evaluate
from .functors import UndefinedError
from .strata import UnstratifiedError
from .values import tag_row


def rows(text: str, name: str, **facts: list[Row]) -> set[object]:
    return evaluate(parse(text), facts).facts.get(name, set())


def tagged(*given: Row) -> set[object]:
    return {tag_row(row) for row in given}


def test_closure() -> None:
    text = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
    assert rows(text, "path", edge=[(1, 2), (2, 3)]) == tagged((1, 2), (2, 3), (1, 3))


def test_an_integer_a_float_and_a_string_are_three_values() -> None:
    assert rows("q(x) :- p(x).", "q", p=[(1,), (1.0,), ("1",)]) == tagged((1,), (1.0,), ("1",))
    assert len(rows("q(x) :- p(x).", "q", p=[(1,), (1.0,), ("1",)])) == 3


@pytest.mark.parametrize(
    ("function", "value"), [("sum k", 6), ("min k", 1), ("max k", 3), ("mean k", 2.0), ("median k", 2.0)]
)
def test_aggregate_over_distinct_substitutions(function: str, value: object) -> None:
    facts = [("a", 1), ("a", 3), ("b", 2)]
    assert rows(f"r(n) :- n = {function} : {{ p(_, k) }}.", "r", p=facts) == tagged((value,))


def test_groups_come_from_outer_bindings_and_empty_counts_are_zero() -> None:
    text = "r(x, n) :- q(x), n = count : { p(x, _) }."
    assert rows(text, "r", p=[("a", 1), ("a", 3)], q=[("a",), ("b",)]) == tagged(("a", 2), ("b", 0))


def test_minimum_of_nothing_gives_no_row() -> None:
    assert rows("r(n) :- n = min k : { p(k) }.", "r", p=[]) == set()


def test_witness() -> None:
    text = "r(w, n) :- n = max k : { p(w, k) }."
    assert rows(text, "r", p=[("a", 1), ("b", 3), ("c", 3)]) == tagged(("b", 3), ("c", 3))


@pytest.mark.parametrize("value", ["k", "v : { v = max l"])
def test_a_result_is_its_own_witness(value: str) -> None:
    """A nested maximum too binds what is used outside of all aggregates: here the result itself."""
    text = f"r(n) :- n = min {value} : {{ p(n, {value[-1]}) }}{' }' * value.count(':')}."
    assert rows(text, "r", p=[(31, 5), (7, 9)]) == set()
    assert rows(text, "r", p=[(3, 3), (31, 3), (1, 3)]) == tagged((3,))
    kb = holdfast.from_text(text, {"p": [(3, 3), (31, 3), (1, 3)]})
    assert set(kb["r"]) == {(3,)}


def test_a_pattern_with_a_wildcard_whose_variables_are_bound() -> None:
    text = ".type L = [n: number, rest: L]\n.decl p(l: L)\nr(1) :- p(l), [_, l] = l.\nr(2) :- p(l), [_, nil] = l."
    assert rows(text, "r", p=[(holdfast.Record((5, NIL)),)]) == tagged((2,))


def test_head_aggregate_counts_substitutions_not_values() -> None:
    text = "r(x, count(t)) :- near(x, y), heat(y, t)."
    facts = {"near": [("a", "b"), ("a", "c")], "heat": [("b", 25), ("c", 25)]}
    assert rows(text, "r", **facts) == tagged(("a", 2))


def test_negation_with_wildcard_and_disjunction() -> None:
    text = "r(x) :- q(x), (!p(x, _) ; x = 1)."
    assert rows(text, "r", q=[(1,), (2,), (3,)], p=[(1, 0), (2, 0)]) == tagged((1,), (3,))


def test_an_alternative_holds_only_for_what_it_binds() -> None:
    """Once, what it had bound was forgotten if another alternative did not bind it."""
    assert rows("r(n, y) :- (n = 0, y = 7 ; n = 5), e(y).", "r", e=[(1,)]) == tagged((5, 1))


def test_equivalence() -> None:
    text = ".decl e(a: number, b: number) eqrel\n.decl p(a: number, b: number)\ne(x, y) :- p(x, y)."
    assert rows(text, "e", p=[(1, 2), (2, 3)]) == tagged(*((a, b) for a in (1, 2, 3) for b in (1, 2, 3)))


def test_counters() -> None:
    """Figure 1 of the counting paper, before the update."""
    result = evaluate(
        parse("A(y) :- A(x), B(x, y)."),
        {"A": [("a",), ("b",), ("d",)], "B": [("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")]},
    )
    expected = {"a": (1, 0), "b": (1, 0), "c": (0, 2), "d": (1, 1), "e": (0, 1)}
    assert result.counters["A"] == {tag_row((name,)): pair for name, pair in expected.items()}


def test_every_fact_under_a_wildcard_is_an_instance() -> None:
    result = evaluate(parse("q(x) :- p(x, _)."), {"p": [(1, 1), (1, 2), (1, 3)]})
    assert result.counters["q"] == {tag_row((1,)): (3, 0)}


def test_division_cuts_towards_zero() -> None:
    assert rows("r(x / 2, x % 2) :- p(x).", "r", p=[(-7,)]) == tagged((-3, -1))


def test_overflow_is_undefined() -> None:
    with pytest.raises(UndefinedError):
        rows("r(x * x) :- p(x).", "r", p=[(2**40,)])


def test_negation_in_a_cycle() -> None:
    with pytest.raises(UnstratifiedError):
        rows("a(x) :- p(x), !b(x). b(x) :- p(x), !a(x).", "a", p=[(1,)])
