"""Closures of a binary relation: what the modules for transitive, symmetric-transitive … closure have in common.

Each of them is reachability in a graph.  The external facts B are its edges; a symmetric rule adds them turned round,
a reflexive one an edge from a node to itself.  Rules with steps over other relations, `R(x, z) :- S(x, y), R(y, z)` and
`R(x, z) :- R(x, y), S(y, z)`, give R = L*·B·T* (L the steps before, T the steps after), and with a transitive rule
beside them (L*·B·T*)+.  That is reachability too, in a graph with two nodes for each value, one before B and one
after it: L leads between the first, B from a first to a second one, T between the second, and a transitive rule from a
value's second node back to its first.  Where the steps are the same edges as B, the plain graph says the same; whether
they are is looked at after every change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.modules import graph as graphs
from holdfast.modules.graph import (
    NONE,
    Edges,
    Graph,
    Numbering,
    Numbers,
    distinct,
    ends,
    flipped,
    keys_of,
    together,
    turned,
    without,
)
from holdfast.modules.interface import Changed, Declined, Ground, Module, Rows, Service
from holdfast.program.model import HyperNode, Relation
from holdfast.program.patterns import Recognised, Shape, Slice, recognised
from holdfast.quick_dataclass import dataclass

STEPS = (Shape.STEP_BEFORE, Shape.STEP_AFTER)


@dataclass(frozen=True)
class ClosureForm:
    """Which shapes of rules a service has, and which relations its steps read."""

    shapes: frozenset[Shape]
    no_loops: bool
    before: tuple[Slice, ...] = ()
    after: tuple[Slice, ...] = ()

    @property
    def is_flipped(self) -> bool:
        """Whether the doubled graph is walked from targets to sources.

        For L*·B every node on the way back from B is a source that arrives; forwards most may lead nowhere.
        """
        return bool(self.before) and not self.after and not self.shapes


EdgeChange = tuple[Numbers, Numbers]
"""Edges that are lost and gained."""
Parts = tuple[Edges, Edges, Edges]
"""B, L and T."""

_NO_CHANGE: EdgeChange = (NONE, NONE)
_REFLEXIVE = frozenset({Shape.REFLEXIVE_SOURCE, Shape.REFLEXIVE_TARGET})
_SPARE = 1024  # values without edges that do not matter


@dataclass(frozen=True, eq=False)
class ClosureState:
    """The edges of a closure between two updates, as keys over numbers for their values."""

    numbering: Numbering
    form: ClosureForm
    base: Edges
    before: Edges = field(default_factory=lambda: Edges(NONE))  # L
    after: Edges = field(default_factory=lambda: Edges(NONE))  # T
    known_walk: Parts | None = None  # what `walked` gives, if it is known already
    known: Graph | None = None  # the same for `graph`

    def is_stale(self, form: ClosureForm) -> bool:
        """Whether most numbers are of values that no edge has any more: a long stream would have ever more nodes."""
        edges = sum(map(len, self._parts))
        return len(self.numbering.values) > _SPARE + 4 * edges and self.form == form

    @cached_property
    def walked(self) -> Parts:
        """B, L and T with what a symmetric rule adds: B turned round, and steps after, turned, as steps before."""
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
        """The graph with two nodes for each value, as it is or flipped."""
        base, L, T = self._with_loops(self.walked[0]), self.walked[1].all, self.walked[2].all
        nodes = len(self.numbering.values)
        if flip:
            base, L, T = turned(base), turned(T), turned(L)
        back = np.arange(nodes) if Shape.TRANSITIVE in self.form.shapes else NONE
        parts = [_between(L, 0, 0), _between(base, 0, 1), _between(T, 1, 1), keys_of(2 * back + 1, 2 * back)]
        return Graph(2 * nodes, Edges(together(*parts)), 2)

    def edited(self, *changes: EdgeChange) -> ClosureState:
        """The state after B, L and T lost and gained edges; its graph is the old one edited where it can be."""
        parts = walked = _edited(self._parts, changes)
        if Shape.SYMMETRIC in self.form.shapes:
            changes = self._both_ways(parts, changes)
            walked = _edited(self.walked, changes)
        graph = None
        if not self.form.shapes & _REFLEXIVE and self._stays_plain(walked, changes):
            graph = Graph(len(self.numbering.values), walked[0], 1, self.form.no_loops)
        return ClosureState(self.numbering, self.form, *parts, walked, graph)

    def _both_ways(self, parts: Parts, changes: Sequence[EdgeChange]) -> tuple[EdgeChange, ...]:
        """What changes of B, L and T are with what a symmetric rule adds to the old and the new ones."""
        (B, L, T), (base, before, after) = parts, changes
        sides = ((B, B, base, base), (L, T, before, after), (T, L, after, before))
        return tuple(_joined_change(was, *side) for was, side in zip(self.walked, sides, strict=True))

    def _stays_plain(self, walked: Parts, changes: Sequence[EdgeChange]) -> bool:
        """Whether the steps added nothing to walking along the edges themselves, and still add nothing."""
        (base, *steps), ((lost, _), *moves) = walked, changes
        return (
            self.graph.stride == 1
            and all(base.has(gained).all() for _, gained in moves)
            and not any(step.has(lost).any() for step in steps)
            and self._is_enough(walked)
        )

    def _is_enough(self, walked: Parts) -> bool:
        """Whether steps that are all edges lead wherever the edges do: by a transitive rule, or all edges are steps."""
        base, *steps = walked
        return Shape.TRANSITIVE in self.form.shapes or len(base) in map(len, steps)

    def _with_loops(self, base: Edges) -> Numbers:
        """The edges with those that reflexive rules add."""
        sides = zip((Shape.REFLEXIVE_SOURCE, Shape.REFLEXIVE_TARGET), ends(base.all), strict=True)
        return together(base.all, *(keys_of(nodes, nodes) for shape, nodes in sides if shape in self.form.shapes))

    @property
    def _parts(self) -> Parts:
        return self.base, self.before, self.after

    def numbers(self, values: Rows) -> Rows:
        """The numbers of some values, -1 for those that came later and for those that never did."""
        numbers = self.numbering.numbers(values)
        return np.where(numbers < self.graph.nodes // self.graph.stride, numbers, -1)

    def values(self, pairs: Rows) -> Rows:
        """Pairs of numbers as pairs of values."""
        return self.numbering.values[pairs]

    def written(self, pairs: Rows, graph: Graph) -> Rows:
        """What a graph of this closure gives, as pairs of values."""
        return self.values(pairs[:, ::-1] if graph.stride == 2 and self.form.is_flipped else pairs)

    @property
    def is_flipped(self) -> bool:
        """Whether its graph leads from targets to sources."""
        return self.graph.stride == 2 and self.form.is_flipped

    @property
    def nbytes(self) -> int:
        """The memory that it takes by now; edges that are the graph's own count once."""
        graph: Graph | None = self.__dict__.get("graph", self.known)
        walked: Parts = self.__dict__.get("walked", self.known_walk) or self._parts
        edges = {id(part): part.nbytes for part in (*self._parts, *walked)}
        if graph is not None:
            edges[id(graph.edges)] = graph.nbytes
        return self.numbering.nbytes + sum(edges.values())


