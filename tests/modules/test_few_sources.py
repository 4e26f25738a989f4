"""Closures from few sources, or to few targets: walks begin at the few, however large the graph is.

What is counted are the components that walks begin at, not the time that they take.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import holdfast
from holdfast import Update
from holdfast.modules import graph as graphs
from holdfast.modules import graph_kernels, reachability
from holdfast.modules.edges import Edges, keys_of
from holdfast.modules.graph import Graph
from holdfast.modules.reachability import NO_PAIRS, affected, listed, sizes

from ..equivalence.depth_first import closure as plain_closure

pytestmark = pytest.mark.only_in_memory("the kernels are called in this process")

NODES, FEW = 300, 4
CITES = [(x, y) for x in range(NODES) for y in (x + 1, x + 7) if y < NODES]  # no cycle: a component for each node
FROM = "seen(s, y) :- start(s), cites(s, y).  seen(s, z) :- seen(s, y), cites(y, z)."
TO = "seen(x, t) :- cites(x, t), start(t).  seen(x, t) :- cites(x, y), seen(y, t)."
BOTH = "seen(x, y) :- base(x, y). seen(x, z) :- cites(x, y), seen(y, z). seen(x, z) :- seen(x, y), cites(y, z)."
DECLARED = ".decl start(x: number)\n.decl base(x: number, y: number)\n.decl cites(x: number, y: number)\n"
DECLARED += ".decl seen(x: number, y: number)\n"

Pair = tuple[int, int]


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many components each count begins at; no bits."""
    monkeypatch.setattr(graphs, "MOST_BITS", 0)
    begun, count_targets = list[int](), graph_kernels.count_targets

    def counted(begin: int, graph: Any, stride: int, some: Any, counts: Any) -> int:
        begun.append(len(some) - begin)
        return int(count_targets(begin, graph, stride, some, counts))

    monkeypatch.setattr(graph_kernels, "count_targets", counted)
    return begun


@pytest.mark.parametrize(
    ("rules", "facts"),
    [
        (FROM, {"start": [(0,), (5,)]}),
        (TO, {"start": [(NODES - 1,), (NODES - 9,)]}),
        (BOTH, {"base": [(2, 0)]}),  # few reach it
        (BOTH, {"base": [(NODES - 1, NODES - 3)]}),  # it reaches few
        (BOTH, {"base": [(2, NODES - 3)]}),
    ],
    ids=["from few", "to few", "few before", "few after", "few on both sides"],
)
def test_walks_begin_at_the_few(rules: str, facts: dict[str, list[tuple[int, ...]]], walked: list[int]) -> None:
    facts = {"cites": CITES, **facts}
    kb = holdfast.from_text(DECLARED + rules, facts=facts)
    generic = holdfast.from_text(DECLARED + rules, facts=facts, modules=())
    assert 0 < sum(walked) <= FEW
    assert len(kb["seen"]) == len(generic["seen"]) > 0
    assert set(kb["seen"]) == set(generic["seen"])
    update = Update(delete={"cites": CITES[100:105]}, insert={"cites": [(7, 250), (9, 3)]})
    assert set(kb.apply(update).added.get("seen", ())) == set(generic.apply(update).added.get("seen", ()))
    assert set(kb["seen"]) == set(generic["seen"])


def doubled(edges: set[Pair], nodes: int, *, no_loops: bool = False, stride: int = 2) -> Graph:
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2)
    return Graph(nodes, Edges(keys_of(pairs[:, 0], pairs[:, 1])), stride, no_loops)


def arriving(edges: set[Pair]) -> set[Pair]:
    """From even nodes to odd ones, as values."""
    return {(x // 2, y // 2) for x, y in plain_closure(edges) if x % 2 == 0 and y % 2 == 1}


@pytest.mark.parametrize("most_bits", [0, 1 << 30], ids=["walked", "as bits"])
def test_all_pairs_from_either_side(most_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "MOST_BITS", most_bits)
    backward = set[bool]()
    for seed in range(80):
        random = Random(seed)
        nodes = 2 * random.choice((3, 10, 70))
        hubs = [random.randrange(nodes) for _ in range(3)]  # so that sources or targets are few
        ends = [range(nodes), hubs] if seed % 2 else [hubs, range(nodes)]
        edges = {(random.choice(ends[0]), random.choice(ends[1])) for _ in range(random.randrange(1, 2 * nodes))}
        graph, expected = doubled(edges, nodes), arriving(edges)
        backward.add(graph.starting_side()[1])
        found = [tuple(pair) for part in [NO_PAIRS, *listed(graph)] for pair in part.tolist()]
        assert (set(found), len(found)) == (expected, len(expected))
        assert sum(sizes(graph)) == len(expected)
        for no_loops in (False, True):
            plain = doubled(edges, nodes, stride=1, no_loops=no_loops)
            pairs = plain_closure(edges)
            pairs = {pair for pair in pairs if pair[0] != pair[1] or pair in edges} if no_loops else pairs
            assert sum(sizes(plain)) == len(pairs)
            assert {tuple(pair) for part in listed(plain) for pair in part.tolist()} == pairs
    assert backward == {False, True}


def test_a_change_that_arrives_nowhere_affects_nothing() -> None:
    chain = {(2 * x, 2 * x + 2) for x in range(100)} | {(400, 401)}  # nothing of the chain arrives
    old, new = doubled(chain, 402), doubled((chain - {(100, 102)}) | {(198, 0)}, 402)
    assert not len(affected(old, new))
    assert not [pair for part in reachability.difference(old, new) for some in part for pair in some]
