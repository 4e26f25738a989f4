"""Cuts a plan into segments: wherever bindings have to move to another shard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.backends.parted.partition import (
    BINDINGS,
    HERE,
    ON_ONE,
    Carried,
    Copy,
    Hop,
    PartedPlan,
    RankedPlan,
    Route,
    Segment,
    owner,
)
from holdfast.plans.model import GOAL, AntiJoin, Join, Output, Plan, Read, Scan, Step
from holdfast.program.model import Argument, Const, Term, Var
from holdfast.quick_dataclass import dataclass

if TYPE_CHECKING:
    from holdfast.backends.parted.placement import Placement

AnyStep = TypeVar("AnyStep", bound=Scan | Join | AntiJoin)


@dataclass(frozen=True)
class _Visit:
    """How a step finds its facts: the table, the route of the bindings to it, and the variable that places them."""

    table: str | Copy
    route: Route
    at: Var | None
    is_loose: bool = False
    of_hubs: Copy | None = None  # replaces the table for bindings with hubs
    hub: Var | None = None


class Cutter:
    """Cuts one plan into segments: walks its steps and tracks the variable by which the bindings are placed.

    If the bindings are *loose*, those with a hub in that variable may be on any shard.
    """

    def __init__(self, placement: Placement, plan: Plan) -> None:
        self._placement, self._plan = placement, plan
        self._segments: list[Segment] = []
        self._reads: set[tuple[Read, Copy]] = set()
        self._before: Carried = ()  # live before the current segment
        self._live: Carried = ()  # live after the last step
        self._steps: list[Step] = []
        self._lives: list[Carried] = []
        self._at: Var | None = None
        self._is_loose = False
        self._of_hubs: tuple[Step, int] | None = None  # the first step of the current segment, for hubs

    def parted(self) -> PartedPlan:
        """The cut plan: it sends each output to its primary."""
        self._cut()
        outputs = self._plan.outputs
        return self._ended(outputs, [self._to_primary(name, terms) for name, terms in outputs])

    def ranked(self) -> RankedPlan:
        """The cut plan whose rows hold all outputs, and visit the primaries of the body's facts, then the head's."""
        self._cut()
        ends, rows = [0], list[Term]()
        for _, terms in self._plan.outputs:
            rows += terms
            ends.append(len(rows))
        places = [(name, slice(*span)) for (name, _), span in zip(self._plan.outputs, pairwise(ends), strict=True)]
        hops = [self._hop(name, columns, rows) for name, columns in (*places[1:], places[0])]
        return RankedPlan(self._ended(((BINDINGS, tuple(rows)),), [hops[0].route]), tuple(hops))

    def _hop(self, predicate: str, columns: slice, row: Sequence[Term]) -> Hop:
        terms, column = row[columns], self._placement.primary[predicate]
        route = self._to_primary(predicate, terms)
        if route.kind == "column":
            route = replace(route, number=columns.start + column, fact=(columns.start, columns.stop))
        self._move_to(_variable(terms, column), predicate)
        return Hop(predicate, columns, route)

    def _to_primary(self, predicate: str, terms: Sequence[Term]) -> Route:
        column = self._placement.primary[predicate]
        is_there = column != ON_ONE and self._at is not None and terms[column] == self._at and not self._is_loose
        return self._placement.to_primary(predicate, len(terms), is_there=is_there)

    def _move_to(self, at: Var | None, table: str) -> None:
        """Note that the bindings are now on the shards where a table has its facts, placed by a variable."""
        self._at, self._is_loose = at, bool(len(self._placement.spreads(table)))

    def _ended(self, outputs: tuple[Output, ...], routes: Iterable[Route]) -> PartedPlan:
        self._end(outputs, tuple(routes))
        starts = bool(self._plan.steps) and isinstance(self._plan.steps[0], Scan)
        return PartedPlan(self._plan, tuple(self._segments), starts, frozenset(self._reads))

    def _cut(self) -> None:
        plan = self._plan
        for place, (step, after) in enumerate(zip(plan.steps, plan.live, strict=True)):
            if isinstance(step, Scan):
                step = self._scan(step, place)
            elif isinstance(step, Join | AntiJoin):
                step = self._probe(step)
            self._steps.append(step)
            self._live = after
            self._lives.append(self._live)

    def _end(self, outputs: tuple[Output, ...], routes: tuple[Route, ...]) -> None:
        steps, live = tuple(self._steps), tuple(self._lives)
        part = Plan(self._plan.rule, self._plan.pivot, self._plan.order, outputs, steps, live)
        of_hubs, column = self._of_hubs or (None, 0)
        instead = replace(part, steps=(of_hubs, *steps[1:])) if of_hubs is not None else None
        self._segments.append(Segment(self._before, part, routes, instead, column))
        self._steps, self._lives, self._before, self._of_hubs = [], [], self._live, None

    def _scan(self, step: Scan, place: int) -> Scan:
        """Scan the table that is placed as the next step wants its bindings, if there is one."""
        predicate, arguments = step.atom.predicate, step.atom.arguments
        wanted = self._wanted(place) if GOAL not in self._plan.live[place] else ()  # goals are counted at primaries
        columns = [c for c in self._placement.columns(predicate) if c != ON_ONE and arguments[c] in wanted]
        column = columns[0] if columns else self._placement.primary[predicate]
        self._move_to(_variable(arguments, column), self._placement.table(predicate, column))
        return _reading(step, self._read(step, self._table(predicate, column)))

    def _wanted(self, place: int) -> set[Argument | Term]:
        """The variables by which the next step that reads facts, or the primary of the head, wants bindings placed."""
        for step in self._plan.steps[place + 1 :]:
            if isinstance(step, Join | AntiJoin):
                arguments = step.atom.arguments
                there = [c for c in self._placement.columns(step.atom.predicate) if c in step.key]
                return {arguments[c] for c in there or step.key if isinstance(arguments[c], Var)}
        primary = self._placement.primary
        return {terms[primary[name]] for name, terms in self._plan.outputs if primary[name] != ON_ONE}

    def _probe(self, step: Join | AntiJoin) -> Step:
        visit = self._visit(step)
        if visit.route != HERE or visit.of_hubs is not None:
            self._end(((BINDINGS, self._live),), (visit.route,))
            self._at, self._is_loose = visit.at, visit.is_loose
        if visit.of_hubs is not None:
            assert visit.hub is not None
            self._of_hubs = _reading(step, self._read(step, visit.of_hubs)), self._live.index(visit.hub)
        return _reading(step, self._read(step, visit.table))

    def _visit(self, step: Join | AntiJoin) -> _Visit:
        placement, predicate, key = self._placement, step.atom.predicate, step.key
        column = self._column(step) if key else placement.primary[predicate]
        term = step.atom.arguments[column] if key else None
        is_whole = not len(placement.spreads(placement.table(predicate, column)))
        if self._at is not None and term == self._at and is_whole and not self._is_loose:
            return _Visit(self._table(predicate, column), HERE, self._at)
        if placement.is_small(predicate):
            return _Visit(Copy(predicate, "all"), HERE, self._at, self._is_loose)
        if term is None:
            return self._without_key(step, column)
        if isinstance(term, Const):
            return self._by_constant(step, column, placement.code(term))
        assert isinstance(term, Var)
        return self._by_variable(step, column, term)

    def _column(self, step: Join | AntiJoin) -> int:
        """The column by which a step finds its facts."""
        arguments, key = step.atom.arguments, step.key
        there = [column for column in self._placement.columns(step.atom.predicate) if column in key]
        here = [column for column in there or key if self._at is not None and arguments[column] == self._at]
        variables = [column for column in key if isinstance(arguments[column], Var)]
        return (here or there or variables or list(key))[0]

    def _by_variable(self, step: Join | AntiJoin, column: int, term: Var) -> _Visit:
        """Facts with hubs may be on all shards: bindings visit all of them, or read copies on their own shard."""
        placement, predicate, number = self._placement, step.atom.predicate, self._live.index(term)
        table = self._table(predicate, column)
        if not len(placement.hubs):
            return _Visit(table, Route("column", number), term)
        if placement.has_small_hubs(predicate, column):
            route = HERE if self._at == term else Route("past hubs", number)
            return _Visit(table, route, term, True, Copy(predicate, "hubs", column), term)
        if isinstance(step, Join):
            return _Visit(table, Route("to hubs", number), term, True)
        is_here = self._at == term and not self._is_loose
        return _Visit(placement.whole(predicate, column), HERE if is_here else Route("column", number), term)

    def _by_constant(self, step: Join | AntiJoin, column: int, code: int) -> _Visit:
        placement, predicate = self._placement, step.atom.predicate
        table = self._table(predicate, column)
        if code in placement.spreads(table if isinstance(table, str) else table.name):
            if isinstance(step, Join):
                return _Visit(table, Route("all"), None)
            table = placement.whole(predicate, column)
        return _Visit(table, Route("one", owner(code, placement.parts)), None)

    def _without_key(self, step: Join | AntiJoin, column: int) -> _Visit:
        """A product: bindings go to all facts.  An anti-join needs all facts on one shard."""
        predicate = step.atom.predicate
        if isinstance(step, AntiJoin) or column == ON_ONE:
            return _Visit(self._table(predicate, ON_ONE), Route("one", 0), None)
        is_loose = bool(len(self._placement.spreads(predicate)))
        return _Visit(predicate, Route("all"), _variable(step.atom.arguments, column), is_loose)

    def _table(self, predicate: str, column: int) -> str | Copy:
        return predicate if column == self._placement.primary[predicate] else Copy(predicate, "column", column)

    def _read(self, step: Scan | Join | AntiJoin, table: str | Copy) -> str:
        """The table that a step reads; records it if it is a copy."""
        if isinstance(table, str):
            return table
        self._reads.add((step.read, table))
        return table.name


def _reading(step: AnyStep, table: str) -> AnyStep:
    """The same step, reading another table."""
    instead: Any = replace(step.atom, predicate=table)
    return replace(step, atom=instead)


def _variable(arguments: Sequence[Argument | Term], column: int) -> Var | None:
    argument = arguments[column] if column != ON_ONE else None
    return argument if isinstance(argument, Var) else None
