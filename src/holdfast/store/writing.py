"""A store that is open for writing, by one process at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from holdfast.errors import Diagnostic, HoldfastError
from holdfast.formats.fact_data import is_spark_frame
from holdfast.lazy import lazily
from holdfast.quick_dataclass import dataclass
from holdfast.store.derived import CachedState, write_cache
from holdfast.store.files import Files, file_digest
from holdfast.store.log_tail import START, LogPlace, LogTail
from holdfast.store.manifests import (
    FactsFile,
    StoredRelation,
    StoreManifest,
    cannot,
    sealed,
)
from holdfast.store.naming import file_names
from holdfast.store.publishing import publish
from holdfast.store.reading import StoreContents, closing, snapshot_numbers
from holdfast.store.records import BEGINNING, TAKEN_BACK, UPDATES, LogKey, LogRecord
from holdfast.updates import Note

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import DataFrame
else:
    pa = lazily("pyarrow")
    pq = lazily("pyarrow.parquet")

_PARTS: Final = ("manifests/{}.json", "log/{}.hfl", "facts/{}")  # the files of a snapshot
SMALLEST: Final = 1 << 16  # bytes; smaller snapshots count as this size
_T = TypeVar("_T")
StoredData: TypeAlias = "pa.Table | DataFrame"
"""The explicit facts of a relation; a DataFrame is written by Spark's executors."""


@dataclass(frozen=True)
class Snapshot:
    """The contents of a version."""

    version: int
    program: str
    source: str
    relations: tuple[StoredRelation, ...]
    facts: Mapping[str, StoredData]
    note: Note = field(default_factory=dict)


