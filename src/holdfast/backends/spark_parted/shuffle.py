"""Shards without connections: each exchange is a job of Spark, and rows travel by Spark's shuffle.

A job reads what the job before it has shuffled, runs one move of each task, and shuffles what their shards send; one
more partition of the shuffle is the driver's, and only that is collected.  Nothing keeps cores between commands.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, cast

from holdfast.backends.spark_parted.holding import OK, Assignment, ShardReply, Shares
from holdfast.backends.spark_parted.jobs import LOOK, JobSettings, LostError, by_shard
from holdfast.backends.spark_parted.moves import (
    ANSWER,
    ASKING,
    ASSIGN,
    COMMAND,
    DONE,
    IDLE,
    NOTHING,
    STOP,
    DriverMessage,
    MoveEnd,
    MoveSettings,
    remove_moves,
    run_task,
    say,
)
from holdfast.backends.spark_parted.replica import answered
from holdfast.backends.spark_parted.task import Arrival
from holdfast.spark_session import spark_cause
from holdfast.values.dictionary import Dictionary

_MOST_MOVES = 2_000  # that a worker may have to repeat
_MOST_BYTES = 1 << 28


class ShuffleJob:
    """The moves of the shards since they were restored: an attempt.  It has the interface of `ShardJob`."""

    keeps_cores = False
    repeats = True

    def __init__(self, settings: JobSettings, dictionary: Dictionary, look: Callable[[], None]) -> None:
        self._settings, self._dictionary, self._look_around = settings, dictionary, look
        self._tag = f"holdfast-{secrets.token_hex(8)}"
        self.tasks = settings.tasks()
        self.shares: Shares = ()
        """The shards of each task."""
        self._moves = MoveSettings(settings.knowledge_base, self.tasks, settings.folder, secrets.token_hex(4))
        self.moves = self.nbytes = 0
        self._rows: Any = None  # what the last move has shuffled
        self._nothing: Any = None  # what comes to the first move of a command
        self.pids: list[int] = []  # of the workers that ran the last move, by task
        self._thread = ThreadPoolExecutor(1, "holdfast-job")
        remove_moves(settings.folder)

    @property
    def is_long(self) -> bool:
        """Whether it is time to restore the shards: a worker that has to repeat all moves would be busy for long."""
        return self.moves > _MOST_MOVES or self.nbytes > _MOST_BYTES

    def arrivals(self) -> list[Arrival]:
        """As of tasks that hold nothing: each shard is restored in its first move."""
        return [Arrival(rank, 0, ("", 0)) for rank in range(self.tasks)]

    def assign(self, assignments: Sequence[Assignment]) -> None:
        """Restore the shards."""
        self.shares = assignments[0].shares
        self._finished([(ASSIGN, pickle.dumps(each)) for each in assignments], exchanges=False)

    def ask(self, messages: Sequence[bytes], *, exchanges: bool) -> list[ShardReply]:
        """Send each task its message; what each shard replies.  A job that moves no rows is one stage."""
        return by_shard(self.shares, self._finished([(COMMAND, message) for message in messages], exchanges=exchanges))

    def _finished(self, messages: Sequence[DriverMessage], *, exchanges: bool) -> list[Any]:
        """What each task replies when it has done its part, after as many moves as that takes."""
        replies: dict[int, Any] = {}
        self._rows = None
        while len(replies) < self.tasks:
            ends = self._move(messages, exchanges=exchanges)
            replies |= {end.task: pickle.loads(end.data) for end in ends if end.kind == DONE}
            if not any(end.sent for end in ends) and all(end.kind not in (DONE, ASKING) for end in ends):
                raise LostError("the shards wait for each other")
            is_stopped = any(reply != OK and any(kind != OK for kind, *_ in reply) for reply in replies.values())
            messages = [self._next_message(end, is_stopped=is_stopped) for end in ends]
        return [replies[task] for task in range(self.tasks)]

    def _next_message(self, end: MoveEnd, *, is_stopped: bool) -> DriverMessage:
        if end.kind in (DONE, IDLE):
            return NOTHING, b""
        if is_stopped:
            return STOP, b""
        if end.kind == ASKING:
            return ANSWER, answered(self._dictionary, end.data)
        return NOTHING, b""

    # --- jobs ------------------------------------------------------------------------------------------

    def _move(self, messages: Sequence[DriverMessage], *, exchanges: bool) -> list[MoveEnd]:
        """One job; gives how the move of each task has ended."""
        say(self._moves, self.moves, messages)
        running = self._thread.submit(self._run, self.moves, exchanges=exchanges)
        while not running.done():
            wait((running,), LOOK)
            self._look_around()
        try:
            ends = sorted(running.result(), key=lambda end: end.task)
        except Exception as error:
            raise LostError(spark_cause(error)) from error
        if len(ends) != self.tasks:
            raise LostError("a task was lost")
        self.moves += 1
        self.nbytes += sum(end.received for end in ends)
        self.pids = [end.pid for end in ends]
        return ends

    def _run(self, number: int, *, exchanges: bool) -> list[MoveEnd]:
        """Runs a move of all tasks; in a thread, so that signals are heeded."""
        settings, tasks = self._moves, self.tasks
        context = self._settings.session.sparkContext
        context.addJobTag(self._tag)
        if self._nothing is None:
            self._nothing = context.parallelize([], tasks)
        rows = self._nothing if self._rows is None else self._rows
        moved = rows.mapPartitionsWithIndex(lambda task, came: run_task(settings, number, task, came))
        if not exchanges:
            return _only_values(moved.collect())
        self._rows = moved.partitionBy(tasks + 1, _itself)
        return cast("list[MoveEnd]", context.runJob(self._rows, _only_values, [tasks]))

    # --- the end ---------------------------------------------------------------------------------------

    def end(self, message: bytes) -> None:
        """No more moves."""
        del message
        self._thread.shutdown(wait=False)

    def abandon(self) -> None:
        """The state of the shards is not known: have Spark stop the tasks."""
        with suppress(Exception):  # whatever Spark thinks of it, what they do is not read
            self._settings.session.sparkContext.cancelJobsWithTag(self._tag)
        self._thread.shutdown(wait=False, cancel_futures=True)


def _itself(part: int) -> int:
    return part


def _only_values(rows: Any) -> list[Any]:
    return [value for _, value in rows]
