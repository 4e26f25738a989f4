"""The modules for closures of a binary relation: what those for transitive, symmetric-transitive … closure share.

`closure_state.py` says how each of them is reachability in a graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.modules import reachability
from holdfast.modules.closure_state import NO_CHANGE, ClosureForm, EdgeChange, State, between, keys_for, state_of
from holdfast.modules.edges import NONE, Edges, Numbering, Numbers, distinct, ends, together, without
from holdfast.modules.graph import Graph
from holdfast.modules.interface import Changed, Declined, Module, ModuleContext, Rows, Service
from holdfast.modules.reachability import NO_PAIRS
from holdfast.program.model import HyperNode, Relation
from holdfast.program.patterns import Recognised, Shape, Slice, recognised

STEPS = (Shape.STEP_BEFORE, Shape.STEP_AFTER)


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
        state, form = state_of(service.form, np.concatenate([X, Δ])), service.form
        graph = state.graph
        edges = State(state.numbering, form, Edges(keys_for(state.numbering, Δ))).graph.keys
        nodes = graph.nodes
        # one node for each value before an edge of Δ is passed, and one after it
        passing = Graph(
            2 * nodes, Edges(together(between(graph.keys, 0, 0), between(edges, 0, 1), between(graph.keys, 1, 1))), 2
        )
        sources = np.flatnonzero(graph.reached(distinct(ends(edges)[0]), backward=True))
        pairs = np.concatenate([NO_PAIRS, *reachability.closure(passing, 2 * sources)])
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
        state = state_of(service.form, X)
        numbers = state.numbering.numbers(goals)
        known = (numbers >= 0).all(axis=1)
        goals, numbers = goals[known], numbers[known]
        return goals[reachability.has(state.graph, numbers[:, 0], numbers[:, 1])]

    def carried(self, service: Service) -> int | None:
        """The sources where all steps come after the external facts, the targets where all come before them."""
        form: ClosureForm = service.form
        return None if form.shapes or bool(form.before) == bool(form.after) else 0 if form.after else 1

    def supports(self, service: Service, X: Rows, goals: Rows) -> Rows:
        """The edges that lead from a source of a goal and to a target of one."""
        if not len(goals) or not len(X):
            return X[:0]
        state = state_of(service.form, X)
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

    def start(self, service: Service, context: ModuleContext) -> tuple[Iterator[Rows], Any]:
        """The closure, written out a part at a time."""
        form: ClosureForm = service.form
        state = state_of(
            form, context.gained(), *(_read(context, slices, "added") for slices in (form.before, form.after))
        )
        return self.listed(state), state

    def listed(self, state: State) -> Iterator[Rows]:
        """Written out by components."""
        graph = state.graph
        for pairs in reachability.listed(graph):
            yield state.written(pairs, graph)

    def sizes(self, state: State) -> Iterator[int]:
        """Counted by components."""
        return reachability.sizes(state.graph)

    def matching(self, state: State, column: int, values: Rows) -> Iterator[Rows]:
        """Walked to from these values, or listed by their rows of bits."""
        graph, numbers, backward = state.graph, state.numbers(values), (column == 1) != state.is_flipped
        for pairs in reachability.closure(graph, graph.stride * numbers[numbers >= 0], backward=backward):
            yield state.values(pairs[:, ::-1] if column == 1 else pairs)

    def has(self, state: State, rows: Rows) -> NDArray[np.bool_]:
        """Looked up as bits, or walked to."""
        graph, numbers = state.graph, state.numbers(rows[:, ::-1] if state.is_flipped else rows)
        found: NDArray[np.bool_] = np.all(numbers >= 0, axis=1)
        starts, stops = graph.stride * numbers[found].T
        found[found] = reachability.has(graph, starts, stops + graph.stride - 1)
        return found

    def nbytes(self, state: State) -> int:
        """Numbers, edges, and what has been made of them."""
        return state.nbytes

    def takes_over(self, service: Service, state: Any) -> bool:
        """From any closure of the same pairs; if loops appear or disappear by themselves, all is computed again."""
        form: ClosureForm = service.form
        return isinstance(state, State) and state.form.no_loops == form.no_loops

    def change(self, service: Service, state: Any, context: ModuleContext) -> Changed:
        """The difference between two closures, for the affected sources only; nothing is overdeleted."""
        form: ClosureForm = service.form
        if state is None or state.is_stale(form):
            state = state_of(
                form, context.before(), *(_read(context, slices, "before") for slices in (form.before, form.after))
            )
        numbering = state.numbering
        base = keys_for(numbering, context.lost()), keys_for(numbering, context.gained())
        if state.form == form:
            new = state.edited(
                base,
                *(
                    _stepped(numbering, old, slices, context)
                    for old, slices in ((state.before, form.before), (state.after, form.after))
                ),
            )
        else:  # other rules: another graph, and the difference is computed as well
            before, after = (Edges(_steps_now(numbering, slices, context)) for slices in (form.before, form.after))
            new = State(numbering, form, state.base.edited(*base), before, after)
        old_graph, new_graph = state.graph, new.graph
        if old_graph.stride != new_graph.stride or state.is_flipped != new.is_flipped:
            old_graph, new_graph = state.doubled(form.is_flipped), new.doubled(form.is_flipped)
        if old_graph.nodes < new_graph.nodes:  # the same edges, and nodes that have none yet
            old_graph = replace(old_graph, nodes=new_graph.nodes)
        parts = (
            (new.written(lost, new_graph), new.written(gained, new_graph))
            for lost, gained in reachability.difference(old_graph, new_graph)
        )
        return Changed(parts, new)


def _sources(steps: list[Recognised], shape: Shape) -> tuple[Slice, ...]:
    return tuple(dict.fromkeys(step.step for step in steps if step.shape is shape and step.step is not None))


def _known(numbering: Numbering, values: Numbers) -> Numbers:
    numbers = distinct(numbering.numbers(values))
    return numbers[numbers >= 0]


def _read(context: ModuleContext, slices: tuple[Slice, ...], when: str) -> Rows:
    return np.concatenate([NO_PAIRS, *(context.read(slice_, when) for slice_ in slices)])


def _stepped(numbering: Numbering, old: Edges, slices: tuple[Slice, ...], context: ModuleContext) -> EdgeChange:
    """How steps change; of several relations each is read anew, for a step may be in two of them."""
    if not slices:
        return NO_CHANGE
    removed, added = (keys_for(numbering, _read(context, slices, when)) for when in ("removed", "added"))
    if not len(removed) and not len(added):
        return NO_CHANGE
    if len(slices) == 1:
        return removed, added
    now = _steps_now(numbering, slices, context)
    return without(old.all, now), without(now, old.all)


def _steps_now(numbering: Numbering, slices: tuple[Slice, ...], context: ModuleContext) -> Numbers:
    now = NONE
    for slice_ in slices:
        before, removed, added = (
            keys_for(numbering, context.read(slice_, when)) for when in ("before", "removed", "added")
        )
        now = together(now, without(before, removed), added)
    return now