class Store:
    """Appends records to the log, and writes snapshots.

    If `sync` is "full", a record is on disk when `append` returns; with "os", the operating system has it, so it
    survives a crash of the process but not of the machine.  If the contents of the disk become unknown, the store is
    closed for writing.
    """

    smallest = SMALLEST
    worth_caching = 0.2
    """Seconds of evaluation below which derived facts are not cached."""

    def __init__(self, folder: Path, stored: StoreContents, lock: int, files: Files, keep: int = 1) -> None:
        """`keep` is the minimum number of versions, including the last, that stay in the folder."""
        self.folder, self.id, self.manifest, self.sync = folder, stored.id, stored.manifest, "full"
        self.version = stored.version
        self._files, self._lock, self._keep = files, lock, keep
        self._is_sealed = stored.closed
        self._why_closed: str | None = None
        self._process = os.getpid()
        self._log = self._tail(stored.manifest, (stored.log.end, stored.log.last))
        self._log.found(stored.log_size, is_dirty=stored.is_incomplete)

    def _tail(self, manifest: StoreManifest, place: LogPlace = START) -> LogTail:
        """Open the log of a snapshot."""
        handle = self._files.open(self.folder / manifest.log)
        return LogTail(self._files, handle, LogKey(self.id, manifest.version), place)

    @property
    def log_size(self) -> int:
        """The bytes of records in the log."""
        return self._log.place[0]

    @property
    def is_open(self) -> bool:
        """Whether the store can be written to."""
        return self._why_closed is None

    @property
    def is_due(self) -> bool:
        """Whether the log has grown to three times the snapshot."""
        return self.log_size > self._most

    @property
    def _most(self) -> int:
        """The bytes above which a snapshot is due."""
        return 3 * max(self.manifest.size, self.smallest)

    # --- records -----------------------------------------------------------------------------------------

    def append(self, base: int, version: int, content: bytes) -> None:
        """Make a commit durable; if this raises, the state stays as it was."""
        self.begin(base, version, content)
        self.finish(base)

    def begin(self, base: int, version: int, content: bytes) -> None:
        """Write a commit to the log, and begin to sync it; it is durable when `finish` returns."""
        before, self.version = self.version, version  # from now on it may be in the log
        try:
            self._write(LogRecord(UPDATES, base, version, content))
        except HoldfastError:  # the record was removed again, or the store is closed
            self.version = before
            raise

    def finish(self, base: int) -> None:
        """Wait until the begun commit is durable; if this raises, the version is the one before it."""
        try:
            self._sure(self._log.wait_for_disk)
        except HoldfastError:
            self.version = base
            raise

    def retract(self, version: int) -> None:
        """Retract everything logged after a version."""
        if self.version > version and self.is_open and self._process == os.getpid():
            self._write(LogRecord(TAKEN_BACK, version, version, b""))
            self._sure(self._log.wait_for_disk)
            self.version = version

    def _write(self, record: LogRecord) -> None:
        self._refuse_closed()
        self._sure(self._log.wait_for_disk)
        self._unseal()
        try:
            self._log.begin(record, self._most, sync=self.sync == "full")
        except OSError as error:
            with suppress(HoldfastError):  # report the first error
                self._sure(self._log.cut_back)
            raise cannot(self.folder, "written", error) from error

    def recover(self, log: bytes) -> None:
        """Rewrite the log of a store that was not closed: a sync may have failed, so the disk may lack records."""
        try:
            self._log.renew(log)
            self._files.sync_folder(self.folder)
        except OSError as error:
            raise cannot(self.folder, "written", error) from error

    def publish(self, version: int) -> None:
        """Let readers follow to this version of the state, unless the log has later ones."""
        if self.is_open and self._process == os.getpid() and self.version == version:
            with suppress(OSError):
                publish(self._lock, self.manifest.version, self._log.place[0])

    def _unseal(self) -> None:
        """Delete CLOSED before the log grows, because it says where the log ends."""
        if not self._is_sealed:
            return
        try:
            self._files.remove(self.folder / "CLOSED")
        except OSError as error:
            raise cannot(self.folder, "written", error) from error
        self._sure(lambda: self._files.sync_folder(self.folder))
        self._is_sealed = False

    def _sure(self, call: Callable[[], _T]) -> _T:
        """Make a call whose failure leaves the contents of the disk unknown."""
        try:
            return call()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self._why_closed = f"a call failed, and the content of the disk is unknown: {reason}"
            raise cannot(self.folder, "written", error) from error

    def _refuse_closed(self) -> None:
        if self._process != os.getpid():
            self._why_closed = "another process opened it, and this is a copy of that"
        if self._why_closed is not None:
            message = f"the store {self.folder.as_posix()} is closed for writing: {self._why_closed}"
            raise HoldfastError(Diagnostic("E1305", message, help="open it again: it has every acknowledged update"))

    # --- snapshots ---------------------------------------------------------------------------------------

    def rotate(self, snapshot: Snapshot) -> None:
        """Write a snapshot and begin a new log, replacing the old ones; does nothing if this version has a snapshot."""
        self._refuse_closed()
        if snapshot.version == self.manifest.version:
            return
        self._sure(self._log.wait_for_disk)
        self._unseal()
        try:
            manifest, data = write_snapshot(self.folder, snapshot, self._files)
            log = self._tail(manifest)
        except OSError as error:
            self.sweep()
            raise cannot(self.folder, "written", error) from error
        self._why_closed = "it was interrupted while a snapshot was written"  # until the rest has succeeded
        try:
            self._sure(lambda: switch(self.folder, manifest.version, data, self._files))
        except HoldfastError:
            log.close()
            raise
        old, self._log = self._log, log
        self.manifest, self.version = manifest, manifest.version
        self._why_closed = None
        self.publish(self.version)
        old.close()
        self.sweep()

    def sweep(self) -> None:
        """Delete what no kept snapshot needs; if that fails, a later sweep does it."""
        needed = {self.manifest.path, self.manifest.log, f"facts/{self.manifest.version}", self.manifest.derived}
        needed |= {path.format(number) for number in self._earlier() for path in _PARTS}
        for name in ("manifests", "log", "facts", "derived"):
            for path in (self.folder / name).glob("*"):
                if f"{name}/{path.name}" not in needed:
                    with suppress(OSError):
                        self._files.remove(path)

    def _earlier(self) -> Iterator[int]:
        """Earlier snapshots whose logs have versions to keep."""
        numbers = [number for number in snapshot_numbers(self.folder) if number < self.manifest.version]
        for number, following in pairwise([*numbers, self.manifest.version]):
            if following > self.version - self._keep + 1:
                yield number

    def cache(self, cached: CachedState) -> None:
        """Cache derived facts with the snapshot.  If writing fails, there is no cache."""
        with suppress(OSError):
            write_cache(self.folder / self.manifest.derived, cached, self.manifest.to_bytes(), self._files)

    # --- the end -----------------------------------------------------------------------------------------

    def close(self, version: int) -> None:
        """Record where the log ends, and release the store; `version` is that of the state."""
        try:
            if self._why_closed is None and self._process == os.getpid():
                self.retract(version)
                self._seal()
        finally:
            self.release()

    def _seal(self) -> None:
        if self._is_sealed:
            return
        self._sure(self._log.seal)
        self.publish(self.version)
        content = sealed(closing(self.manifest.version, *self._log.place))
        try:
            self._files.replace_file(self.folder / "CLOSED", content)
        except OSError as error:
            raise cannot(self.folder, "written", error) from error
        self._is_sealed = True

    def release(self) -> None:
        """Close the files as they are."""
        self._why_closed = self._why_closed or "it was closed"
        if self._lock >= 0 and self._process == os.getpid():  # a forked process may have it open as well
            fcntl.flock(self._lock, fcntl.LOCK_UN)
        self._log.close()
        with suppress(OSError):
            os.close(self._lock)
        self._lock = -1


