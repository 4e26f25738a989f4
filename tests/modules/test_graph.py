"""Graphs against plain Python sets: closures and what a change of edges makes of them, by bits and by walking."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from holdfast.modules import graph as graphs
from holdfast.modules import reachability
from holdfast.modules.edges import Edges, Numbering, keys_of, without
from holdfast.modules.graph import Graph
from holdfast.modules.reachability import NO_PAIRS, closure, difference, has, sizes

from ..equivalence.depth_first import closure as plain_closure

Pair = tuple[int, int]


def made(edges: set[Pair], nodes: int, *, no_loops: bool = False) -> Graph:
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2)
    return Graph(nodes, Edges(keys_of(pairs[:, 0], pairs[:, 1])), 1, no_loops)


def expected(edges: set[Pair], *, no_loops: bool) -> set[Pair]:
    found = plain_closure(edges)
    return {pair for pair in found if pair[0] != pair[1] or pair in edges} if no_loops else found


def listed(pairs: np.ndarray) -> set[Pair]:
    found = [tuple(pair) for pair in pairs.tolist()]
    assert len(found) == len(set(found)), "a pair occurs twice"
    return set(found)


def changed(edges: set[Pair], nodes: int, random: Random) -> set[Pair]:
    fewer = edges - set(random.sample(sorted(edges), min(len(edges), random.choice((0, 1, 3, 40)))))
    return fewer | {(random.randrange(nodes), random.randrange(nodes)) for _ in range(random.choice((0, 1, 3, 40)))}


def looked_up(graph: Graph, pairs: set[Pair], random: Random) -> None:
    """One node's pairs, or many nodes', in both directions; and single pairs, few and many."""
    for count in (1, graph.nodes):
        some = np.array(sorted(random.sample(range(graph.nodes), count)))
        asked = set(some.tolist())
        for backward in (False, True):
            found = np.concatenate([NO_PAIRS, *closure(graph, some, backward=backward)])
            wanted = {pair[::-1] if backward else pair for pair in pairs if pair[backward] in asked}
            assert listed(found) == wanted
        starts, stops = (np.array([random.randrange(graph.nodes) for _ in some]) for _ in range(2))
        assert has(graph, starts, stops).tolist() == [
            pair in pairs for pair in zip(starts.tolist(), stops.tolist(), strict=True)
        ]


@pytest.mark.parametrize("no_loops", [False, True], ids=["loops", "no loops"])
def test_closures_and_differences(no_loops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(60):
        random = Random(seed)
        nodes = random.choice((3, 6, 12, 70, 150))
        edges = {(random.randrange(nodes), random.randrange(nodes)) for _ in range(random.randrange(1, 3 * nodes))}
        later = changed(edges, nodes, random)
        before, after = (expected(some, no_loops=no_loops) for some in (edges, later))
        for most_bits, patience in ((0, 0), (1 << 30, 0), (0, 99)):  # condensed, as bits, walked
            monkeypatch.setattr(graphs, "MOST_BITS", most_bits)
            monkeypatch.setattr(reachability, "_PATIENCE", patience)
            monkeypatch.setattr(reachability, "_FEW", (0, 16)[seed % 2])
            old, new = (made(some, nodes, no_loops=no_loops) for some in (edges, later))
            assert listed(np.concatenate(list(closure(old, np.arange(nodes))))) == before
            assert sum(sizes(old)) == len(before)
            looked_up(made(edges, nodes, no_loops=no_loops), before, random)
            looked_up(old, before, random)
            gone, come = without(old.keys, new.keys), without(new.keys, old.keys)
            for edited in (new, Graph(nodes, old.edges.edited(gone, come), 1, no_loops)):
                parts = zip(*[(NO_PAIRS, NO_PAIRS), *difference(old, edited)], strict=True)
                lost, gained = map(np.concatenate, parts)
                assert listed(lost) == before - after
                assert listed(gained) == after - before


def edited_step(edges: set[Pair], nodes: int, random: Random) -> set[Pair]:
    """A few edges go and come, mostly along the order of the nodes, so that no circles are closed."""
    gone = random.sample(sorted(edges), min(len(edges), random.randrange(3)))
    come = {(random.randrange(nodes), random.randrange(nodes)) for _ in range(random.randrange(3))}
    if random.random() < 0.8:
        come = {(min(pair), max(pair)) for pair in come if pair[0] != pair[1]}
    return (edges - set(gone)) | come


@pytest.mark.parametrize("patience", [0, 16])
def test_condensations_are_edited(patience: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some updates are walked, and a later one goes on from the last condensation, whatever happened since."""
    from holdfast.modules import graph_kernels

    computed, condense = list[int](), graph_kernels.condense
    monkeypatch.setattr(graph_kernels, "condense", lambda *given: (computed.append(1), condense(*given))[1])
    monkeypatch.setattr(reachability, "_PATIENCE", patience)
    wanted = 0
    for seed in range(40):
        random = Random(seed)
        nodes = random.choice((6, 20, 70, 130))
        edges = {
            (min(pair), max(pair))
            for pair in ((random.randrange(nodes), random.randrange(nodes)) for _ in range(2 * nodes))
            if pair[0] != pair[1]
        }
        monkeypatch.setattr(reachability, "_FEW", (0, 16)[seed % 2])
        monkeypatch.setattr(graphs, "MOST_BITS", (0, 1 << 30)[seed % 3 > 0])
        graph = made(edges, nodes)
        assert sum(sizes(graph)) == len(plain_closure(edges))
        for _ in range(8):
            later = edited_step(edges, nodes, random)
            target = made(later, nodes)
            gone, come = without(graph.keys, target.keys), without(target.keys, graph.keys)
            new = Graph(nodes, graph.edges.edited(gone, come))
            lost, gained = map(np.concatenate, zip(*[(NO_PAIRS, NO_PAIRS), *difference(graph, new)], strict=True))
            before, after = plain_closure(edges), plain_closure(later)
            assert (listed(lost), listed(gained)) == (before - after, after - before)
            wanted += 1
            if random.random() < 0.5:
                looked_up(new, after, random)
            edges, graph = later, new
    assert len(computed) < wanted


