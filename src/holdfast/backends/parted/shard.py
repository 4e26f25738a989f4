"""One shard: a memory backend with the facts that are placed on it, and the commands that it obeys.

A set of facts is given as a *tree* over kept sets and held ones, which are sets and bags that a command has made and
the driver knows by a number.  Trees are evaluated here and not on the driver: what is empty on one shard may be full on
another.  A held set has the facts of primaries; those of copies are added by `do_spread`, where something reads them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.abilities import FactRequest
from holdfast.backends.memory.aggregates import aggregate, source_rows
from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.bags import MemoryBag
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.memory.execution.run import CompiledPlan, naming_the_rule
from holdfast.backends.memory.facts import ByPredicate, FactSet, Momentary
from holdfast.backends.memory.kept import Kept
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.truth import NO_IDS
from holdfast.backends.parted.exchange import Exchange
from holdfast.backends.parted.expanding import Expansion
from holdfast.backends.parted.hubs import frequent
from holdfast.backends.parted.moving import Moving
from holdfast.backends.parted.partition import (
    NO_HUBS,
    AnyParted,
    Copy,
    Hubs,
    PartedAggregate,
    PartedPlan,
    RankedPlan,
    among,
)
from holdfast.backends.parted.rounds import RankedRound, Round, SegmentRun, Traffic
from holdfast.backends.protocol import Watch
from holdfast.plans.model import Read
from holdfast.program.model import Relation, Rule
from holdfast.values.dictionary import Dictionary

SetTree: TypeAlias = tuple[Any, ...]
"""A set of facts: ("kept", name), ("held", number), ("support", number), ("or" | "and" | "sub", tree, tree),
("by", predicates, tree, tree) or ("of", tree, predicates)."""
ShardCommand: TypeAlias = tuple[Any, ...]
"""The name of a method, without its `do_`, and its arguments."""
FactCounts: TypeAlias = dict[str, int]

LASTING: Final = ("explicit", "materialisation")
OF_UPDATES: Final = ("deleted", "added", "checked", "proved", "delayed")
COUNTERS: Final = ("nonrecursive", "recursive")
EXCHANGING: Final = frozenset(
    {"apply", "apply_ranked", "expand", "spread", "copy", "move", "deal"}
)  # commands that move rows
NO_SET: Final[SetTree] = ("of", ("kept", "explicit"), ())


class Shard(MemoryBackend):
    """The facts of one part."""

    def __init__(self, number: int, parts: int, exchange: Exchange, dictionary: Dictionary, watch: Watch) -> None:
        super().__init__({}, dictionary, watch)
        self.number, self._parts, self._exchange = number, parts, exchange
        self._copies: dict[str, Copy] = {}  # by table
        self.hubs: Hubs = NO_HUBS
        self.spread: dict[str, Hubs] = {}  # by table: those whose facts it spreads
        self.traffic = Traffic()
        self._held: dict[int, Momentary | MemoryBag] = {}
        self._over = frozenset[int]()  # of these, what was held at the end of an update and is not read again
        self._pieces: dict[PartedPlan, list[SegmentRun]] = {}

    def obey(self, commands: Iterable[ShardCommand]) -> list[Any]:
        """Do all commands; what each gives."""
        return [getattr(self, f"do_{name}")(*arguments) for name, *arguments in commands]

    # --- sets ------------------------------------------------------------------------------------------

    def built(self, tree: SetTree) -> FactSet:
        """A set as the memory backend has it."""
        match tree:
            case ("kept", name):
                return self.kept(name)
            case ("held", number):
                return self.held(number)
            case ("support", number):
                return self._bag(number).support()
            case ("or", left, right):
                return self.built(left) | self.built(right)
            case ("and", left, right):
                return self.built(left) & self.built(right)
            case ("sub", left, right):
                return self.built(left) - self.built(right)
            case ("of", of, names):
                return self.built(of).of(names)
            case ("by", names, here, rest):
                copies = (table for table, copy in self._copies.items() if copy.predicate in names)
                return ByPredicate({*names, *copies}, self.built(here), self.built(rest))
        raise AssertionError(tree)

    def kept(self, name: str) -> Kept:
        """One of the kept sets."""
        kept: Kept = getattr(self, name)
        return kept

    def held(self, number: int) -> Momentary:
        """A set that a command has made."""
        held = self._held[number]
        assert isinstance(held, Momentary)
        return held

    def _bag(self, number: int) -> MemoryBag:
        held = self._held[number]
        assert isinstance(held, MemoryBag)
        return held

    def only_primaries(self, facts: FactSet) -> Momentary:
        """The facts of a set, without those of copies."""
        if not self._copies:
            return facts.snapshot()
        found = {name: facts.ids(name) for name in facts.predicates() if name not in self._copies}
        return Momentary(self.tables, {name: ids for name, ids in found.items() if len(ids)})

    def do_let(self, number: int, tree: SetTree) -> FactCounts:
        """Hold a set as it is now."""
        return self._hold(number, self.only_primaries(self.built(tree)))

    def _hold(self, number: int, facts: Momentary) -> FactCounts:
        self._held[number] = facts
        return dict(facts.sizes())

    def do_zero(self, number: int, counters: str, tree: SetTree) -> FactCounts:
        """Hold those of some facts whose number is 0."""
        found = self._counters(counters).zero(self.only_primaries(self.built(tree)))
        return self._hold(number, found.snapshot())

    def do_sizes(self, tree: SetTree) -> FactCounts:
        """How many facts of each predicate there are."""
        facts = self.built(tree)
        return {name: n for name in facts.predicates() if name not in self._copies and (n := facts.size(name))}

    def do_free(self, numbers: Iterable[int]) -> None:
        """Sets and bags that the driver needs no more."""
        for number in numbers:
            self._held.pop(number, None)

    def do_put(self, name: str, number: int) -> FactCounts:
        """Put facts into a kept set; gives how many were not in it, if it is E or I."""
        kept, more = self.kept(name), self.held(number)
        new = self._differing(kept, more, 0) if name in LASTING else {}
        kept |= more
        return new

    def do_take(self, name: str, number: int) -> FactCounts:
        """Take facts out of a kept set; gives how many were in it, if it is E or I."""
        kept, fewer = self.kept(name), self.held(number)
        gone = self._differing(kept, fewer, int(kept.bit)) if name in LASTING else {}
        kept -= fewer
        return gone

    def _differing(self, kept: Kept, facts: Momentary, now: int) -> FactCounts:
        """How many facts of E or I change when a set is put into it or taken out."""
        found = {}
        for name, ids in facts.rows.items():
            if name not in self._copies:
                prefix, run = kept.run(name), facts.run(name)
                if not now and prefix is not None and run is not None and run[0] >= prefix[1]:
                    found[name] = len(ids)
                else:
                    found[name] = int(np.count_nonzero((self.tables[name].status[ids] & kept.bit) == now))
        return found

    def do_clear(self, name: str) -> None:
        """Empty one of the sets of updates."""
        getattr(self, name).clear()

    # --- counters --------------------------------------------------------------------------------------

    def _counters(self, name: str) -> MemoryCounters:
        counters: MemoryCounters = self.ranking.founded if name == "founded" else getattr(self, name)
        return counters

    def do_count(self, name: str, what: SetTree | int, step: int) -> None:
        """Count each fact of a set, or each occurrence in a bag, once more or less."""
        counters = self._counters(name)
        counted = self._bag(what) if isinstance(what, int) else self.only_primaries(self.built(what))
        if step > 0:
            counters.add(counted)
        else:
            counters.subtract(counted)

    def do_forget(self, name: str, predicates: Iterable[str]) -> None:
        """Set numbers to 0."""
        self._counters(name).forget(predicates)

    def do_remember(self, name: str, remembers: bool) -> None:
        """Record changes from now on, or no more."""
        self._counters(name).remembers = remembers

    def do_roll_back(self, name: str) -> None:
        """Undo the recorded changes."""
        self._counters(name).roll_back()

    def do_clear_undo(self, name: str) -> None:
        """Drop the record."""
        self._counters(name).clear_undo()

    # --- ranks -----------------------------------------------------------------------------------------

    def do_rank_anew(self, predicates: Iterable[str]) -> None:
        """A hyper-node is about to be evaluated from scratch."""
        self.ranking.rank_anew(predicates)

    def do_enter(self, tree: SetTree, rank: int) -> None:
        """Facts enter in the round with this number, which is the same on all shards whatever failed before."""
        self.ranking.rounds = rank - 1
        self.ranking.enter(self.only_primaries(self.built(tree)))

    def do_defer_rule(self, rule: Rule, first: int, last: int) -> None:
        """A rule saw the facts of some ranks together."""
        self.ranking.defer_rule(rule, first, last)

    def do_restart_ranks(self) -> None:
        """No rank is believed any more."""
        self.ranking.restart()

    def do_ranks(self, predicate: str) -> tuple[Rows, list[int], list[int]]:
        """The facts of I with their ranks and Cw."""
        return self.ranking.ranks(predicate)

    def do_deferred(self) -> Mapping[Any, Any]:
        """The rules that were deferred."""
        return self.ranking.deferred

    def do_apply_ranked(
        self, numbers: tuple[int, int], plans: Sequence[RankedPlan], sources: Mapping[Read, SetTree]
    ) -> tuple[int, int]:
        """Hold the heads of all instances, and of the founded ones; gives how many there are here."""
        built = {read: self.built(tree) for read, tree in sources.items()}
        if self._parts == 1:
            bags = self.ranking.apply_ranked([ranked.parted.plan for ranked in plans], built)
        else:
            bags = RankedRound(self, built).bags(plans)
        self._held.update(zip(numbers, bags, strict=True))
        return len(bags[0]), len(bags[1])

    # --- relations and facts ---------------------------------------------------------------------------

    def do_add(self, relation: Relation) -> None:
        """One more relation."""
        self.add_relation(relation)
        self.spread[relation.name] = self.hubs

    def do_drop(self, name: str) -> None:
        """A relation is gone, if it was there."""
        for table in [table for table, copy in self._copies.items() if copy.predicate == name]:
            self.do_drop_copy(table)
        self.spread.pop(name, None)
        if name in self.relations:
            self.drop_relation(name)

    def do_drop_copy(self, table: str) -> None:
        """A copy is gone, if it was there."""
        self._copies.pop(table, None)
        self.spread.pop(table, None)
        if table in self.relations:
            self.drop_relation(table)

    def drop_relation(self, name: str) -> None:
        """Forget a relation and its facts, also those that are held or in sets of an update that is rolled back."""
        super().drop_relation(name)
        for kept in map(self.kept, OF_UPDATES):
            kept.forget(name)
        self._renumber(name, NO_IDS)

    def _pack(self, name: str) -> None:
        table = self.tables[name]
        is_kept = table.status[: table.size] != 0
        super()._pack(name)
        self._renumber(name, np.where(is_kept, np.cumsum(is_kept) - 1, -1).astype(np.int32))

    def _renumber(self, name: str, new: Ids) -> None:
        """Rows of a table have other ids, or none (-1): so have those of held sets and bags."""
        for number, held in self._held.items():
            if name not in held.rows:
                continue
            ids = held.rows[name]
            there = new[ids] if len(new) else np.full(len(ids), -1, np.int32)
            rows = {**held.rows, name: there[there >= 0]}
            if not len(rows[name]):
                del rows[name]
            if isinstance(held, MemoryBag):
                weights = {n: each if n != name else each[there >= 0] for n, each in held.weights.items() if n in rows}
                self._held[number] = MemoryBag(self.tables, rows, weights)
            else:
                self._held[number] = Momentary(self.tables, rows)

    def do_mend(self, relations: Mapping[str, Relation]) -> None:
        """Trust E and I of the primaries, and that there are these relations."""
        self._held.clear()
        self._pieces.clear()
        for name in [name for name in self.relations if name not in relations]:
            self.do_drop(name)
        self._copies.clear()
        for name, relation in relations.items():
            if name not in self.tables:
                self.add_relation(relation)
        self.mend()

    def do_given(self, number: int, rows: Mapping[str, Sequence[Rows]], known: bool) -> FactCounts:
        """Hold facts that were given, each shard its part; with `known`, those that a kept or a held set has."""
        own = {name: parts[self.number] for name, parts in rows.items()}
        given = self.facts(own, known=known).snapshot()
        return self._hold(number, self._in_some_set(given) if known else given)

    def _in_some_set(self, facts: Momentary) -> Momentary:
        """Some facts without those that are in no set: their rows are traces of what was deleted or rolled back."""
        found = {}
        for name, ids in facts.rows.items():
            table = self.tables[name]
            is_there = (table.status[ids] | table.proof[ids]) != 0
            if not is_there.all():
                read = [each.rows for number, each in self._held.items() if number not in self._over]
                held = [rows[name] for rows in read if name in rows]
                is_there |= np.isin(ids, np.concatenate(held)) if held else False
            if is_there.any():
                found[name] = ids[is_there]
        return Momentary(self.tables, found)

    def do_rows(self, predicates: Sequence[str], tree: SetTree) -> list[Rows]:
        """The rows of a set's facts of some predicates."""
        facts = self.built(tree)
        return [self.rows(predicate, facts) for predicate in predicates]

    def do_lookup(self, asked: Sequence[FactRequest]) -> list[tuple[Rows, NDArray[np.bool_]] | None]:
        """Facts that are here, by some of their columns, and which of them are explicit."""
        return [self._looked_up(each) for each in asked]

    def _looked_up(self, asked: FactRequest) -> tuple[Rows, NDArray[np.bool_]] | None:
        table, kept = self.tables[asked.predicate], self.explicit if asked.explicit else self.materialisation
        ids = table.matching(asked.key, asked.values) if asked.key else kept.ids(asked.predicate)
        status = table.status[ids]
        found = (status & kept.bit) != 0
        if asked.most is not None and np.count_nonzero(found) > asked.most:
            return None
        return table.rows[ids[found]], (status[found] & self.explicit.bit) != 0

    def do_derivations(self, predicate: str) -> tuple[Rows, list[int], list[int]]:
        """The facts of I with their numbers."""
        return self.derivations(predicate)

    def do_keys(self, predicate: str, columns: tuple[int, ...]) -> tuple[int, float]:
        """How many facts there are, and how many keys they have in some columns."""
        table = self.tables[predicate]
        if not table.size or len(columns) == table.arity:
            return table.size, table.size
        return table.size, table.size / self.do_fanout(predicate, columns)

    def do_fanout(self, predicate: str, columns: tuple[int, ...]) -> float:
        """How many facts share a key."""
        return self.statistics.fanout(predicate, columns, self.tables[predicate].arity)

    def do_unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        """How many facts an index would have to take in."""
        return self.statistics.unindexed(predicate, columns)

    def do_smallest(self, predicate: str, column: int) -> float:
        """A lower bound of the numbers in a column."""
        return self.statistics.smallest(predicate, column)

    def do_forget_plans(self, plans: Iterable[AnyParted]) -> None:
        """Some plans will not run again."""
        for plan in plans:
            if not isinstance(plan, PartedAggregate):
                parted = plan.parted if isinstance(plan, RankedPlan) else plan
                self._pieces.pop(parted, None)
                self._pipelines.pop(parted.segments[0].plan, None)

    def do_tidy(self, number: int) -> None:
        """An update is over: pack tables that consist mostly of deleted facts."""
        self._over = frozenset(self._held)
        self.tidy(self.held(number))

    def do_reclaim(self) -> None:
        """Pack all tables that have rows without facts; what a refused update still holds is not read again."""
        self._held.clear()
        self.reclaim()

    def do_traffic(self) -> Traffic:
        """What this shard has done since it was made."""
        return self.traffic

    def do_nbytes(self) -> int:
        """The memory that facts, counters and indexes take."""
        return self.nbytes

    # --- copies ----------------------------------------------------------------------------------------

    def do_hubs(self, hubs: Hubs, spread: Mapping[str, Hubs]) -> None:
        """Some values are hubs, and some tables spread the facts of some of them."""
        self.hubs = hubs
        self.spread.update(spread)

    def do_known(self) -> FactCounts:
        """How many rows each table has, of facts or not."""
        return {name: table.size for name, table in self.tables.items()}

    def do_hub_facts(self, predicate: str, column: int) -> int:
        """How many facts have a hub in a column."""
        table = self.tables[predicate]
        ids = self.materialisation.ids(predicate)
        return int(np.count_nonzero(among(table.rows[ids, column], self.hubs)))

    def do_frequent(self, places: Mapping[str, tuple[int, int]]) -> dict[str, Hubs]:
        """Of tables that are placed by a column and have so many facts in all: the values that should be hubs there."""
        found = {}
        for name, (column, size) in places.items():
            values = frequent(self.tables[name].rows[self.materialisation.ids(name), column], 0.5 / self._parts * size)
            found[name] = values[~among(values, self.spread[name])]
        return {name: values for name, values in found.items() if len(values)}

    def do_move(self, spread: Mapping[str, tuple[int, Hubs]]) -> None:
        """Relations, each placed by a column, spread the facts of more hubs; nothing changes before all have come."""
        moving = {name: Moving(self, name, column, hubs) for name, (column, hubs) in spread.items()}
        for box in self._sent([{n: each.boxes[part] for n, each in moving.items()} for part in range(self._parts)]):
            for name, rows in box.items():
                moving[name].receive(rows)
        self._sent([()] * self._parts)
        for each in moving.values():
            each.finish()

    def count_removed(self, name: str, rows: int) -> None:
        """So many rows of a table have no facts any more."""
        self._removed[name] = self._removed.get(name, 0) + rows

    def do_copy(self, copy: Copy, hubs: Hubs) -> None:
        """Place the facts of a relation in another way too."""
        table, name = self.tables[copy.predicate], copy.name
        self.add_relation(replace(self.relations[copy.predicate], name=name))
        self._copies[name], self.spread[name] = copy, hubs
        ids = np.flatnonzero(table.status[: table.size] | table.proof[: table.size])
        marks = np.stack([table.status[ids], table.proof[ids]], axis=1).astype(np.int64)
        dealt = copy.dealt(np.hstack([table.rows[ids], marks]), self._parts, hubs, slice(table.arity))
        came = np.concatenate(self._sent(dealt))
        there = self.tables[name].intern(np.ascontiguousarray(came[:, : table.arity]))
        for kept in map(self.kept, (*LASTING, *OF_UPDATES)):
            byte = came[:, table.arity + (kept.column(name) == "proof")]
            some = there[(byte & int(kept.bit)) != 0]
            if len(some):
                kept |= Momentary(self.tables, {name: some})

    def do_spread(self, wanted: Sequence[tuple[int, Sequence[str]]]) -> FactCounts:
        """Bring held sets to copies of their relations; gives how many facts the copies of facts with hubs have."""
        boxes: list[list[tuple[int, str, Rows]]] = [[] for _ in range(self._parts)]
        for number, tables in wanted:
            for table in tables:
                copy = self._copies[table]
                rows = self.tables[copy.predicate].rows[self.held(number).ids(copy.predicate)]
                for box, some in zip(boxes, copy.dealt(rows, self._parts, self.spread[table]), strict=True):
                    box.append((number, table, some))
        came = defaultdict[tuple[int, str], list[Rows]](list)
        for box in self._sent(boxes):
            for number, table, rows in box:
                came[number, table].append(rows)
        for number, tables in wanted:
            ids_of = {table: self.tables[table].intern(np.concatenate(came[number, table])) for table in tables}
            kept = {name: ids for name, ids in self.held(number).rows.items() if name not in ids_of}
            self._held[number] = Momentary(self.tables, {**kept, **{t: ids for t, ids in ids_of.items() if len(ids)}})
        brought = defaultdict[str, list[int]](list)
        for number, tables in wanted:
            for table in tables:
                if self._copies[table].kind == "hubs":
                    brought[table].append(number)
        return {table: self._facts_in(table, numbers) for table, numbers in brought.items()}

    def _facts_in(self, table: str, numbers: Iterable[int]) -> int:
        """How many facts of a copy are in kept sets, or in some held ones."""
        status, brought = self.tables[table].status, [self.held(number).ids(table) for number in numbers]
        coming = np.unique(np.concatenate(brought))
        return int(np.count_nonzero(status)) + int(np.count_nonzero(status[coming] == 0))

    def _sent(self, boxes: Sequence[Any]) -> Sequence[Any]:
        return self._exchange.all_to_all(self.number, boxes)

    # --- Π ---------------------------------------------------------------------------------------------

    def do_apply(
        self, number: int, plans: Sequence[PartedPlan | PartedAggregate], sources: Mapping[Read, SetTree]
    ) -> int:
        """Hold what all instances of some plans emit, each head on its shard; gives how many there are here."""
        built = {read: self.built(tree) for read, tree in sources.items()}
        bag = self._held[number] = Round(self, built).bag(plans)
        return len(bag)

    def do_expand(
        self,
        numbers: tuple[int, int],
        plans: Sequence[PartedPlan],
        sources: Mapping[Read, SetTree],
        most: int,
        goals: int,
    ) -> tuple[int, FactCounts]:
        """Hold the outputs of a bounded number of instances for each goal, and the exhausted ones of so many goals."""
        built = {read: self.built(tree) for read, tree in sources.items()}
        if self._parts == 1:
            bag, exhausted = self.expand([parted.plan for parted in plans], built, most)
        else:
            bag, exhausted = Expansion(self, built, most, goals).expanded(plans)
        self._held[numbers[0]] = bag
        return len(bag), self._hold(numbers[1], exhausted.snapshot())

    def pieces(self, parted: PartedPlan) -> list[SegmentRun]:
        """What runs the segments of a plan."""
        pieces = self._pieces.get(parted)
        if pieces is None:
            pieces = [SegmentRun(segment, self.tables, self.dictionary, self.watch) for segment in parted.segments]
            self._pieces[parted] = pieces
        return pieces

    def aggregated(self, parted: PartedAggregate, sources: Mapping[Read, FactSet]) -> Rows:
        """The facts of an aggregate, of the groups that are on this shard."""
        rule = parted.plan.rule
        types, head = self.relations[rule.source].types, self.relations[rule.predicate].types
        rows = source_rows(rule, self.tables[rule.source], sources[Read.ALL], sources.get(Read.DELTA))
        with naming_the_rule(rule):
            return aggregate(rule, rows, types, head, self.dictionary)

    def pipeline(self, parted: PartedPlan) -> CompiledPlan:
        """What runs a plan of which nothing moves."""
        return self.compiled(parted.segments[0].plan)

    @property
    def parts(self) -> int:
        """How many shards there are."""
        return self._parts

    def exchanged(self, boxes: Sequence[Any]) -> Sequence[Any]:
        """What the shards have sent to this one, in exchange for what it sends to each."""
        return self._sent(boxes)


def summed(parts: Iterable[Mapping[str, int]]) -> FactCounts:
    """The sizes of sets that are parts of one."""
    total: FactCounts = {}
    for part in parts:
        for name, size in part.items():
            if size:
                total[name] = total.get(name, 0) + size
    return total
