"""Read a store without changing it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from holdfast.errors import DamagedData, Diagnostic, UsageError
from holdfast.quick_dataclass import dataclass
from holdfast.store.contents import first_of
from holdfast.store.files import file_digest
from holdfast.store.manifests import StoreManifest, cannot, damaged, read_identity, unfinished, unsealed
from holdfast.store.records import BEGINNING, FIRST, LogKey, LogRecord, StoreLog, encoded, read_log

_TRIES = 20  # attempts to read while another process writes
_TICK = 0.02  # seconds after which a write must have changed a file's time


class Pointer(NamedTuple):
    """The contents of CURRENT."""

    version: int
    sha256: str


@dataclass(frozen=True)
class StoreContents:
    """A snapshot and the log since."""

    folder: Path
    id: str
    manifest: StoreManifest
    log: StoreLog
    log_size: int  # size of the file, including spare zeros or an incomplete record
    closed: bool  # whether the writer closed it
    is_incomplete: bool = False  # whether anything but zeros follows the records

    @property
    def version(self) -> int:
        """The last version."""
        records = self.log.applied()
        return records[-1].version if records else self.manifest.version

    def at(self, version: int) -> StoreContents:
        """The store as it was at a version; raises if it does not have that version."""
        log = StoreLog() if version == self.manifest.version else self.log.until(version) or self._inside(version)
        if log is None:
            first, last = self.manifest.version, self.version
            message = f"the store {self.folder.as_posix()} does not have version {version}"
            note = f"its snapshot is that of version {first}, and its last version is {last}"
            raise UsageError(Diagnostic("E1309", message, notes=(note,), help="`holdfast store log` lists them"))
        return replace(self, log=log, log_size=log.end, closed=False, is_incomplete=False)

    def _inside(self, version: int) -> StoreLog | None:
        """The log up to an update inside a record of several; None if there is no such update."""
        records = self.log.applied()
        place = next((i for i, record in enumerate(records) if record.base < version < record.version), None)
        if place is None:
            return None
        whole = records[place]
        content = first_of(whole.content, version - whole.base, whole.version - whole.base)
        if content is None:
            return None
        cut = LogRecord(whole.kind, whole.base, version, content)
        return read_log(_logged_again([*records[:place], cut], self.key), self.key)

    @property
    def key(self) -> LogKey:
        """The key of the log."""
        return LogKey(self.id, self.manifest.version)

    def log_bytes(self) -> bytes:
        """The log as the contents of a file."""
        return _logged_again(self.log.records, self.key)


def _logged_again(records: Sequence[LogRecord], key: LogKey) -> bytes:
    """Encode records as a log."""
    data, last = [BEGINNING], FIRST
    for record in records:
        data.append(encoded(record, last, key))
        last = data[-1][-len(FIRST) :]
    return b"".join(data)


def read_store(folder: Path, *, check_facts: bool = True, readable: bool = False) -> StoreContents:
    """The contents of a store, fully checked; an incomplete record at the end of the log is ignored.

    With `readable`, a damaged log is read as far as possible; the snapshot must be intact.  If another process writes
    meanwhile, the files are read again.
    """
    quiet: list[tuple[str, int, int]] | None = None  # the files, if none was written recently
    for attempt in range(_TRIES):
        before = _moment(folder)
        try:
            return _read_once(folder, check_facts=check_facts, readable=readable)
        except DamagedData:
            if attempt == _TRIES - 1 or before == quiet == _moment(folder):
                if is_unfinished(folder):
                    raise unfinished(folder) from None
                raise
        time.sleep(_TICK)
        quiet = before if _moment(folder) == before else None
    raise AssertionError("the last attempt returns or raises")


def _read_once(folder: Path, *, check_facts: bool, readable: bool) -> StoreContents:
    id = read_identity(folder).id
    try:
        return _read(folder, id, check_facts=check_facts, readable=readable)
    except OSError as error:
        raise cannot(folder, "read", error) from error


def _moment(folder: Path) -> list[tuple[str, int, int]]:
    """A value that changes whenever a process writes to the store."""
    names = ("CURRENT", "CLOSED", *(f"log/{path.name}" for path in sorted((folder / "log").glob("*"))))
    found = []
    for name in names:
        with suppress(OSError):
            status = (folder / name).stat()
            found.append((name, status.st_size, status.st_mtime_ns))
    return found


def current_snapshot(folder: Path) -> int:
    """The version of the current snapshot."""
    try:
        return _pointer(folder).version
    except DamagedData:
        if is_unfinished(folder):
            raise unfinished(folder) from None
        raise
    except OSError as error:
        raise cannot(folder, "read", error) from error


def is_unfinished(folder: Path) -> bool:
    """Whether the creation of a store was interrupted, so that it has never held anything."""
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
    stored = _snapshot(folder, id, _manifest(folder, pointer.version, pointer.sha256), check_facts=check_facts)
    if readable:
        return stored
    if stored.log.fault is not None:
        raise damaged(folder, f"{stored.manifest.log}: {stored.log.fault}")
    return replace(stored, closed=_closed(folder, stored.manifest, stored.log, stored.log_size))


def _snapshot(folder: Path, id: str, manifest: StoreManifest, *, check_facts: bool) -> StoreContents:
    """A snapshot, and its log as far as it can be read."""
    if check_facts:
        for file in manifest.facts:
            _check(folder, file.path, file.sha256)
    data = _bytes(folder, manifest.log)
    log = read_log(data, LogKey(id, manifest.version))
    return StoreContents(folder, id, manifest, log, len(data), False, bool(data[log.end :].strip(b"\0")))


def snapshot_numbers(folder: Path) -> list[int]:
    """The snapshots in a store, the oldest first; any after the current one are leftovers, and omitted."""
    stems = (path.stem for path in (folder / "log").glob("*.hfl"))
    numbers = sorted(int(stem) for stem in stems if re.fullmatch(r"0|[1-9][0-9]{0,17}", stem))
    with suppress(DamagedData):
        last = _pointer(folder).version
        return [number for number in numbers if number <= last]
    return numbers


def read_snapshot(folder: Path, number: int) -> StoreContents:
    """A snapshot of a store, checked, and its log as far as it can be read."""
    expected = None
    with suppress(DamagedData):
        pointer = _pointer(folder)
        expected = pointer.sha256 if pointer.version == number else None
    return _snapshot(folder, read_identity(folder).id, _manifest(folder, number, expected), check_facts=True)


def _pointer(folder: Path) -> Pointer:
    try:
        content = unsealed(_bytes(folder, "CURRENT"))
        return Pointer(content["snapshot"], content["manifest"])
    except (ValueError, KeyError, RecursionError):
        raise damaged(folder, "CURRENT is not what was written") from None


def _manifest(folder: Path, number: int, expected: str | None) -> StoreManifest:
    path = f"manifests/{number}.json"
    data = _bytes(folder, path)
    if expected is not None:
        _check(folder, path, expected)
    try:
        manifest = StoreManifest.from_bytes(data)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged(folder, f"{path} is not what was written") from None
    if manifest.version != number:
        raise damaged(folder, f"{path} is that of version {manifest.version}")
    return manifest


def _closed(folder: Path, manifest: StoreManifest, log: StoreLog, size: int) -> bool:
    """Whether CLOSED exists; raises if the log does not end where it says."""
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
    """The contents of CLOSED."""
    return {"log": number, "end": end, "last": (last or FIRST).hex()}


def _check(folder: Path, path: str, expected: str) -> None:
    try:
        is_intact = file_digest(folder / path) == expected
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise damaged(folder, f"{path} is missing") from None
    if not is_intact:
        raise damaged(folder, f"{path} is not what was written")


def _bytes(folder: Path, path: str) -> bytes:
    try:
        return (folder / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise damaged(folder, f"{path} is missing") from None