def test_a_part_that_does_not_fit_is_written_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "_CAPACITY", 7)
    edges = {(node, (node + 1) % 20) for node in range(20)} | {(40, 3), (41, 40), (7, 42)}
    parts = list(closure(made(edges, 43), np.arange(43)))
    assert len(parts) > 2
    assert listed(np.concatenate(parts)) == plain_closure(edges)


def test_an_edge_with_a_detour_affects_nothing() -> None:
    ring = {(node, (node + 1) % 9) for node in range(9)} | {(0, 2)}
    assert not len(reachability.affected(made(ring, 9), made(ring - {(0, 2)}, 9)))
    assert not len(reachability.affected(made(ring - {(0, 2)}, 9), made(ring, 9)))
    assert len(reachability.affected(made(ring, 9), made(ring - {(2, 3)}, 9))) == 9


def test_an_edge_affects_only_those_who_have_no_other_way_to_its_end() -> None:
    """All nodes reach the edge (50, 51), and all but one have another way to 51; all that follows 51 hangs on it."""
    edges = {(node, 50) for node in range(50)} | {(node, 51) for node in range(49)} | {(50, 51)}
    edges |= {(node, node + 1) for node in range(51, 90)}
    old, new = made(edges, 100), made(edges - {(50, 51)}, 100)
    assert reachability.affected(old, new).tolist() == reachability.affected(new, old).tolist() == [49, 50]
    edges = {(node, 50) for node in range(50)} | {(50, node) for node in range(51, 90)}
    edges |= {(51, node) for node in range(52, 91)}
    old, new = made(edges, 100), made(edges - {(50, 51)}, 100)
    assert len(reachability.affected(old, new)) == 51
    assert reachability.affected(old, new, backward=True).tolist() == [51, 90]


def test_a_node_that_no_circle_leads_back_to_is_affected() -> None:
    ring = {(node, (node + 1) % 30) for node in range(30)}
    old, new = made(ring, 30), made(ring - {(29, 0)}, 30)
    assert len(reachability.affected(old, new)) == len(reachability.affected(old, new, backward=True)) == 30


def test_numbers_stay() -> None:
    numbering = Numbering()
    first = numbering.enter(np.array([50, 10, 50, -3], np.int64))
    assert numbering.enter(np.array([7, 10], np.int64))[1] == first[1]
    assert numbering.numbers(np.array([50, 8], np.int64)).tolist() == [first[0], -1]
    assert sorted(numbering.values.tolist()) == [-3, 7, 10, 50]
