"""A shard that can be restored: a base, and a log of the facts that each transaction changed.

A record has the rows that changed since the one before, with status and numbers as they are at the commit; a base has
all rows.  Copies are not recorded: they are made anew.  So are indexes.  Sets and bags that the driver still holds are
part of a record, since it may use them after the commit.
"""

from __future__ import annotations

import json
import os
import pickle
import secrets
import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.bags import MemoryBag
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.memory.execution.buffers import Weights
from holdfast.backends.memory.facts import Momentary, Tables
from holdfast.backends.parted.exchange import Exchange
from holdfast.backends.parted.partition import Hubs, routed
from holdfast.backends.parted.shard import FactCounts, SetTree, Shard, ShardCommand
from holdfast.backends.protocol import Watch
from holdfast.backends.spark_parted.images import image_path, map_image, write_image
from holdfast.program.model import Relation
from holdfast.quick_dataclass import dataclass
from holdfast.user_functors import UserFunctor, using
from holdfast.values.dictionary import Dictionary

_LASTING = np.uint8(3)  # E and I
_COLUMNS = "nonrecursive", "recursive"
_WORTH_AN_IMAGE = 1.2  # bytes of tables and indexes, in parts of those in the last image
_Arrays: TypeAlias = dict[str, NDArray[Any]]
_HEADERS = threading.Lock()
"""Held while NumPy parses the header of an array: early versions of Python 3.11 may fail if two threads parse at
once (gh-106905)."""


def load_rows(path: str) -> Rows:
    """The rows in a file; shards in threads read one after the other."""
    with _HEADERS:
        rows: Rows = np.load(path)
    return rows


class _ArraysInTurn(Mapping[str, NDArray[Any]]):
    """The arrays of a file, each read when it is asked for."""

    def __init__(self, file: Mapping[str, NDArray[Any]]) -> None:
        self._file = file

    def __getitem__(self, name: str) -> NDArray[Any]:
        with _HEADERS:
            return self._file[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._file)

    def __len__(self) -> int:
        return len(self._file)


