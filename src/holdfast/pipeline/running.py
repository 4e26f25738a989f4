"""Run a pipeline: materialise, apply a batch of updates, or follow a stream.

An update goes through the same steps in every mode: its rows are checked and applied, its changes are written under its
number, and then a record in the log of the store makes it durable, together with the position in the stream.  If a run
stops before the record is written, the next run applies the update again and overwrites what was written; after it, the
update is done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from holdfast.errors import DamagedData, DataError, Diagnostic, HoldfastError, LimitReached, UsageError, shortened
from holdfast.formats.fact_data import is_spark_frame
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.opening import read_program
from holdfast.language import parse
from holdfast.language.printer import show
from holdfast.pipeline.batches import Position, hash_of
from holdfast.pipeline.intake import Intake, Line, Taken, rejected
from holdfast.pipeline.keeping import MOST_LOGGED, KeptState, PipelineStore
from holdfast.pipeline.model import Pipeline
from holdfast.pipeline.resolving import resolved
from holdfast.pipeline.sinks import SinkWriter
from holdfast.pipeline.sources import Reader
from holdfast.pipeline.state import Given, Opener, PipelineState, too_many_facts
from holdfast.pipeline.streaming import CAUGHT_UP, changed_since, follow
from holdfast.program import check
from holdfast.program.model import Program, Relation
from holdfast.spark_session import SparkOptions, spark_session
from holdfast.updates import Change

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Checkpoint = Callable[[str], None]


@dataclass(frozen=True)
class Event:
    """A message of a run: first the engine, then a line for each update."""

    text: str
    number: int | None = None
    change: Change | None = None
    rejections: int = 0


@dataclass
class RunResult:
    """The result of a run: its final state, the number and change of the last update, and the rejected rows."""

    base: KnowledgeBase
    engine: str
    why: str
    number: int = 0
    updates: int = 0
    change: Change | None = None
    rejections: int = 0
    written: list[str] = field(default_factory=list)


def run(
    pipeline: Pipeline,
    *,
    mode: str | None = None,
    spark: SparkOptions | SparkSession | None = None,
    frames: Mapping[str, DataFrame] | None = None,
    anew: bool = False,
    on_event: Callable[[Event], None] | None = None,
    reached: Checkpoint | None = None,
) -> RunResult:
    """Run a pipeline once; depending on its trigger, a stream runs until it has caught up, or until it is stopped.

    `frames` has the rows of sources of format "frame", by name.  With `anew` a batch run discards earlier snapshots.
    `reached` is called with the name of each step on the way, for tests that stop a run there.
    """
    pipeline, text, program = checked(replace(pipeline, mode=mode or pipeline.mode))
    options = spark if spark is not None else SparkOptions(pipeline.master, pipeline.conf)
    session = spark_session(options)
    return _Run(pipeline, text, program.relations, session, frames, on_event or _silent, reached or _on).outcome(anew)


def checked(pipeline: Pipeline) -> tuple[Pipeline, str, Program]:
    """The pipeline checked against its program, the program's text, and the program."""
    text = read_program(pipeline.program)
    program = check(parse(text, pipeline.program.as_posix()))
    return resolved(pipeline, program), text, program


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _silent(event: Event) -> None: ...


def _on(step: str) -> None: ...


