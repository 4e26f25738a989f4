"""The shards of the spark engine in threads in place of Spark's workers: all but the job itself is as on Spark.

A worker keeps its shards between jobs, and a task may come to any worker.  A worker can be killed before it does a
command, or after it did it and before it answers.  With the exchange by shuffle a task comes to any worker in each
move, and now and then runs again, as tasks of Spark do whose output is lost.
"""

from __future__ import annotations

import math
import secrets
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Lock, Thread
from typing import Any

import pytest

from holdfast.backends.parted.shard import ShardCommand
from holdfast.backends.protocol import Engine, Watch
from holdfast.backends.spark_parted.jobs import DIRECT, SHUFFLE, JobSettings, ShardJob
from holdfast.backends.spark_parted.moves import MoveEnd, MoveSettings, MovesMemory, run_move
from holdfast.backends.spark_parted.recording import RecordedShard
from holdfast.backends.spark_parted.shuffle import ShuffleJob
from holdfast.backends.spark_parted.store import ShardOptions, SparkPartedBackend
from holdfast.backends.spark_parted.task import LOOPBACK, TaskSettings, WorkerMemory, hold_shards
from holdfast.backends.spark_parted.tls import Identity
from holdfast.program.model import Relation
from holdfast.values.dictionary import Dictionary

slowly = pytest.mark.parametrize("workers", [DIRECT, pytest.param(SHUFFLE, marks=pytest.mark.slow)], indirect=True)
"""Both exchanges, that by shuffle in `make test-slow` only: each of its tasks may have to repeat what others did."""


