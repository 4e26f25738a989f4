"""Closures of a binary relation: the common part of the modules for transitive, symmetric-transitive … closure.

Each of them is reachability in a graph.  The external facts B are its edges; a symmetric rule adds them reversed, a
reflexive one an edge from a node to itself.  Rules with steps over other relations, `R(x, z) :- S(x, y), R(y, z)` and
`R(x, z) :- R(x, y), S(y, z)`, give R = L*·B·T* (L the steps before, T the steps after), and together with a transitive
rule (L*·B·T*)+.  That is reachability too, in a graph with two nodes for each value, one before B and one after it: L
leads between first nodes, B from a first to a second node, T between second nodes, and a transitive rule from a value's
second node back to its first.  Where the steps are the same edges as B, the plain graph suffices; that is checked after
every change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from holdfast.modules.edges import (
    NONE,
    Edges,
    Numbering,
    Numbers,
    among,
    distinct,
    ends,
    flipped,
    keys_of,
    together,
    turned,
)
from holdfast.modules.graph import Graph
from holdfast.modules.interface import Rows
from holdfast.modules.reachability import NO_PAIRS
from holdfast.program.patterns import Shape, Slice
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class ClosureForm:
    """The shapes of the rules that a service has, and the relations that its steps read."""

    shapes: frozenset[Shape]
    no_loops: bool
    before: tuple[Slice, ...] = ()
    after: tuple[Slice, ...] = ()

    @property
    def is_flipped(self) -> bool:
        """Whether the doubled graph is walked from targets to sources.

        For L*·B every node found on the way back from B is a source that arrives; forwards, most nodes may lead
        nowhere.
        """
        return bool(self.before) and not self.after and not self.shapes


EdgeChange = tuple[Numbers, Numbers]
"""Lost and gained edges."""
EdgeSets = tuple[Edges, Edges, Edges]
"""B, L and T."""

NO_CHANGE: EdgeChange = (NONE, NONE)
_SIDES = (Shape.REFLEXIVE_SOURCE, Shape.REFLEXIVE_TARGET)
_REFLEXIVE = frozenset(_SIDES)
_SPARE = 1024  # values without edges that may be ignored


@dataclass(frozen=True, eq=False)
class State:
    """The edges of a closure between two updates, as keys over numbers for their values."""

    numbering: Numbering
    form: ClosureForm
    base: Edges
    before: Edges = field(default_factory=lambda: Edges(NONE))  # L
    after: Edges = field(default_factory=lambda: Edges(NONE))  # T
    known_walk: EdgeSets | None = None  # the result of `walked`, if known already
    known: Graph | None = None  # the result of `graph`, if known already

    def is_stale(self, form: ClosureForm) -> bool:
        """Whether most numbers belong to values without edges, which a long stream would accumulate."""
        edges = sum(map(len, self._parts))
        return len(self.numbering.values) > _SPARE + 4 * edges and self.form == form

    @cached_property
    def walked(self) -> EdgeSets:
        """B, L and T with what a symmetric rule adds: B reversed, and the steps after, reversed, as steps before."""
        if self.known_walk is not None:
            return self.known_walk
        B, L, T = self.base, self.before, self.after
        if Shape.SYMMETRIC not in self.form.shapes:
            return B, L, T
        return _joined(B, B), _joined(L, T), _joined(T, L)

    @cached_property
    def graph(self) -> Graph:
        """The graph in which R is reachability."""
        if self.known is not None:
            return self.known
        base, *steps = self.walked
        if all(base.has(step.all).all() for step in steps) and self._is_enough(self.walked):
            edges = Edges(self._with_loops(base)) if self.form.shapes & _REFLEXIVE else base
            return Graph(len(self.numbering.values), edges, 1, self.form.no_loops)
        return self.doubled(self.form.is_flipped)

    def doubled(self, flip: bool) -> Graph:
        """The graph with two nodes for each value, perhaps flipped."""
        base, L, T = self._with_loops(self.walked[0]), self.walked[1].all, self.walked[2].all
        nodes = len(self.numbering.values)
        if flip:
            base, L, T = turned(base), turned(T), turned(L)
        back = np.arange(nodes) if Shape.TRANSITIVE in self.form.shapes else NONE
        parts = [between(L, 0, 0), between(base, 0, 1), between(T, 1, 1), keys_of(2 * back + 1, 2 * back)]
        return Graph(2 * nodes, Edges(together(*parts)), 2)

    def edited(self, *changes: EdgeChange) -> State:
        """The state after B, L and T lost and gained edges; its graph is the old one, edited where possible."""
        parts = walked = _edited(self._parts, changes)
        if Shape.SYMMETRIC in self.form.shapes:
            changes = self._both_ways(parts, changes)
            walked = _edited(self.walked, changes)
        graph = None
        if self._stays_plain(walked, changes):
            edges = self._loops_edited(walked[0], *changes[0]) if self.form.shapes & _REFLEXIVE else walked[0]
            graph = Graph(len(self.numbering.values), edges, 1, self.form.no_loops)
        elif self.graph.stride == 2 and not self.form.shapes:
            graph = self._doubled_edited(*changes)
        return State(self.numbering, self.form, *parts, walked, graph)

    def _doubled_edited(self, base: EdgeChange, before: EdgeChange, after: EdgeChange) -> Graph:
        """The graph with two nodes for each value after B, L and T lost and gained edges, for steps only."""
        if self.form.is_flipped:
            base, before, after = ((turned(lost), turned(gained)) for lost, gained in (base, after, before))
        sides = ((before, 0, 0), (base, 0, 1), (after, 1, 1))
        lost, gained = (together(*(between(change[i], *ends) for change, *ends in sides)) for i in (0, 1))
        return Graph(2 * len(self.numbering.values), self.graph.edges.edited(lost, gained), 2)

    def _both_ways(self, parts: EdgeSets, changes: Sequence[EdgeChange]) -> tuple[EdgeChange, ...]:
        """The changes of B, L and T including what a symmetric rule adds to the old and the new edges."""
        (B, L, T), (base, before, after) = parts, changes
        sides = ((B, B, base, base), (L, T, before, after), (T, L, after, before))
        return tuple(_joined_change(was, *side) for was, side in zip(self.walked, sides, strict=True))

    def _stays_plain(self, walked: EdgeSets, changes: Sequence[EdgeChange]) -> bool:
        """Whether the steps added nothing to walking along the edges, and still add nothing."""
        (base, *steps), ((lost, _), *moves) = walked, changes
        return (
            self.graph.stride == 1
            and all(base.has(gained).all() for _, gained in moves)
            and not any(step.has(lost).any() for step in steps)
            and self._is_enough(walked)
        )

    def _is_enough(self, walked: EdgeSets) -> bool:
        """Whether steps that are all edges lead wherever edges do: by a transitive rule, or all edges are steps."""
        base, *steps = walked
        return Shape.TRANSITIVE in self.form.shapes or len(base) in map(len, steps)

    def _loops_edited(self, base: Edges, lost: Numbers, gained: Numbers) -> Edges:
        """The edges of the graph including those that reflexive rules add, after B lost and gained edges.

        Only the loops at the ends of these edges may change.  The other edges of the old graph are those of the old B,
        so its degrees show which nodes still have one.
        """
        graph, nodes = self.graph.edges, len(self.numbering.values)
        touched = distinct(np.concatenate([*ends(lost), *ends(gained)]))
        loops = keys_of(touched, touched)
        has_edges = np.zeros(len(touched), np.bool_)
        for side, shape in enumerate(_SIDES):
            if shape in self.form.shapes:
                degrees = graph.degrees(touched, nodes, backward=side == 1) - graph.has(loops)
                for keys, step in ((lost, -1), (gained, 1)):
                    np.add.at(degrees, np.searchsorted(touched, _without_loops(keys)[side]), step)
                has_edges |= degrees > 0
        wanted = together(loops, lost, gained)
        stays = base.has(wanted) | among(wanted, loops[has_edges])
        was = graph.has(wanted)
        return graph.edited(wanted[was & ~stays], wanted[~was & stays])

    def _with_loops(self, base: Edges) -> Numbers:
        """The edges including those that reflexive rules add."""
        sides = zip(_SIDES, ends(base.all), strict=True)
        return together(base.all, *(keys_of(nodes, nodes) for shape, nodes in sides if shape in self.form.shapes))

    @property
    def _parts(self) -> EdgeSets:
        return self.base, self.before, self.after

    def numbers(self, values: Rows) -> Rows:
        """The numbers of some values; -1 for values unknown to this state."""
        numbers = self.numbering.numbers(values)
        return np.where(numbers < self.graph.nodes // self.graph.stride, numbers, -1)

    def values(self, pairs: Rows) -> Rows:
        """Converts pairs of numbers to pairs of values."""
        return self.numbering.values[pairs]

    def written(self, pairs: Rows, graph: Graph) -> Rows:
        """Converts pairs found in a graph of this closure to pairs of values."""
        return self.values(pairs[:, ::-1] if graph.stride == 2 and self.form.is_flipped else pairs)

    @property
    def is_flipped(self) -> bool:
        """Whether its graph leads from targets to sources."""
        return self.graph.stride == 2 and self.form.is_flipped

    @property
    def nbytes(self) -> int:
        """The memory that it takes now; edges shared with the graph count once."""
        graph: Graph | None = self.__dict__.get("graph", self.known)
        walked: EdgeSets = self.__dict__.get("walked", self.known_walk) or self._parts
        edges = {id(part): part.nbytes for part in (*self._parts, *walked)}
        if graph is not None:
            edges[id(graph.edges)] = graph.nbytes
        return self.numbering.nbytes + sum(edges.values())


def _without_loops(keys: Numbers) -> tuple[Numbers, Numbers]:
    """The sources and the targets of edges that are not loops."""
    sources, targets = ends(keys)
    return sources[sources != targets], targets[sources != targets]


def between(keys: Numbers, start: int, stop: int) -> Numbers:
    """Edges between the first (0) or second (1) nodes of their values in a doubled graph."""
    sources, targets = ends(keys)
    return (2 * sources + start) << np.int64(32) | (2 * targets + stop)


def keys_for(numbering: Numbering, pairs: Rows) -> Numbers:
    """Converts pairs of values to edges; values without a number get one."""
    return keys_of(numbering.enter(pairs[:, 0]), numbering.enter(pairs[:, 1])) if len(pairs) else NONE


def state_of(form: ClosureForm, base: Rows, before: Rows = NO_PAIRS, after: Rows = NO_PAIRS) -> State:
    """The state with B, L and T."""
    numbering = Numbering()
    numbering.enter(distinct(np.concatenate([base.ravel(), before.ravel(), after.ravel()])))
    return State(
        numbering,
        form,
        Edges(keys_for(numbering, base)),
        Edges(keys_for(numbering, before)),
        Edges(keys_for(numbering, after)),
    )


def _edited(parts: EdgeSets, changes: Sequence[EdgeChange]) -> EdgeSets:
    B, L, T = (part.edited(*change) for part, change in zip(parts, changes, strict=True))
    return B, L, T


def _joined(edges: Edges, others: Edges) -> Edges:
    return Edges(together(edges.all, turned(others.all)))


def _joined_change(was: Edges, edges: Edges, others: Edges, change: EdgeChange, other: EdgeChange) -> EdgeChange:
    """The change of `_joined` edges, given those of its parts: an edge may be in the other part, before or after."""
    lost, gained = (together(one, turned(two)) for one, two in zip(change, other, strict=True))
    return lost[~edges.has(lost) & ~others.has(flipped(lost))], gained[~was.has(gained)]
