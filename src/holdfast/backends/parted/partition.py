"""Where facts live among shards, and what has to move when a plan runs: plain data and pure functions.

A relation has a *primary* table: a fact is on the shard that its value in one column hashes to.  A join that probes by
another column reads a *copy*, the same facts placed by that column.  A plan is cut into *segments* where bindings have
to move to another shard; its heads move to their primaries.  Column -1 places all facts of a relation on shard 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Rows
from holdfast.plans.model import GOAL, AggregatePlan, AntiJoin, AnyPlan, Join, Output, Plan, Read, Scan, Step
from holdfast.program.model import AggregateRule, Argument, Atom, Const, Negated, Program, Relation, Rule, Term, Var
from holdfast.quick_dataclass import dataclass

Carried: TypeAlias = tuple[Var, ...]
"""The variables that a binding carries, in order."""

ON_ONE: Final = -1
"""In place of a column: all facts are on shard 0."""
BINDINGS: Final = "#"
"""In place of a predicate: what a segment emits are bindings for the next one."""
_RECURSIVE = 4  # times as often as others is a recursive rule evaluated, about
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(32)


# --- owners --------------------------------------------------------------------------------------------


def owners(values: NDArray[np.int64], parts: int) -> NDArray[np.uint64]:
    """The shard of each value; the same for all relations and columns, so that equal values meet."""
    mixed = values.astype(np.uint64) * _MULTIPLIER
    return (mixed >> _HIGH) % np.uint64(parts)


def owner(value: int, parts: int) -> int:
    """The shard of one value."""
    return int(owners(np.array([value], np.int64), parts)[0])


def routed(rows: Rows, column: int, parts: int) -> list[Rows]:
    """Copies of some rows by the shard that they belong to."""
    if column == ON_ONE or parts == 1:
        return [rows.copy(), *([rows[:0]] * (parts - 1))]
    places = owners(rows[:, column], parts).astype(np.uint16)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=parts)).tolist()
    sorted_rows = rows[order]
    return [sorted_rows[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


# --- plans for shards ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Route:
    """Where the rows go that a segment emits: nowhere ("here"), by a column, to one shard, or to all."""

    kind: str
    number: int = 0  # of the column or of the shard


HERE: Final = Route("here")


@dataclass(frozen=True)
class Segment:
    """A run of steps between two exchanges, as a plan of its own that begins with bindings."""

    before: Carried  # what these bindings carry
    plan: Plan
    routes: tuple[Route, ...]  # one for each output

    @property
    def moves(self) -> bool:
        """Whether it may send rows to other shards."""
        return any(route != HERE for route in self.routes)


@dataclass(frozen=True, eq=False)
class PartedPlan:
    """A plan for shards.  Equal only to itself, as a plan is."""

    plan: Plan
    segments: tuple[Segment, ...]
    is_everywhere: bool  # it starts from facts; otherwise shard 0 has the one binding that it starts from
    reads: frozenset[tuple[Read, str]]  # the copies that it reads

    @property
    def is_local(self) -> bool:
        """Whether nothing moves."""
        return self.is_everywhere and len(self.segments) == 1 and not self.segments[0].moves


@dataclass(frozen=True, eq=False)
class PartedAggregate:
    """An aggregate for shards: each group is on one shard."""

    plan: AggregatePlan  # of the table that it reads
    route: Route
    reads: frozenset[tuple[Read, str]]


@dataclass(frozen=True)
class Hop:
    """Where one fact of an instance is looked up: the instance goes there."""

    predicate: str
    columns: slice  # of the instance's row
    route: Route


@dataclass(frozen=True, eq=False)
class RankedPlan:
    """A plan whose instances are rows, the head and then facts of the body side by side.

    An instance goes from the primary of one of its facts to the next; to that of the head last.
    """

    parted: PartedPlan
    hops: tuple[Hop, ...]

    @property
    def reads(self) -> frozenset[tuple[Read, str]]:
        """The copies that it reads."""
        return self.parted.reads


AnyParted: TypeAlias = PartedPlan | PartedAggregate | RankedPlan


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


# --- the choice of primaries ---------------------------------------------------------------------------


def primaries(program: Program) -> dict[str, int]:
    """For each relation the column that joins and groups ask for most."""
    votes: dict[str, Counter[int]] = {}
    for predicate, column, weight in _votes(program):
        votes.setdefault(predicate, Counter())[column] += weight
    found = {name: max(sorted(counted), key=counted.__getitem__) for name, counted in votes.items()}
    for _ in range(3):  # a relation that nothing joins is placed where a rule that derives it is evaluated
        for rule in program.rules:
            if rule.predicate not in votes and len(rule.arguments) > 1:
                _place_with_body(rule, found)
    return found


def _votes(program: Program) -> Iterator[tuple[str, int, int]]:
    for node in program.nodes:
        weighted = [*((rule, 1) for rule in node.nonrecursive), *((rule, _RECURSIVE) for rule in node.recursive)]
        for rule, weight in weighted:
            atoms = [literal for literal in rule.body if isinstance(literal, Atom | Negated)]
            uses = Counter(v for atom in atoms for v in {v for v in atom.arguments if isinstance(v, Var)})
            for atom in atoms:
                for column, term in enumerate(atom.arguments):
                    if isinstance(term, Var) and uses[term] > 1:
                        yield atom.predicate, column, weight
        for aggregate in node.aggregates:
            for column in aggregate.group[:1]:
                yield aggregate.source, column, 1
        for name, limit in node.limits.items():
            for column in limit.group(len(program.relations[name].columns))[:1]:
                yield name, column, _RECURSIVE


def _place_with_body(rule: Rule, found: dict[str, int]) -> None:
    first = next((literal for literal in rule.body if isinstance(literal, Atom)), None)
    if first is not None and first.arguments:
        at = first.arguments[found.get(first.predicate, 0)]
        if isinstance(at, Var) and at in rule.arguments:
            found.setdefault(rule.predicate, rule.arguments.index(at))
