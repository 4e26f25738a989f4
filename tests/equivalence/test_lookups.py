"""A closure that no plan walks through is never written out; what rules, queries and `in` look up in it is right after
every update."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast.updates import Update

from ..amounts import amount

pytestmark = pytest.mark.only_in_memory("elsewhere all facts that modules derive are rows")

PROGRAM = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
from_start(x, y) :- start(x), path(x, y).
cut(x) :- watched(x), !path(x, 3).
"""
NODES = 40  # so many that a few lookups do not write all of it out
Edge = tuple[int, int]


def closure(edges: set[Edge]) -> set[Edge]:
    found: set[Edge] = set()
    for source in {x for x, _ in edges}:
        reached, waiting = set[int](), [source]
        while waiting:
            node = waiting.pop()
            new = {y for x, y in edges if x == node} - reached
            reached |= new
            waiting += new
        found |= {(source, node) for node in reached}
    return found


def lookups_agree(seed: int) -> bool:
    """Whether the closure was still compact in the end."""
    random = Random(seed)

    def some(most: int) -> set[Edge]:
        return {(random.randrange(NODES), random.randrange(NODES)) for _ in range(most)}

    edges, starts = some(45), {random.randrange(NODES) for _ in range(2)}
    watched = set(range(NODES)) - starts
    kb = holdfast.from_text(
        PROGRAM, facts={"edge": sorted(edges), "start": [(x,) for x in starts], "watched": [(x,) for x in watched]}
    )
    for _ in range(amount(6, 2)):
        path = closure(edges)
        assert set(kb["from_start"]) == {(x, y) for x, y in path if x in starts}
        assert set(kb["cut"]) == {(x,) for x in watched if (x, 3) not in path}
        for value in random.sample(range(NODES), 3):
            assert set(kb.query(f"path({value}, y)")) == {(y,) for x, y in path if x == value}
            assert set(kb.query(f"path(x, {value}), x > 5")) == {(x,) for x, y in path if y == value and x > 5}
        for pair in some(4) | set(random.sample(sorted(path), 2)):
            assert (pair in kb["path"]) == (pair in path)
        gone, come = set(random.sample(sorted(edges), 3)), some(4)
        moved = {random.randrange(NODES)}
        kb.apply(Update(delete={"edge": sorted(gone)}, insert={"edge": sorted(come), "start": [(x,) for x in moved]}))
        edges, starts = (edges - gone) | come, starts | moved
    return "path" in kb._backend.virtual


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_what_is_looked_up_is_right(first: int) -> None:
    compact = sum(map(lookups_agree, range(first, first + amount(20, 1))))
    assert compact >= amount(5, 0), "too few stayed compact: this shows little"
