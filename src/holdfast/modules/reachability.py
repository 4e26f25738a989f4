"""What reaches what in a graph, and the difference that a change of edges makes to it.

A change is looked at from the sources only that it can affect.  If little is in reach of these, it is walked; else
reachability is computed on the condensation, with a row of bits for each component where that is small and most of it
is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from holdfast.modules.edges import HALF, LOW, NONE, Edges, Numbers, among, ends, together, without
from holdfast.modules.graph import EMPTY, SOME, Condensed, Graph

Pairs = NDArray[np.int64]  # of two columns

NO_PAIRS: Pairs = np.empty((0, 2), np.int64)
_CAPACITY = 1 << 20  # pairs that are written at a time
_FIRST_CAPACITY, _EACH = 1 << 10, 16  # pairs that are written at first, all and for each source: most changes are small
_PATIENCE = 16  # steps, in multiples of a graph's nodes and edges, that take about as long as condensing it
_FEW = 16  # edges that are tried one by one, however long it takes


def closure(graph: Graph, nodes: Numbers, *, backward: bool = False) -> Iterator[Pairs]:
    """All pairs of some nodes and what they reach, as numbers of values, a part at a time.

    Backward, the nodes are targets, given as if they were sources; the pairs begin with
    them too.
    """
    for _, gained in _differences(EMPTY, graph.for_some(len(nodes), backward=backward), nodes, graph):
        yield gained
    if graph.no_loops:
        yield _loops(graph.loops(nodes))


def listed(graph: Graph) -> Iterator[Pairs]:
    """All pairs of the closure, a part at a time: from the sources, or from the targets if these are far fewer."""
    nodes, backward = graph.starting_side()
    for pairs in closure(graph, nodes, backward=backward):
        yield pairs[:, ::-1] if backward else pairs


def has(graph: Graph, starts: Numbers, stops: Numbers) -> NDArray[np.bool_]:
    """Of each pair of nodes, whether the second can be reached from the first: by their bits, or by a walk."""
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
    """How many pairs the closure of all sources has, counted a part at a time and not written out.

    Only the components of sources are counted: where these are few, so are the walks.
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
    """The pairs that a change of edges takes from what reaches what, and those that it adds, a part at a time.

    Nothing else is visited.  Both graphs have the same nodes.
    """
    sources = affected(old, new)
    parts = _walked(old, new, sources) if len(sources) else []
    yield from _differences(old.condensed, new.condensed, sources, old) if parts is None else parts
    if old.no_loops:
        changed = _changed(old.edges, new.edges)
        removed, added = (sources[sources == targets] for sources, targets in map(ends, changed))
        yield _loops(removed), _loops(added)


def _walked(old: Graph, new: Graph, sources: Numbers) -> list[tuple[Pairs, Pairs]] | None:
    """The differences by walking both graphs as they are; None if that takes more steps than condensing them would."""
    budget = _PATIENCE * (old.nodes + len(old.edges.keys))
    try:
        return list(_differences(old.as_it_is(), new.as_it_is(), sources, old, budget))
    except _TooFarError:
        return None


class _TooFarError(Exception):
    """A walk is longer than its budget."""


def affected(old: Graph, new: Graph) -> Numbers:
    """The sources that may reach more or less than before.

    A removed edge does not matter while its target can be reached otherwise, without any added edge; and the
    other way round.
    """
    removed, added = _changed(old.edges, new.edges)
    kept = Graph(old.nodes, old.edges.edited(removed, NONE), old.stride) if len(removed) else old
    touched = np.zeros(old.nodes, np.bool_)
    for graph, changed in ((old, removed), (new, added)):
        matters = changed[~_detoured(kept, changed)]
        if len(matters):
            touched |= graph.reached(ends(matters)[0], backward=True)
    nodes = np.flatnonzero(touched)
    sources: Numbers = nodes[nodes % old.stride == 0]
    if old.stride == 2 and len(sources) > old.nodes // SOME:
        sources = sources[among(sources, old.sources()) | among(sources, new.sources())]
    return sources


def _changed(old: Edges, new: Edges) -> tuple[Numbers, Numbers]:
    """The edges removed and added from one set to the other."""
    if old.keys is new.keys:  # then only what is beside the keys can differ
        removed = together(without(new.removed, old.removed), without(old.added, new.added))
        return removed, together(without(old.removed, new.removed), without(new.added, old.added))
    return without(old.all, new.all), without(new.all, old.all)


def _detoured(graph: Graph, keys: Numbers) -> NDArray[np.bool_]:
    """Of some edges that a graph does not have, whether it has a detour; of many only as long as this is quick."""
    from holdfast.modules import graph_kernels as kernels

    found = np.zeros(len(keys), np.uint8)
    if len(keys):
        budget = -1 if len(keys) <= _FEW else graph.nodes + len(graph.edges.keys)
        kernels.detours(graph.edges.rows(graph.nodes), *ends(keys), budget, found)
    return found.view(np.bool_)


def _differences(
    old: Condensed, new: Condensed, sources: Numbers, graph: Graph, budget: int = -1
) -> Iterator[tuple[Pairs, Pairs]]:
    """Sources that are in the same components before and after lose and gain the same."""
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
