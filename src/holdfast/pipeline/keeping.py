"""The state of a pipeline on disk: a store, with the pipeline's progress in the note of each update.

A commit appends one record with the facts and rules that the update changed and the position in the stream, so both are
committed or neither is.  After some updates a snapshot is written and a new log begins.  A folder with snapshots of the
old format (`old_snapshots.py`) can be read, and becomes a store with the next update.
"""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast.backends.spark_parted.folders import lending
from holdfast.errors import DamagedData, Diagnostic, HoldfastError, UsageError
from holdfast.formats.fact_data import FactParts
from holdfast.knowledge.engines import EngineChoice
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.materialisation import Commit
from holdfast.knowledge.opening import evaluation, from_text
from holdfast.knowledge.storing import resumed
from holdfast.pipeline.batches import Position
from holdfast.pipeline.intake import Line
from holdfast.pipeline.model import Snapshots
from holdfast.pipeline.old_snapshots import Manifest, OldSnapshots, Part
from holdfast.pipeline.state import Load, PipelineState, apply_to
from holdfast.settings import Limits
from holdfast.store.contents import ExplicitChange, pack, unpack
from holdfast.store.files import Files
from holdfast.store.manifests import PIPELINE, cannot, identity, read_identity
from holdfast.store.opening import begin_store, locked, resume_store
from holdfast.store.reading import StoreContents, is_unfinished, read_store
from holdfast.store.records import LogRecord
from holdfast.store.rewinding import kept_snapshots, kept_versions, last_known_version, rewind
from holdfast.store.writing import Store
from holdfast.updates import Note

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

MOST_LOGGED: Final = 1_000_000  # rows of an update in the log; for a larger one a snapshot is written instead


class PipelineProgress(NamedTuple):
    """What a pipeline records with each update."""

    position: Position
    engine: str
    sizes: Mapping[str, int]  # of all relations, including derived ones

    def note(self) -> Note:
        """The note for an update."""
        return {**self.position._asdict(), "engine": self.engine, "sizes": dict(self.sizes)}

    @classmethod
    def from_note(cls, note: Note) -> PipelineProgress:
        """Read the progress from a note."""
        return cls(Position(*(note[name] for name in Position._fields)), note["engine"], note["sizes"])

    @classmethod
    def of_store(cls, stored: StoreContents) -> PipelineProgress:
        """The progress after the last update in a store."""
        records = stored.log.applied()
        return cls.from_note(_note_of(records[-1]) if records else stored.manifest.note)


@dataclass(frozen=True)
class KeptState:
    """A state on disk."""

    number: int  # number of the last update
    source: str  # the hash of the initial program
    progress: PipelineProgress
    rows: int  # explicit facts in its snapshot
    load: Load
    stored: StoreContents | None = None  # None for the old format
    unverified: tuple[int, ...] = ()  # snapshots of the old format without hashes


