"""Reachability in a graph, and its difference after a change of edges.

A change is evaluated only from the sources that it can affect.  If these reach little, the graph is walked; otherwise
reachability is computed on the condensation, with a row of bits for each component where that is small and most of it
is needed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from holdfast.modules.edges import HALF, LOW, NONE, Numbers, among, ends
from holdfast.modules.graph import EMPTY, SOME, Condensed, Graph

Pairs = NDArray[np.int64]  # of two columns

NO_PAIRS: Pairs = np.empty((0, 2), np.int64)
_CAPACITY = 1 << 20  # pairs that are written at a time
_FIRST_CAPACITY, _EACH = 1 << 10, 16  # pairs in the first buffer, fixed and for each source: most changes are small
_PATIENCE = 16  # steps, in multiples of a graph's nodes and edges, that take about as long as condensing it
_FEW = 16  # edges that are tried one by one without a budget; sources that are not worth narrowing down
_EACH_EDGE = 4  # changed edges up to which the nodes affected by each are determined
_FEWER = 4  # times fewer targets than sources; then the walks begin at the targets


def closure(graph: Graph, nodes: Numbers, *, backward: bool = False) -> Iterator[Pairs]:
    """Yields all pairs of some nodes and what they reach, as numbers of values, a part at a time.

    Backward, the nodes are targets, given as if they were sources; the pairs begin with them too.
    """
    for _, gained in _differences(EMPTY, graph.for_some(len(nodes), backward=backward), nodes, graph):
        yield gained
    if graph.no_loops:
        yield _loops(graph.loops(nodes))


def listed(graph: Graph) -> Iterator[Pairs]:
    """Yields all pairs of the closure, a part at a time: from the sources, or from far fewer targets."""
    nodes, backward = graph.starting_side()
    for pairs in closure(graph, nodes, backward=backward):
        yield pairs[:, ::-1] if backward else pairs


def has(graph: Graph, starts: Numbers, stops: Numbers) -> NDArray[np.bool_]:
    """For each pair of nodes, whether the second can be reached from the first: by their bits, or by a walk."""
    from holdfast.modules import graph_kernels as kernels

    condensed = graph.for_some(len(starts))
    if condensed.may_want_bits(len(starts)):
        words = condensed.bits[condensed.component[starts], stops >> 6]
        found: NDArray[np.bool_] = (words >> (stops & 63).astype(np.uint64)) & np.uint64(1) == 1
    else:
        order = np.argsort(starts, kind="stable")
        flags = np.zeros(len(starts), np.uint8)
        kernels.detours(graph.edges.rows(graph.nodes), starts[order], stops[order], -1, flags)
        found = np.empty(len(starts), np.bool_)
        found[order] = flags.view(np.bool_)
    if graph.no_loops:
        found &= (starts != stops) | graph.edges.has((starts << HALF) | stops)
    return found


def sizes(graph: Graph) -> Iterator[int]:
    """Yields the number of pairs in the closure of all sources, a part at a time, without writing the pairs.

    Only the components of sources are counted: if these are few, so are the walks.
    """
    from holdfast.modules import graph_kernels as kernels

    nodes, backward = graph.starting_side()
    count = graph.nodes if graph.no_loops else len(nodes)  # without loops, it matters which components are cyclic
    condensed = graph.for_some(count, backward=backward)
    some, sources = np.unique(condensed.component[nodes], return_counts=True)
    counts, begin = np.zeros(len(some), np.int64), 0
    arguments = (condensed.arrays(len(some)), graph.stride, some, counts)
    while begin < len(some):
        part = slice(begin, int(kernels.count_targets(begin, *arguments)))
        begin = part.stop
        pairs = int((counts[part] * sources[part]).sum())
        yield pairs - int((condensed.cyclic[some[part]] * sources[part]).sum()) if graph.no_loops else pairs
    if graph.no_loops:
        yield len(graph.loops(np.arange(graph.nodes)))


def difference(old: Graph, new: Graph) -> Iterator[tuple[Pairs, Pairs]]:
    """Yields the pairs that a change of edges removes from the closure, and those that it adds, a part at a time.

    Nothing else is visited.  Both graphs have the same nodes.
    """
    new.follow(old)
    sources = affected(old, new)
    targets = affected(old, new, backward=True) if len(sources) > _FEW else sources
    backward = len(targets) * _FEWER < len(sources)
    parts = _walked(old, new, targets if backward else sources, backward=backward)
    for lost, gained in _differences(old.condensed, new.condensed, sources, old) if parts is None else parts:
        turn = backward and parts is not None
        yield (lost[:, ::-1], gained[:, ::-1]) if turn else (lost, gained)
    if old.no_loops:
        changed = old.edges.change(new.edges)
        removed, added = (sources[sources == targets] for sources, targets in map(ends, changed))
        yield _loops(removed), _loops(added)


def _walked(old: Graph, new: Graph, nodes: Numbers, *, backward: bool) -> list[tuple[Pairs, Pairs]] | None:
    """The differences by walking both graphs as they are; None if that takes more steps than condensing them."""
    patience = _PATIENCE if new.nearest is None else _PATIENCE // 2  # editing a condensation is faster
    budget = patience * (old.nodes + len(old.edges.keys))
    if not len(nodes):
        return []
    before, after = (graph.as_it_is(backward=backward) for graph in (old, new))
    try:
        return list(_differences(before, after, nodes, old, budget))
    except _TooFarError:
        return None


class _TooFarError(Exception):
    """A walk exceeds its budget."""


def affected(old: Graph, new: Graph, *, backward: bool = False) -> Numbers:
    """The sources that may reach more or less than before; backward the targets, given as if they were sources.

    A removed edge does not matter if its target can be reached otherwise, without any added edge; and vice versa.
    """
    removed, added = old.edges.change(new.edges)
    kept = Graph(old.nodes, old.edges.edited(removed, NONE), old.stride) if len(removed) else old
    touched = np.zeros(old.nodes, np.bool_)
    for graph, changed in ((old, removed), (new, added)):
        matters = changed[~_detoured(kept, changed)]
        if len(matters):
            touched |= _touched(graph, kept, *ends(matters), backward=backward)
    found: Numbers = np.flatnonzero(touched[old.stride - 1 if backward else 0 :: old.stride]) * old.stride
    if old.stride == 2 and len(found) > old.nodes // SOME and not backward:
        found = found[among(found, old.sources()) | among(found, new.sources())]
    return found


def _touched(graph: Graph, kept: Graph, starts: Numbers, stops: Numbers, *, backward: bool) -> NDArray[np.bool_]:
    """The nodes that reach one of these edges, or that can be reached from one.

    For few edges, leaves out the nodes that reach the other end without any changed edge: the edge does not matter to
    them.
    """
    near, far = (stops, starts) if backward else (starts, stops)
    touched = graph.reached(near, backward=not backward)
    if len(near) > _EACH_EDGE or np.count_nonzero(touched) <= _FEW:
        return touched
    touched[:] = False
    for place in range(len(near)):
        still = kept.reached(far[place : place + 1], backward=not backward)
        still[far[place]] = False  # it reaches itself in no step; whether by a cycle too is a different question
        touched |= graph.reached(near[place : place + 1], backward=not backward) & ~still
    return touched


def _detoured(graph: Graph, keys: Numbers) -> NDArray[np.bool_]:
    """For edges that a graph does not have, whether it has a detour; for many edges, only as long as that is fast."""
    from holdfast.modules import graph_kernels as kernels

    found = np.zeros(len(keys), np.uint8)
    if len(keys):
        budget = -1 if len(keys) <= _FEW else graph.nodes + len(graph.edges.keys)
        kernels.detours(graph.edges.rows(graph.nodes), *ends(keys), budget, found)
    return found.view(np.bool_)


def _differences(
    old: Condensed, new: Condensed, sources: Numbers, graph: Graph, budget: int = -1
) -> Iterator[tuple[Pairs, Pairs]]:
    """Yields the differences; sources in the same components before and after lose and gain the same."""
    from holdfast.modules import graph_kernels as kernels

    before = old.component[sources] if old is not EMPTY else np.full(len(sources), -1, np.int64)
    after = new.component[sources]
    groups, group_of = np.unique((before << HALF) | after, return_inverse=True)
    order = np.argsort(group_of, kind="stable")
    first = np.searchsorted(group_of[order], np.arange(len(groups) + 1))
    arguments = (
        (groups >> HALF, groups & LOW, first, sources[order]),
        old.arrays(len(groups)),
        new.arrays(len(groups)),
        graph.stride,
        graph.no_loops,
        budget,
    )
    begin, capacity = 0, min(_CAPACITY, _FIRST_CAPACITY + _EACH * len(sources))
    while begin < len(groups):
        lost, gained = np.empty((capacity if old is not EMPTY else 0, 2), np.int64), np.empty((capacity, 2), np.int64)
        begin, n_lost, n_gained, needed = kernels.differences(begin, *arguments, lost, gained)
        if begin < 0:
            raise _TooFarError
        capacity = max(_CAPACITY, needed)
        yield lost[:n_lost], gained[:n_gained]


def _loops(nodes: Numbers) -> Pairs:
    return np.column_stack([nodes, nodes])
