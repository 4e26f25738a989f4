"""Where the facts of each relation are, and the cuts that this makes in plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TypeVar

from holdfast.backends.parted.partition import (
    BINDINGS,
    HERE,
    NO_HUBS,
    ON_ONE,
    AnyParted,
    Carried,
    Copy,
    Hop,
    Hubs,
    PartedAggregate,
    PartedPlan,
    RankedPlan,
    Route,
    Segment,
    owner,
)
from holdfast.plans.model import GOAL, AggregatePlan, AntiJoin, AnyPlan, Join, Output, Plan, Read, Scan, Step
from holdfast.program.model import AggregateRule, Argument, Const, Relation, Term, Var
from holdfast.quick_dataclass import dataclass

AnyStep = TypeVar("AnyStep", Scan, Join, AntiJoin)


SMALL = 10_000
"""Facts that are copied to all shards instead of moving bindings to them."""


class Placement:
    """The columns that relations are placed by."""

    def __init__(
        self,
        parts: int,
        encode: Callable[[Const], int],
        size: Callable[[str], float] = lambda _: inf,
        hub_facts: Callable[[str, int], float] = lambda *_: inf,
    ) -> None:
        """`size` says how many facts a relation has, and `hub_facts` how many of them have a hub in a column."""
        self.parts, self._encode, self._size, self._hub_facts = parts, encode, size, hub_facts
        self.primary: dict[str, int] = {}
        self.copies: dict[str, dict[str, Copy]] = {}  # by relation and table
        self.wanted: Mapping[str, int] = {}  # by `primaries`, for relations that come
        self.joined: Mapping[str, AbstractSet[int]] = {}  # the columns whose values joins may meet
        self.hubs: Hubs = NO_HUBS
        self.spread: dict[str, Hubs] = {}  # by table: those of the hubs that it spreads
        self.small: float = SMALL
        self.outgrown: set[str] = set()  # copies on all shards that plans should not read any more
        self.stale: set[str] = set()  # those that no plan reads

    def add(self, relation: Relation) -> None:
        """Place one more relation."""
        column = self.wanted.get(relation.name, 0)
        self.primary[relation.name] = (column if column < relation.arity else 0) if relation.arity else ON_ONE
        self.spread[relation.name] = self.hubs

    def drop(self, name: str) -> None:
        """A relation is gone."""
        self.primary.pop(name, None)
        for table in (name, *self.copies.pop(name, ())):
            self.drop_table(table)

    def drop_copies(self) -> None:
        """All copies are gone."""
        for table in [table for copies in self.copies.values() for table in copies]:
            self.drop_table(table)
        self.copies.clear()

    def drop_table(self, table: str) -> None:
        """A table is gone."""
        self.spread.pop(table, None)
        self.outgrown.discard(table)
        self.stale.discard(table)

    def table(self, predicate: str, column: int) -> str:
        """The table that holds a relation placed by a column."""
        return predicate if column == self.primary[predicate] else Copy(predicate, "column", column).name

    def copies_of(self, predicates: Iterable[str]) -> list[str]:
        """The copies of some relations that are kept up to date."""
        found = [table for p in predicates if p in self.copies for table in sorted(self.copies[p])]
        return [table for table in found if self._is_kept(table)]

    def _is_kept(self, table: str) -> bool:
        """Whether a copy, if it exists, has what changes brought."""
        return table not in self.stale and table not in self.outgrown

    def grown(self, predicate: str, size: float) -> None:
        """A relation has so many facts; they are too many for a copy on all shards if that has become much larger."""
        for name, copy in self.copies.get(predicate, {}).items():
            if copy.kind == "all":
                self.table_grown(name, size)

    def table_grown(self, table: str, size: float) -> None:
        """A copy on all shards has so many facts."""
        if size > 2 * self.small:
            self.outgrown.add(table)

    def is_small(self, predicate: str) -> bool:
        """Whether all shards should have all facts of a relation."""
        return self._is_kept(Copy(predicate, "all").name) and self._size(predicate) < self.small

    def has_small_hubs(self, predicate: str, column: int) -> bool:
        """Whether all shards should have all facts of a relation with a hub in a column."""
        is_kept = self._is_kept(Copy(predicate, "hubs", column).name)
        return is_kept and self._hub_facts(predicate, column) < self.small

    def parted(self, plan: AnyPlan) -> AnyParted:
        """A plan for shards; `reads` says which copies must exist before it runs."""
        if isinstance(plan, AggregatePlan):
            return self._aggregate(plan)
        if self.parts == 1:
            return PartedPlan(plan, (Segment((), plan, (HERE,) * len(plan.outputs)),), True, frozenset())
        return _Cutter(self, plan).parted()

    def ranked(self, plan: Plan) -> RankedPlan:
        """A plan for shards that emits the head and then facts of the body."""
        if self.parts == 1:
            whole = self.parted(plan)
            assert isinstance(whole, PartedPlan)
            return RankedPlan(whole, ())
        return _Cutter(self, plan).ranked()

    def _aggregate(self, plan: AggregatePlan) -> PartedAggregate:
        rule = plan.rule
        column = self._group_column(rule) if self.parts > 1 else self.primary[rule.source]
        source = self.whole(rule.source, column)
        name = source if isinstance(source, str) else source.name
        reads = frozenset((read, source) for read in (Read.ALL, Read.DELTA) if isinstance(source, Copy))
        is_here = self.parts == 1 or _in_head(rule, column) == self.primary[rule.predicate] != ON_ONE
        route = self.to_primary(rule.predicate, len(rule.group) + 1, is_there=is_here)
        return PartedAggregate(AggregatePlan(replace(rule, source=name)), route, reads)

    def _group_column(self, rule: AggregateRule) -> int:
        there = [column for column in self.columns(rule.source) if column in rule.group]
        return there[0] if there else rule.group[0] if rule.group else ON_ONE

    def columns(self, predicate: str) -> list[int]:
        """The columns by which a relation is placed: that of its primary, then those of its copies."""
        copies = (copy.column for copy in self.copies.get(predicate, {}).values() if copy.kind == "column")
        return [self.primary[predicate], *sorted(copies)]

    def whole(self, predicate: str, column: int) -> str | Copy:
        """A table that has all facts with the same value in a column on one shard: the primary, or a copy."""
        name = self.table(predicate, column)
        if not len(self.spreads(name)):
            return name if name == predicate else Copy(predicate, "column", column)
        return Copy(predicate, "whole", column)

    def spreads(self, table: str) -> Hubs:
        """The hubs whose facts a table spreads; all of them if it is yet to come."""
        return self.spread.get(table, self.hubs)

    def to_primary(self, predicate: str, arity: int, *, is_there: bool) -> Route:
        """The way of heads; `is_there` says whether those without a hub are on their shard."""
        column = self.primary[predicate]
        if is_there and not len(self.spreads(predicate)):
            return HERE
        return Route("one", 0) if column == ON_ONE else Route("column", column, predicate, (0, arity))

    def code(self, constant: Const) -> int:
        """A constant as facts have it."""
        return self._encode(constant)


def _in_head(rule: AggregateRule, column: int) -> int:
    """The head's column that holds a column of the group; -1 if it is not one."""
    value = rule.place % (len(rule.group) + 1)
    heads = [place for place in range(len(rule.group) + 1) if place != value]
    return heads[rule.group.index(column)] if column in rule.group else ON_ONE


