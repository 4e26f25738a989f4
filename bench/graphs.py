"""Facts of the graph workloads, from fixed seeds: the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeAlias

Row: TypeAlias = tuple[int, ...]
Facts: TypeAlias = Mapping[str, Sequence[Row]]


def chain(nodes: int) -> Facts:
    """One line of nodes: as many rounds as nodes, and little to do in each."""
    return {"edge": [(node, node + 1) for node in range(nodes - 1)]}


def random_graph(nodes: int, edges: int) -> Facts:
    """A random directed graph without loops."""
    return {"edge": _pairs(Random(1), nodes, edges)}


def random_dag(nodes: int, edges: int) -> Facts:
    """A random graph whose edges go from smaller to larger numbers."""
    return {"edge": _pairs(Random(2), nodes, edges, directed=False)}


def connected(sizes: Sequence[int]) -> tuple[list[Row], list[Row]]:
    """The edges of random trees of so many nodes each, and half as many more edges within them."""
    random, tree, more, first = Random(4), list[Row](), set[Row](), 0
    for size in sizes:
        own = [(first + node, first + random.randrange(node)) for node in range(1, size)]
        pairs = [(first + random.randrange(size), first + random.randrange(size)) for _ in range(size // 2)]
        more |= {(x, y) for x, y in pairs if x != y} - set(own)
        tree, first = [*tree, *own], first + size
    return tree, sorted(more)


def weighted_dag(nodes: int, edges: int) -> Facts:
    """A random graph whose edges go from smaller to larger numbers, with weights from 1 to 5."""
    random = Random(3)
    forward = sorted((min(pair), max(pair)) for pair in _pairs(random, nodes, edges, directed=False))
    return {"b": [(*pair, random.randint(1, 5)) for pair in forward]}


def _pairs(random: Random, nodes: int, count: int, *, directed: bool = True) -> list[Row]:
    """So many different pairs of different nodes; undirected, a pair is the same backwards."""
    found = set[Row]()
    while len(found) < count:
        one, other = random.randrange(nodes), random.randrange(nodes)
        if one != other:
            found.add((one, other) if directed or one < other else (other, one))
    return sorted(found)


def generations(depth: int, width: int) -> Facts:
    """Generations of people, each person with two parents in the one before."""
    random, parents = Random(5), set[Row]()
    for child in range(width, depth * width):
        before = (child // width - 1) * width
        parents |= {(child, before + parent) for parent in random.sample(range(width), 2)}
    return {"par": sorted(parents)}


def modules(count: int, variables: int = 300, objects: int = 60, fields: int = 8) -> Facts:
    """The statements of a program for a points-to analysis: mostly within modules, a few assignments between them."""
    random = Random(6)
    new, assign, load, store = set[Row](), set[Row](), set[Row](), set[Row]()
    for module in range(count):
        first = module * variables

        def variable(first: int = first) -> int:
            return first + random.randrange(variables)

        new |= {(variable(), module * objects + item) for item in range(objects)}
        assign |= {(variable(), variable()) for _ in range(variables)}
        for _ in range(variables // 10):
            load.add((variable(), variable(), random.randrange(fields)))
            store.add((variable(), random.randrange(fields), variable()))
        assign |= {(random.randrange(count * variables), variable()) for _ in range(6)}
    return {"new": sorted(new), "assign": sorted(assign), "load": sorted(load), "store": sorted(store)}
