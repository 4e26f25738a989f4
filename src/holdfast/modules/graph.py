"""Directed graphs over any values, and the difference that a change of edges makes to what reaches what.

An edge is one 64-bit key, source and target side by side, and a set of edges is a sorted array of keys; edges that came
and went since stand in two short arrays beside it, until they are many.  A change is looked at from the sources only
that it can affect.  If little is in reach of these, it is walked; else reachability is computed on the condensation
(the strongly connected components), with a row of bits for each component where that is small and most of it is
wanted.

The kernels are imported where they are used: finding the module for a rule does not wait for Numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.quick_dataclass import dataclass

Numbers = NDArray[np.int64]
Pairs = NDArray[np.int64]  # of two columns
ReachRows = tuple[Numbers, Numbers]

MOST_BITS = 1 << 30  # 128 MiB for all rows of bits of one graph
_CAPACITY = 1 << 20  # pairs that are written at a time
_FIRST_CAPACITY, _EACH = 1 << 10, 16  # pairs that are written at first, all and for each source: most changes are small
_SHORT = 64  # edges beside the keys; more are worth a merge
_PATIENCE = 16  # times a graph's nodes and edges: so many steps take as long as condensing it, about
_FEW = 16  # edges that are tried one by one, however long it takes
_DENSE = 16  # numbers of which one in so many is there are flagged
_SOME = 64  # a row of bits for all nodes pays when so many of their number are asked for
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

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.values.nbytes + self._sorted.nbytes + self._numbers.nbytes

    def numbers(self, values: Numbers) -> Numbers:
        """The numbers of some values, -1 for those that have none."""
        if not len(self._sorted):
            return np.full(values.shape, -1, np.int64)
        places = np.minimum(np.searchsorted(self._sorted, values), len(self._sorted) - 1)
        return np.where(self._sorted[places] == values, self._numbers[places], -1)

    def enter(self, values: Numbers) -> Numbers:
        """The same, after giving a number to those that have none."""
        if not len(values):
            return values
        found = self.numbers(values)
        if (found < 0).any():
            new = distinct(values[found < 0])
            places = np.searchsorted(self._sorted, new)
            self._numbers = np.insert(self._numbers, places, np.arange(len(self.values), len(self.values) + len(new)))
            self._sorted = np.insert(self._sorted, places, new)
            self.values = np.concatenate([self.values, new])
            found = self.numbers(values)
        return found


def keys_of(sources: Numbers, targets: Numbers) -> Numbers:
    """Edges as sorted keys, each once."""
    return distinct((sources << _HALF) | targets)


def distinct(numbers: Numbers) -> Numbers:
    """Sorted, each once.  Not `np.unique`: its hash table takes keys that have much in common for the same."""
    if len(numbers) > _DENSE:
        low, high = int(numbers.min()), int(numbers.max())  # whose difference may be more than 64 bits hold
        if high - low < _DENSE * len(numbers):  # flags for all in between are quicker than sorting
            flags = np.zeros(high - low + 1, np.bool_)
            flags[numbers - low] = True
            return np.flatnonzero(flags) + low
    numbers = np.sort(numbers, axis=None)
    return numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])] if len(numbers) else numbers


def without(keys: Numbers, fewer: Numbers) -> Numbers:
    """Sorted keys without some."""
    if not len(fewer) or not len(keys):
        return keys
    return np.delete(keys, np.searchsorted(keys, fewer[among(fewer, keys)]))


def together(*sets: Numbers) -> Numbers:
    """The union of sorted keys; the stable sort of NumPy merges runs that are in order."""
    filled = [keys for keys in sets if len(keys)]
    if len(filled) < 2:
        return filled[0] if filled else NONE
    keys = np.sort(np.concatenate(filled), kind="stable")
    each: Numbers = keys[np.concatenate([[True], keys[1:] != keys[:-1]])]
    return each


def flipped(keys: Numbers) -> Numbers:
    """Each edge the other way round."""
    return ((keys & _LOW) << _HALF) | (keys >> _HALF)


def turned(keys: Numbers) -> Numbers:
    """The same, sorted."""
    return np.sort(flipped(keys), kind="stable")


def among(wanted: Numbers, keys: Numbers) -> NDArray[np.bool_]:
    """Of each key, whether it is among sorted keys."""
    if not len(keys):
        return np.zeros(len(wanted), np.bool_)
    found: NDArray[np.bool_] = keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted
    return found


def ends(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The sources and the targets."""
    return keys >> _HALF, keys & _LOW


