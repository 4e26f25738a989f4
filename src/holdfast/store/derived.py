"""A cache of the facts derived from a snapshot: arrays in files, with checksums, and an index.

derived/12/index.json    the stamp, numbers, and the files with their checksums; it has its own, and is written last
derived/12/0.npy …       arrays; those of zeros have no file, and late ones are read when they are first needed
derived/12/values.arrow  the values of the dictionary

The cache is optional: with another stamp, or if anything is missing or altered, it is ignored.  So it is not synced.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.quick_dataclass import dataclass
from holdfast.store.files import Files
from holdfast.store.manifests import sealed, unsealed

_THREADS = 2  # for reading
_PIECE = 1 << 20  # bytes
_UNUSABLE = OSError, ValueError, KeyError, TypeError, RecursionError, EOFError
_Entry: TypeAlias = tuple[str, int, list[int], str, list[int]]
"""Of an array: the name of its file, the offset of its data there, their checksums, the type and the shape; without a
file, all of it is zeros."""


@dataclass(frozen=True)
class CachedState:
    """Arrays by name, values, and numbers that fit JSON; functions that read late arrays, or return None."""

    arrays: Mapping[str, NDArray[Any]]
    late: Mapping[str, Callable[[], NDArray[Any] | None]]
    values: bytes
    about: Mapping[str, Any]


def write_cache(folder: Path, cached: CachedState, manifest: bytes, files: Files) -> None:
    """Write the cache, replacing any other; raises `OSError` on failure."""
    files.remove(folder)
    if not folder.parent.is_dir():
        files.mkdir(folder.parent)
    files.mkdir(folder)
    place = count()
    arrays = {name: _write_array(folder, f"{next(place)}.npy", array, files) for name, array in cached.arrays.items()}
    late = {name: _write_array(folder, f"{next(place)}.npy", read(), files) for name, read in cached.late.items()}
    _write(folder / "values.arrow", (cached.values,), files)
    content = {
        "stamp": stamp(manifest),
        "about": dict(cached.about),
        "arrays": arrays,
        "late": late,
        "values": hashlib.sha256(cached.values).hexdigest(),
    }
    _write(folder / "index.json", (sealed(content),), files)


def read_cache(folder: Path, manifest: bytes, check: Callable[[int], None]) -> CachedState | None:
    """The cache, if it is for this manifest and intact; `check` may refuse its size."""
    from concurrent.futures import ThreadPoolExecutor

    try:
        content = unsealed((folder / "index.json").read_bytes())
        if content["stamp"] != stamp(manifest):
            return None
        entries = [*content["arrays"].values(), *content["late"].values()]
        check(sum(math.prod(shape) * np.dtype(dtype).itemsize for *_, dtype, shape in entries))
        values = (folder / "values.arrow").read_bytes()
        if hashlib.sha256(values).hexdigest() != content["values"]:
            return None
        with ThreadPoolExecutor(_THREADS) as pool:
            arrays = pool.map(partial(_read_array, folder), content["arrays"].values())
            found = dict(zip(content["arrays"], arrays, strict=True))
        late = {name: partial(_read_late, folder, entry) for name, entry in content["late"].items()}
        return CachedState(found, late, values, content["about"])
    except _UNUSABLE:
        return None


def stamp(manifest: bytes) -> list[str]:
    """What a cache depends on: the rules and facts, by the hash of their manifest, and the engine."""
    return [hashlib.sha256(manifest).hexdigest(), engine_hash(), sys.byteorder]


@cache
def engine_hash() -> str:
    """A hash of the engine's source, which identifies its version."""
    found = hashlib.sha256()
    package = Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        found.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()


def _write_array(folder: Path, name: str, array: NDArray[Any] | None, files: Files) -> _Entry:
    """Write an array to a file, unless it has nothing but zeros, as the counters of recursion often do."""
    assert array is not None  # what is written is there
    array = np.ascontiguousarray(array)
    if not array.any():
        return "", 0, [], array.dtype.str, list(array.shape)
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    data = _bytes(array)
    _write(folder / name, (head.getvalue(), data), files)
    return name, head.tell(), [zlib.crc32(piece) for piece in _pieces(data)], array.dtype.str, list(array.shape)


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.data.cast("B") if array.size else memoryview(b"")


def _write(path: Path, parts: tuple[bytes | memoryview, ...], files: Files) -> None:
    handle, place = files.create(path), 0
    try:
        for part in parts:
            files.write_all(handle, part, place)
            place += len(part)
    finally:
        os.close(handle)


def _read_array(folder: Path, entry: _Entry) -> NDArray[Any]:
    """Read an array; the file's header is only for other programs, and has no checksum."""
    name, start, expected, dtype, shape = entry
    if not name:
        return np.zeros(tuple(shape), dtype)
    array: NDArray[Any] = np.empty(tuple(shape), dtype)
    with (folder / name).open("rb", buffering=0) as file:
        file.seek(start)
        for piece, checksum in zip(_pieces(_bytes(array)), expected, strict=True):
            if file.readinto(piece) != len(piece) or zlib.crc32(piece) != checksum:
                raise ValueError("an array is not what was written")
    return array


def _read_late(folder: Path, entry: _Entry) -> NDArray[Any] | None:
    """Read an array that is needed only now; None if it is no longer there, or altered."""
    try:
        return _read_array(folder, entry)
    except _UNUSABLE:
        return None


def _pieces(data: memoryview) -> Iterator[memoryview]:
    """Parts that each have a CRC-32: it takes a quarter of the time of SHA-256, and is computed while the part is in
    the processor's cache."""
    return (data[begin : begin + _PIECE] for begin in range(0, len(data), _PIECE))
