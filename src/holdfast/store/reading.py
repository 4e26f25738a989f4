"""What a store holds, read without changing it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import DamagedData, Diagnostic, UsageError
from holdfast.quick_dataclass import dataclass
from holdfast.store.files import file_digest
from holdfast.store.manifests import StoreManifest, cannot, damaged, read_identity, unsealed
from holdfast.store.records import BEGINNING, FIRST, LogKey, StoreLog, read_log

_TRIES = 20  # to read while another process writes


class Pointer(NamedTuple):
    """What CURRENT says."""

    version: int
    sha256: str


@dataclass(frozen=True)
class StoreContents:
    """A snapshot and the log since."""

    folder: Path
    id: str
    manifest: StoreManifest
    log: StoreLog
    log_size: int  # with an incomplete record at the end
    closed: bool  # whether the writer closed it

    @property
    def version(self) -> int:
        """The last version."""
        records = self.log.applied()
        return records[-1].version if records else self.manifest.version

    def at(self, version: int) -> StoreContents:
        """The store as it was at a version; raises if it does not have that version."""
        log = StoreLog() if version == self.manifest.version else self.log.until(version)
        if log is None:
            first, last = self.manifest.version, self.version
            message = f"the store {self.folder.as_posix()} does not have version {version}"
            note = f"its snapshot is that of version {first}, and its last version is {last}"
            raise UsageError(Diagnostic("E1309", message, notes=(note,), help="`holdfast store log` lists them"))
        return replace(self, log=log, log_size=log.end, closed=False)


def read_store(folder: Path, *, check_facts: bool = True, readable: bool = False) -> StoreContents:
    """What a store holds, everything checked; an incomplete record at the end of the log is passed over.

    With `readable`, what can be read of a log that is damaged; the snapshot has to be intact.  If another process
    writes meanwhile, the files are read again.
    """
    for _ in range(_TRIES):
        before = _moment(folder)
        with suppress(DamagedData):
            return _read_once(folder, check_facts=check_facts, readable=readable)
        if _moment(folder) == before:
            break
    return _read_once(folder, check_facts=check_facts, readable=readable)


def _read_once(folder: Path, *, check_facts: bool, readable: bool) -> StoreContents:
    id = read_identity(folder)
    try:
        return _read(folder, id, check_facts=check_facts, readable=readable)
    except OSError as error:
        raise cannot(folder, "read", error) from error


def _moment(folder: Path) -> list[tuple[str, int, int]]:
    """Something that changes whenever a process writes to a store."""
    names = ("CURRENT", "CLOSED", *(f"log/{path.name}" for path in sorted((folder / "log").glob("*"))))
    found = []
    for name in names:
        with suppress(OSError):
            status = (folder / name).stat()
            found.append((name, status.st_size, status.st_mtime_ns))
    return found


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


def _read(folder: Path, id: str, *, check_facts: bool, readable: bool) -> StoreContents:
    pointer = _pointer(folder)
    manifest = _manifest(folder, pointer)
    if check_facts:
        for file in manifest.facts:
            _check(folder, file.path, file.sha256)
    data = _bytes(folder, manifest.log)
    log = read_log(data, LogKey(id, manifest.version))
    if readable:
        return StoreContents(folder, id, manifest, log, len(data), closed=False)
    if log.fault is not None:
        raise damaged(folder, f"{manifest.log}: {log.fault}")
    closed = _closed(folder, manifest, log, len(data))
    return StoreContents(folder, id, manifest, log, len(data), closed)


def _pointer(folder: Path) -> Pointer:
    try:
        content = unsealed(_bytes(folder, "CURRENT"))
        return Pointer(content["snapshot"], content["manifest"])
    except (ValueError, KeyError, RecursionError):
        raise damaged(folder, "CURRENT is not what was written") from None


def _manifest(folder: Path, pointer: Pointer) -> StoreManifest:
    path = f"manifests/{pointer.version}.json"
    data = _bytes(folder, path)
    _check(folder, path, pointer.sha256)
    try:
        return StoreManifest.from_bytes(data)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged(folder, f"{path} is not what was written") from None


def _closed(folder: Path, manifest: StoreManifest, log: StoreLog, size: int) -> bool:
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
    if file_digest(folder / path) != expected:
        raise damaged(folder, f"{path} is not what was written")


def _bytes(folder: Path, path: str) -> bytes:
    try:
        return (folder / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise damaged(folder, f"{path} is missing") from None
