"""The shards of a knowledge base on Spark, as the driver directs them: they obey, commit, and survive being lost.

The committed version V is a number on the driver.  The shards' base and log files up to V restore V.  The commands
since V are in a journal.  What a shard does follows from its state, the commands and the rows that others send, so
after a loss all shards are restored to V and the journal is repeated: the algorithm that asked does not notice.  A
commit is one more command, by which each shard writes its record; when all have, V is the new version.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import RLock, Thread
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from holdfast.backends.parted.placement import Placement
from holdfast.backends.parted.shard import EXCHANGING, ShardCommand
from holdfast.backends.protocol import UndoneError, Watch
from holdfast.backends.spark_parted.folders import remove_folder
from holdfast.backends.spark_parted.holding import FAILED, OK, Assignment, ShardReply, Shares, StateLabel, shares_of
from holdfast.backends.spark_parted.jobs import SHUFFLE, FewTasksError, JobSettings, LostError, ShardJob, slots
from holdfast.backends.spark_parted.links import PlanNumbers
from holdfast.backends.spark_parted.recording import RecordedState, record_name, remove_records
from holdfast.backends.spark_parted.shuffle import ShuffleJob
from holdfast.backends.spark_parted.task import Arrival
from holdfast.backends.spark_parted.usage import OverLimitError
from holdfast.errors import Diagnostic, LimitReached
from holdfast.interrupts import checkpoint
from holdfast.program.model import Relation
from holdfast.quick_dataclass import dataclass
from holdfast.spark_session import SparkFailure
from holdfast.values.dictionary import Dictionary

T = TypeVar("T")
AnyJob: TypeAlias = ShardJob | ShuffleJob
READING = frozenset({
    "sizes", "rows", "derivations", "keys", "fanout", "unindexed", "smallest", "nbytes", "ranks", "deferred",
    "write", "publish", "traffic", "functors", "known", "hub_facts", "frequent",
    "image", "lookup",
})  # fmt: skip
"""Commands that change nothing, or nothing that a restored shard does not get anyway."""
_LEFT = frozenset({"add", "drop", "copy", "drop_copy", "hubs", "free"})  # what a rolled back update leaves behind
_TRIES = 4
_REPORT = "--debug shows Spark's own report"
_LACKING = "install holdfast on the workers of Spark, or set PYSPARK_PYTHON to a Python that has it"
_WITHIN_AN_UPDATE = 1.0  # seconds
_LONG, _LONG_SECONDS = 5_000, 300.0  # entries of a journal, and seconds of work, that are worth a record
_SMALL = 1 << 20  # bytes of records that are not worth a new base


_crews = weakref.WeakSet["SparkCrew"]()


@runtime_checkable
class LimitedWatch(Protocol):
    """A watch that has limits."""

    def waiting(self) -> None:
        """Other processes are at work: heed signals and the limit on seconds."""
        ...

    def check(self, what: str, nbytes: int) -> None:
        """Raise if this number of additional bytes would exceed the limit."""
        ...


@dataclass(frozen=True)
class JournalEntry:
    """Commands that the shards have done, with what each shard answered."""

    step: int
    commands: list[ShardCommand]
    answers: list[list[Any]]


@dataclass(frozen=True)
class CommittedState:
    """What the driver knows of V: which files restore it, and what is not in them."""

    version: int
    base: str | None
    records: tuple[str, ...]  # after the base
    base_bytes: int
    record_bytes: int
    step: int
    relations: dict[str, Relation]
    places: tuple[ShardCommand, ...]  # commands by which the shards know hubs and have copies
    rounds: int
    deferred: Any
    journal: list[JournalEntry]  # what was done since; here, so that both change at once

    @property
    def names(self) -> tuple[str, ...]:
        """The base and the records after it."""
        return () if self.base is None else (self.base, *self.records)


class SparkCrew:
    """The shards, in one job at a time."""

    def __init__(
        self,
        settings: JobSettings,
        dictionary: Dictionary,
        watch: Watch,
        relations: dict[str, Relation],
        placement: Placement,
        hold: float,
    ) -> None:
        self._settings, self._dictionary, self._watch = settings, dictionary, watch
        self._relations, self._placement, self._hold = relations, placement, hold
        self._lock = RLock()
        self._job: AnyJob | None = None
        self._few_tasks = 0  # that could start, if not all could
        self._is_limited = True
        self._are_records_left = False  # of attempts to commit that failed
        self._is_saving = False  # images: no call of the user runs, whose seconds are counted
        self._used = 0.0  # when the job was
        self._worked = 0.0  # seconds that the journal took
        self._turns = count(1)
        self._step = 0
        self._plans = PlanNumbers()
        self._remembering: set[str] = set()  # counters that record what an update does
        self._committed = CommittedState(0, None, (), 0, 0, 0, {}, (), 0, {}, [])
        self.functors: dict[str, bytes] = {}  # of the user, that rules call
        self.is_undone = False
        """Whether the shards have come back to the state before an update that is not rolled back yet."""
        self.requests = 0
        """Messages to the tasks, or jobs if rows move by shuffle; what losses made necessary is not counted."""
        self.restored = 0
        """How often the shards were restored from files."""
        _crews.add(self)

    @property
    def version(self) -> int:
        """The committed one."""
        return self._committed.version

    @property
    def pids(self) -> list[int]:
        """The workers of the tasks of the current job; for tests."""
        return [] if self._job is None else self._job.pids

    @property
    def _journal(self) -> list[JournalEntry]:
        return self._committed.journal

    # --- commands --------------------------------------------------------------------------------------

    def obey(self, commands: Sequence[ShardCommand]) -> list[list[Any]]:
        """Have every shard do some commands, whatever is lost meanwhile."""
        with self._lock:
            places = [place for place, command in enumerate(commands) if command[0] not in READING]
            asked = time.monotonic()
            replies = self._reliably(lambda job: self._ask(job, commands, self._step + bool(places)))
            is_done = all(reply.kind == OK for reply in replies)
            if is_done and places:
                answers = [[reply.answers[place] for place in places] for reply in replies]
                self._step += 1
                self._worked += time.monotonic() - asked
                self._journal.append(JournalEntry(self._step, [commands[place] for place in places], answers))
            self._note(commands)
            self._report(replies)
            if is_done and not self._remembering and self._is_much_to_repeat():
                self.commit()
        return [reply.answers for reply in replies]

    def _is_much_to_repeat(self) -> bool:
        """Whether repeating the journal would take longer than writing what it has led to."""
        return len(self._journal) > _LONG or self._worked > _LONG_SECONDS

    def _note(self, commands: Sequence[ShardCommand]) -> None:
        for name, *arguments in commands:
            if name == "forget_plans":
                self._plans.forget(arguments[0])
            elif name == "remember":
                (self._remembering.add if arguments[1] else self._remembering.discard)(arguments[0])

    def _report(self, replies: Sequence[ShardReply]) -> None:
        """Pass on what the shards took, which may pass a limit, and the error of the one that failed."""
        with nullcontext() if self._is_limited else suppress(LimitReached):
            self._report_usage(replies)
        for reply in replies:
            if reply.kind == FAILED:
                match reply.answers:
                    case OverLimitError(args=(what, nbytes)) if isinstance(self._watch, LimitedWatch):
                        self._watch.check(what, nbytes)
                raise reply.answers

    def _report_usage(self, replies: Sequence[ShardReply]) -> None:
        for shard, reply in enumerate(replies):
            for table, nbytes in reply.usage.bytes.items():
                self._watch.grown(f"{table}, shard {shard}", nbytes)
        if any(reply.usage.batches for reply in replies):
            self._watch.batch(sum(reply.usage.facts for reply in replies))

    def _reliably(self, work: Callable[[AnyJob], T]) -> T:
        """What some work gives when no task is lost; shards that were lost are restored first."""
        cause = ""
        for _ in range(_TRIES):
            try:
                return work(self._ready())
            except LostError as lost:
                cause = str(lost)
                self.abandon()
            except BaseException:
                self.abandon()
                raise
            finally:
                self._used = time.monotonic()
        message = f"the shards were lost {_TRIES} times in a row: {cause}"
        lacks_us = "No module named 'holdfast'" in cause
        raise SparkFailure(Diagnostic("E1005", message, help=_LACKING if lacks_us else _REPORT))

    def _ask(self, job: AnyJob, commands: Sequence[ShardCommand], step: int) -> list[ShardReply]:
        turn, newest = next(self._turns), len(self._dictionary)
        if any(command[0] == "given" for command in commands):
            each = [[_for_task(command, share) for command in commands] for share in job.shares]
        else:
            each = [list(commands)]
        packed = [self._plans.packed((turn, step, newest, self._left(), some)) for some in each]
        exchanges, before = sum(command[0] in EXCHANGING for command in commands), job.requests
        replies = job.ask([message for message, _ in packed] * (job.tasks // len(packed)), exchanges=exchanges)
        self.requests += job.requests - before
        self._plans.note_sent(packed[0][1])
        return replies

    @contextmanager
    def unlimited(self) -> Iterator[None]:
        """Inside a `with` no limit holds: an update is committed or rolled back."""
        before, self._is_limited = self._is_limited, False
        try:
            yield
        finally:
            self._is_limited = before

    def _left(self) -> tuple[float, float]:
        return self._watch.left() if self._is_limited else (math.inf, math.inf)

    def _look_around(self) -> None:
        if self._is_limited and not self._is_saving and isinstance(self._watch, LimitedWatch):
            self._watch.waiting()
        else:
            checkpoint()

    # --- jobs ------------------------------------------------------------------------------------------

    def _ready(self) -> AnyJob:
        """A job whose shards are in the current state."""
        if self._job is None:
            release_idle(self)
            self._job = job = self._new_job()
            try:
                arrivals = job.arrivals()
            except FewTasksError as few:
                self._few_tasks = few.tasks
                raise
            shares = self._held_shares(arrivals)
            if shares is None:
                self._restore(job, arrivals)
            else:
                self._assign(job, arrivals, shares, None, (self._committed.version, self._step))
            if self._hold < math.inf and job.keeps_cores:
                Thread(target=self._release_idle, args=(job,), name="holdfast-idle", daemon=True).start()
        return self._job

    def _new_job(self) -> AnyJob:
        settings = self._settings
        if self._few_tasks:
            settings = replace(settings, wanted_tasks=max(self._few_tasks, slots(settings.session.sparkContext)))
        kind = ShuffleJob if settings.exchange == SHUFFLE else ShardJob
        return kind(settings, self._dictionary, self._look_around)

    def _held_shares(self, arrivals: Sequence[Arrival]) -> Shares | None:
        """The shards that the workers have in the current state; None if one is missing, or they are not even."""
        label = self._committed.version, self._step
        shares = tuple(arrival.shards for arrival in arrivals if arrival.label == label)
        even = shares_of(self._settings.parts, len(arrivals))
        return shares if sorted(shares) == list(even) else None

    def _assign(
        self, job: AnyJob, arrivals: Sequence[Arrival], shares: Shares, saved: RecordedState | None, label: StateLabel
    ) -> None:
        addresses = [arrival.address for arrival in arrivals]
        job.assign([Assignment(task, shares, addresses, saved, label) for task in range(len(shares))])

    def _restore(self, job: AnyJob, arrivals: Sequence[Arrival]) -> None:
        """Restore all shards to V, and repeat what came after it."""
        known = self._committed
        saved = RecordedState(
            self._settings.folder, known.base, known.records, known.relations, known.rounds, known.deferred
        )
        shares = shares_of(self._settings.parts, len(arrivals))
        self._assign(job, arrivals, shares, saved, (known.version, known.step))
        self._plans.sent_nothing()
        self.restored += known.version > 0 or bool(self._journal)
        first = [*([("functors", dict(self.functors))] if self.functors else ()), *known.places]
        if first:
            self._repeat(job, first, known.step)
        for entry in self._journal:
            answers = self._repeat(job, entry.commands, entry.step)
            if not _are_equal(entry, answers):
                raise self._unrepeatable()
        if self._step != (self._journal[-1].step if self._journal else known.step):
            self._repeat(job, (), self._step)

    def _unrepeatable(self) -> Exception:
        """What is to be raised when lost shards have found something else than before: the update did not happen."""
        message = "shards were lost, and what they had computed could not be repeated"
        if not self._remembering:
            self._journal.clear()
            return RuntimeError(message)
        self.roll_back()
        self.is_undone = True
        return UndoneError(Diagnostic("E1005", message, help="the update was rolled back: repeat it"))

    def _repeat(self, job: AnyJob, commands: Sequence[ShardCommand], step: int) -> list[list[Any]]:
        with self.unlimited():
            replies = self._ask(job, commands, step)
        for reply in replies:
            if reply.kind == FAILED:
                raise reply.answers
        return [reply.answers for reply in replies]

    @property
    def _patience(self) -> float:
        """The seconds without commands after which the cores are given back: within an update, the next will come."""
        is_at_work = self._remembering or not self.version
        return max(self._hold, _WITHIN_AN_UPDATE) if is_at_work else self._hold

    def _release_idle(self, job: AnyJob) -> None:
        """End a job that is not used for a while: others want its cores."""
        while True:
            time.sleep(max(0.01, self._used + self._patience - time.monotonic()))
            with self._lock:
                if self._job is not job:
                    return
                if time.monotonic() >= self._used + self._patience:
                    self.save_images()
                    self.release()
                    return

    def save_images(self) -> None:
        """Have the shards write images if no update has begun since the last commit; called when they are idle."""
        with self._lock:
            known = self._committed
            if self._job is None or self._job.repeats or self._settings.images is None:
                return
            if known.base is None or not all(_ends_an_update(c) for entry in self._journal for c in entry.commands):
                return
            self._is_saving = True
            try:
                self._ask(self._job, [("image", known.names[-1])], self._step)
            except LostError:
                self.abandon()
            finally:
                self._is_saving = False

    def release(self) -> None:
        """End the job if it keeps cores; the shards stay in the memory of their workers."""
        with self._lock:
            if self._job is not None and self._job.keeps_cores:
                self._end()

    def _end(self) -> None:
        if self._job is not None:
            self._job.end(self._plans.packed(None)[0])
            self._job = None

    def abandon(self) -> None:
        """What the shards have in memory is not to be believed."""
        self._step += 1  # which none of them has
        self._are_records_left = True
        if self._job is not None:
            job, self._job = self._job, None
            job.abandon()

    def close(self) -> None:
        """The knowledge base is gone."""
        with self._lock:
            self._end()
            remove_folder(self._settings.folder)

    # --- transactions ----------------------------------------------------------------------------------

    def commit(self) -> None:
        """The current state is the committed one, when all shards have written it."""
        with self._lock:
            known = self._committed
            is_base = known.base is None or known.record_bytes > max(_SMALL, known.base_bytes // 2)
            version, name = known.version + 1, ""

            def record(job: AnyJob) -> list[ShardReply]:
                nonlocal name
                name = record_name(version, is_base=is_base)
                return self._ask(job, [("record", version, name, is_base)], self._step)

            replies = self._reliably(record)
            if any(reply.kind != OK for reply in replies):
                self.abandon()  # some shards have written it and some have not
                self._fail_to_write(replies)
            sizes, rounds, deferred = zip(*(reply.answers[0] for reply in replies), strict=True)
            self._committed = CommittedState(
                version,
                name if is_base else known.base,
                () if is_base else (*known.records, name),
                sum(sizes) if is_base else known.base_bytes,
                0 if is_base else known.record_bytes + sum(sizes),
                self._step,
                dict(self._relations),
                self._places(),
                rounds[0],
                deferred[0],
                [],
            )
            self._worked = 0.0
            self._forget_files(is_new_base=is_base and known.base is not None)
            if is_base or self._are_records_left:
                remove_records(self._settings.folder, self._committed.names)
                self._are_records_left = False

    def _forget_files(self, *, is_new_base: bool) -> None:
        """A version was committed: what was read before it is in the records.  Where shards may have to repeat all that
        they have done since they were restored, they are restored anew when that is much, or not possible any more."""
        if self._job is not None and self._job.repeats:
            if not is_new_base and not self._job.is_long:
                return
            self.abandon()
        for given in Path(self._settings.folder).glob("given-*"):
            given.unlink(missing_ok=True)

    def _places(self) -> tuple[ShardCommand, ...]:
        placement = self._placement
        copies = [
            copy for copies in placement.copies.values() for copy in copies.values() if placement.is_kept(copy.name)
        ]
        spread = {name: placement.spread[name] for name in placement.primary}
        return ("hubs", placement.hubs, spread), *(("copy", copy, placement.spread[copy.name]) for copy in copies)

    def _fail_to_write(self, replies: Sequence[ShardReply]) -> None:
        for reply in replies:
            if isinstance(reply.answers, OSError):
                message = f"a shard cannot write its log: {reply.answers.strerror or reply.answers}"
                raise SparkFailure(Diagnostic("E1005", message, help="set spark.holdfast.directory to another folder"))
        self._report(replies)

    def roll_back(self) -> None:
        """An update was rolled back: only what came before it is repeated after a loss, and what it leaves behind."""
        with self._lock:
            self._remembering.clear()
            for place, entry in enumerate(self._journal):
                begin = next((n for n, c in enumerate(entry.commands) if c[0] == "remember" and c[2]), None)
                if begin is not None:
                    first = _kept(entry, [n < begin or c[0] in _LEFT for n, c in enumerate(entry.commands)])
                    rest = [_kept(e, [c[0] in _LEFT for c in e.commands]) for e in self._journal[place + 1 :]]
                    self._journal[place:] = [each for each in (first, *rest) if each.commands]
                    return

    def reset(self) -> None:
        """Only V is to be believed."""
        with self._lock:
            self.abandon()
            self._journal.clear()
            self._remembering.clear()
            self._plans, self.is_undone = PlanNumbers(), False


def release_idle(but: SparkCrew | None = None) -> None:
    """End the jobs of other knowledge bases of this process that are not at work: they keep cores."""
    for crew in list(_crews):
        if crew is not but and crew._lock.acquire(blocking=False):
            try:
                crew.release()
            finally:
                crew._lock.release()


def _are_equal(entry: JournalEntry, answers: Sequence[Sequence[Any]]) -> bool:
    """Whether shards have answered as before."""
    return all(
        _compared(command, one) == _compared(command, other)
        for now, before in zip(answers, entry.answers, strict=True)
        for command, one, other in zip(entry.commands, now, before, strict=True)
    )


def _compared(command: ShardCommand, answer: Any) -> Any:
    """What an answer says of the state.

    Not the number of founded instances: a fact that is not in I has any rank, of the last time it was there.  Its Cw
    is set when it enters, and not read before.
    """
    return answer[0] if command[0] == "apply_ranked" else answer


def _ends_an_update(command: ShardCommand) -> bool:
    """Whether a command changes neither facts nor numbers, so that it may be repeated on an image made after it."""
    return command[0] in ("clear", "clear_undo", "free", "tidy") or (command[0] == "remember" and not command[2])


def _kept(entry: JournalEntry, keeps: Sequence[bool]) -> JournalEntry:
    places = [place for place, kept in enumerate(keeps) if kept]
    answers = [[each[place] for place in places] for each in entry.answers]
    return JournalEntry(entry.step, [entry.commands[place] for place in places], answers)


def _for_task(command: ShardCommand, share: Container[int]) -> ShardCommand:
    """A command without the rows that are for the shards of other tasks."""
    if command[0] != "given":
        return command
    name, number, rows, known = command
    return name, number, {p: [e if s in share else e[:0] for s, e in enumerate(r)] for p, r in rows.items()}, known
