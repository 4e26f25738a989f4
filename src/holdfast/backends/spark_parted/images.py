"""Images: the tables of a shard as they stand in memory, in a file of its machine that another worker maps.

Spark ends Python workers that are idle for a minute, and the shards in them.  A base has to be entered row by row; an
image has the hash tables and the indexes too, so a new worker has the shard at once and reads a page when it needs it.
Pages are mapped copy-on-write: the file stays as it is.

An image belongs to a record, by name, and no two attempts to write a record share a name.  It is not forced to the
disk: its name says in which run of the machine it was written, because what a crash of the machine leaves is not to be
believed.  A shard without image is restored from its base, so an image may be missing at any time.
"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.index import Index
from holdfast.backends.memory.membership import GriddedRows, HashedRows
from holdfast.quick_dataclass import dataclass

if TYPE_CHECKING:
    from io import BufferedWriter

    from holdfast.backends.memory.ranks import MemoryRanking
    from holdfast.backends.memory.table import Table
    from holdfast.backends.spark_parted.task import TaskSettings

_PAGE = mmap.ALLOCATIONGRANULARITY
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_OF = "of"  # the file that says which folder has the base of a knowledge base
_SPARE, _SPARE_PART = 1 << 12, 4  # rows that a mapped table can take in: so many, and this part of what it has
_LASTING = np.uint8(3)  # E and I
_INDEX = "slots", "direct", "tail_key", "following"
_NUMBERS = "keys", "settled", "covered"


@dataclass(frozen=True)
class _Place:
    """Where an array is in the file."""

    begin: int
    shape: tuple[int, ...]
    type: str


def image_path(folder: str, record: str, shard: int) -> Path | None:
    """The file of a shard's image of the state after a record; None where runs of the machine have no names."""
    with suppress(OSError):
        return Path(folder) / f"image-{record}-{_BOOT.read_text(encoding='ascii').strip()}-{shard}"
    return None


def image_folder(settings: TaskSettings) -> str | None:
    """The folder for images on this machine, which other users cannot read; those of closed knowledge bases go."""
    if settings.images is None or settings.is_local:
        return settings.images
    parent = Path(settings.images or tempfile.gettempdir()) / f"holdfast-images-{os.getuid()}"
    try:
        parent.mkdir(0o700, parents=True, exist_ok=True)
        about = parent.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
            return None
        for other in parent.iterdir():
            with suppress(OSError):  # another task is just making or removing it
                if not Path((other / _OF).read_text(encoding="utf-8")).is_dir():
                    shutil.rmtree(other)
        folder = parent / settings.knowledge_base
        folder.mkdir(exist_ok=True)
        (folder / _OF).write_text(settings.folder, encoding="utf-8")
    except OSError:
        return None
    return str(folder)


def write_image(path: Path, tables: dict[str, Table], ranking: MemoryRanking) -> None:
    """Write an image that has its name when it is whole, or none if the disk is full; earlier images of the shard go.

    Between two updates only: all bits but those of E and I are 0.
    """
    written = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with written.open("wb") as file:
            writer = _Writer(file)
            about = {name: writer.table(table, ranking) for name, table in tables.items()}
            writer.end(about)
        written.replace(path)
    except OSError:
        written.unlink(missing_ok=True)
        return
    shard = path.name.rsplit("-", 1)[1]
    begun = [other for other in path.parent.glob(".image-*") if other.name.split("-")[-2] == shard]  # by killed workers
    for other in (*path.parent.glob(f"image-*-{shard}"), *begun):
        if other != path:
            other.unlink(missing_ok=True)


class _Writer:
    """Writes arrays one after the other, each at the beginning of a page."""

    def __init__(self, file: BufferedWriter) -> None:
        self._file, self._at = file, 0

    def put(self, array: NDArray[Any], capacity: int = 0) -> _Place:
        """An array with capacity for so many rows; unused capacity is a hole in the file, zeros that take no space."""
        self._at += -self._at % _PAGE
        self._file.seek(self._at)
        self._file.write(np.ascontiguousarray(array).data)
        place = _Place(self._at, (max(capacity, len(array)), *array.shape[1:]), array.dtype.str)
        self._at += math.prod(place.shape) * array.itemsize
        return place

    def table(self, table: Table, ranking: MemoryRanking) -> dict[str, Any]:
        """A table with its hash table, indexes and ranks."""
        size, known = table.size, table.membership
        capacity = size + max(_SPARE, size // _SPARE_PART)
        columns = {column: getattr(table, column)[:size] for column in ("rows", "nonrecursive", "recursive")}
        columns["status"] = table.status[:size] & _LASTING
        if ranking.founded.has(table.name):
            columns["rank"], columns["founded"] = ranking.numbers(table.name, np.arange(size, dtype=np.int32))
        membership: tuple[_Place, int, int | None]
        if isinstance(known, GriddedRows):
            membership = self.put(known.cells[: known.largest + 1]), known.growing, known.largest
        else:
            membership = self.put(known.slots), known.may_be_gridded, None
        return {
            "size": size,
            "columns": {name: self.put(column, capacity) for name, column in columns.items()},
            "membership": membership,
            "indexes": {key: self._index(index) for key, index in table.indexes.items()},
        }

    def _index(self, index: Index) -> dict[str, Any]:
        numbers = {name: getattr(index, name) for name in _NUMBERS}
        arrays = {name: self.put(getattr(index, name)) for name in _INDEX}
        arrays["entries"] = self.put(index.entries[: index.keys], len(index.entries))
        arrays |= {name: self.put(getattr(index, name)[: index.settled]) for name in ("ids", "values")}
        return {"numbers": numbers, "arrays": arrays}

    def end(self, about: Any) -> None:
        """Write what is where."""
        self._file.seek(self._at)
        packed = pickle.dumps(about)
        self._file.write(packed)
        self._file.write(len(packed).to_bytes(8, "little"))


def map_image(path: Path, tables: dict[str, Table], ranking: MemoryRanking) -> bool:
    """Replace empty tables by those of an image, if there is one."""
    try:
        with path.open("rb") as file:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except OSError:
        return False
    end = len(whole) - 8
    about = pickle.loads(whole[end - int.from_bytes(whole[end:], "little") : end])
    for name, saved in about.items():
        if name in tables and tables[name].arity == saved["columns"]["rows"].shape[1]:  # else it is another one now
            _map_table(whole, tables[name], saved, ranking)
    return True


def _map_table(whole: mmap.mmap, table: Table, saved: dict[str, Any], ranking: MemoryRanking) -> None:
    columns = {name: _array(whole, place) for name, place in saved["columns"].items()}
    place, first, second = saved["membership"]
    membership: HashedRows | GriddedRows
    if second is not None:
        membership = GriddedRows(_array(whole, place), first, second)
    else:
        membership = HashedRows(_array(whole, place), may_be_gridded=bool(first))
        membership.size = saved["size"]
    numbers = columns["nonrecursive"], columns["recursive"]
    table.take_over(saved["size"], columns["rows"], columns["status"], *numbers, membership)
    for key, index in saved["indexes"].items():
        table.indexes[key] = found = Index(key, table.arity)
        for name, array in index["arrays"].items():
            setattr(found, name, _array(whole, array))
        for name, number in index["numbers"].items():
            setattr(found, name, number)
    if "rank" in columns:
        ranking.restore(table.name, [columns["rank"], columns["founded"]])


def _array(whole: mmap.mmap, place: _Place) -> Any:
    """A view of an array: `more_slots` looks for capacity in what a hash table is a view of."""
    return np.ndarray(place.shape, place.type, whole, place.begin)[:]
