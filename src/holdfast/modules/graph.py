"""Directed graphs and their condensations: the strongly connected components and the edges between them.

The kernels are imported where they are used: finding the module for a rule does not wait for Numba.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.modules.edges import HALF, LOW, NONE, Edges, Numbers, distinct, ends, rows_of, together, turned, without
from holdfast.quick_dataclass import dataclass

MOST_BITS = 1 << 30  # 128 MiB for all rows of bits of one graph
SOME = 64  # a row of bits for all nodes pays when this share of them is requested
_FEWER = 4  # times fewer targets than sources; then reversing the edges pays
_SOME_EDGES = 64  # changed edges up to which a condensation is edited
_NO_BITS: NDArray[np.uint64] = np.empty((0, 0), np.uint64)


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes 0 … and edges between them.

    With a stride of 2 each value has two nodes, the even one to start from and the odd one to arrive at.  With
    `no_loops`, only a node with an edge to itself counts as reaching itself.
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
    def nearest(self) -> Graph | None:
        """A condensed graph with nearly the same edges; set by `follow`."""
        return None

    def follow(self, old: Graph) -> None:
        """Note that this graph comes from another by a change of edges, so that its condensation can be derived too."""
        if "condensed" not in self.__dict__ and old.nodes == self.nodes:
            self.__dict__["nearest"] = old if "condensed" in old.__dict__ else old.nearest

    @cached_property
    def condensed(self) -> Condensed:
        """The components and the edges between them: derived from the nearest graph, or computed."""
        nearest = self.nearest
        self.__dict__["nearest"] = None
        edited = None if nearest is None else self._condensed_from(nearest)
        return self._condensed_anew() if edited is None else edited

    def _condensed_from(self, old: Graph) -> Condensed | None:
        """The condensation, from another graph's; None if components or their order may change, or many edges have."""
        lost, gained = old.edges.change(self.edges)
        changed = together(lost, gained)
        condensed = old.condensed.edited(lost, gained) if len(changed) <= _SOME_EDGES else None
        if condensed is not None and "bits" in old.condensed.__dict__:
            starts, _ = ends(changed)
            touched = old.reached(starts, backward=True) | self.reached(starts, backward=True)
            condensed.fill_from(old.condensed, distinct(condensed.component[touched]))
        return condensed

    def _condensed_anew(self) -> Condensed:
        from holdfast.modules import graph_kernels as kernels

        first, targets = rows_of(self.keys, self.nodes)
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
        """For each node, whether it can be reached from the start nodes, which are included."""
        from holdfast.modules import graph_kernels as kernels

        seen = np.zeros(self.nodes, np.uint8)
        kernels.reach(self.edges.rows(self.nodes, backward=backward), starts, seen)
        return seen.view(np.bool_)

    def loops(self, nodes: Numbers) -> Numbers:
        """The nodes among these that have an edge to themselves."""
        looping: Numbers = nodes[self.edges.has((nodes << HALF) | nodes)]
        return looping

    def sources(self) -> Numbers:
        """The start nodes that arrive somewhere.

        In a graph with two nodes for each value, many may lead only to others like them.
        """
        starts, stops = ends(self.keys)
        if self.stride == 1:
            return distinct(starts)
        arriving = distinct(starts[(starts & 1 == 0) & (stops & 1 == 1)])
        return 2 * np.flatnonzero(self.reached(arriving, backward=True)[::2])

    def targets(self) -> Numbers:
        """The nodes to arrive at that can be reached, given as their values' start nodes."""
        starts, stops = ends(self.keys)
        if self.stride == 1:
            return distinct(stops)
        arrived = distinct(stops[(starts & 1 == 0) & (stops & 1 == 1)])
        return 2 * np.flatnonzero(self.reached(arrived)[1::2])

    def starting_side(self) -> tuple[Numbers, bool]:
        """The nodes from which all pairs are found fastest, and whether these are targets."""
        sources, targets = self.sources(), self.targets()
        is_backward = len(targets) * _FEWER < len(sources)
        return (targets, True) if is_backward else (sources, False)

    @cached_property
    def turned(self) -> Graph:
        """The graph with all edges reversed; a value's two nodes swap their roles."""
        swapped = self.keys ^ (np.int64(1) << HALF | np.int64(1)) if self.stride == 2 else self.keys
        return Graph(self.nodes, Edges(turned(swapped)), self.stride, self.no_loops)

    def as_it_is(self, *, backward: bool = False) -> Condensed:
        """A condensation in which each node is a component of its own."""
        if backward and self.stride == 2:
            return self.turned.as_it_is()
        nodes = np.arange(self.nodes + 1)
        none = np.zeros(self.nodes, np.uint8)
        return Condensed(
            nodes[:-1], *self.edges.rows(self.nodes, backward=backward), nodes, nodes[:-1], none, may_have_bits=False
        )

    def for_some(self, count: int, *, backward: bool = False) -> Condensed:
        """The best structure for listing the closure of this many nodes: an existing one, or the cheapest to build."""
        if count > self.nodes // SOME:
            return (self.turned if backward else self).condensed
        return self.condensed if "condensed" in self.__dict__ and not backward else self.as_it_is(backward=backward)

    @property
    def nbytes(self) -> int:
        """The memory that it takes now."""
        known = [self.edges.nbytes]
        known += [self.condensed.nbytes] if "condensed" in self.__dict__ else []
        known += [self.turned.nbytes] if "turned" in self.__dict__ else []
        known += [self.nearest.condensed.nbytes] if self.nearest is not None else []
        return sum(known)