class PipelineStore:
    """Stores and restores the state of a pipeline."""

    def __init__(self, settings: Snapshots, pipeline: str = "PIPELINE", name: str = "<text>") -> None:
        """`pipeline` is the file, for suggested commands; `name` is the program's name."""
        self.folder, self._settings, self._pipeline, self._name = settings.path, settings, pipeline, name
        self.old = OldSnapshots(settings.path, pipeline)
        self.number, self.position, self._source = 0, Position(), ""
        self._lock = -1
        self._store: Store | None = None
        self._changes: list[ExplicitChange] = []  # of the update being applied
        self._rows = 0  # number of rows in `_changes`

    @property
    def checkpoint(self) -> Path:
        """Where Spark stores the progress of a stream."""
        return self.folder / "checkpoint"

    @property
    def arriving(self) -> Path:
        """Where Spark writes the rows of large updates, to read them until the run ends, and shards their files."""
        return self.folder / "arriving"

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder against other writers; the system releases the lock when a process is killed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = self._locked()
        try:
            self._claim()
            _discard(self.arriving)
            yield
        except BaseException as error:
            self._close(seal=isinstance(error, HoldfastError | KeyboardInterrupt))
            raise
        self._close(seal=True)

    def _locked(self) -> int:
        try:
            return locked(self.folder)
        except UsageError:
            message = f"another run writes its snapshots to {self.folder}"
            raise UsageError(Diagnostic("E1111", message, help="wait for it, or stop it")) from None

    def _claim(self) -> None:
        """Claim a folder; refuse it if it has foreign files with the names of a store's, which a run may delete."""
        if (self.folder / "HOLDFAST").exists():
            with suppress(DamagedData):
                if PIPELINE not in read_identity(self.folder).features:
                    self._refuse(f"{self.folder} is the store of a knowledge base")
        elif not self.old.is_there:
            foreign = [name for name in _NAMES if (self.folder / name).exists()]
            if foreign:
                self._refuse(f"{self.folder} is not a snapshot folder: it holds {foreign[0]}, which no run wrote")
            try:
                Files().replace_file(self.folder / "HOLDFAST", identity(secrets.token_hex(16), [PIPELINE]))
            except OSError as error:
                raise cannot(self.folder, "written", error) from error

    def _refuse(self, message: str) -> None:
        raise UsageError(Diagnostic("E1108", message, help="give [snapshots] its own folder"))

    def _close(self, *, seal: bool) -> None:
        if self._store is None:
            os.close(self._lock)
        elif seal:
            self._store.close(self._store.version)
        else:
            self._store.release()
        self._store, self._lock = None, -1

    # --- reading ---------------------------------------------------------------------------------------

    def current(self) -> KeptState | None:
        """The newest state, with every file checked against its hash, or None."""
        if self.old.is_there:
            newest = self.old.current()
            return None if newest is None else self._old_state(newest)
        if not (self.folder / "HOLDFAST").exists() or is_unfinished(self.folder):
            return None
        try:
            return self._state(read_store(self.folder))
        except DamagedData as error:
            raise self._damaged(error) from None

    def _state(self, stored: StoreContents) -> KeptState:
        def load(engine: EngineChoice, limits: Limits | None) -> KnowledgeBase:
            evaluate = evaluation(None, engine, limits, name=self._name)
            if engine == "memory":
                return resumed(stored, evaluate, self._store)
            return resumed(stored, evaluate, frame=partial(_frame, engine))

        rows = sum(file.rows for file in stored.manifest.facts)
        progress = PipelineProgress.of_store(stored)
        return KeptState(stored.version, stored.manifest.source, progress, rows, load, stored)

    def _old_state(self, manifest: Manifest) -> KeptState:
        progress = PipelineProgress(manifest.position, manifest.engine, manifest.sizes)
        rows = sum(part.rows for part in manifest.facts)
        load = partial(_load_old, self.old, manifest, self._name)
        unverified = tuple(self.old.unverified())
        return KeptState(manifest.number, manifest.source, progress, rows, load, unverified=unverified)

    def _damaged(self, error: DamagedData) -> DamagedData:
        message = error.diagnostics[0].message.removeprefix(f"the store {self.folder.as_posix()} is damaged: ")
        intact = max(kept_versions(self.folder), default=None)
        help = "no snapshot is intact: restore the folder from a backup, or start over with --mode batch --anew"
        if intact is not None:
            command = f"holdfast pipeline restore {shlex.quote(self._pipeline)} --update {intact}"
            help = f"the snapshot of update {intact} is intact: `{command}`"
        return DamagedData(Diagnostic("E1112", f"the snapshots in {self.folder} are damaged: {message}", help=help))

    def listed(self) -> list[tuple[int, str, int | None]]:
        """The updates that can be restored: number, remark, and number of facts."""
        newest = self.current()
        if newest is None:
            return []
        if newest.stored is None:
            return self._old_list(newest)
        found: dict[int, tuple[int, str, int | None]] = {}
        for number, stored in kept_snapshots(self.folder):
            if isinstance(stored, DamagedData):
                found.setdefault(number, (number, f"damaged: {stored.diagnostics[0].message}", None))
            else:
                found |= {version: (version, "", _facts(note)) for version, note in _notes(stored)}
        found[newest.number] = newest.number, "newest", sum(newest.progress.sizes.values())
        return sorted(found.values())

    def _old_list(self, newest: KeptState) -> list[tuple[int, str, int | None]]:
        remarks = {**dict.fromkeys(newest.unverified, "its manifest has no hash"), newest.number: "newest"}
        return [
            (number, remarks.get(number, ""), sum(self.old.load(number).sizes.values()))
            if fault is None
            else (number, f"damaged: {fault}", None)
            for number, fault in self.old.faults().items()
        ]

    def next_number(self) -> int:
        """The number after the newest one: a number is never reused for other contents."""
        if self.old.is_there:
            return self.old.next_number()
        return 0 if is_unfinished(self.folder) else last_known_version(self.folder) + 1

    # --- writing ---------------------------------------------------------------------------------------

    def go_back(self, number: int, *, unverified: bool = False) -> None:
        """Make an earlier update the newest one; checks everything it needs before deleting anything."""
        if self.old.is_there:
            self.old.go_back(number, unverified=unverified)
            return
        kept = kept_versions(self.folder)
        if number not in kept:
            note = f"kept: {', '.join(map(str, kept)) or 'none'}"
            raise UsageError(Diagnostic("E1114", f"there is no snapshot of update {number}", notes=(note,)))
        self._store = rewind(kept[number].at(number), self._lock, self._settings.keep)

    def go_on(self, state: KeptState, source: str) -> None:
        """Continue from a state, and open its store for writing."""
        self.number, self.position, self._source = state.number, state.progress.position, source
        if state.stored is not None:
            self._store = resume_store(state.stored, self._lock, self._settings.keep)
            self._store.publish(self._store.version)

    def begin(self, state: PipelineState, source: str) -> None:
        """Write the first snapshot, and discard what was there before."""
        number = self.next_number()
        self.position, self._source = Position(), source
        state.base.start_at(number)
        self._write_snapshot(number, state)
        self.number = number
        _discard(self.checkpoint)  # so the stream is read from its beginning

    def collect(self, base: KnowledgeBase) -> None:
        """Record what is applied to a knowledge base from now on, for the next commit."""
        self._changes, self._rows = [], 0
        base.log_with(self._note)

    def _note(self, commit: Commit) -> None:
        views = [
            view for change in commit.explicit for part in (change.delete, change.insert) for view in part.values()
        ]
        self._rows += sum(map(len, views))
        if self._rows > MOST_LOGGED:
            self._changes.clear()
            return
        for view in views:
            _ = view.codes  # fetch now: Spark may free the rows after the update
        self._changes += commit.explicit

    def commit(
        self, number: int, state: PipelineState, position: Position | None, recorded: Callable[[], None]
    ) -> bool:
        """Make the applied update durable, with the position; returns whether a full snapshot was written."""
        self.position = position or self.position
        state.base.start_at(number)
        if self._store is None or self._rows > MOST_LOGGED:
            self._write_snapshot(number, state)
            is_whole = True
        else:
            self._store.append(self.number, number, pack(self._changes, [self._progress(state).note()]))
            self._store.publish(number)
            recorded()
            is_whole = number - self._store.manifest.version >= self._settings.every or self._store.is_due
            if is_whole:
                self._write_snapshot(number, state)
        self.number = number
        return is_whole

    def _progress(self, state: PipelineState) -> PipelineProgress:
        return PipelineProgress(self.position, state.engine, state.sizes())

    def _write_snapshot(self, number: int, state: PipelineState) -> None:
        with lending():
            store = self._write_relations(number, state)
        state.base.keep_derived(store)

    def _write_relations(self, number: int, state: PipelineState) -> Store:
        snapshot = replace(state.base.stored_as(self._source, state.stored_data), note=self._progress(state).note())
        if self._store is not None:
            self._store.rotate(snapshot)
        else:
            self._store = begin_store(self.folder, snapshot, self._lock, [PIPELINE], self._settings.keep)
            self._store.publish(number)
            self._store.sweep()
            _discard(self.folder / "updates")  # from snapshots of the old format
        return self._store