def _between(keys: Numbers, start: int, stop: int) -> Numbers:
    sources, targets = ends(keys)
    return (2 * sources + start) << np.int64(32) | (2 * targets + stop)


class Closure(Module):
    """A module for one kind of closure.

    `wanted` are shapes that must be there, one of each set; `steps` says whether rules with steps may be too, when
    the module serves the hyper-node alone.
    """

    wanted: tuple[frozenset[Shape], ...]
    steps: bool = False
    tells_all = True

    def offers(self, node: HyperNode, relations: Mapping[str, Relation]) -> Iterator[Service | Declined]:
        """A service for each slice that has all the shapes wanted."""
        found = [(rule, recognised(rule, node.predicates, relations)) for rule in node.recursive]
        shaped = [shape for _, shape in found if isinstance(shape, Recognised)]
        for slice_ in dict.fromkeys(shape.slice for shape in shaped):
            yield self._offer(node, slice_, [shape for shape in shaped if shape.slice == slice_])
        for rule, why in found:
            if isinstance(why, str):
                yield Declined((rule,), why)

    def _offer(self, node: HyperNode, slice_: Slice, shaped: list[Recognised]) -> Service | Declined:
        own = [shape for shape in shaped if any(shape.shape in kind for kind in self.wanted)]
        steps = [shape for shape in shaped if shape.shape in STEPS] if self.steps else []
        here = {shape.shape for shape in own}
        alone = len(own) + len(steps) == len(node.recursive)
        missing = [kind for kind in self.wanted if not kind & here]
        transitive = [shape for shape in own if shape.shape is Shape.TRANSITIVE]
        no_loops = bool(transitive) and all(shape.no_loops for shape in transitive)
        if steps and alone and not no_loops and missing in ([], [frozenset({Shape.TRANSITIVE})]):
            form = ClosureForm(frozenset(here), False, *(_sources(steps, shape) for shape in STEPS))
            rules = tuple(shape.rule for shape in (*own, *steps))
            return Service(self, slice_, rules, True, (*form.before, *form.after), form)
        if missing:
            lacks = " and ".join(" or ".join(sorted(f"`{shape.value}`" for shape in kind)) for kind in missing)
            why = f"it lacks {lacks}"
            if self.steps and missing == [frozenset({Shape.TRANSITIVE})] and not alone:
                why += ", and steps are served only where there are no other recursive rules"
            return Declined(tuple(shape.rule for shape in shaped), why)
        rules = tuple(shape.rule for shape in own)
        return Service(self, slice_, rules, alone and not steps, (), ClosureForm(frozenset(here), no_loops))

    # --- in a hyper-node with other rules --------------------------------------------------------------

    def uses(self, service: Service, X: Rows, Δ: Rows) -> Rows:
        """Pairs with a path along the edges X that passes an edge of Δ."""
        if not len(Δ):
            return Δ
        state, form = _state(service.form, np.concatenate([X, Δ])), service.form
        graph = state.graph
        edges = ClosureState(state.numbering, form, Edges(_keys(state.numbering, Δ))).graph.keys
        nodes = graph.nodes
        # one node for each value before an edge of Δ is passed, and one after it
        passing = Graph(
            2 * nodes, Edges(together(_between(graph.keys, 0, 0), _between(edges, 0, 1), _between(graph.keys, 1, 1))), 2
        )
        sources = np.flatnonzero(graph.reached(distinct(ends(edges)[0]), backward=True))
        pairs = np.concatenate([graphs.NO_PAIRS, *graphs.closure(passing, 2 * sources)])
        if form.no_loops:
            pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        for side, shape in enumerate((Shape.REFLEXIVE_SOURCE, Shape.REFLEXIVE_TARGET)):
            if shape in form.shapes:  # R(x, x) follows from each of these pairs, whatever edge it follows from too
                loops = distinct(pairs[:, side])
                pairs = np.concatenate([pairs, np.column_stack([loops, loops])])
        return state.values(pairs)

    def among(self, service: Service, X: Rows, goals: Rows) -> Rows:
        """Goals between whose ends there is a path."""
        if not len(goals) or not len(X):
            return goals[:0]
        state = _state(service.form, X)
        numbers = state.numbering.numbers(goals)
        known = (numbers >= 0).all(axis=1)
        goals, numbers = goals[known], numbers[known]
        return goals[graphs.has(state.graph, numbers[:, 0], numbers[:, 1])]

    def supports(self, service: Service, X: Rows, goals: Rows) -> Rows:
        """The edges that lead from a source of a goal and to a target of one."""
        if not len(goals) or not len(X):
            return X[:0]
        state = _state(service.form, X)
        sources, targets = (_known(state.numbering, goals[:, side]) for side in (0, 1))
        forth, back = state.graph.reached(sources), state.graph.reached(targets, backward=True)
        left, right = (state.numbering.numbers(X[:, side]) for side in (0, 1))
        passed = forth[left] & back[right]
        if Shape.REFLEXIVE_SOURCE in service.form.shapes:
            passed |= forth[left]
        if Shape.REFLEXIVE_TARGET in service.form.shapes:
            passed |= forth[right]
        return X[passed]

    # --- alone in a hyper-node -------------------------------------------------------------------------

    def start(self, service: Service, ground: Ground) -> tuple[Iterator[Rows], Any]:
        """The closure, written out a part at a time."""
        form: ClosureForm = service.form
        state = _state(form, ground.gained(), *(_read(ground, slices, "come") for slices in (form.before, form.after)))
        return self.listed(state), state

    def listed(self, state: ClosureState) -> Iterator[Rows]:
        """Written out by components."""
        graph = state.graph
        for pairs in graphs.closure(graph, np.arange(0, graph.nodes, graph.stride)):
            yield state.written(pairs, graph)

    def sizes(self, state: ClosureState) -> Iterator[int]:
        """Counted by components."""
        return graphs.sizes(state.graph)

    def matching(self, state: ClosureState, column: int, values: Rows) -> Iterator[Rows]:
        """Walked to from these values, or listed by their rows of bits."""
        graph, numbers, backward = state.graph, state.numbers(values), (column == 1) != state.is_flipped
        for pairs in graphs.closure(graph, graph.stride * numbers[numbers >= 0], backward=backward):
            yield state.values(pairs[:, ::-1] if column == 1 else pairs)

    def has(self, state: ClosureState, rows: Rows) -> NDArray[np.bool_]:
        """Looked up as bits, or walked to."""
        graph, numbers = state.graph, state.numbers(rows[:, ::-1] if state.is_flipped else rows)
        found: NDArray[np.bool_] = np.all(numbers >= 0, axis=1)
        starts, stops = graph.stride * numbers[found].T
        found[found] = graphs.has(graph, starts, stops + graph.stride - 1)
        return found

    def nbytes(self, state: ClosureState) -> int:
        """Numbers, edges, and what has been made of them."""
        return state.nbytes

    def takes_over(self, service: Service, state: Any) -> bool:
        """From any closure of the same pairs; where loops come in or go out by themselves, all is computed anew."""
        form: ClosureForm = service.form
        return isinstance(state, ClosureState) and state.form.no_loops == form.no_loops

    def change(self, service: Service, state: Any, ground: Ground) -> Changed:
        """The difference between two closures, for the affected sources only; nothing is overdeleted."""
        form: ClosureForm = service.form
        if state is None or state.is_stale(form):
            state = _state(
                form, ground.before(), *(_read(ground, slices, "before") for slices in (form.before, form.after))
            )
        numbering = state.numbering
        base = _keys(numbering, ground.lost()), _keys(numbering, ground.gained())
        if state.form == form:
            new = state.edited(
                base,
                *(
                    _stepped(numbering, old, slices, ground)
                    for old, slices in ((state.before, form.before), (state.after, form.after))
                ),
            )
        else:  # other rules: another graph, and the difference is computed as well
            before, after = (Edges(_steps_now(numbering, slices, ground)) for slices in (form.before, form.after))
            new = ClosureState(numbering, form, state.base.edited(*base), before, after)
        old_graph, new_graph = state.graph, new.graph
        if old_graph.stride != new_graph.stride or state.is_flipped != new.is_flipped:
            old_graph, new_graph = state.doubled(form.is_flipped), new.doubled(form.is_flipped)
        if old_graph.nodes < new_graph.nodes:  # the same edges, and nodes that have none yet
            old_graph = replace(old_graph, nodes=new_graph.nodes)
        parts = (
            (new.written(lost, new_graph), new.written(gained, new_graph))
            for lost, gained in graphs.difference(old_graph, new_graph)
        )
        return Changed(parts, new)