# --- files of a snapshot --------------------------------------------------------------------------


def write_snapshot(folder: Path, snapshot: Snapshot, files: Files) -> tuple[StoreManifest, bytes]:
    """Write all files of a snapshot to disk, before CURRENT is switched to it."""
    number = snapshot.version
    facts = folder / f"facts/{number}"
    files.remove(facts)  # left by an interrupted run
    for path in (facts, folder / "log", folder / "manifests"):
        files.make_folder(path)
    names = file_names(snapshot.facts)
    written = [_write_facts(facts, names[name], name, data, files) for name, data in snapshot.facts.items()]
    every = tuple(file for several in written for file in several)
    manifest = StoreManifest(number, snapshot.program, snapshot.source, snapshot.relations, every, snapshot.note)
    files.sync_folder(facts)
    files.write_file(folder / manifest.log, BEGINNING)
    files.sync_folder(folder / "log")
    data = manifest.to_bytes()
    files.write_file(folder / manifest.path, data)
    files.sync_folder(folder / "manifests")
    return manifest, data


def _write_facts(folder: Path, file: str, relation: str, facts: StoredData, files: Files) -> list[FactsFile]:
    path = f"{folder.parent.name}/{folder.name}/{file}"
    if is_spark_frame(facts):
        return _write_frame(folder / file, path, relation, facts, files)
    table = cast("pa.Table", facts)
    data = parquet(table)
    files.write_file(folder / file, data)
    return [FactsFile(relation, path, table.num_rows, len(data), hashlib.sha256(data).hexdigest())]


def _write_frame(folder: Path, path: str, relation: str, frame: DataFrame, files: Files) -> list[FactsFile]:
    """Let Spark write a folder of files."""
    frame.write.mode("overwrite").parquet(str(folder.absolute()))
    parts = sorted(folder.glob("part-*"))
    for part in (*parts, folder):
        files.sync_folder(part)
    return [
        FactsFile(
            relation, f"{path}/{part.name}", pq.read_metadata(part).num_rows, part.stat().st_size, file_digest(part)
        )
        for part in parts
    ]


def parquet(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def switch(folder: Path, version: int, manifest: bytes, files: Files) -> None:
    """Make a snapshot the current one."""
    content = {"snapshot": version, "manifest": hashlib.sha256(manifest).hexdigest()}
    files.replace_file(folder / "CURRENT", sealed(content))