class TouchedRows:
    """The rows of each table that may have changed since the last record, and those that are new.

    All new rows are recorded, in order, so that a restored table has the same rows under the same ids.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._rows: dict[str, list[Ids]] = {}
        self._counts: dict[str, int] = {}
        self._recorded: dict[str, int] = {}  # the first rows of a table
        self._whole: set[str] = set()
        self.dropped: set[str] = set()

    def clear(self, predicates: Iterable[str]) -> None:
        """These tables were recorded."""
        self._rows, self._counts, self._whole, self.dropped = {}, {}, set(), set()
        self._recorded = {name: self._tables[name].size for name in predicates}

    def add(self, predicate: str, ids: Ids) -> None:
        """Some rows of a table; when there are more of them than rows, all."""
        if predicate in self._whole or not len(ids):
            return
        self._rows.setdefault(predicate, []).append(ids)
        self._counts[predicate] = self._counts.get(predicate, 0) + len(ids)
        if self._counts[predicate] > self._tables[predicate].size:
            self.add_all(predicate)

    def add_all(self, predicate: str) -> None:
        """All rows of a table."""
        self._forget(predicate)
        self._whole.add(predicate)

    def drop(self, predicate: str) -> None:
        """A table is gone; another may take its name."""
        self._forget(predicate)
        self._whole.discard(predicate)
        self._recorded.pop(predicate, None)
        self.dropped.add(predicate)

    def _forget(self, predicate: str) -> None:
        self._rows.pop(predicate, None)
        self._counts.pop(predicate, None)

    def of(self, predicate: str) -> Ids:
        """The rows of a table, in order."""
        size, first = self._tables[predicate].size, self._recorded.get(predicate, 0)
        if predicate in self._whole:
            first = 0
        old, new = self._rows.get(predicate, []), np.arange(first, size, dtype=np.int32)
        return np.unique(np.concatenate([*old, new])) if old else new


class _RecordedCounters(MemoryCounters):
    """Notes the facts whose numbers change."""

    def __init__(self, tables: Tables, column: str, touched: TouchedRows) -> None:
        super().__init__(tables, column)
        self._touched = touched

    def forget(self, predicates: Iterable[str]) -> None:
        """Set the numbers of some predicates to 0: all of them change."""
        names = tuple(predicates)
        for name in names:
            self._touched.add_all(name)
        super().forget(names)

    def _count(self, predicate: str, ids: Ids, weights: Weights, step: int) -> None:
        self._touched.add(predicate, ids)
        super()._count(predicate, ids, weights, step)


@dataclass(frozen=True)
class RecordedState:
    """What a shard restores: the base and the records after it, by name, for these relations."""

    folder: str
    base: str | None
    records: Sequence[str]
    relations: Mapping[str, Relation]
    rounds: int
    deferred: Mapping[Any, Any]


class RecordedShard(Shard):
    """A shard with a base and a log."""

    def __init__(self, number: int, parts: int, exchange: Exchange, dictionary: Dictionary, watch: Watch) -> None:
        super().__init__(number, parts, exchange, dictionary, watch)
        self.version = self.step = 0
        """What state this is: the committed version, and the number of the last command since then."""
        self.folder = ""
        self.images: str | None = None
        """The folder for images on this machine, if any are wanted."""
        self._recorded: str | None = None  # the name of the last record
        self._held_before = frozenset[int]()  # the sets and bags that an update has found
        self._imaged = 0  # the bytes of the tables when the last image was written, if that was after the base
        self.functors: dict[str, UserFunctor] = {}
        self._touched = touched = TouchedRows(self.tables)
        self.nonrecursive = _RecordedCounters(self.tables, "nonrecursive", touched)
        self.recursive = _RecordedCounters(self.tables, "recursive", touched)
        self.explicit.changing = self.materialisation.changing = self._changing

    @property
    def _has_readers(self) -> bool:
        return False  # `changing` is there for the log

    def join(self, exchange: Exchange) -> None:
        """Work in another job."""
        self._exchange = exchange

    def do_functors(self, functors: Mapping[str, bytes]) -> None:
        """Rules call these functions of the user."""
        self.functors.update({name: pickle.loads(each) for name, each in functors.items()})

    def obey(self, commands: Iterable[ShardCommand]) -> list[Any]:
        """Do all commands; what each gives."""
        with using(self.functors):
            return super().obey(commands)

    # --- what changes ----------------------------------------------------------------------------------

    def _changing(self, rows: Mapping[str, Ids], _bit: np.uint8, _enters: bool) -> None:
        for name, ids in rows.items():
            if name not in self._copies:
                self._touched.add(name, ids)

    def _touch(self, facts: Momentary | MemoryBag) -> None:
        for name, ids in facts.rows.items():
            self._touched.add(name, ids)

    def do_count(self, name: str, what: SetTree | int, step: int) -> None:
        """As any shard; Cw has no counters of ours."""
        if name == "founded":
            self._touch(self._bag(what) if isinstance(what, int) else self.only_primaries(self.built(what)))
        super().do_count(name, what, step)

    def do_enter(self, tree: SetTree, rank: int) -> None:
        """As any shard: ranks change."""
        self._touch(self.only_primaries(self.built(tree)))
        super().do_enter(tree, rank)

    def do_remember(self, name: str, remembers: bool) -> None:
        """As any shard; an update begins or ends."""
        super().do_remember(name, remembers)
        if name == self.nonrecursive.column and remembers:
            self._held_before = frozenset(self._held)

    def do_roll_back(self, name: str) -> None:
        """As any shard; what the update held is not read again, and a restored shard never held it."""
        super().do_roll_back(name)
        self._held = {number: held for number, held in self._held.items() if number in self._held_before}

    def do_restart_ranks(self) -> None:
        """As any shard: all ranks change."""
        self._touch_all()
        super().do_restart_ranks()

    def do_move(self, spread: Mapping[str, tuple[int, Hubs]]) -> None:
        """As any shard: facts come and go without changes of kept sets."""
        for name in spread:
            self._touched.add_all(name)
        super().do_move(spread)

    def do_mend(self, relations: Mapping[str, Relation]) -> None:
        """As any shard; what has changed is not known."""
        super().do_mend(relations)
        self._touch_all()

    def _touch_all(self) -> None:
        for name in self.tables:
            if name not in self._copies:
                self._touched.add_all(name)

    def drop_relation(self, name: str) -> None:
        """Forget a relation and its facts."""
        self._touched.drop(name)
        super().drop_relation(name)

    def _pack(self, name: str) -> None:
        super()._pack(name)
        if name not in self._copies:  # other rows under other ids
            self._touched.drop(name)

    # --- records ---------------------------------------------------------------------------------------

    def do_record(self, version: int, name: str, is_base: bool) -> tuple[int, int, Mapping[Any, Any]]:
        """Write what has changed, or everything; that is the version from then on.

        Gives the bytes that were written, the highest rank and the rules that were deferred.
        """
        names = [name for name in self.tables if name not in self._copies]
        parts = {name: self._all_rows(name) if is_base else self._touched.of(name) for name in names}
        parts = {name: ids for name, ids in parts.items() if len(ids)}
        dropped = [] if is_base else sorted(self._touched.dropped)
        path = record_path(self.folder, name, self.number)
        if not path.exists():  # or it was written before what is being repeated
            _write(path, *self._record(parts, dropped))
        self._touched.clear(names)
        self.version, self._recorded = version, name
        self._imaged = 0 if is_base else self._imaged
        return path.stat().st_size, self.ranking.rounds, self.ranking.deferred

    def _record(self, parts: Mapping[str, Ids], dropped: Sequence[str]) -> tuple[dict[str, Any], _Arrays]:
        arrays: _Arrays = {}
        tables, held = [], []
        for place, (name, ids) in enumerate(parts.items()):
            table, has_ranks = self.tables[name], self.ranking.founded.has(name)
            arrays |= {f"{place}.rows": table.rows[ids], f"{place}.status": table.status[ids] & _LASTING}
            arrays |= {f"{place}.{column}": getattr(table, column)[ids] for column in _COLUMNS}
            if has_ranks:
                arrays[f"{place}.rank"], arrays[f"{place}.founded"] = self.ranking.numbers(name, ids)
            tables.append((name, has_ranks))
        for number, facts in self._held.items():
            assert isinstance(facts, MemoryBag | Momentary)
            held.append((number, "", isinstance(facts, MemoryBag)))
            for name, ids in facts.rows.items():
                if name not in self._copies:
                    weights = facts.weights.get(name) if isinstance(facts, MemoryBag) else None
                    arrays[f"h{len(held)}.rows"] = self.tables[name].rows[ids]
                    arrays |= {} if weights is None else {f"h{len(held)}.weights": weights}
                    held.append((number, name, isinstance(facts, MemoryBag)))
        return {"tables": tables, "held": held, "over": sorted(self._over), "dropped": dropped}, arrays

    def do_image(self, name: str) -> None:
        """Write an image of the state after a record, which is the current one, unless the last image is nearly as
        good: what was recorded since is repeated, but indexes made since are not in it."""
        path = image_path(self.images, name, self.number) if self.images else None
        tables = {name: table for name, table in self.tables.items() if name not in self._copies}
        nbytes = sum(table.nbytes for table in tables.values())
        if path is not None and self._recorded == name and nbytes > _WORTH_AN_IMAGE * self._imaged:
            write_image(path, tables, self.ranking)
            self._imaged = nbytes

    # --- facts in files --------------------------------------------------------------------------------

    def do_load(self, number: int, files: Mapping[str, Sequence[str]]) -> FactCounts:
        """Hold facts that are in files, each shard those that end with its number."""
        return self._hold(number, self.facts(self._loaded(files)).snapshot())

    def do_deal(self, number: int, files: Mapping[str, Sequence[str]], columns: Mapping[str, int]) -> FactCounts:
        """As `load`; the relations are placed by these columns, and spread hubs that the files do not spread."""
        boxes: list[dict[str, Rows]] = [{} for _ in range(self.parts)]
        for name, rows in self._loaded(files).items():
            for box, some in zip(boxes, routed(rows, columns[name], self.parts, self.spread[name]), strict=True):
                box[name] = some
        came = self.exchanged(boxes)
        found = {name: np.concatenate([box[name] for box in came]) for name in files}
        return self._hold(number, self.facts(found).snapshot())

    def _loaded(self, files: Mapping[str, Sequence[str]]) -> dict[str, Rows]:
        found, end = dict[str, Rows](), f"-{self.number}.npy"
        for name, paths in files.items():
            parts = [load_rows(path) for path in paths if path.endswith(end)]
            found[name] = np.concatenate(parts) if parts else np.empty((0, self.relations[name].arity), np.int64)
        return found

    def do_write(self, predicate: str, tree: SetTree, name: str) -> str:
        """Write the rows of a set; gives the file."""
        path = Path(self.folder) / f"{name}-{self.number}.npy"
        with replacing(path) as written:
            np.save(written, self.rows(predicate, self.built(tree)))
        return str(path)

    def do_publish(self, relation: Relation, files: Sequence[str], folder: str) -> None:
        """Write a file of such rows for Spark."""
        from holdfast.backends.spark_parted.frames import write_parquet

        rows = load_rows(files[self.number])
        with replacing(Path(folder) / f"part-{self.number}.parquet") as written:
            write_parquet(rows, relation, self.dictionary, written)

    # --- restoring -------------------------------------------------------------------------------------

    def restore_recorded(self, saved: RecordedState) -> None:
        """Take up the base and the records after it."""
        for relation in saved.relations.values():
            self.do_add(relation)
        names = [*([] if saved.base is None else [saved.base]), *saved.records]
        paths = [record_path(saved.folder, name, self.number) for name in names]
        have = self._mapped(names)
        for place, path in enumerate(paths):
            with np.load(path) as file:
                arrays = _ArraysInTurn(file)
                about = json.loads(bytes(arrays["about"]))
                if place >= have:
                    self._take_up(about, arrays)
                if place == len(paths) - 1:
                    self._hold_again(about, arrays)
        for name, table in self.tables.items():
            for kept in (self.explicit, self.materialisation):
                inside = (table.status[: table.size] & kept.bit) != 0
                count = int(np.count_nonzero(inside))
                kept.take_over(name, count if inside[:count].all() else None)
        self.ranking.rounds, self.ranking.deferred = saved.rounds, dict(saved.deferred)
        self._touched.clear(self.tables)
        self._recorded = names[-1] if names else None

    def _mapped(self, names: Sequence[str]) -> int:
        """Map the newest image; gives the number of records that need not be read."""
        for count in range(len(names), 0, -1):
            path = image_path(self.images, names[count - 1], self.number) if self.images else None
            if path is not None and map_image(path, self.tables, self.ranking):
                self._imaged = sum(table.nbytes for table in self.tables.values())
                return count
        return 0

    def _all_rows(self, name: str) -> Ids:
        return np.arange(self.tables[name].size, dtype=np.int32)

    def _take_up(self, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        for name in about["dropped"]:
            if name in self.relations:
                relation = self.relations[name]
                self.drop_relation(name)
                self.add_relation(relation)
        for place, (name, has_ranks) in enumerate(about["tables"]):
            if name not in self.tables:  # it was dropped later
                continue
            table = self.tables[name]
            ids = table.intern(np.ascontiguousarray(arrays[f"{place}.rows"]))
            for column in ("status", *_COLUMNS):
                getattr(table, column)[ids] = arrays[f"{place}.{column}"]
            if has_ranks:
                self.ranking.numbers(name, ids, has_some=True)
                self.ranking.set_numbers(name, ids, arrays[f"{place}.rank"], arrays[f"{place}.founded"])
            else:  # or ranks have begun anew
                self.ranking.drop(name)

    def _hold_again(self, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """The sets and bags that the driver still had."""
        rows: dict[tuple[int, bool], dict[str, Ids]] = {}
        weights: dict[int, dict[str, Weights]] = {}
        for place, (number, name, is_bag) in enumerate(about["held"]):
            found = rows.setdefault((number, is_bag), {})
            if name in self.tables:
                found[name] = self.tables[name].intern(np.ascontiguousarray(arrays[f"h{place}.rows"]))
                if f"h{place}.weights" in arrays:
                    weights.setdefault(number, {})[name] = arrays[f"h{place}.weights"]
        self._over = frozenset(about["over"])
        for (number, is_bag), ids in rows.items():
            if is_bag:
                self._held[number] = MemoryBag(self.tables, ids, weights.get(number, {}))
            else:
                self._held[number] = Momentary(self.tables, ids)


# --- files ---------------------------------------------------------------------------------------------


def record_path(folder: str, name: str, shard: int) -> Path:
    """The file of a shard's base or record."""
    return Path(folder) / f"{name}-{shard}.npz"


def record_name(version: int, *, is_base: bool) -> str:
    """A name that no other attempt to write this version has: a lost task may write for a while."""
    return f"{'base' if is_base else 'log'}-{version}-{secrets.token_hex(4)}"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to be written that takes this path when it is whole: a repeated task may write it while others read it."""
    written = path.with_name(f".{secrets.token_hex(4)}-{path.name}")
    yield written
    written.replace(path)


def _write(path: Path, about: Mapping[str, Any], arrays: _Arrays) -> None:
    """Write a file that survives a crash of the machine."""
    with replacing(path) as written, written.open("wb") as file:
        np.savez(file, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def remove_records(folder: str, needed: Container[str]) -> None:
    """Remove the records that are not needed, also those of attempts that failed, whole or not.

    Only the driver knows which these are, and only while no shard writes one.
    """
    for path in Path(folder).glob("*.npz"):
        if path.name.rsplit("-", 1)[0] not in needed:
            path.unlink(missing_ok=True)
