"""Directed graphs over any values, and the difference that a change of edges makes to what reaches what.

An edge is one 64-bit key, source and target side by side, and a set of edges is a sorted array of keys: a graph that
loses or gains some edges is a merge away, not a sort.  Reachability is computed on the condensation (the strongly
connected components) and for the sources only that a change can affect; with a row of bits for each component where
that is small and most of it is wanted, else by walking.

The kernels are imported where they are used: whoever only asks which module serves a rule does not wait for Numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Pairs = NDArray[np.int64]  # of two columns

MOST_BITS = 1 << 30  # 128 MiB for all rows of bits of one graph
_ROOM = 1 << 20  # pairs that are written at a time
_FEW = 16  # edges that are tried one by one
_HALF = np.int64(32)
_LOW = np.int64(0xFFFFFFFF)
NONE: Numbers = np.empty(0, np.int64)
NO_PAIRS: Pairs = np.empty((0, 2), np.int64)
_NO_BITS: NDArray[np.uint64] = np.empty((0, 0), np.uint64)


class Numbering:
    """Small numbers for values.  A value keeps its number; new ones get the next."""

    def __init__(self) -> None:
        self.values: Numbers = NONE  # by number
        self._sorted: Numbers = NONE
        self._numbers: Numbers = NONE

    def numbers(self, values: Numbers) -> Numbers:
        """The numbers of some values, -1 for those that have none."""
        if not len(self._sorted):
            return np.full(values.shape, -1, np.int64)
        places = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return np.where(self._sorted[places] == values, self._numbers[places], -1)

    def enter(self, values: Numbers) -> Numbers:
        """The same, after giving a number to those that have none."""
        found = self.numbers(values)
        if (found < 0).any():
            new = np.unique(values[found < 0])
            places = np.searchsorted(self._sorted, new)
            self._numbers = np.insert(self._numbers, places, np.arange(len(self.values), len(self.values) + len(new)))
            self._sorted = np.insert(self._sorted, places, new)
            self.values = np.concatenate([self.values, new])
            found = self.numbers(values)
        return found


def keys_of(sources: Numbers, targets: Numbers) -> Numbers:
    """Edges as sorted keys, each once."""
    keys: Numbers = np.unique((sources << _HALF) | targets)
    return keys


def without(keys: Numbers, fewer: Numbers) -> Numbers:
    """Sorted keys without some."""
    places = np.searchsorted(keys, fewer)
    there = places < len(keys)
    there[there] = keys[places[there]] == fewer[there]
    return np.delete(keys, places[there])


def together(*sets: Numbers) -> Numbers:
    """The union of sorted keys; the stable sort of NumPy merges runs that are in order."""
    filled = [keys for keys in sets if len(keys)]
    if len(filled) < 2:
        return filled[0] if filled else NONE
    keys = np.sort(np.concatenate(filled), kind="stable")
    each: Numbers = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return each


def turned(keys: Numbers) -> Numbers:
    """The same edges the other way round."""
    other: Numbers = ((keys & _LOW) << _HALF) | (keys >> _HALF)
    return np.sort(other, kind="stable")


def ends(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The sources and the targets."""
    return keys >> _HALF, keys & _LOW


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes 0 … and edges between them.

    With a stride of 2 each value has two nodes, the even one to start from and the odd one to arrive at.  A graph
    without loops counts nothing as reaching itself that has no edge to itself.
    """

    nodes: int
    keys: Numbers
    stride: int = 1
    no_loops: bool = False

    @cached_property
    def rows(self) -> tuple[Numbers, Numbers]:
        """Compressed sparse rows."""
        return _rows(self.keys, self.nodes)

    @cached_property
    def backward(self) -> tuple[Numbers, Numbers]:
        """The same of the edges turned round."""
        return _rows(turned(self.keys), self.nodes)

    @cached_property
    def condensed(self) -> Condensed:
        """The components and the edges between them."""
        from holdfast.modules import graph_kernels as kernels

        first, targets = self.rows
        component = np.empty(self.nodes, np.int64)
        count = int(kernels.components(first, targets, component))
        left, right = component[self.keys >> _HALF], component[targets]
        loops = left == right
        members = np.argsort(component, kind="stable")
        member_first = np.searchsorted(component[members], np.arange(count + 1))
        cyclic = np.zeros(count, np.uint8)
        cyclic[left[loops]] = 1
        return Condensed(component, *_rows(keys_of(left[~loops], right[~loops]), count), member_first, members, cyclic)

    def reached(self, starts: Numbers, *, backward: bool = False) -> NDArray[np.bool_]:
        """For each node, whether it can be reached from some, these included."""
        from holdfast.modules import graph_kernels as kernels

        seen = np.zeros(self.nodes, np.uint8)
        kernels.reach(*(self.backward if backward else self.rows), starts, seen)
        return seen.view(np.bool_)

    @cached_property
    def loops(self) -> Numbers:
        """The nodes that have an edge to themselves."""
        sources, targets = ends(self.keys)
        looping: Numbers = sources[sources == targets]
        return looping


@dataclass(frozen=True, eq=False)
class Condensed:
    """A condensation, as `graph_kernels.py` describes it."""

    component: Numbers
    first: Numbers
    targets: Numbers
    member_first: Numbers
    members: Numbers
    cyclic: NDArray[np.uint8]

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """For each component the nodes that it reaches."""
        from holdfast.modules import graph_kernels as kernels

        bits = np.zeros((len(self.cyclic), (len(self.members) + 63) // 64), np.uint64)
        kernels.fill_bits(self.first, self.targets, self.member_first, self.members, self.cyclic, bits)
        return bits

    def arrays(self, groups: int) -> tuple[Any, ...]:
        """As the kernel takes them, with bits if they fit and so many components are asked for that they pay."""
        fits = len(self.cyclic) * len(self.members) <= MOST_BITS
        bits = self.bits if fits and groups > len(self.members) // 64 else _NO_BITS
        return self.first, self.targets, self.member_first, self.members, self.cyclic, bits


EMPTY = Condensed(NONE, np.zeros(1, np.int64), NONE, np.zeros(1, np.int64), NONE, np.empty(0, np.uint8))


def closure(graph: Graph, sources: Numbers) -> Iterator[Pairs]:
    """All pairs of a source and what it reaches, as numbers of values, a part at a time."""
    for _, gained in _differences(EMPTY, graph.condensed, sources, graph):
        yield gained
    if graph.no_loops:
        yield _loops(np.intersect1d(graph.loops, sources))


def size(graph: Graph) -> int:
    """How many pairs the closure of all sources has, without writing them out."""
    from holdfast.modules import graph_kernels as kernels

    condensed = graph.condensed
    counts = np.zeros(len(condensed.cyclic), np.int64)
    kernels.count_targets(*(*condensed.arrays(len(counts)), graph.stride, counts))
    component = condensed.component[:: graph.stride]
    pairs = int(counts[component].sum())
    return pairs - int(condensed.cyclic[component].sum()) + len(graph.loops) if graph.no_loops else pairs


def difference(old: Graph, new: Graph) -> tuple[Pairs, Pairs]:
    """The pairs that a change of edges takes from what reaches what, and those that it adds; nothing else is looked at.

    Both graphs have the same nodes.
    """
    sources = affected(old, new)
    parts = list(_differences(old.condensed, new.condensed, sources, old)) if len(sources) else []
    lost, gained = [part[0] for part in parts], [part[1] for part in parts]
    if old.no_loops:
        lost.append(_loops(np.setdiff1d(old.loops, new.loops)))
        gained.append(_loops(np.setdiff1d(new.loops, old.loops)))
    return _one(lost), _one(gained)


def affected(old: Graph, new: Graph) -> Numbers:
    """The sources that may reach more or less than before.

    An edge that went does not matter while its target can be reached otherwise, without any edge that came; and the
    other way round.
    """
    gone, come = without(old.keys, new.keys), without(new.keys, old.keys)
    kept = Graph(old.nodes, without(old.keys, gone), old.stride) if len(gone) else old
    touched = np.zeros(old.nodes, np.bool_)
    for graph, changed in ((old, gone), (new, come)):
        matters = changed[~_detoured(kept, changed)]
        if len(matters):
            touched |= graph.reached(ends(matters)[0], backward=True)
    nodes = np.flatnonzero(touched)
    sources: Numbers = nodes[nodes % old.stride == 0]
    return sources


def _detoured(graph: Graph, keys: Numbers) -> NDArray[np.bool_]:
    """Of some edges that a graph does not have, whether it has a detour; of many it is not asked."""
    from holdfast.modules import graph_kernels as kernels

    found = np.zeros(len(keys), np.uint8)
    if 0 < len(keys) <= _FEW:
        kernels.detours(*graph.rows, *ends(keys), found)
    return found.view(np.bool_)


def _differences(old: Condensed, new: Condensed, sources: Numbers, graph: Graph) -> Iterator[tuple[Pairs, Pairs]]:
    """Sources that are in the same components before and after lose and gain the same."""
    from holdfast.modules import graph_kernels as kernels

    before = old.component[sources] if old is not EMPTY else np.full(len(sources), -1, np.int64)
    after = new.component[sources]
    groups, group_of = np.unique((before << _HALF) | after, return_inverse=True)
    order = np.argsort(group_of, kind="stable")
    first = np.searchsorted(group_of[order], np.arange(len(groups) + 1))
    arguments = (groups >> _HALF, groups & _LOW, first, sources[order], *old.arrays(len(groups)),
                 *new.arrays(len(groups)), graph.stride, graph.no_loops)
    begin, room = 0, _ROOM
    while begin < len(groups):
        lost, gained = np.empty((room if old is not EMPTY else 0, 2), np.int64), np.empty((room, 2), np.int64)
        begin, n_lost, n_gained, needed = kernels.differences(*(begin, *arguments, lost, gained))
        room = max(_ROOM, needed)
        yield lost[:n_lost], gained[:n_gained]


def _rows(keys: Numbers, nodes: int) -> tuple[Numbers, Numbers]:
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(keys >> _HALF, minlength=nodes), out=first[1:])
    return first, keys & _LOW


def _loops(nodes: Numbers) -> Pairs:
    return np.column_stack([nodes, nodes])


def _one(parts: list[Pairs]) -> Pairs:
    return np.concatenate(parts) if parts else NO_PAIRS