@dataclass(frozen=True)
class _Visit:
    """How a step finds its facts: in which table, how the bindings get there, and where they are then."""

    table: str | Copy
    route: Route
    at: Var | None
    is_loose: bool = False
    of_hubs: Copy | None = None  # in place of the table, for bindings with hubs
    hub: Var | None = None


class _Cutter:
    """Cuts one plan into segments: walks its steps and remembers by which variable the bindings are placed.

    If they are *loose*, those with a hub in it may be on any shard.
    """

    def __init__(self, placement: Placement, plan: Plan) -> None:
        self._placement, self._plan = placement, plan
        self._segments: list[Segment] = []
        self._reads: set[tuple[Read, Copy]] = set()
        self._before: Carried = ()  # of the segment that is being made
        self._live: Carried = ()  # now
        self._steps: list[Step] = []
        self._lives: list[Carried] = []
        self._at: Var | None = None
        self._is_loose = False
        self._of_hubs: tuple[Step, int] | None = None  # the first step of the segment that is being made, for hubs

    def parted(self) -> PartedPlan:
        """Emits the outputs, each to its primary."""
        self._cut()
        outputs = self._plan.outputs
        return self._ended(outputs, [self._to_primary(name, terms) for name, terms in outputs])

    def ranked(self) -> RankedPlan:
        """Emits rows of all outputs, to the primary of the second; that of the first is the last one."""
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
        """The bindings are where a table has its facts, by a variable."""
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
        """From the table that is placed as the next step wants its bindings, if there is one."""
        predicate, arguments = step.atom.predicate, step.atom.arguments
        wanted = self._wanted(place) if GOAL not in self._plan.live[place] else ()  # goals are counted at primaries
        columns = [c for c in self._placement.columns(predicate) if c != ON_ONE and arguments[c] in wanted]
        column = columns[0] if columns else self._placement.primary[predicate]
        self._move_to(_variable(arguments, column), self._placement.table(predicate, column))
        return _reading(step, self._read(step, self._table(predicate, column)))

    def _wanted(self, place: int) -> set[Argument | Term]:
        """The variables by which the next step that reads facts, or the primary of the head, wants the bindings."""
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
        """By which a step finds its facts."""
        arguments, key = step.atom.arguments, step.key
        there = [column for column in self._placement.columns(step.atom.predicate) if column in key]
        here = [column for column in there or key if self._at is not None and arguments[column] == self._at]
        variables = [column for column in key if isinstance(arguments[column], Var)]
        return (here or there or variables or list(key))[0]

    def _by_variable(self, step: Join | AntiJoin, column: int, term: Var) -> _Visit:
        """Facts with hubs may be on all shards, so bindings meet all of them there, or copies where they are."""
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
        """A product: bindings go to all facts.  An anti-join needs all facts in one place."""
        predicate = step.atom.predicate
        if isinstance(step, AntiJoin) or column == ON_ONE:
            return _Visit(self._table(predicate, ON_ONE), Route("one", 0), None)
        is_loose = bool(len(self._placement.spreads(predicate)))
        return _Visit(predicate, Route("all"), _variable(step.atom.arguments, column), is_loose)

    def _table(self, predicate: str, column: int) -> str | Copy:
        return predicate if column == self._placement.primary[predicate] else Copy(predicate, "column", column)

    def _read(self, step: Scan | Join | AntiJoin, table: str | Copy) -> str:
        """A table that a step reads; it is noted if it is a copy."""
        if isinstance(table, str):
            return table
        self._reads.add((step.read, table))
        return table.name


def _reading(step: AnyStep, table: str) -> AnyStep:
    """A step that reads another table."""
    return replace(step, atom=replace(step.atom, predicate=table))


def _variable(arguments: Sequence[Argument | Term], column: int) -> Var | None:
    argument = arguments[column] if column != ON_ONE else None
    return argument if isinstance(argument, Var) else None
