"""The state of a closure after an update: the same graph as one made anew, and edited where it can be."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from holdfast.modules.closure_state import ClosureForm, State, keys_for, state_of
from holdfast.program.patterns import Shape, Slice

REFLEXIVE = [(Shape.REFLEXIVE_SOURCE,), (Shape.REFLEXIVE_TARGET,), (Shape.REFLEXIVE_SOURCE, Shape.REFLEXIVE_TARGET)]
SHAPES = [
    frozenset({Shape.TRANSITIVE, *reflexive, *symmetric})
    for reflexive, symmetric in product([(), *REFLEXIVE], [(), (Shape.SYMMETRIC,)])
]
Pair = tuple[int, int]


def rows(pairs: set[Pair]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def pairs_of(state: State) -> set[Pair]:
    keys = state.graph.keys
    return {(int(x), int(y)) for x, y in state.numbering.values[np.column_stack([keys >> 32, keys & 0xFFFFFFFF])]}


def edited(state: State, lost: set[Pair], gained: set[Pair]) -> State:
    change = keys_for(state.numbering, rows(lost)), keys_for(state.numbering, rows(gained))
    nothing = keys_for(state.numbering, rows(set()))
    return state.edited(change, (nothing, nothing), (nothing, nothing))


@pytest.mark.parametrize("shapes", SHAPES, ids=lambda shapes: " ".join(sorted(shape.name for shape in shapes)))
@pytest.mark.parametrize("seed", range(20))
def test_an_edited_graph_is_that_of_the_new_edges(shapes: frozenset[Shape], seed: int) -> None:
    random, form = Random(seed), ClosureForm(shapes, False)
    values = random.choice([3, 6, 30])
    edges = {(random.randrange(values), random.randrange(values)) for _ in range(random.choice([0, 5, 60]))}
    state = state_of(form, rows(edges))
    for _ in range(12):
        lost = {edge for edge in edges if random.random() < 0.3}
        some = {(random.randrange(values + 4), random.randrange(values + 4)) for _ in range(random.randrange(6))}
        state, edges = edited(state, lost, some - edges), (edges - lost) | (some - edges)
        assert state.known is not None  # not made anew
        assert pairs_of(state) == pairs_of(state_of(form, rows(edges)))


@pytest.mark.parametrize("shapes", SHAPES, ids=lambda shapes: " ".join(sorted(shape.name for shape in shapes)))
def test_a_small_change_leaves_the_keys_where_they_are(shapes: frozenset[Shape]) -> None:
    state = state_of(ClosureForm(shapes, False), rows({(i, i + 1) for i in range(5_000)}))
    keys = state.graph.edges.keys
    for changed in range(8):
        state = edited(state, {(100 * changed, 100 * changed + 1)}, {(100 * changed, 9_000 + changed)})
        assert state.graph.edges.keys is keys


@pytest.mark.parametrize("sides", ["before", "after", "both"])
@pytest.mark.parametrize("seed", range(20))
def test_an_edited_doubled_graph_is_that_of_the_new_edges(sides: str, seed: int) -> None:
    """The steps are other edges than B, so each value has two nodes."""
    random, step = Random(seed), (Slice("s", (0, 1)),)
    form = ClosureForm(frozenset(), False, step * (sides != "after"), step * (sides != "before"))
    values = random.choice([3, 6, 30])

    def some(number: int) -> set[Pair]:
        return {(random.randrange(values), random.randrange(values)) for _ in range(number)}

    sets = [some(5), some(20) if sides != "after" else set(), some(20) if sides != "before" else set()]
    state = state_of(form, *map(rows, sets))
    assert state.graph.stride == 2
    for _ in range(12):
        changes = []
        for place, edges in enumerate(sets):
            lost = {edge for edge in edges if random.random() < 0.2}
            gained = some(random.randrange(4)) - edges if edges or place == 0 else set()
            sets[place] = (edges - lost) | gained
            changes.append((keys_for(state.numbering, rows(lost)), keys_for(state.numbering, rows(gained))))
        state = state.edited(*changes)
        if state.known is not None and state.known.stride == 2:
            assert doubled_pairs(state) == doubled_pairs(state_of(form, *map(rows, sets)))


def doubled_pairs(state: State) -> set[Pair]:
    """The edges of the graph with two nodes for each value: twice the value, and one more for the second."""
    keys = state.doubled(state.form.is_flipped).keys if state.known is None else state.known.keys
    ends = np.column_stack([keys >> 32, keys & 0xFFFFFFFF])
    return {(int(x), int(y)) for x, y in 2 * state.numbering.values[ends >> 1] + (ends & 1)}
