"""OfferGroups of limit relations by hash tables over their keys, so that an offer that loses is never a row.

Beside each group stands the value of its fact in J, as an integer that is smaller the better the value is.  A group is
looked up in J when it is met first; from then on only `rivals` change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.limits import LimitGroups, OfferGroups
from holdfast.backends.memory.aggregates import in_groups
from holdfast.backends.memory.arrays import Ids, Rows, padded
from holdfast.backends.memory.facts import FactSet, Momentary
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.table import Table
from holdfast.backends.protocol import Facts
from holdfast.plans import AnyPlan, Planner, Read
from holdfast.program.model import Limit, Relation
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

_T = TypeVar("_T", bound=np.generic)
_Flags = NDArray[np.bool_]
_Keys = NDArray[np.int64]

_WORST = np.int64(2**63 - 1)
_FEW = 64  # offers that are taken in at once
_BANDS = 2  # of more, those in the better half of the span of their values
_SHARE = 4  # or the quarter that loses least


def memory_groups(planner: Planner, backend: MemoryBackend, *, none_yet: bool) -> OfferGroups:
    """The groups of a hyper-node; strings have no integers that stay, so for them plans must do."""
    types = [backend.relations[name].types[limit.column] for name, limit in planner.node.limits.items()]
    if any(type.in_dictionary for type in types):
        return LimitGroups(planner, backend)
    return MemoryGroups(planner, backend, none_yet)


@dataclass(frozen=True)
class _Offers:
    """Rows that are offered, or their ids, each with its group and how good it is."""

    rows: Rows
    groups: Ids
    keys: _Keys

    def at(self, places: NDArray[np.bool_ | np.int64]) -> _Offers:
        return _Offers(self.rows[places], self.groups[places], self.keys[places])


class _Best:
    """The groups of one relation that were met, with J's fact of each."""

    def __init__(self, relation: Relation, limit: Limit, dictionary: Dictionary, none_yet: bool) -> None:
        self._relation, self._limit, self._dictionary, self._known_empty = relation, limit, dictionary, none_yet
        self.columns = limit.group(relation.arity)
        self._table = Table(relation.name, len(self.columns))
        self._known: _Flags = np.empty(0, np.bool_)  # looked up
        self._there: _Flags = np.empty(0, np.bool_)  # in J
        self._key: _Keys = np.empty(0, np.int64)
        self._row: Ids = np.empty(0, np.int32)
        self._offered: _Keys = np.empty(0, np.int64)
        self._place: Ids = np.empty(0, np.int32)
        self._base: _Keys = np.empty(0, np.int64)  # what is subtracted from keys to put them in order
        self._based: _Flags = np.empty(0, np.bool_)
        self._group_of: Ids = np.empty(0, np.int32)  # by row of the relation; one more, so that 0 is unknown

    def of(self, rows: Rows) -> _Offers:
        """The groups and keys of some rows."""
        groups = self._table.intern(np.ascontiguousarray(rows[:, list(self.columns)]))
        self._enlarge(self._table.size)
        return _Offers(rows, groups, self._keys(rows))

    def of_facts(self, table: Table, ids: Ids) -> _Offers:
        """The groups and keys of facts, whose groups are looked up once."""
        if len(self._group_of) < table.size:
            self._group_of = padded(self._group_of, len(table.rows))
        rows = table.rows[ids]
        groups: Ids = self._group_of[ids] - np.int32(1)
        new = groups < 0
        if new.any():
            groups[new] = self.of(rows[new]).groups
            self._group_of[ids[new]] = groups[new] + 1
        return _Offers(rows, groups, self._keys(rows))

    def _keys(self, rows: Rows) -> _Keys:
        column = self._limit.column
        keys = self._dictionary.order_keys(np.ascontiguousarray(rows[:, column]), self._relation.types[column])
        return ~keys if self._limit.function == "max" else keys

    def _enlarge(self, size: int) -> None:
        have = len(self._known)
        if size <= have:
            return
        capacity = max(2 * size, 64)
        self._known = _larger(self._known, capacity, self._known_empty)
        self._there = _larger(self._there, capacity, False)
        self._key = _larger(self._key, capacity, 0)
        self._row = _larger(self._row, capacity, 0)
        self._offered = _larger(self._offered, capacity, _WORST)
        self._place = _larger(self._place, capacity, 0)
        self._base = _larger(self._base, capacity, 0)
        self._based = _larger(self._based, capacity, False)

    def start_from(self, offers: _Offers) -> None:
        """The groups had these values before the update."""
        self._base[offers.groups], self._based[offers.groups] = offers.keys, True

    def losses(self, offers: _Offers, bar: int) -> _Keys:
        """How much worse each offer is than what its group had; where it had nothing, the first is as bad as `bar`."""
        new = ~self._based[offers.groups]
        if new.any():
            fresh = offers.at(new)
            self.start_from(_Offers(fresh.rows, fresh.groups, fresh.keys - bar))
        losses: _Keys = offers.keys - self._base[offers.groups]
        return losses

    def is_promising(self, offers: _Offers) -> _Flags:
        """Of each, whether it may be better than what J has."""
        better: _Flags = ~self._there[offers.groups] | (offers.keys < self._key[offers.groups])
        return better

    def winners(self, offers: _Offers) -> _Flags:
        """Of each group one of the best."""
        groups, keys = offers.groups, offers.keys
        np.minimum.at(self._offered, groups, keys)
        best = np.flatnonzero(keys == self._offered[groups])
        self._offered[groups] = _WORST
        self._place[groups[best]] = best
        won = np.zeros(len(groups), np.bool_)
        won[best[self._place[groups[best]] == best]] = True
        return won

    def unknown(self, offers: _Offers) -> Rows:
        """The keys of groups that were never looked up in J; from now on they count as looked up."""
        groups = np.unique(offers.groups[~self._known[offers.groups]])
        self._known[groups] = True
        keys: Rows = self._table.rows[groups]
        return keys

    def put(self, offers: _Offers, ids: Ids) -> None:
        """These are J's facts of their groups now."""
        self._there[offers.groups], self._key[offers.groups], self._row[offers.groups] = True, offers.keys, ids

    def replaced(self, offers: _Offers, ids: Ids) -> Ids:
        """The facts that were J's until these came."""
        groups = offers.groups
        old: Ids = self._row[groups[self._there[groups]]]
        self.put(offers, ids)
        return old