class _Run:
    """A running pipeline."""

    def __init__(
        self,
        pipeline: Pipeline,
        text: str,
        relations: Mapping[str, Relation],
        session: SparkSession,
        frames: Mapping[str, DataFrame] | None,
        on_event: Callable[[Event], None],
        reached: Checkpoint,
    ) -> None:
        self._pipeline, self._text, self._relations = pipeline, text, relations
        self._source = _hash(show(parse(text, "")))
        self._on_event, self._reached = on_event, reached
        reader = Reader(session, frames)
        self._first = Intake(pipeline.sources, relations, reader)
        self._updates = Intake(pipeline.updates, relations, reader)
        self._writer = SinkWriter(session, pipeline)
        self._session, snapshots, name = session, pipeline.snapshots, pipeline.program.as_posix()
        self._store = PipelineStore(snapshots, pipeline.file, name) if snapshots else None
        self._opener = Opener(pipeline.engine, session, self._store.arriving if self._store else None)
        self._state: PipelineState | None = None
        self._done = 0
        self._change: Change | None = None
        self._rejections = 0

    def outcome(self, anew: bool) -> RunResult:
        """Run the pipeline."""
        with ExitStack() as held:
            if self._store is not None:
                held.enter_context(self._store.alone())
            self._writer.check(self._relations)
            frame = None  # the updates; their errors are reported before anything is computed
            if self._pipeline.mode != "batch":
                frame = self._updates.frame(stream=self._pipeline.mode == "stream")
            self._begin(anew)
            self.state.rest()
            if self._pipeline.mode == "update":
                self._update_once(frame)
            elif self._pipeline.mode == "stream":
                self._stream(frame)
            written = self._writer.state(self.state.base)
        self.state.base.log_with(None)
        return RunResult(
            self.state.base,
            self.state.engine,
            self.state.why,
            self._number,
            self._done,
            self._change,
            self._rejections,
            [str(place) for place in written],
        )

    @property
    def state(self) -> PipelineState:
        """The maintained state; set once the run has begun."""
        assert self._state is not None
        return self._state

    @property
    def _number(self) -> int:
        return self._store.number if self._store is not None else 0

    # --- the beginning ---------------------------------------------------------------------------------

    def _begin(self, anew: bool) -> None:
        """Restore the state of the newest snapshot, or load the sources."""
        newest = None if self._store is None or (anew and self._pipeline.mode == "batch") else self._store.current()
        if newest is not None and self._pipeline.mode == "batch":
            assert self._store is not None
            message = f"a batch run would discard the state after update {newest.number} in {self._store.folder}"
            raise UsageError(
                Diagnostic("E1109", message, help="use mode update or stream, or discard the state with --anew")
            )
        if newest is not None and self._store is not None:
            self._go_on(newest, self._store)
            return
        self._adopt(self._loaded())
        if self._store is not None:
            self._reached("loaded")
            self._store.begin(self.state, self._source)
            self._reached("begun")

    def _go_on(self, newest: KeptState, store: PipelineStore) -> None:
        """Continue from a state on disk."""
        if newest.source not in (self._source, _hash(self._text)):  # an older holdfast hashed the unchanged text
            message = f"{self._pipeline.program} has changed since the first snapshot"
            help = "add and remove rules by updates, or start over: --anew"
            raise UsageError(Diagnostic("E1115", message, help=help))
        self._on_event(Event(f"the snapshot after update {newest.number} is loaded"))
        if old := newest.unverified:
            self._on_event(
                Event(f"the snapshots before update {old[-1] + 1} have no hashes: an older holdfast wrote them")
            )
        store.go_on(newest, self._source)
        why = "the facts did not fit before" if newest.progress.engine == "spark" else None
        self._adopt(self._opener.opened(newest.rows, newest.load, spark_why=why))
        self._check_sizes(newest.progress.sizes)

    def _loaded(self) -> PipelineState:
        """The facts of the sources, materialised."""
        frame = self._first.frame()
        needs_count = frame is not None and self._pipeline.engine.kind == "auto"
        count = self._first.count(frame) if needs_count else 0
        here = self._opener.fits(count)
        if frame is not None and not here:
            frame = frame.cache()
        taken = self._first.here(frame) if here else self._first.distributed(frame)
        self._judge(self._store.next_number() if self._store else 0, taken)
        facts: dict[str, list[Any]] = {}
        for _, relation, rows in taken.rows:
            facts.setdefault(relation, []).append(rows)
        state = self._opener.open(self._text, self._pipeline.program.as_posix(), facts, taken.seen)
        if frame is not None and not here:
            frame.unpersist()
        return state

    def _adopt(self, state: PipelineState) -> None:
        self._state = state
        self._writer.distributed = state.is_distributed
        where = "in this process" if state.engine == "memory" else "on Spark"
        self._on_event(Event(f"maintenance runs {where}: {state.why}"))

    def _check_sizes(self, sizes: Mapping[str, int]) -> None:
        """Check that the restored state has the recorded sizes."""
        found = self.state.sizes()
        wrong = [
            f"{name} has {found.get(name, 0):,} facts and had {size:,}"
            for name, size in sizes.items()
            if found.get(name, 0) != size
        ]
        if wrong:
            raise DamagedData(
                Diagnostic(
                    "E1112",
                    f"the snapshot does not restore the state it was made from: {wrong[0]}",
                    help="start over with --mode batch --anew, and report this bug",
                )
            )

    # --- updates ---------------------------------------------------------------------------------------

    def _update_once(self, frame: DataFrame | None) -> None:
        if frame is not None and self.state.is_distributed:
            frame = frame.cache()
        self._update(self._number + 1, frame)
        if frame is not None:
            frame.unpersist()

    def _update(self, number: int, rows: DataFrame | pa.Table | None, stream: Position | None = None) -> None:
        """Apply one update, from its rows to the record that makes it durable."""
        assert self._store is not None
        is_here = isinstance(rows, pa.Table) or not self.state.is_distributed
        if is_here or self._updates.count(rows) <= MOST_LOGGED:
            taken = self._updates.here(rows)
        else:
            taken = self._settled(number, self._updates.distributed(rows))
        self._reached("read")
        refused: list[tuple[Line, HoldfastError]] = []
        change = self._applied(taken.rows, taken.lines, refused)
        self._reached("applied")
        taken = taken + self._refusals(refused)
        self._judge(number, taken)
        self._writer.changes(number, change, self.state.base)
        self._reached("written")
        is_whole = self._store.commit(number, self.state, stream, partial(self._reached, "recorded"))
        self._reached("committed")
        if is_whole and stream is not None and self._pipeline.trigger != CAUGHT_UP:
            self._writer.state(self.state.base)  # this stream has no end at which to write the state
        self.state.rest()
        self._done += 1
        self._change = change
        self._on_event(Event(f"update {number}: {change!r}", number, change, taken.rejections))

    def _settled(self, number: int, taken: Taken) -> Taken:
        """Write rows on Spark to files, so that later changes of the sources do not affect the update."""
        assert self._store is not None
        rows: list[Given] = []
        for place, (kind, relation, data) in enumerate(taken.rows):
            path = str((self._store.arriving / f"{number}/{place}").absolute())
            if is_spark_frame(data):
                data.write.mode("overwrite").parquet(path)
            rows.append((kind, relation, self._session.read.parquet(path) if is_spark_frame(data) else data))
        return replace(taken, rows=tuple(rows))

    def _applied(
        self, rows: Iterable[Given], lines: tuple[Line, ...], refused: list[tuple[Line, HoldfastError]]
    ) -> Change:
        """Apply an update; move to Spark if it no longer fits this process."""
        assert self._store is not None

        def refuse(line: Line, error: HoldfastError) -> None:
            refused.append((line, error))

        self._store.collect(self.state.base)
        try:
            return self.state.apply(rows, lines, refuse)
        except LimitReached as error:
            if self._pipeline.engine.kind != "auto" or self.state.is_distributed or not too_many_facts(error):
                raise
        refused.clear()
        why = f"after this update there are more facts than the limit of {self._pipeline.engine.limit:,}"
        before = self._store.current()
        assert before is not None
        self._adopt(self._opener.opened(before.rows, before.load, spark_why=why))
        self._store.collect(self.state.base)
        return self.state.apply(rows, lines, refuse)

    def _refusals(self, refused: list[tuple[Line, HoldfastError]]) -> Taken:
        of_name = {source.name: source for source in self._pipeline.updates}
        tables = [
            rejected(of_name[line.source], [error.diagnostics[0].message], [line.text]) for line, error in refused
        ]
        return Taken(rejected=tuple(tables), rejections=len(tables))

    def _judge(self, number: int, taken: Taken) -> None:
        """Write bad rows to the quarantine; raise if there are too many."""
        self._writer.rejected(number, taken.rejected)
        self._rejections += taken.rejections
        quarantine = self._pipeline.quarantine
        if not quarantine.allows(taken.rejections, taken.seen):
            reasons = _first_reasons(taken)
            where = f"they are in {quarantine.place}" if quarantine.place else None
            message = f"{taken.rejections:,} of {taken.seen:,} rows fail their checks, and {quarantine.limit} may"
            help = (
                "correct them, or raise the limit of [quarantine]"
                if quarantine.place
                else "add a [quarantine] to the pipeline file to set such rows aside and continue"
            )
            raise DataError(Diagnostic("E1107", message, notes=(*reasons, *([where] if where else [])), help=help))

    # --- streams ---------------------------------------------------------------------------------------

    def _stream(self, frame: DataFrame | None) -> None:
        assert self._store is not None
        if frame is None:
            raise UsageError(Diagnostic("E1103", "a stream needs an [updates.NAME] to read"))
        for file in changed_since(self._store.checkpoint):
            self._on_event(Event(f"{file} has changed since it was read, and is not read again; give it a new name"))
        try:
            follow(frame, self._store.checkpoint, self._pipeline.trigger, self._micro_batch)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"stopped by Ctrl-C after update {self._number}; the next run continues from there"
            ) from None

    def _micro_batch(self, frame: DataFrame, place: int, stream: str) -> None:
        """Apply a micro-batch: its files one by one, each as an update.

        After a restart, Spark may combine files that would otherwise have been in separate micro-batches.  Files that
        the snapshot already includes are skipped.
        """
        assert self._store is not None
        at = self._store.position
        if at.stream != stream:
            at = Position()
        if place > at.place + (at.parts >= at.parts_of):
            message = f"the stream is at micro-batch {place}, and the snapshots end with "
            message += f"micro-batch {at.place}" if at.parts >= at.parts_of else f"a part of micro-batch {at.place}"
            help = "restore the newest snapshots, or start over with --mode batch --anew and supply the updates again"
            raise DamagedData(Diagnostic("E1113", message, help=help))
        if place < at.place:
            return
        done, taken = (at.parts, at.taken) if place == at.place else (0, "")
        batch = self._updates.by_file(frame, here=not self.state.is_distributed)
        if taken and hash_of(batch.files[:done]) != taken:
            message = f"files of micro-batch {place} changed during the batch, after {done} of them were applied"
            note = "files are applied in the order of their times, so it is no longer known which ones were"
            help = "restore the times of the files, or start over with --mode batch --anew and supply the updates again"
            raise DamagedData(Diagnostic("E1113", message, notes=(note,), help=help))
        for number, rows in enumerate(batch.rows(done), done):
            taken = hash_of([batch.files[number]], taken)
            self._update(self._number + 1, rows, Position(stream, place, number + 1, len(batch.files), taken))
        batch.close()


def _first_reasons(taken: Taken) -> tuple[str, ...]:
    rows = [
        row
        for part in taken.rejected
        for row in (
            part.slice(0, 3).to_pylist()
            if isinstance(part, pa.Table)
            else [r.asDict() for r in part.limit(3).collect()]
        )
    ]
    return tuple(f"{row['source']}: {row['reason']}: {shortened(row['row'])}" for row in rows[:3])
