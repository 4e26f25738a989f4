"""Where the facts of each relation are, and the cuts that this makes in plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from holdfast.backends.parted.partition import (
    BINDINGS,
    HERE,
    ON_ONE,
    AnyParted,
    Carried,
    Hop,
    PartedAggregate,
    PartedPlan,
    RankedPlan,
    Route,
    Segment,
    owner,
)
from holdfast.plans.model import GOAL, AggregatePlan, AntiJoin, AnyPlan, Join, Output, Plan, Read, Scan, Step
from holdfast.program.model import AggregateRule, Argument, Atom, Const, Relation, Term, Var


class Placement:
    """The columns that relations are placed by."""

    def __init__(self, parts: int, encode: Callable[[Const], int]) -> None:
        self.parts, self._encode = parts, encode
        self.primary: dict[str, int] = {}
        self.copies: dict[str, set[int]] = {}
        self.wanted: Mapping[str, int] = {}  # by `primaries`, for relations that come

    def add(self, relation: Relation) -> None:
        """Place one more relation."""
        column = self.wanted.get(relation.name, 0)
        self.primary[relation.name] = (column if column < relation.arity else 0) if relation.arity else ON_ONE

    def drop(self, name: str) -> None:
        """A relation is gone."""
        self.primary.pop(name, None)
        self.copies.pop(name, None)

    def table(self, predicate: str, column: int) -> str:
        """The table that holds a relation placed by a column."""
        return predicate if column == self.primary[predicate] else copy_name(predicate, column)

    def copies_of(self, predicates: Iterable[str]) -> list[str]:
        """The copies of some relations that exist."""
        return [copy_name(p, c) for p in predicates if p in self.copies for c in sorted(self.copies[p])]

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
        name = self.table(rule.source, column)
        reads = frozenset((read, name) for read in (Read.ALL, Read.DELTA)) if name != rule.source else frozenset()
        is_here = self.parts == 1 or _in_head(rule, column) == self.primary[rule.predicate] != ON_ONE
        route = HERE if is_here else self._by_column(self.primary[rule.predicate])
        return PartedAggregate(AggregatePlan(replace(rule, source=name)), route, reads)

    def _group_column(self, rule: AggregateRule) -> int:
        there = [column for column in self.columns(rule.source) if column in rule.group]
        return there[0] if there else rule.group[0] if rule.group else ON_ONE

    def columns(self, predicate: str) -> list[int]:
        """The columns by which a relation is placed: that of its primary, then those of its copies."""
        return [self.primary[predicate], *sorted(self.copies.get(predicate, ()))]

    def to_primary(self, predicate: str, terms: Sequence[Term], at: Var | None) -> Route:
        """The way of heads, from where the bindings are placed by a variable."""
        column = self.primary[predicate]
        is_here = column != ON_ONE and at is not None and terms[column] == at
        return HERE if is_here else self._by_column(column)

    def _by_column(self, column: int) -> Route:
        return Route("one", 0) if column == ON_ONE else Route("column", column)

    def owner_of(self, constant: Const) -> int:
        """The shard of the facts with a constant in the column that they are placed by."""
        return owner(self._encode(constant), self.parts)


def _in_head(rule: AggregateRule, column: int) -> int:
    """The head's column that holds a column of the group; -1 if it is not one."""
    value = rule.place % (len(rule.group) + 1)
    heads = [place for place in range(len(rule.group) + 1) if place != value]
    return heads[rule.group.index(column)] if column in rule.group else ON_ONE


def copy_name(predicate: str, column: int) -> str:
    """The table of a copy; no relation has such a name."""
    return f"{predicate}@{column}"


