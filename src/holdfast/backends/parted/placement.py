"""Places the facts of each relation on shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import inf

from holdfast.backends.parted.cutting import Cutter
from holdfast.backends.parted.partition import (
    HERE,
    NO_HUBS,
    ON_ONE,
    AnyParted,
    Copy,
    Hubs,
    PartedAggregate,
    PartedPlan,
    RankedPlan,
    Route,
    Segment,
)
from holdfast.plans.model import AggregatePlan, AnyPlan, Plan, Read
from holdfast.program.model import AggregateRule, Const, Relation

SMALL = 10_000
"""A relation with fewer facts is copied to all shards, so that bindings need not move to it."""


class Placement:
    """The columns by which relations are placed."""

    def __init__(
        self,
        parts: int,
        encode: Callable[[Const], int],
        size: Callable[[str], float] = lambda _: inf,
        hub_facts: Callable[[str, int], float] = lambda *_: inf,
    ) -> None:
        """`size` returns how many facts a relation has, and `hub_facts` how many of them have a hub in a column."""
        self.parts, self._encode, self._size, self._hub_facts = parts, encode, size, hub_facts
        self.primary: dict[str, int] = {}
        self.copies: dict[str, dict[str, Copy]] = {}  # by relation and table
        self.wanted: Mapping[str, int] = {}  # from `primaries`, for relations to be added
        self.joined: Mapping[str, AbstractSet[int]] = {}  # the columns whose values joins may use
        self.hubs: Hubs = NO_HUBS
        self.spread: dict[str, Hubs] = {}  # by table: the hubs whose facts it spreads
        self.small: float = SMALL
        self.outgrown: set[str] = set()  # copies on all shards that plans should no longer read
        self.stale: set[str] = set()  # copies that no plan reads

    def add(self, relation: Relation) -> None:
        """Place one more relation."""
        column = self.wanted.get(relation.name, 0)
        self.primary[relation.name] = (column if column < relation.arity else 0) if relation.arity else ON_ONE
        self.spread[relation.name] = self.hubs

    def drop(self, name: str) -> None:
        """Forget a dropped relation."""
        self.primary.pop(name, None)
        for table in (name, *self.copies.pop(name, ())):
            self.drop_table(table)

    def drop_copies(self) -> None:
        """Forget all copies."""
        for table in [table for copies in self.copies.values() for table in copies]:
            self.drop_table(table)
        self.copies.clear()

    def drop_table(self, table: str) -> None:
        """Forget a dropped table."""
        self.spread.pop(table, None)
        self.outgrown.discard(table)
        self.stale.discard(table)

    def table(self, predicate: str, column: int) -> str:
        """The table that holds a relation placed by a column."""
        return predicate if column == self.primary[predicate] else Copy(predicate, "column", column).name

    def copies_of(self, predicates: Iterable[str]) -> list[str]:
        """The copies of some relations that are kept up to date."""
        found = [table for p in predicates if p in self.copies for table in sorted(self.copies[p])]
        return [table for table in found if self.is_kept(table)]

    def is_kept(self, table: str) -> bool:
        """Whether a copy is kept up to date, if it exists."""
        return table not in self.stale and table not in self.outgrown

    def grown(self, predicate: str, size: float) -> None:
        """Note a relation's number of facts; a copy of it on all shards that has become much too large is given up."""
        for name, copy in self.copies.get(predicate, {}).items():
            if copy.kind == "all":
                self.table_grown(name, size)

    def table_grown(self, table: str, size: float) -> None:
        """Note the number of facts in a copy on all shards."""
        if size > 2 * self.small:
            self.outgrown.add(table)

    def is_small(self, predicate: str) -> bool:
        """Whether a relation is small enough for every shard to hold all its facts."""
        return self.is_kept(Copy(predicate, "all").name) and self._size(predicate) < self.small

    def has_small_hubs(self, predicate: str, column: int) -> bool:
        """Whether a relation's facts with a hub in a column are few enough for every shard to hold them all."""
        is_kept = self.is_kept(Copy(predicate, "hubs", column).name)
        return is_kept and self._hub_facts(predicate, column) < self.small

    def parted(self, plan: AnyPlan) -> AnyParted:
        """A plan for shards; `reads` says which copies must exist before it runs."""
        if isinstance(plan, AggregatePlan):
            return self._aggregate(plan)
        if self.parts == 1:
            return PartedPlan(plan, (Segment((), plan, (HERE,) * len(plan.outputs)),), True, frozenset())
        return Cutter(self, plan).parted()

    def ranked(self, plan: Plan) -> RankedPlan:
        """A plan for shards that emits the head followed by facts of the body."""
        if self.parts == 1:
            whole = self.parted(plan)
            assert isinstance(whole, PartedPlan)
            return RankedPlan(whole, ())
        return Cutter(self, plan).ranked()

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
        """The columns by which a relation is placed: its primary's, then those of its copies."""
        copies = (copy.column for copy in self.copies.get(predicate, {}).values() if copy.kind == "column")
        return [self.primary[predicate], *sorted(copies)]

    def whole(self, predicate: str, column: int) -> str | Copy:
        """A table that has all facts with the same value in a column on one shard: the primary or a copy."""
        name = self.table(predicate, column)
        if not len(self.spreads(name)):
            return name if name == predicate else Copy(predicate, "column", column)
        return Copy(predicate, "whole", column)

    def spreads(self, table: str) -> Hubs:
        """The hubs whose facts a table spreads; all hubs for a table that does not exist yet."""
        return self.spread.get(table, self.hubs)

    def to_primary(self, predicate: str, arity: int, *, is_there: bool) -> Route:
        """The route of heads; `is_there` says whether heads without a hub are on their shard already."""
        column = self.primary[predicate]
        if is_there and not len(self.spreads(predicate)):
            return HERE
        return Route("one", 0) if column == ON_ONE else Route("column", column, predicate, (0, arity))

    def code(self, constant: Const) -> int:
        """The code of a constant."""
        return self._encode(constant)


def _in_head(rule: AggregateRule, column: int) -> int:
    """The head's column that holds a column of the group; -1 if there is no such column."""
    value = rule.place % (len(rule.group) + 1)
    heads = [place for place in range(len(rule.group) + 1) if place != value]
    return heads[rule.group.index(column)] if column in rule.group else ON_ONE
