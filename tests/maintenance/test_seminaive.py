"""Semi-naive evaluation: figures, rounds and counters of programs small enough to be counted by hand."""

from __future__ import annotations

from collections import Counter

import pytest

import holdfast
from holdfast.maintenance.seminaive import NodeFigures

CLOSURES = {
    "left": "r(x, y) :- e(x, y).\nr(x, z) :- r(x, y), e(y, z).",
    "right": "r(x, y) :- e(x, y).\nr(x, z) :- e(x, y), r(y, z).",
    "both": "r(x, y) :- e(x, y).\nr(x, z) :- r(x, y), r(y, z).",
}
EDGES = {
    "chain": [(i, i + 1) for i in range(9)],
    "cycle": [(i, (i + 1) % 6) for i in range(6)],
    "diamond": [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)],
    "loop": [(0, 0), (0, 1)],
    "nothing": [],
}


def closure(edges: list[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(edges)
    while more := {(x, w) for x, y in found for z, w in found if y == z} - found:
        found |= more
    return found


def recursive_derivations(kind: str, edges: list[tuple[int, int]]) -> Counter[tuple[int, int]]:
    r = closure(edges)
    first, second = {"left": (r, edges), "right": (edges, r), "both": (r, r)}[kind]
    return Counter((x, w) for x, y in first for z, w in second if y == z)


def figures(kb: holdfast.KnowledgeBase, predicate: str) -> NodeFigures:
    return next(node for node in kb.statistics.nodes if predicate in node.predicates)


@pytest.mark.parametrize("kind", CLOSURES)
@pytest.mark.parametrize("shape", EDGES)
def test_closures_with_counters(kind: str, shape: str) -> None:
    edges = EDGES[shape]
    kb = holdfast.from_text(CLOSURES[kind], facts={"e": edges}, modules=())
    derivations = recursive_derivations(kind, edges)
    assert kb.counters("r") == {f: (int(f in edges), derivations[f]) for f in closure(edges)}
    node = figures(kb, "r")
    assert node.facts == len(closure(edges))
    assert node.instances == len(edges) + derivations.total(), "each instance is met once"


@pytest.mark.parametrize(("kind", "rounds"), [("left", 9), ("right", 9), ("both", 5)])
def test_rounds_of_a_chain(kind: str, rounds: int) -> None:
    kb = holdfast.from_text(CLOSURES[kind], facts={"e": EDGES["chain"]}, modules=())
    assert figures(kb, "r").rounds == rounds


def test_an_explicit_fact_that_is_derived_too() -> None:
    kb = holdfast.from_text(CLOSURES["left"], facts={"e": [(0, 1), (1, 2)], "r": [(0, 2), (0, 1), (7, 7)]})
    assert kb.counters("r") == {(0, 1): (2, 0), (1, 2): (1, 0), (0, 2): (1, 1), (7, 7): (1, 0)}


def test_two_predicates_that_need_each_other() -> None:
    program = "even(0).\nodd(x + 1) :- even(x), x < 9.\neven(x + 1) :- odd(x), x < 9."
    kb = holdfast.from_text(program)
    assert {x for (x,) in kb["even"]} == {0, 2, 4, 6, 8}
    assert {x for (x,) in kb["odd"]} == {1, 3, 5, 7, 9}
    assert set(kb.counters("odd").values()) == {(0, 1)}
    assert figures(kb, "odd").facts == 10
