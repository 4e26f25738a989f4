"""Shards without connections: rows travel by Spark's shuffle, and nothing keeps cores between commands.

A stage of a job is a move of each task: it reads what the stage before has shuffled, and shuffles what the shards send.
A command begins with a job that has a move for each exchange that is expected, and one more.  Only how the moves ended
is collected.  While that is not the end, a job follows whose first stage shuffles what the last moves have sent, which
the workers still have or find out again, and whose next stages are the next moves.  So a job knows nothing of the ones
before it, however many exchanges a command takes.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
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
    repeat_task,
    run_task,
    say,
)
from holdfast.backends.spark_parted.replica import answered
from holdfast.backends.spark_parted.task import Arrival
from holdfast.spark_session import spark_cause
from holdfast.values.dictionary import Dictionary

_MOST_MOVES = 2_000  # that a worker may have to repeat
_MOST_BYTES = 1 << 28
_MOST_EXCHANGES = 8  # in a job: Spark visits its stages recursively


class ShuffleJob:
    """The moves of the shards since they were restored: an attempt.  It has the interface of `ShardJob`."""

    keeps_cores = False
    repeats = True
    requests = 0
    """The jobs so far."""

    def __init__(self, settings: JobSettings, dictionary: Dictionary, look: Callable[[], None]) -> None:
        self._settings, self._dictionary, self._look_around = settings, dictionary, look
        self._tag = f"holdfast-{secrets.token_hex(8)}"
        self.tasks = settings.tasks()
        self.shares: Shares = ()
        """The shards of each task."""
        self._moves = MoveSettings(settings.knowledge_base, self.tasks, settings.folder, secrets.token_hex(4))
        self.moves = self.nbytes = 0
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
        self._finished([(ASSIGN, pickle.dumps(each)) for each in assignments], exchanges=0)

    def ask(self, messages: Sequence[bytes], *, exchanges: int) -> list[ShardReply]:
        """Send each task its message, for which rows may be exchanged some times; what each shard replies."""
        return by_shard(self.shares, self._finished([(COMMAND, message) for message in messages], exchanges=exchanges))

    def _finished(self, messages: Sequence[DriverMessage], *, exchanges: int) -> list[Any]:
        """What each task replies when it has done its part, after as many jobs as that takes."""
        replies: dict[int, Any] = {}
        moves_rows = exchanges > 0 and self.tasks > 1
        expected, goes_on = exchanges if moves_rows else 0, False
        while len(replies) < self.tasks:
            moves = min(expected, _MOST_EXCHANGES)
            expected -= moves
            moves = max(1, moves if goes_on else moves + 1)
            ends = self._moved_on(messages, moves, goes_on=goes_on)
            replies |= {end.task: pickle.loads(end.data) for end in ends if end.kind == DONE}
            if not any(end.sent for end in ends) and all(end.kind not in (DONE, ASKING) for end in ends):
                raise LostError("the shards wait for each other")
            is_stopped = any(reply != OK and any(kind != OK for kind, *_ in reply) for reply in replies.values())
            messages = [self._next_message(end, is_stopped=is_stopped) for end in ends[-self.tasks :]]
            goes_on = moves_rows
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

    def _moved_on(self, messages: Sequence[DriverMessage], moves: int, *, goes_on: bool) -> list[MoveEnd]:
        """One job, of some moves, which begin with what the last ones have sent if it `goes_on`; gives how they have
        ended, in their order, and in that of the tasks."""
        first = self.moves
        for number in range(first, first + moves):
            say(self._moves, number, messages if number == first else [(NOTHING, b"")] * self.tasks)
        running = self._thread.submit(self._run, range(first, first + moves), goes_on=goes_on)
        while not running.done():
            wait((running,), LOOK)
            self._look_around()
        try:
            ends = [end for end in running.result() if end.number >= first]
        except Exception as error:
            raise LostError(spark_cause(error)) from error
        if len(ends) != moves * self.tasks:
            raise LostError("a task was lost")
        ends.sort(key=lambda end: (end.number, end.task))
        self.requests += 1
        self.moves += moves
        self.nbytes += sum(end.received for end in ends)
        self.pids = [end.pid for end in ends[-self.tasks :]]
        return ends

    def _run(self, numbers: range, *, goes_on: bool) -> list[MoveEnd]:
        """Runs these moves of all tasks; in a thread, so that signals are heeded."""
        context, settings = self._settings.session.sparkContext, self._moves
        context.addJobTag(self._tag)
        if self._nothing is None:
            self._nothing = context.parallelize([], self.tasks)
        came = self._nothing
        if goes_on:
            came = came.mapPartitionsWithIndex(partial(repeat_task, settings, numbers[0] - 1))
            came = came.partitionBy(self.tasks, _itself)
        for number in numbers:
            is_first = number == numbers[0] and not goes_on
            moved = came.mapPartitionsWithIndex(partial(run_task, settings, number, is_first))
            came = moved if number == numbers[-1] else moved.partitionBy(self.tasks, _itself)
        return cast("list[MoveEnd]", context.runJob(came, _ends))

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


def _ends(rows: Any) -> list[MoveEnd]:
    return [each for _, each in rows if isinstance(each, MoveEnd)]