def _sources(steps: list[Recognised], shape: Shape) -> tuple[Slice, ...]:
    return tuple(dict.fromkeys(step.step for step in steps if step.shape is shape and step.step is not None))


def _keys(numbering: Numbering, pairs: Rows) -> Numbers:
    return keys_of(numbering.enter(pairs[:, 0]), numbering.enter(pairs[:, 1])) if len(pairs) else NONE


def _known(numbering: Numbering, values: Numbers) -> Numbers:
    numbers = distinct(numbering.numbers(values))
    return numbers[numbers >= 0]


def _state(
    form: ClosureForm, base: Rows, before: Rows = graphs.NO_PAIRS, after: Rows = graphs.NO_PAIRS
) -> ClosureState:
    numbering = Numbering()
    numbering.enter(distinct(np.concatenate([base.ravel(), before.ravel(), after.ravel()])))
    return ClosureState(
        numbering, form, Edges(_keys(numbering, base)), Edges(_keys(numbering, before)), Edges(_keys(numbering, after))
    )


def _edited(parts: Parts, changes: Sequence[EdgeChange]) -> Parts:
    B, L, T = (part.edited(*change) for part, change in zip(parts, changes, strict=True))
    return B, L, T


def _joined(edges: Edges, others: Edges) -> Edges:
    return Edges(together(edges.all, turned(others.all)))


