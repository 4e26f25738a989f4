"""B/F^c set at a time must not look at many more rule instances backwards than its depth-first original."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast.updates import Update

from .depth_first import DepthFirst, Pair, closure

pytestmark = pytest.mark.only_in_memory("other engines look at all instances of a goal at once")

FACTOR = 4.0
SLACK = 100  # instances: where there are few, factors say nothing
LINEAR = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
QUADRATIC = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z)."


def graph(random: Random, nodes: int, edges: int) -> set[Pair]:
    return {(random.randrange(nodes), random.randrange(nodes)) for _ in range(edges)}


def instances(rules: str, edges: set[Pair], deleted: set[Pair]) -> tuple[int, set[Pair]]:
    """Those of our B/F^c, and what it leaves."""
    kb = holdfast.from_text(rules, facts={"edge": sorted(edges)}, modules=())
    change = kb.apply(Update(delete={"edge": sorted(deleted)}), algorithm="backward-forward-counting")
    return sum(figures.backward for figures in change.figures), set(kb["path"])  # type: ignore[arg-type]


@pytest.mark.parametrize("rules", [LINEAR, QUADRATIC], ids=["linear", "quadratic"])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize(("nodes", "number"), [(20, 100), (100, 300), (100, 150)])
def test_backward_instances(nodes: int, number: int, share: float, rules: str) -> None:
    ours = theirs = 0
    for seed in range(2):
        random = Random(seed)
        edges = graph(random, nodes, number)
        deleted = set(random.sample(sorted(edges), max(1, int(share * len(edges)))))
        model = DepthFirst(edges, deleted, rules == QUADRATIC)
        left = model.run()
        assert left == closure(edges - deleted)
        met, found = instances(rules, edges, deleted)
        assert found == left
        ours, theirs = ours + met, theirs + model.backward
    print(f"{nodes} nodes, {number} edges, {share:.0%} deleted: {ours:,} instances backwards, depth-first {theirs:,}")
    assert ours <= FACTOR * theirs + SLACK
