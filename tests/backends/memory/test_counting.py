"""Counting on row ids: a few changed facts, and many; random scripts are in tests/equivalence."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast import Update
from holdfast.errors import EvaluationError

from ...equivalence.mutants import COUNTING_MUTANTS, Mutant, broken

pytestmark = pytest.mark.only_in_memory("other engines count by sets")

RULES = """
both(x, z) :- edge(x, y), edge(y, z), x != z.
pairs(x, y) :- node(x), node(y), x < y.
next(x, y + 1) :- edge(x, y).
odd(x) :- node(x), !edge(x, _), !edge(_, x).
apart(x, y) :- pairs(x, y), !both(x, y), !edge(x, y).
loop(x) :- edge(x, x).
seven(y) :- edge(7, y).
hub(y, count(x)) :- edge(x, y).
far(x, m) :- node(x), m = max y : { edge(x, y) }.
again(x, y) :- both(x, y).
again(x, y) :- next(x, y), node(y).
"""


def agree(kb: holdfast.KnowledgeBase, edges: set[tuple[int, int]], nodes: set[tuple[int]]) -> None:
    anew = holdfast.from_text(RULES, {"edge": sorted(edges), "node": sorted(nodes)})
    for name in anew.relations:
        assert set(kb[name]) == set(anew[name]), name
        assert kb.counters(name) == anew.counters(name), name


def follow(seed: int, *, profile: bool = False) -> None:
    """Updates of all sizes, each compared with an evaluation."""
    random = Random(seed)
    edges = {(random.randrange(40), random.randrange(40)) for _ in range(60)}
    nodes = {(n,) for n in range(10)}
    kb = holdfast.from_text(RULES, {"edge": sorted(edges), "node": sorted(nodes)}, profile=profile)
    for size in (1, 3, 20, 400, 1, 150, 600, 2, 10):
        before = {name: set(kb[name]) for name in kb.relations}
        come = {(random.randrange(40), random.randrange(40)) for _ in range(size)}
        gone = set(random.sample(sorted(edges), min(size, len(edges)) * random.randrange(3) // 2)) - come
        come_nodes, gone_nodes = ({(random.randrange(40),) for _ in range(random.randrange(4))} for _ in range(2))
        gone_nodes -= come_nodes
        update = Update(
            insert={"edge": sorted(come), "node": sorted(come_nodes)},
            delete={"edge": sorted(gone), "node": sorted(gone_nodes)},
        )
        tried = kb.what_if(update)
        agree(kb, edges, nodes)  # nothing of it stays
        change = kb.apply(update)
        assert change == tried
        edges, nodes = (edges | come) - gone, (nodes | come_nodes) - gone_nodes
        agree(kb, edges, nodes)
        for name in kb.relations:
            now = set(kb[name])
            assert set(change.added.get(name, ())) == now - before[name]
            assert set(change.removed.get(name, ())) == before[name] - now


@pytest.mark.parametrize("seed", range(3))
def test_updates_of_all_sizes(seed: int) -> None:
    follow(seed, profile=seed == 2)


@pytest.mark.parametrize("mutant", COUNTING_MUTANTS, ids=str)
def test_a_broken_line_is_noticed(mutant: Mutant) -> None:
    with broken(mutant), pytest.raises(AssertionError):
        for seed in range(3):
            follow(seed)


def test_a_few_facts_with_many_heads() -> None:
    """A join that gives more rows than the buffer for a few bindings has."""
    rules = "out(x, z) :- from(x, y), to(y, z)."
    kb = holdfast.from_text(rules, {"from": [(0, 0)], "to": [(1, z) for z in range(5_000)]})
    assert len(kb.apply(Update(insert={"from": [(1, 1)]})).added["out"]) == 5_000
    assert len(kb.apply(Update(insert={"from": [(2, 1)]}, delete={"from": [(1, 1)]})).removed["out"]) == 5_000
    assert set(kb["out"]) == {(2, z) for z in range(5_000)}


def test_a_functor_without_a_value_is_named_and_nothing_changes() -> None:
    kb = holdfast.from_text("half(x, 10 / x) :- n(x). more(x) :- half(x, _).", {"n": [(1,)]})
    with pytest.raises(EvaluationError, match="r1"):
        kb.apply(Update(insert={"n": [(5,), (0,)]}))
    assert (set(kb["n"]), set(kb["half"])) == ({(1,)}, {(1, 10)})
    kb.apply(Update(insert={"n": [(5,)]}, delete={"n": [(1,)]}))
    assert kb.counters("half") == {(5, 2): (1, 0)}
    assert set(kb["more"]) == {(5,)}


def test_plans_follow_the_sizes_also_for_few_facts() -> None:
    """The plans for few facts are remembered, and looked at again: a relation grows from nothing to many facts."""
    kb = holdfast.from_text("p(x, z) :- a(x), b(x, y), c(y, z).", {"a": [(0,)], "b": [(0, 0)], "c": [(0, 0)]})
    for n in range(1, 200):
        kb.apply(Update(insert={"a": [(n,)], "b": [(n, n % 5)], "c": [(n % 5, n % 7)]}))
    kb.apply(Update(insert={"c": [(y, z) for y in range(100) for z in range(100)]}))
    for n in range(200, 300):
        kb.apply(Update(insert={"a": [(n,)], "b": [(n, n % 100)]}, delete={"a": [(n - 100,)]}))
    expected = {(x, z) for (x,) in kb["a"] for (b, y) in kb["b"] if b == x for (c, z) in kb["c"] if c == y}
    assert set(kb["p"]) == expected