@dataclass(frozen=True, eq=False)
class Edges:
    """A set of edges: sorted keys, without those that went, with those that came."""

    keys: Numbers
    came: Numbers = field(default_factory=lambda: NONE)
    went: Numbers = field(default_factory=lambda: NONE)
    _indexes: dict[bool, ReachRows] = field(default_factory=dict)  # of the keys, forward and backward

    def __len__(self) -> int:
        return len(self.keys) + len(self.came) - len(self.went)

    def edited(self, lost: Numbers, gained: Numbers) -> Edges:
        """Without some edges that are in it, and with some that are not."""
        if not len(lost) and not len(gained):
            return self
        came = together(without(self.came, lost), without(gained, self.went))
        went = together(without(self.went, gained), without(lost, self.came))
        if len(came) + len(went) > max(_SHORT, len(self.keys) >> 5):
            return Edges(together(without(self.keys, went), came))
        return Edges(self.keys, came, went, self._indexes)

    def has(self, keys: Numbers) -> NDArray[np.bool_]:
        """Of each key, whether it is in the set."""
        return (among(keys, self.keys) & ~among(keys, self.went)) | among(keys, self.came)

    @cached_property
    def all(self) -> Numbers:
        """The keys of all edges, sorted."""
        return together(without(self.keys, self.went), self.came)

    @property
    def nbytes(self) -> int:
        """The memory that it takes by now."""
        indexes = (array for index in self._indexes.values() for array in index)
        return sum(array.nbytes for array in (self.keys, self.came, self.went, *indexes))

    def rows(self, nodes: int, *, backward: bool = False) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """As the kernels take them, of the edges as they are or turned round."""
        index = self._indexes.get(backward)
        if index is None:
            index = _rows(turned(self.keys) if backward else self.keys, nodes)
        elif len(index[0]) <= nodes:
            index = np.concatenate([index[0], np.full(nodes + 1 - len(index[0]), index[0][-1])]), index[1]
        self._indexes[backward] = index
        beside = [turned(keys) if backward else keys for keys in (self.came, self.went)]
        return index[0][: nodes + 1], index[1], beside[0], beside[1]


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes 0 … and edges between them.

    With a stride of 2 each value has two nodes, the even one to start from and the odd one to arrive at.  A graph
    without loops counts nothing as reaching itself that has no edge to itself.
    """

    nodes: int
    edges: Edges
    stride: int = 1
    no_loops: bool = False

    @property
    def keys(self) -> Numbers:
        """All edges as sorted keys."""
        return self.edges.all

    @cached_property
    def condensed(self) -> Condensed:
        """The components and the edges between them."""
        from holdfast.modules import graph_kernels as kernels

        first, targets = _rows(self.keys, self.nodes)
        component = np.empty(self.nodes, np.int64)
        count = int(kernels.components(first, targets, component))
        members = np.argsort(component, kind="stable")
        member_first = np.searchsorted(component[members], np.arange(count + 1))
        cyclic, between_first = np.zeros(count, np.uint8), np.empty(count + 1, np.int64)
        between = np.empty(len(targets), np.int64)
        arguments = (first, targets, component, member_first, members, cyclic, between_first, between)
        edges = int(kernels.condense(*arguments))
        return Condensed(component, between_first, between[:edges].copy(), NONE, NONE, member_first, members, cyclic)

    def reached(self, starts: Numbers, *, backward: bool = False) -> NDArray[np.bool_]:
        """For each node, whether it can be reached from some, these included."""
        from holdfast.modules import graph_kernels as kernels

        seen = np.zeros(self.nodes, np.uint8)
        kernels.reach(*(*self.edges.rows(self.nodes, backward=backward), starts, seen))
        return seen.view(np.bool_)

    def loops(self, nodes: Numbers) -> Numbers:
        """Those of some nodes that have an edge to themselves."""
        looping: Numbers = nodes[self.edges.has((nodes << _HALF) | nodes)]
        return looping

    @cached_property
    def turned(self) -> Graph:
        """All edges the other way round; of the two nodes of a value, the one to arrive at is the one to start from."""
        swapped = self.keys ^ (np.int64(1) << _HALF | np.int64(1)) if self.stride == 2 else self.keys
        return Graph(self.nodes, Edges(turned(swapped)), self.stride, self.no_loops)

    def as_it_is(self, *, backward: bool = False) -> Condensed:
        """Each node as a component of its own."""
        if backward and self.stride == 2:
            return self.turned.as_it_is()
        nodes = np.arange(self.nodes + 1)
        none = np.zeros(self.nodes, np.uint8)
        return Condensed(
            nodes[:-1], *self.edges.rows(self.nodes, backward=backward), nodes, nodes[:-1], none, may_have_bits=False
        )

    def for_some(self, count: int, *, backward: bool = False) -> Condensed:
        """What to list the closure of so many nodes from: what is there already, or what soonest leads to them all."""
        if count > self.nodes // _SOME:
            return (self.turned if backward else self).condensed
        return self.condensed if "condensed" in self.__dict__ and not backward else self.as_it_is(backward=backward)

    @property
    def nbytes(self) -> int:
        """The memory that it takes by now."""
        known = [self.edges.nbytes]
        known += [self.condensed.nbytes] if "condensed" in self.__dict__ else []
        known += [self.turned.nbytes] if "turned" in self.__dict__ else []
        return sum(known)


@dataclass(frozen=True, eq=False)
class Condensed:
    """A condensation, as `graph_kernels.py` describes it."""

    component: Numbers
    first: Numbers
    targets: Numbers
    came: Numbers
    went: Numbers
    member_first: Numbers
    members: Numbers
    cyclic: NDArray[np.uint8]
    may_have_bits: bool = True  # only in the order of a condensation

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """For each component the nodes that it reaches."""
        from holdfast.modules import graph_kernels as kernels

        bits = np.zeros((len(self.cyclic), (len(self.members) + 63) // 64), np.uint64)
        kernels.fill_bits(self.first, self.targets, self.member_first, self.members, self.cyclic, bits)
        return bits

    def may_want_bits(self, groups: int) -> bool:
        """Whether they are there, or fit and pay."""
        fits = self.may_have_bits and len(self.cyclic) * len(self.members) <= MOST_BITS
        return "bits" in self.__dict__ or (fits and groups > len(self.members) // _SOME)

    @property
    def nbytes(self) -> int:
        """The memory that it takes by now."""
        arrays = (self.component, self.first, self.targets, self.member_first, self.members, self.cyclic)
        return sum(array.nbytes for array in arrays) + (self.bits.nbytes if "bits" in self.__dict__ else 0)

    def arrays(self, groups: int) -> tuple[Any, ...]:
        """As the kernels take them, with bits if they fit and enough components are requested."""
        bits = self.bits if self.may_want_bits(groups) else _NO_BITS
        return self.first, self.targets, self.came, self.went, self.member_first, self.members, self.cyclic, bits


EMPTY = Condensed(NONE, np.zeros(1, np.int64), NONE, NONE, NONE, np.zeros(1, np.int64), NONE, np.empty(0, np.uint8))


def closure(graph: Graph, nodes: Numbers, *, backward: bool = False) -> Iterator[Pairs]:
    """All pairs of some nodes and what they reach, as numbers of values, a part at a time.

    Backward, the nodes are targets, given as if they were sources; the pairs begin with
    them too.
    """
    for _, gained in _differences(EMPTY, graph.for_some(len(nodes), backward=backward), nodes, graph):
        yield gained
    if graph.no_loops:
        yield _loops(graph.loops(nodes))


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
        kernels.detours(*(*graph.edges.rows(graph.nodes), starts[order], stops[order], -1, flags))
        found = np.empty(len(starts), np.bool_)
        found[order] = flags.view(np.bool_)
    if graph.no_loops:
        found &= (starts != stops) | graph.edges.has((starts << _HALF) | stops)
    return found


def sizes(graph: Graph) -> Iterator[int]:
    """How many pairs the closure of all sources has, counted a part at a time and not written out."""
    from holdfast.modules import graph_kernels as kernels

    condensed, begin = graph.condensed, 0
    counts = np.zeros(len(condensed.cyclic), np.int64)
    arguments = (*condensed.arrays(len(counts)), graph.stride, counts)
    sources = np.bincount(condensed.component[:: graph.stride], minlength=len(counts))
    while begin < len(counts):
        part = slice(begin, int(kernels.count_targets(*(begin, *arguments))))
        begin = part.stop
        pairs = int((counts[part] * sources[part]).sum())
        yield pairs - int((condensed.cyclic[part] * sources[part]).sum()) if graph.no_loops else pairs
    if graph.no_loops:
        yield len(graph.loops(np.arange(graph.nodes)))


def difference(old: Graph, new: Graph) -> Iterator[tuple[Pairs, Pairs]]:
    """The pairs that a change of edges takes from what reaches what, and those that it adds, a part at a time.

    Nothing else is looked at.  Both graphs have the same nodes.
    """
    sources = affected(old, new)
    parts = _walked(old, new, sources) if len(sources) else []
    yield from _differences(old.condensed, new.condensed, sources, old) if parts is None else parts
    if old.no_loops:
        changed = _changed(old.edges, new.edges)
        gone, come = (sources[sources == targets] for sources, targets in map(ends, changed))
        yield _loops(gone), _loops(come)


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

    An edge that went does not matter while its target can be reached otherwise, without any edge that came; and the
    other way round.
    """
    gone, come = _changed(old.edges, new.edges)
    kept = Graph(old.nodes, old.edges.edited(gone, NONE), old.stride) if len(gone) else old
    touched = np.zeros(old.nodes, np.bool_)
    for graph, changed in ((old, gone), (new, come)):
        matters = changed[~_detoured(kept, changed)]
        if len(matters):
            touched |= graph.reached(ends(matters)[0], backward=True)
    nodes = np.flatnonzero(touched)
    sources: Numbers = nodes[nodes % old.stride == 0]
    return sources