class _Cutter:
    """Cuts one plan into segments: walks its steps and remembers by which variable the bindings are placed."""

    def __init__(self, placement: Placement, plan: Plan) -> None:
        self._placement, self._plan = placement, plan
        self._segments: list[Segment] = []
        self._reads: set[tuple[Read, str]] = set()
        self._before: Carried = ()  # of the segment that is being made
        self._live: Carried = ()  # now
        self._steps: list[Step] = []
        self._lives: list[Carried] = []
        self._at: Var | None = None

    def parted(self) -> PartedPlan:
        """Emits the outputs, each to its primary."""
        self._cut()
        outputs = self._plan.outputs
        return self._ended(outputs, [self._placement.to_primary(name, terms, self._at) for name, terms in outputs])

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
        route = self._placement.to_primary(predicate, terms, self._at)
        if route.kind == "column":
            route = Route("column", columns.start + column)
        term = terms[column] if column != ON_ONE else None
        self._at = term if isinstance(term, Var) else None
        return Hop(predicate, columns, route)

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
            self._live = tuple(variable for variable in after if variable is not GOAL)  # only `expand` counts goals
            self._lives.append(self._live)

    def _end(self, outputs: tuple[Output, ...], routes: tuple[Route, ...]) -> None:
        steps, live = tuple(self._steps), tuple(self._lives)
        part = Plan(self._plan.rule, self._plan.pivot, self._plan.order, outputs, steps, live)
        self._segments.append(Segment(self._before, part, routes))
        self._steps, self._lives, self._before = [], [], self._live

    def _scan(self, step: Scan, place: int) -> Scan:
        """From the table that is placed as the next step wants its bindings, if there is one."""
        predicate, arguments = step.atom.predicate, step.atom.arguments
        wanted = self._wanted(place)
        columns = [c for c in self._placement.columns(predicate) if c != ON_ONE and arguments[c] in wanted]
        column = columns[0] if columns else self._placement.primary[predicate]
        self._at = _variable(arguments, column)
        return replace(step, atom=self._atom(step.atom, step.read, column))

    def _wanted(self, place: int) -> set[Argument | Term]:
        """The variables by which the next step that reads facts, or the primary of the head, wants the bindings."""
        for step in self._plan.steps[place + 1 :]:
            if isinstance(step, Join | AntiJoin):
                arguments = step.atom.arguments
                there = [c for c in self._placement.columns(step.atom.predicate) if c in step.key]
                return {arguments[c] for c in there or step.key if isinstance(arguments[c], Var)}
        primary = self._placement.primary
        return {terms[primary[name]] for name, terms in self._plan.outputs if primary[name] != ON_ONE}

    def _probe(self, step: Join | AntiJoin) -> Join | AntiJoin:
        predicate, arguments = step.atom.predicate, step.atom.arguments
        column, route = self._place(step)
        if route != HERE:
            self._end(((BINDINGS, self._live),), (route,))
            is_placed = route.kind != "one" and (column in step.key or not step.key)
            self._at = _variable(arguments, column) if is_placed else None
        if isinstance(step, Join):
            return replace(step, atom=self._atom(step.atom, step.read, column))
        return replace(step, atom=replace(step.atom, predicate=self._table(predicate, step.read, column)))

    def _place(self, step: Join | AntiJoin) -> tuple[int, Route]:
        """The column by which a step finds its facts, and how the bindings get there."""
        predicate, arguments, key = step.atom.predicate, step.atom.arguments, step.key
        if not key:
            return self._without_key(step)
        there = [column for column in self._placement.columns(predicate) if column in key]
        here = [column for column in there or key if self._at is not None and arguments[column] == self._at]
        if here:
            return here[0], HERE
        variables = [column for column in key if isinstance(arguments[column], Var)]
        column = (there or variables or list(key))[0]
        term = arguments[column]
        if isinstance(term, Const):
            return column, Route("one", self._placement.owner_of(term))
        assert isinstance(term, Var)
        return column, Route("column", self._live.index(term))

    def _without_key(self, step: Join | AntiJoin) -> tuple[int, Route]:
        """A product: bindings go to all facts.  An anti-join needs all facts in one place."""
        column = self._placement.primary[step.atom.predicate]
        if isinstance(step, AntiJoin) or column == ON_ONE:
            return ON_ONE, Route("one", 0)
        return column, Route("all")

    def _atom(self, atom: Atom, read: Read, column: int) -> Atom:
        return replace(atom, predicate=self._table(atom.predicate, read, column))

    def _table(self, predicate: str, read: Read, column: int) -> str:
        name = self._placement.table(predicate, column)
        if name != predicate:
            self._reads.add((read, name))
        return name


def _variable(arguments: Sequence[Argument], column: int) -> Var | None:
    argument = arguments[column] if column != ON_ONE else None
    return argument if isinstance(argument, Var) else None
