"""Twins of live shards: restored from files and journal, as after a loss, and compared with what the live ones have.

What a shard answers must follow from the committed state and the commands since then.  Live shards also have traces of
updates that were rolled back: rows, indexes, packed tables.  A twin has none of these, so where such a trace shows in
what commands read, the two differ.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from threading import RLock
from typing import Any
from unittest.mock import patch

import numpy as np

from holdfast.backends.memory.bags import MemoryBag
from holdfast.backends.parted.exchange import Crew, ThreadExchange
from holdfast.backends.parted.shard import LASTING, OF_UPDATES
from holdfast.backends.protocol import Backend
from holdfast.backends.spark_parted.crew import SparkCrew, _are_equal
from holdfast.backends.spark_parted.recording import RecordedShard, RecordedState
from holdfast.backends.spark_parted.store import SparkPartedBackend
from holdfast.backends.spark_parted.usage import TaskLimits, TaskWatch
from holdfast.maintenance.ledger import Ledger
from holdfast.values.shared_dictionary import SharedDictionary

from .threads import Workers


@contextmanager
def watched(workers: Workers, seed: int) -> Iterator[list[int]]:
    """Inside a `with`, live shards are compared with twins after each update that was rolled back, after some commits
    and some commands; gives the versions at which they were.  For shards whose rows move directly."""
    dice, ledgers, versions = Random(seed), weakref.WeakKeyDictionary[SparkCrew, Ledger](), list[int]()
    make = Ledger.__init__

    def noted(self: Ledger, backend: Backend) -> None:
        make(self, backend)
        if isinstance(backend, SparkPartedBackend):
            ledgers[backend.crew] = self

    def checking(name: str, chance: float) -> Any:
        method = getattr(SparkCrew, name)

        def call(self: SparkCrew, *arguments: Any) -> Any:
            result, live = method(self, *arguments), workers.shards_of(self._settings.knowledge_base)
            are_there = len(live) == self._settings.parts and len({(each.version, each.step) for each in live}) == 1
            if self in ledgers and are_there and dice.random() < chance:
                check_twins(self, ledgers[self], live)
                versions.append(self.version)
            return result

        return patch.object(SparkCrew, name, call)

    checks = checking("obey", 0.1), checking("commit", 1.0), checking("roll_back", 1.0)
    with patch.object(Ledger, "__init__", noted), checks[0], checks[1], checks[2]:
        yield versions


def check_twins(crew: SparkCrew, ledger: Ledger, live: list[RecordedShard]) -> None:
    """Restore twins and compare them with the live shards, none of which is at work."""
    begins = ("remember", "nonrecursive", True)
    is_updating = any(command == begins for entry in crew._journal for command in entry.commands)
    for shard, twin in zip(sorted(live, key=lambda shard: shard.number), _restored(crew), strict=True):
        now, again = _state(shard, crew, ledger, is_updating), _state(twin, crew, ledger, is_updating)
        assert now.keys() == again.keys(), f"shard {shard.number}"
        for what in now:
            assert now[what] == again[what], f"{what} of shard {shard.number}: {_different(now[what], again[what])}"
        for number in twin._held.keys() - twin._over:
            now, again = _facts(shard, number), _facts(twin, number)
            assert now == again, f"set {number} of shard {shard.number}: {_different(now, again)}"


def _different(now: Any, again: Any) -> str:
    """What is not the same."""
    if not isinstance(now, dict):
        return f"{now}, restored {again}"
    keys = [key for key in {**now, **again} if now.get(key) != again.get(key)]
    return "; ".join(f"{key}: {now.get(key)}, restored {again.get(key)}" for key in keys)


def _restored(crew: SparkCrew) -> list[RecordedShard]:
    """What a loss would lead to."""
    known, parts, folder = crew._committed, crew._settings.parts, crew._settings.folder
    exchange, watch = ThreadExchange(parts), TaskWatch(TaskLimits())
    dictionary = SharedDictionary(crew._dictionary, RLock())
    shards = [RecordedShard(number, parts, exchange, dictionary, watch) for number in range(parts)]
    saved = RecordedState(folder, known.base, known.records, known.relations, known.rounds, known.deferred)
    for shard in shards:
        shard.folder = folder
        shard.restore_recorded(saved)
    team = Crew(shards, exchange)
    team.obey([("functors", dict(crew.functors)), *known.places])
    for entry in known.journal:
        assert _are_equal(entry, team.obey(entry.commands)), f"other answers to {[c[0] for c in entry.commands]}"
    return shards


def _state(shard: RecordedShard, crew: SparkCrew, ledger: Ledger, is_updating: bool) -> dict[str, Any]:
    """All that commands can see of a shard, but for the sets that it holds.

    After an update, the sets of updates are not read before the commands that empty them.  Copies that have become too
    large are not read, nor counters and ranks that the ledger does not have as right.
    """
    names = [name for name in shard.tables if name not in shard._copies or crew._placement.is_kept(name)]
    state: dict[str, Any] = {f"facts of {name}": _numbers(shard, ledger, name, is_updating) for name in names}
    for name in (*LASTING, *(OF_UPDATES if is_updating else ())):
        state[name] = {table: size for table, size in shard.kept(name).sizes().items() if table in names}
    state["hubs"], state["spread"] = shard.hubs.tolist(), {name: shard.spread[name].tolist() for name in names}
    state["deferred rules"] = shard.ranking.deferred
    if is_updating:
        counters = shard.nonrecursive, shard.recursive, shard.ranking.founded
        state["remembering"] = [each.remembers for each in counters]
    return state


def _numbers(
    shard: RecordedShard, ledger: Ledger, name: str, is_updating: bool
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Of each row of a table that is more than known: status, counters, and the rank and Cw of a fact of I."""
    table = shard.tables[name]
    ids = np.arange(table.size, dtype=np.int32)
    columns: list[Any] = [table.status[ids], table.proof[ids]] if is_updating else [table.status[ids] & 3]
    if name not in shard._copies:
        columns += [] if name in ledger._Cn_unknown else [table.nonrecursive[ids]]
        columns += [] if name in ledger._Cr_unknown else [table.recursive[ids]]
        if name in ledger._ranked:
            is_fact = (table.status[ids] & shard.materialisation.bit) != 0
            columns += [np.where(is_fact, numbers, 0) for numbers in shard.ranking.numbers(name, ids)]
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return {tuple(row): each for row, each in zip(table.rows[ids].tolist(), numbers, strict=True) if any(each)}


def _facts(shard: RecordedShard, number: int) -> dict[str, dict[tuple[int, ...], int]]:
    """The facts of a held set or bag on their primaries, and how often each occurs."""
    held, found = shard._held[number], dict[str, dict[tuple[int, ...], int]]()
    for name, ids in held.rows.items():
        if name not in shard._copies:
            weights = held.weights.get(name) if isinstance(held, MemoryBag) else None
            times = found.setdefault(name, {})
            for place, row in enumerate(map(tuple, shard.tables[name].rows[ids].tolist())):
                times[row] = times.get(row, 0) + (1 if weights is None else int(weights[place]))
    return {name: times for name, times in found.items() if times}