def _changed(old: Edges, new: Edges) -> tuple[Numbers, Numbers]:
    """The edges that went and came from one set to the other."""
    if old.keys is new.keys:  # then only what is beside the keys can differ
        gone = together(without(new.went, old.went), without(old.came, new.came))
        return gone, together(without(old.went, new.went), without(new.came, old.came))
    return without(old.all, new.all), without(new.all, old.all)


def _detoured(graph: Graph, keys: Numbers) -> NDArray[np.bool_]:
    """Of some edges that a graph does not have, whether it has a detour; of many only as long as this is quick."""
    from holdfast.modules import graph_kernels as kernels

    found = np.zeros(len(keys), np.uint8)
    if len(keys):
        budget = -1 if len(keys) <= _FEW else graph.nodes + len(graph.edges.keys)
        kernels.detours(*(*graph.edges.rows(graph.nodes), *ends(keys), budget, found))
    return found.view(np.bool_)


def _differences(
    old: Condensed, new: Condensed, sources: Numbers, graph: Graph, budget: int = -1
) -> Iterator[tuple[Pairs, Pairs]]:
    """Sources that are in the same components before and after lose and gain the same."""
    from holdfast.modules import graph_kernels as kernels

    before = old.component[sources] if old is not EMPTY else np.full(len(sources), -1, np.int64)
    after = new.component[sources]
    groups, group_of = np.unique((before << _HALF) | after, return_inverse=True)
    order = np.argsort(group_of, kind="stable")
    first = np.searchsorted(group_of[order], np.arange(len(groups) + 1))
    arguments = (
        groups >> _HALF,
        groups & _LOW,
        first,
        sources[order],
        *old.arrays(len(groups)),
        *new.arrays(len(groups)),
        graph.stride,
        graph.no_loops,
        budget,
    )
    begin, capacity = 0, min(_CAPACITY, _FIRST_CAPACITY + _EACH * len(sources))
    while begin < len(groups):
        lost, gained = np.empty((capacity if old is not EMPTY else 0, 2), np.int64), np.empty((capacity, 2), np.int64)
        begin, n_lost, n_gained, needed = kernels.differences(*(begin, *arguments, lost, gained))
        if begin < 0:
            raise _TooFarError
        capacity = max(_CAPACITY, needed)
        yield lost[:n_lost], gained[:n_gained]


def _rows(keys: Numbers, nodes: int) -> tuple[Numbers, Numbers]:
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(keys >> _HALF, minlength=nodes), out=first[1:])
    return first, keys & _LOW


def _loops(nodes: Numbers) -> Pairs:
    return np.column_stack([nodes, nodes])
