"""What a store holds, read without changing it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.quick_dataclass import dataclass
from holdfast.store.files import digest
from holdfast.store.manifests import Manifest, cannot, damaged, read_identity, unsealed
from holdfast.store.records import BEGINNING, FIRST, BrokenLogError, Log, LogKey, Record, read_log


class Pointer(NamedTuple):
    """What CURRENT says."""

    version: int
    sha256: str


@dataclass(frozen=True)
class Stored:
    """A snapshot and the log since."""

    folder: Path
    id: str
    manifest: Manifest
    log: Log
    log_size: int  # with an incomplete record at the end
    closed: bool  # whether the writer closed it

    @property
    def version(self) -> int:
        """The last version."""
        records = self.log.applied()
        return records[-1].version if records else self.manifest.version

    def until(self, version: int | None) -> Sequence[Record]:
        """The records that make up a version; all of them if none is named."""
        applied = self.log.applied()
        return [record for record in applied if version is None or record.version <= version]

    def has(self, version: int) -> bool:
        """Whether the state of a version can be had."""
        return version in (self.manifest.version, *(record.version for record in self.log.applied()))


def read_store(folder: Path, *, check_facts: bool = True) -> Stored:
    """What a store holds, everything checked; an incomplete record at the end of the log is passed over."""
    id = read_identity(folder)
    try:
        return _read(folder, id, check_facts=check_facts)
    except OSError as error:
        raise cannot(folder, "read", error) from error


def is_unfinished(folder: Path) -> bool:
    """Whether a store was being made and never finished, so that it has never held anything."""
    if (folder / "CURRENT").exists() or (folder / "CLOSED").exists():
        return False
    if not (folder / "HOLDFAST").exists():
        return folder.is_dir() and {path.name for path in folder.iterdir()} <= {"lock", "HOLDFAST.new"}
    known = {"HOLDFAST", "HOLDFAST.new", "CURRENT.new", "lock", "manifests", "facts", "log"}
    if not {path.name for path in folder.iterdir()} <= known:
        return False
    logs = list((folder / "log").glob("*"))
    return all(path.name == "0.hfl" and path.stat().st_size <= len(BEGINNING) for path in logs)


def _read(folder: Path, id: str, *, check_facts: bool) -> Stored:
    pointer = _pointer(folder)
    manifest = _manifest(folder, pointer)
    if check_facts:
        for file in manifest.facts:
            _check(folder, file.path, file.sha256)
    data = _bytes(folder, manifest.log)
    try:
        log = read_log(data, LogKey(id, manifest.version))
    except BrokenLogError as fault:
        raise damaged(folder, f"{manifest.log}: {fault}") from None
    closed = _closed(folder, manifest, log, len(data))
    return Stored(folder, id, manifest, log, len(data), closed)


def _pointer(folder: Path) -> Pointer:
    try:
        content = unsealed(_bytes(folder, "CURRENT"))
        return Pointer(content["snapshot"], content["manifest"])
    except (ValueError, KeyError, RecursionError):
        raise damaged(folder, "CURRENT is not what was written") from None


def _manifest(folder: Path, pointer: Pointer) -> Manifest:
    path = f"manifests/{pointer.version}.json"
    data = _bytes(folder, path)
    _check(folder, path, pointer.sha256)
    try:
        return Manifest.from_bytes(data)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged(folder, f"{path} is not what was written") from None


def _closed(folder: Path, manifest: Manifest, log: Log, size: int) -> bool:
    """Whether CLOSED is there; raises if the log does not end where it says."""
    if not (folder / "CLOSED").exists():
        return False
    try:
        content = unsealed(_bytes(folder, "CLOSED"))
    except (ValueError, RecursionError):
        raise damaged(folder, "CLOSED is not what was written") from None
    if content != closing(manifest.version, log.end, log.last) or size != log.end:
        raise damaged(folder, f"{manifest.log} does not end where it ended when the store was closed")
    return True


def closing(number: int, end: int, last: bytes) -> dict[str, object]:
    """What CLOSED holds."""
    return {"log": number, "end": end, "last": (last or FIRST).hex()}


def _check(folder: Path, path: str, expected: str) -> None:
    if not (folder / path).is_file():
        raise damaged(folder, f"{path} is missing")
    if digest(folder / path) != expected:
        raise damaged(folder, f"{path} is not what was written")


def _bytes(folder: Path, path: str) -> bytes:
    try:
        return (folder / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise damaged(folder, f"{path} is missing") from None


def faults(folder: Path) -> HoldfastError | None:
    """What is wrong with a store; None if nothing is."""
    try:
        read_store(folder)
    except HoldfastError as error:
        return error
    return None
