"""Recursion that only goes one way: found where it is, not where it is not, and then nothing is overdeleted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.language import parse
from holdfast.program import check
from holdfast.program.ranks import ranks

B = ".decl b(x: number, y: number, w: number)\n.decl d(y: number, l: number)\n"
START = B + "d(y, w) :- b(0, y, w).\n"
LENGTHS = START + "d(y, l) :- d(x, k), b(x, y, w), l = k + w, l < 12.\n"
FORMS = {
    "a sum": LENGTHS,
    "a sum in the head": START + "d(y, w + k) :- d(x, k), b(x, y, w), k < 9.\n",
    "one more each time": START + "d(y, k + 1) :- d(x, k), b(x, y, _), k < 7.\n",
    "downwards": START + "d(y, k - w) :- d(x, k), b(x, y, w), k > -9.\n",
    "a guard": START + "d(y, l) :- d(x, k), b(x, y, l), k < l.\n",
    "a guarded step": START + "d(y, k + w) :- d(x, k), b(x, y, w), w > 0, k < 9.\n",
    "two predicates": START + ".decl e(l: number, y: number)\ne(k + w, y) :- d(x, k), b(x, y, w), k < 9.\n"
    "d(y, k + 1) :- e(k, x), b(x, y, _).\n",
    "two facts of its own": START + "d(y, l) :- d(x, k), d(y, m), b(x, y, w), l = k + w, m < l, l < 12.\n",
}
OTHERS = {
    "neither up nor down": START + "d(y, k) :- d(x, k), b(x, y, _).\n",
    "another number": START + "d(y, w) :- d(x, _), b(x, y, w).\n",
    "one of two facts": START + "d(y, l) :- d(x, k), d(y, m), b(x, y, w), l = k + w, l < 12.\n",
    "no step": START + "d(y, k + 0) :- d(x, k), b(x, y, _).\n",
    "a step back": START + "d(y, k + w) :- d(x, k), b(x, y, w), w > -1, k < 9, k > -9.\n",
    "one rule up, one down": LENGTHS + "d(y, k - 1) :- d(x, k), b(x, y, _), k > 0.\n",
    "floats": ".decl b(x: number, y: number, w: float)\n.decl d(y: number, l: float)\nd(y, w) :- b(0, y, w).\n"
    "d(y, k + w) :- d(x, k), b(x, y, w), k < 9.0.\n",
}


def found(text: str) -> list[tuple[bool, frozenset[tuple[str, int]]]]:
    program = check(parse(text))
    node = next(node for node in program.nodes if "d" in node.predicates)
    return [(rank.grows, rank.positive) for rank in ranks(node.recursive, node.predicates)]


@pytest.mark.parametrize(
    ("form", "grows", "positive"),
    [
        ("a sum", True, {("b", 2)}),
        ("a sum in the head", True, {("b", 2)}),
        ("one more each time", True, set()),
        ("downwards", False, {("b", 2)}),
        ("a guard", True, set()),
        ("a guarded step", True, set()),
        ("two predicates", True, {("b", 2)}),
        ("two facts of its own", True, {("b", 2)}),
    ],
)
def test_what_goes_one_way_is_seen(form: str, grows: bool, positive: set[tuple[str, int]]) -> None:
    assert (grows, frozenset(positive)) in found(FORMS[form])


@pytest.mark.parametrize("form", [name for name in OTHERS if name != "a step back"])
def test_what_does_not_is_not(form: str) -> None:
    assert found(OTHERS[form]) == []


edges = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
batches = st.lists(st.tuples(st.lists(edges, max_size=4), st.lists(edges, max_size=4)), min_size=1, max_size=5)


@pytest.mark.parametrize(
    "text",
    [*FORMS.values(), *(OTHERS[name] for name in OTHERS if name != "floats")],
    ids=[*FORMS, *(name for name in OTHERS if name != "floats")],
)
@settings(max_examples=25, deadline=None)
@given(first=st.lists(edges, max_size=14), updates=batches, positive=st.booleans())
def test_updates_are_exact(
    text: str,
    first: list[tuple[int, int, int]],
    updates: list[tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]],
    positive: bool,
) -> None:
    """With steps that are all positive and with others, circles included."""

    def fit(rows: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        return [(x, y, w + 1) for x, y, w in rows] if positive else rows

    facts = set(fit(first))
    kb = holdfast.from_text(text, facts={"b": sorted(facts)})
    for gone, come in updates:
        deleted, inserted = set(fit(gone)), set(fit(come))
        kb.apply(Update(delete={"b": sorted(deleted)}, insert={"b": sorted(inserted)}), algorithm="dred-counting")
        facts = (facts - deleted) | inserted
        assert state(kb) == state(holdfast.from_text(text, facts={"b": sorted(facts)}))


def state(kb: KnowledgeBase) -> dict[str, object]:
    return {name: kb.counters(name) for name in kb.relations}


def chain(weight: int) -> KnowledgeBase:
    """Two ways from 0 to 1, and on from there."""
    return holdfast.from_text(
        LENGTHS, facts={"b": [(0, 1, 2), (0, 2, 1), (2, 1, 1), *((i, i + 1, 1) for i in range(2, 8)), (7, 8, weight)]}
    )


@pytest.mark.only_in_memory("other engines do not know the least number of a column", also=("parted",))
def test_nothing_is_overdeleted_where_lengths_only_grow() -> None:
    kb = chain(1)
    change = kb.apply(Update(delete={"b": [(0, 1, 2)]}), algorithm="dred-counting")
    assert change.figures[-1].overdeleted == change.figures[-1].rederived == 0


def test_a_step_of_nothing_brings_overdeletion_back() -> None:
    """A fact can then be among its own grounds: x at 5 because of y at 5, and y at 5 because of x at 5."""
    circle = {"b": [(0, 1, 5), (1, 2, 0), (2, 1, 0)]}
    kb = holdfast.from_text(LENGTHS, facts=circle)
    assert set(kb["d"]) == {(1, 5), (2, 5)}
    kb.apply(Update(delete={"b": [(0, 1, 5)]}), algorithm="dred-counting")
    assert set(kb["d"]) == set()


def test_a_step_of_nothing_may_come_with_the_update_itself() -> None:
    kb = holdfast.from_text(LENGTHS, facts={"b": [(0, 1, 5), (1, 2, 3)]})
    kb.apply(Update(insert={"b": [(1, 2, 0), (2, 1, 0)]}), algorithm="dred-counting")
    kb.apply(Update(delete={"b": [(0, 1, 5)]}), algorithm="dred-counting")
    assert set(kb["d"]) == set()