class Workers:
    """Of all knowledge bases of a test."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder, self.dice = folder, Random(seed)
        self.risk = 0.0  # that a worker dies at a command
        self.after: str | None = None  # a worker dies when it has done such a command and not answered
        self.exchange = DIRECT
        self.tasks = 0  # 0: one for each shard
        self.identity: Identity | None = None  # with which connections are encrypted
        self.killed = self.jobs = self.retried = 0
        self.backends = weakref.WeakSet[SparkPartedBackend]()
        self._held: dict[str, list[WorkerMemory]] = {}
        self._moved: dict[str, list[MovesMemory]] = {}
        self._lock = Lock()

    def engine(self, parts: int, hold: float = math.inf, rows: int = 50_000) -> Engine:
        """Makes backends whose shards are here."""
        tasks = self.tasks

        def make(relations: Mapping[str, Relation], dictionary: Dictionary, watch: Watch) -> SparkPartedBackend:
            folder = self.folder / secrets.token_hex(4)
            folder.mkdir()
            where = str(folder)
            settings = JobSettings(None, folder.name, parts, where, True, self.exchange, self.identity, where, tasks)  # type: ignore[arg-type]
            backend = SparkPartedBackend(settings, ShardOptions(hold, rows), relations, dictionary, watch)
            self.backends.add(backend)
            return backend

        return make

    def job(self, *arguments: Any) -> ShardJob:
        """In place of a job of Spark."""
        self.jobs += 1
        return _ThreadJob(self, *arguments)

    def run(self, settings: TaskSettings, tasks: int) -> None:
        """The tasks of a job, each in one of the workers."""
        held = self._held.setdefault(settings.knowledge_base, [])
        held += [{} for _ in range(tasks - len(held))]
        self.dice.shuffle(held)
        running = [Thread(target=_task, args=(settings, n, LOOPBACK, held[n]), daemon=True) for n in range(tasks)]
        for task in running:
            task.start()
        for task in running:
            task.join()

    def shards_of(self, knowledge_base: str) -> list[RecordedShard]:
        """Those in the memory of the workers, of shards whose rows move directly."""
        memories = self._held.get(knowledge_base, [])
        return [shard for memory in memories for held in memory.values() for shard in held._shards]

    def lose_memory(self) -> None:
        """All workers are gone, when no job runs."""
        for backend in self.backends:
            backend.crew.release()
        self._held.clear()
        for memory in (memory for memories in self._moved.values() for memory in memories):
            _forget(memory)

    def moves(self, *arguments: Any) -> ShuffleJob:
        """In place of jobs of Spark for each move."""
        self.jobs += 1
        return _ThreadMoves(self, *arguments)

    def move(self, settings: MoveSettings, number: int, task: int, rows: list[Any] | None) -> list[tuple[int, Any]]:
        """A task: in any worker, and again elsewhere if that one dies or its output is lost."""
        workers = self._moved.setdefault(settings.knowledge_base, [{} for _ in range(settings.tasks)])
        if self.dice.random() < 0.1:
            list(run_move(settings, number, task, rows, self.dice.choice(workers)))
        worker = self.dice.choice(workers)
        try:
            return list(run_move(settings, number, task, rows, worker))
        except ConnectionError:
            _forget(worker)
            if self.dice.random() < 0.5:
                raise
            self.retried += 1
            return list(run_move(settings, number, task, rows, self.dice.choice(workers)))

    def obeying(self, shard: RecordedShard, commands: Iterable[ShardCommand]) -> list[Any]:
        """In place of `RecordedShard.obey`."""
        done = list(commands)
        before, after = (self._dies(), self._dies()) if done else (False, False)
        if before:
            raise ConnectionError("this worker was killed")
        answers = _obey(shard, done)
        if after or any(name == self.after for name, *_ in done):
            self.after = None
            self.killed += 1
            raise ConnectionError("this worker was killed")
        return answers

    def _dies(self) -> bool:
        with self._lock:
            dies = self.dice.random() < self.risk
            self.killed += dies
            return dies

    def close(self) -> None:
        """No thread is left."""
        for backend in list(self.backends):
            backend.crew.close()
        for memory in (memory for memories in self._moved.values() for memory in memories):
            _forget(memory)


def _forget(memory: MovesMemory) -> None:
    """A worker is gone, and its threads."""
    for kept in memory.values():
        kept.end()
    memory.clear()


@contextmanager
def installed(folder: Path) -> Iterator[Workers]:
    """Inside a `with`, threads are in place of the Python workers of Spark; their shards send rows directly."""
    found = Workers(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.backends.spark_parted.crew.ShardJob", found.job)
        patch.setattr("holdfast.backends.spark_parted.crew.ShuffleJob", found.moves)
        patch.setattr(RecordedShard, "obey", lambda shard, commands: found.obeying(shard, commands))
        yield found
        found.close()


class _ThreadJob(ShardJob):
    def __init__(self, workers: Workers, *arguments: Any) -> None:
        self._workers = workers
        super().__init__(*arguments)

    def _run_tasks(self, settings: TaskSettings) -> None:
        self._workers.run(settings, self.tasks)


class _ThreadMoves(ShuffleJob):
    def __init__(self, workers: Workers, *arguments: Any) -> None:
        self._workers = workers
        super().__init__(*arguments)

    def _run(self, numbers: range, *, goes_on: bool) -> list[MoveEnd]:
        """As Spark does it: the first stage of a job that goes on repeats the last moves, for what they have sent."""
        sent, ends = self._stage(numbers[0] - 1, None) if goes_on else {}, list[MoveEnd]()
        for number in numbers:
            sent = self._stage(number, sent)
            ends += [each for boxes in sent.values() for _, each in boxes if isinstance(each, MoveEnd)]
        return ends

    def _stage(self, number: int, came: dict[int, list[Any]] | None) -> dict[int, list[Any]]:
        """A move of all tasks; gives what they have sent, and how they ended."""
        sent = dict[int, list[Any]]()
        for task in range(self.tasks):
            some = None if came is None else came.get(task, [])
            rows = some and [each for each in some if not isinstance(each[1], MoveEnd)]
            for each in self._workers.move(self._moves, number, task, rows):
                sent.setdefault(each[0], []).append(each)
        return sent


_obey = RecordedShard.obey  # which a fixture replaces
_task = hold_shards