def _joined_change(was: Edges, edges: Edges, others: Edges, change: EdgeChange, other: EdgeChange) -> EdgeChange:
    """What changes of edges and of others are for both `_joined`: an edge may be there, or have been, as an other."""
    lost, gained = (together(one, turned(two)) for one, two in zip(change, other, strict=True))
    return lost[~edges.has(lost) & ~others.has(flipped(lost))], gained[~was.has(gained)]


def _read(ground: Ground, slices: tuple[Slice, ...], when: str) -> Rows:
    return np.concatenate([graphs.NO_PAIRS, *(ground.read(slice_, when) for slice_ in slices)])


def _stepped(numbering: Numbering, old: Edges, slices: tuple[Slice, ...], ground: Ground) -> EdgeChange:
    """How steps change; of several relations each is read anew, for a step may be in two of them."""
    if not slices:
        return _NO_CHANGE
    gone, come = (_keys(numbering, _read(ground, slices, when)) for when in ("gone", "come"))
    if not len(gone) and not len(come):
        return _NO_CHANGE
    if len(slices) == 1:
        return gone, come
    now = _steps_now(numbering, slices, ground)
    return without(old.all, now), without(now, old.all)


def _steps_now(numbering: Numbering, slices: tuple[Slice, ...], ground: Ground) -> Numbers:
    now = NONE
    for slice_ in slices:
        before, gone, come = (_keys(numbering, ground.read(slice_, when)) for when in ("before", "gone", "come"))
        now = together(now, without(before, gone), come)
    return now