_NAMES: Final = ("facts", "updates", "checkpoint", "manifests", "log", "derived", "arriving")


def _discard(path: Path) -> None:
    with suppress(OSError):
        Files().remove(path)


def _notes(stored: StoreContents) -> Iterator[tuple[int, Note]]:
    """The updates of a snapshot and its log, with their notes."""
    yield stored.manifest.version, stored.manifest.note
    yield from ((record.version, _note_of(record)) for record in stored.log.applied())


def _note_of(record: LogRecord) -> Note:
    return unpack(record.content).notes[-1]


def _facts(note: Note) -> int:
    return sum(note["sizes"].values())


def _frame(session: Any, folder: Path) -> DataFrame:
    frame: DataFrame = session.read.parquet(str(folder.absolute()))
    return frame


def _load_old(
    old: OldSnapshots, manifest: Manifest, name: str, engine: EngineChoice, limits: Limits | None
) -> KnowledgeBase:
    """The state of a snapshot of the old format: its facts materialised, then the updates since."""

    def data(part: Part) -> pa.Table | DataFrame:
        folder = old.folder / part.path
        return _frame(engine, folder) if engine != "memory" and folder.is_dir() else old.table(part)

    facts = {part.relation: FactParts((data(part),)) for part in manifest.facts}
    base = from_text(manifest.program, facts, name=name, engine=engine, limits=limits)
    for update in manifest.updates:
        lines = [Line("", "", place, text) for place, text in enumerate(update.lines)]
        apply_to(base, [(part.kind, part.relation, data(part)) for part in update.parts], lines, _impossible)
    return base


def _impossible(line: Line, error: HoldfastError) -> None:
    raise error  # refused lines are not stored