@dataclass(frozen=True, eq=False)
class Condensed:
    """A condensation, as `graph_kernels/` describes it."""

    component: Numbers
    first: Numbers
    targets: Numbers
    added: Numbers
    removed: Numbers
    member_first: Numbers
    members: Numbers
    cyclic: NDArray[np.uint8]
    may_have_bits: bool = True  # valid only in the order of a condensation
    in_order: bool = False  # the targets of each component in ascending order

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """For each component, the nodes that it reaches."""
        from holdfast.modules import graph_kernels as kernels

        bits = np.empty((len(self.cyclic), (len(self.members) + 63) // 64), np.uint64)
        kernels.fill_bits(*self._components, np.arange(len(self.cyclic)), bits)
        return bits

    @property
    def _components(self) -> tuple[Any, ...]:
        edges = self.first, self.targets, self.added, self.removed
        return edges, self.member_first, self.members, self.cyclic

    def edited(self, lost: Numbers, gained: Numbers) -> Condensed | None:
        """The condensation after a change of edges between nodes; None if the components or their order may change.

        They stay the same if each edge leads between two nodes that are components of their own, from a later one to an
        earlier one: then no cycle is closed or opened.
        """
        gone, come = self._between(lost), self._between(gained)
        if gone is None or come is None:
            return None
        added = together(without(self.added, gone), without(come, self.removed))
        removed = together(without(self.removed, come), without(gone, self.added))
        if len(added) + len(removed) > _SOME_EDGES:
            return None
        return replace(self, targets=self._targets_in_order(), added=added, removed=removed, in_order=True)

    def _targets_in_order(self) -> Numbers:
        """The targets of each component in ascending order, for finding removed edges."""
        if self.in_order:
            return self.targets
        starts = np.repeat(np.arange(len(self.cyclic)), np.diff(self.first))
        return np.sort((starts << HALF) | self.targets) & LOW

    def _between(self, keys: Numbers) -> Numbers | None:
        starts, stops = (self.component[side] for side in ends(keys))
        sizes = np.diff(self.member_first)
        is_apart = (starts > stops) & (sizes[starts] == 1) & (sizes[stops] == 1)
        return np.sort((starts << HALF) | stops) if is_apart.all() else None

    def fill_from(self, old: Condensed, some: Numbers) -> None:
        """Copy the bits of a condensation with the same components, except for some of them, which are computed."""
        from holdfast.modules import graph_kernels as kernels

        bits = old.bits.copy()
        kernels.fill_bits(*self._components, some, bits)
        self.__dict__["bits"] = bits

    def may_want_bits(self, groups: int) -> bool:
        """Whether the bits exist, or fit and pay."""
        fits = self.may_have_bits and len(self.cyclic) * len(self.members) <= MOST_BITS
        return "bits" in self.__dict__ or (fits and groups > len(self.members) // SOME)

    @property
    def nbytes(self) -> int:
        """The memory that it takes now."""
        arrays = (self.component, self.first, self.targets, self.member_first, self.members, self.cyclic)
        return sum(array.nbytes for array in arrays) + (self.bits.nbytes if "bits" in self.__dict__ else 0)

    def arrays(self, groups: int) -> tuple[Any, ...]:
        """The arrays for the kernels, with bits if they fit and enough components are requested."""
        return *self._components, self.bits if self.may_want_bits(groups) else _NO_BITS


EMPTY = Condensed(NONE, np.zeros(1, np.int64), NONE, NONE, NONE, np.zeros(1, np.int64), NONE, np.empty(0, np.uint8))