class MemoryGroups(LimitGroups):
    """By hash tables."""

    def __init__(self, planner: Planner, backend: MemoryBackend, none_yet: bool) -> None:
        super().__init__(planner, backend)
        self._memory = backend
        self._by_loss, self._bar = False, 0
        self._best = {
            name: _Best(backend.relations[name], limit, backend.dictionary, none_yet)
            for name, limit in self._limits.items()
        }

    def offers(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts], J: Facts) -> tuple[Facts, int]:
        """The best offers of each group that are better than J's; only these become rows."""
        parts: dict[str, list[Rows]] = {}
        count = 0
        for name, rows in self._memory.emitted(plans, sources):
            count += len(rows)
            best = self._best.get(name)
            parts.setdefault(name, []).append(rows.copy() if best is None else rows[best.is_promising(best.of(rows))])
        found = {name: rows[0] if len(rows) == 1 else np.concatenate(rows) for name, rows in parts.items()}
        return self._interned({name: self._chosen(name, rows, J) for name, rows in found.items()}), count

    def tight(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts]) -> tuple[Facts, int]:
        """The heads that have a row: most offers of instances that are deleted lost long ago."""
        parts: dict[str, list[Ids]] = {}
        count = 0
        for name, rows in self._memory.emitted(plans, sources):
            count += len(rows)
            ids = self._memory.tables[name].find(rows)
            parts.setdefault(name, []).append(ids[ids >= 0])
        found = {name: np.unique(np.concatenate(ids)) for name, ids in parts.items()}
        return Momentary(self._memory.tables, {name: ids for name, ids in found.items() if len(ids)}), count

    def _interned(self, rows: Mapping[str, Rows]) -> Facts:
        before = sum(self._memory.tables[name].size for name in rows)
        facts = self._memory.facts({name: found for name, found in rows.items() if len(found)})
        self._memory.watch.batch(sum(self._memory.tables[name].size for name in rows) - before)
        return facts

    def _chosen(self, name: str, rows: Rows, J: Facts) -> Rows:
        best = self._best.get(name)
        if best is None:
            return rows
        offers = best.of(rows)
        self._look_up(best, name, offers, J)
        offers = offers.at(best.is_promising(offers))
        chosen: Rows = offers.rows[best.winners(offers)]
        return chosen

    def _look_up(self, best: _Best, name: str, offers: _Offers, J: Facts) -> None:
        """What J has of groups that are met for the first time."""
        keys = best.unknown(offers)
        if len(keys):
            table = self._memory.tables[name]
            near = Momentary(self._memory.tables, {name: in_groups(table, best.columns, keys)})
            ids = (near & _own(J)).ids(name)
            found = best.of_facts(table, ids)
            best.put(found, ids)
            if self._by_loss:
                best.start_from(found)

    def better(self, N: Facts, J: Facts) -> Facts:
        """The best of each group."""
        facts, found = _own(N).snapshot(), dict[str, Ids]()
        for name, ids in facts.rows.items():
            best = self._best.get(name)
            if best is None:
                ids = (Momentary(self._memory.tables, {name: ids}) - _own(J)).ids(name)
            else:
                offers = best.of_facts(self._memory.tables[name], ids)
                self._look_up(best, name, offers, J)
                places = np.flatnonzero(best.is_promising(offers))
                ids = ids[places[best.winners(offers.at(places))]]
            if len(ids):
                found[name] = ids
        return Momentary(self._memory.tables, found)

    def rivals(self, Δ: Facts, J: Facts) -> Facts:
        """What stands beside the groups."""
        found = {}
        for name, ids in _own(Δ).snapshot().rows.items():
            if name in self._best:
                best = self._best[name]
                old = best.replaced(best.of_facts(self._memory.tables[name], ids), ids)
                if len(old):
                    found[name] = old
        return Momentary(self._memory.tables, found)

    def before(self, facts: Facts) -> None:
        """From now on offers are put in order by what they lose.

        With the old values for potentials every step that is left costs at least nothing, so this is Dijkstra's
        algorithm too.  But what hangs together keeps its loss however far it reaches, while values of an update lie
        anywhere.
        """
        types = [self._backend.relations[name].types[limit.column] for name, limit in self._limits.items()]
        self._by_loss = all(type is not Type.FLOAT for type in types)
        for name, ids in _own(facts).snapshot().rows.items() if self._by_loss else ():
            if name in self._best:
                best = self._best[name]
                best.start_from(best.of_facts(self._memory.tables[name], ids))

    def front(self, W: Facts) -> tuple[Facts, Facts | None]:
        """Those in the better part of the span of values, if there are many.

        Under shortest paths what waits spans about the longest step, so that bands are a fraction of it.
        """
        facts = _own(W).snapshot()
        if len(facts) <= _FEW:
            return W, None
        tables = self._memory.tables
        keys = {name: self._order(self._best[name], tables[name], ids) for name, ids in facts.rows.items()}
        self._bar = bar = self._chosen_bar(np.concatenate([*keys.values()]))
        first = {name: ids[keys[name] <= bar] for name, ids in facts.rows.items()}
        later = {name: ids[keys[name] > bar] for name, ids in facts.rows.items()}
        return _of(facts, first), _of(facts, later)

    def _chosen_bar(self, keys: _Keys) -> int:
        if self._by_loss:  # a few offers lose any amount
            place = len(keys) // _SHARE
            return int(np.partition(keys, place)[place])
        least = int(keys.min())
        return least + (int(keys.max()) - least) // _BANDS

    def _order(self, best: _Best, table: Table, ids: Ids) -> _Keys:
        offers = best.of_facts(table, ids)
        return best.losses(offers, self._bar) if self._by_loss else offers.keys


def _of(facts: Momentary, rows: Mapping[str, Ids]) -> Momentary:
    return Momentary(facts.tables, {name: ids for name, ids in rows.items() if len(ids)})


def _larger(column: NDArray[_T], capacity: int, value: object) -> NDArray[_T]:
    new = np.full(capacity, value, column.dtype)
    new[: len(column)] = column
    return new


def _own(facts: Facts) -> FactSet:
    assert isinstance(facts, FactSet)
    return facts
