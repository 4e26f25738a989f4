"""A view is an immutable set of tuples; a change is a value."""

from __future__ import annotations

from collections.abc import Set

from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import KnowledgeBase, Update

VALUES = st.one_of(st.integers(-3, 3), st.sampled_from([0.0, 1.0, -0.0, 2.5]), st.sampled_from(["a", "1", ""]))
ROWS = st.lists(st.tuples(VALUES), max_size=5)


def view(rows: list[tuple[object]]) -> holdfast.RelationView:
    return holdfast.from_text(".decl p(x: any)", {"p": rows})["p"]


def of_type(type: str, rows: list[tuple[object]]) -> holdfast.RelationView:
    return holdfast.from_text(f".decl p(x: {type})", {"p": rows})["p"]


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS)
def test_equality_and_hashes_are_those_of_sets(one: list[tuple[object]], other: list[tuple[object]]) -> None:
    first, second = view(one), view(other)
    assert (first == second) is (second == first) is (set(one) == set(other))
    assert (first == set(other)) is (set(other) == first) is (set(one) == set(other))
    assert hash(first) == hash(frozenset(one))
    assert first == view([*reversed(one)]) and first == first
    assert bool(first) is bool(one)


def test_equality_is_symmetric_for_columns_of_other_types() -> None:
    numbers, floats = of_type("number", [(1,)]), of_type("float", [(1.0,)])
    assert numbers == floats and floats == numbers and numbers == {(1.0,)} == floats
    assert hash(numbers) == hash(floats)


def test_a_view_of_one_knowledge_base_equals_itself_whatever_is_in_it() -> None:
    kb = holdfast.from_text(".decl p(x: float)", {"p": [(float("nan"),), (1.0,)]})
    assert kb["p"] == kb["p"]


def test_what_is_no_set_is_not_equal() -> None:
    assert view([(1,)]) != [(1,)]
    assert view([(1,)]) != 5
    assert isinstance(view([]), Set)


def test_set_operators_give_frozensets() -> None:
    one, other = view([(1,), (2,)]), view([(2,), (3,)])
    assert one & other == {(2,)} and isinstance(one & other, frozenset)
    assert one | other == {(1,), (2,), (3,)}
    assert one - {(2,)} == {(1,)} and {(2,), (7,)} - one == {(7,)}
    assert one.isdisjoint({(5,)}) and one >= {(1,)} and not one < other


def test_head_is_the_first_rows_in_order() -> None:
    some = view([(3,), (1,), (2,)])
    assert some.head() == [(1,), (2,), (3,)] and some.head(2) == [(1,), (2,)] and some.head(0) == []


def test_iteration_has_the_same_order_each_time() -> None:
    some = view([(n,) for n in (5, 3, 9, 1)])
    assert list(some) == list(some)


def opened() -> KnowledgeBase:
    rules = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."
    return holdfast.from_text(rules, {"edge": [(1, 2), (2, 3)]})


def test_changes_are_equal_if_they_change_the_same_facts() -> None:
    update = Update(insert={"edge": [(3, 4)]})
    one = opened().apply(update)
    assert one == opened().apply(update, algorithm="dred")
    assert one == opened().apply(Update(insert={"edge": [(3, 4), (1, 2)]}))
    assert one != opened().apply(Update(insert={"edge": [(3, 5)]}))
    assert one != opened().apply(Update(delete={"edge": [(1, 2)]}))
