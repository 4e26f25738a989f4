"""Shards whose rows travel by Spark's own shuffle: they move on by one job at a time.

A move gives the shards of a task a message of the driver and the rows that other tasks sent to them; they work until
they need rows that have not come, values of the driver's dictionary, or the next command.  Until the next move they
wait in a thread of their Python worker.  Spark may run that move in any worker.  So everything that they receive is in
files: a worker that does not have these shards, or has them as they were some moves ago, repeats the missing moves by
itself.  What a move sends has a digest in the same files, so a repetition that goes another way is found before its
rows are used.
"""

from __future__ import annotations

import gc
import os
import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from io import BytesIO
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias, cast

from holdfast.backends.parted.exchange import StoppedError
from holdfast.backends.spark_parted.holding import OK, HeldShards
from holdfast.backends.spark_parted.links import unpacked
from holdfast.backends.spark_parted.recording import replacing
from holdfast.quick_dataclass import dataclass

ASSIGN, COMMAND, ANSWER, STOP, NOTHING = "assign", "command", "answer", "stop", "nothing"  # what the driver says
DONE, ASKING, WAITING, IDLE = "done", "asking", "waiting", "idle"  # how a move ends
_MOST_HELD = 4  # tasks whose shards are in the memory of one worker
_TASKS_OF_GARBAGE = 500  # tasks of a worker, after which it looks for garbage everywhere
_tasks_done = count(1)

DriverMessage: TypeAlias = tuple[str, bytes]
SentRows: TypeAlias = tuple[int, int, int, bytes]
"""Of rows: the command of the driver, the number of the exchange in it, the task that sent them, and the rows."""
Passed: TypeAlias = "SentRows | MoveEnd | int"
"""From task to task: rows, how a move ended, or the number of a task, which has sent all."""


@dataclass(frozen=True)
class MoveSettings:
    """What all moves of one attempt share."""

    knowledge_base: str
    tasks: int
    folder: str
    attempt: str


@dataclass(frozen=True)
class MoveEnd:
    """What the driver learns of a move."""

    number: int
    task: int
    pid: int
    kind: str
    data: bytes  # a reply, or what is asked for
    received: int  # bytes
    sent: int


class _ForgottenError(BaseException):
    """These shards are not needed any more."""


class MovedShards:
    """The shards of a task in the memory of this worker, in a thread that waits between moves.  It is their exchange
    with other tasks."""

    def __init__(self, settings: MoveSettings, number: int) -> None:
        self.attempt, self.folder, self.moves = settings.attempt, settings.folder, 0
        self.last: tuple[MoveEnd, list[tuple[int, SentRows]]] | None = None  # how its last move ended, and what it sent
        self._number, self._tasks = number, settings.tasks
        self._held = HeldShards(settings.folder)
        self._held.dictionary.connection = cast("Any", _Asking(self))
        self._inputs: SimpleQueue[tuple[DriverMessage, Sequence[SentRows]] | None] = SimpleQueue()
        self._ends: SimpleQueue[tuple[str, bytes] | BaseException] = SimpleQueue()
        self._outgoing: list[tuple[int, SentRows]] = []
        self._boxes = defaultdict[tuple[int, int], dict[int, bytes]](dict)  # by turn and exchange, then by sender
        self._turn = self._exchanges = 0
        Thread(target=self._work, name="holdfast-moved", daemon=True).start()

    def end(self) -> None:
        """They are not needed any more."""
        self._inputs.put(None)

    def move(self, message: DriverMessage, rows: Sequence[SentRows]) -> bytes:
        """Go on until something is missing; sets `last`, and gives a digest of what it sends."""
        self._inputs.put((message, rows))
        end = self._ends.get()
        if isinstance(end, BaseException):
            raise end
        sent, self._outgoing = self._outgoing, []
        received = sum(len(data) for *_, data in rows)
        amount = sum(len(data) for _, (*_, data) in sent)
        self.last = MoveEnd(self.moves, self._number, os.getpid(), *end, received, amount), sent
        self.moves += 1
        return _digest(end[0], sent)

    # --- in its thread ---------------------------------------------------------------------------------

    def _work(self) -> None:
        end: tuple[str, bytes] | None = None
        try:
            while True:
                kind, data = self.pause(end)
                end = (IDLE, b"") if kind in (NOTHING, STOP, ANSWER) else (DONE, self._done(kind, data))
        except _ForgottenError:
            return
        except BaseException as error:
            self._ends.put(error)

    def _done(self, kind: str, data: bytes) -> bytes:
        if kind == ASSIGN:
            self._held.take_up(pickle.loads(data), self)
            return pickle.dumps(OK)
        return self._held.obeyed(*unpacked(data, self._held.plans))

    def pause(self, end: tuple[str, bytes] | None) -> DriverMessage:
        """End a move; gives what the driver says in the next one."""
        if end is not None:
            self._ends.put(end)
        came = self._inputs.get()
        if came is None:
            raise _ForgottenError
        message, rows = came
        for turn, exchange, sender, data in rows:
            self._boxes[turn, exchange][sender] = data
        return message

    # --- an exchange -----------------------------------------------------------------------------------

    @property
    def turn(self) -> int:
        """The command of the driver that is being done."""
        return self._turn

    @turn.setter
    def turn(self, turn: int) -> None:
        self._turn, self._exchanges = turn, 0
        for place in [place for place in self._boxes if place[0] < turn]:
            del self._boxes[place]  # what a failed command has left

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        """As `Exchange` says, with tasks in place of shards."""
        dictionary, place = self._held.dictionary, (self._turn, self._exchanges)
        self._exchanges += 1
        for other, rows in enumerate(outgoing):
            if other != shard:
                self._outgoing.append((other, (*place, shard, _packed((dictionary.newest, rows)))))
        while len(self._boxes[place]) < self._tasks - 1:
            if self.pause((WAITING, b""))[0] == STOP:
                raise StoppedError
        received: list[Any] = [None] * self._tasks
        received[shard] = outgoing[shard]
        for other, data in self._boxes.pop(place).items():
            newest, received[other] = pickle.loads(data)
            dictionary.newest = max(dictionary.newest, newest)
        return received

    def stop(self) -> None:
        """A shard has failed; the driver stops the other tasks."""


class _Asking:
    """In place of a connection to the driver's dictionary: a question ends a move, and the next one has the answer."""

    def __init__(self, shards: MovedShards) -> None:
        self._shards, self._question = shards, b""

    def send_bytes(self, question: bytes) -> None:
        """Ask."""
        self._question = question

    def recv_bytes(self) -> bytes:
        """The answer."""
        kind, data = self._shards.pause((ASKING, self._question))
        while kind == NOTHING:
            kind, data = self._shards.pause((ASKING, self._question))
        if kind == STOP:
            raise StoppedError
        return data


def _packed(thing: Any) -> bytes:
    """The same bytes for equal things, whichever of their parts are one object."""
    out = BytesIO()
    pickler = pickle.Pickler(out, 5)
    pickler.fast = True
    pickler.dump(thing)
    return out.getvalue()


# --- a task --------------------------------------------------------------------------------------------

MovesMemory: TypeAlias = dict[tuple[str, int], MovedShards]
"""By knowledge base and task, those that were used last at the end."""
_moved: MovesMemory = {}


def run_move(
    settings: MoveSettings, number: int, task: int, rows: Iterable[tuple[int, SentRows]] | None, moved: MovesMemory
) -> Iterator[tuple[int, Any]]:
    """The move of one task, in any worker: gives rows for other tasks, and how it ended.  Without `rows`, it was done
    before, and is done again where that is not remembered."""
    place = settings.knowledge_base, task
    kept = moved.pop(place, None)
    _drop_unneeded(moved)
    if kept is not None and (kept.attempt != settings.attempt or kept.moves > number + 1):
        kept.end()
        kept = None
        gc.unfreeze()
    if kept is None:
        kept = MovedShards(settings, task)
    try:
        for missed in range(kept.moves, number + (rows is None)):
            _repeat(settings, kept, missed, task)
        if rows is not None and kept.moves == number:
            came = [sent for _, sent in rows]
            digest = kept.move(said(settings, number, task), came)
            _write(_moves_path(settings, number, task), pickle.dumps((came, digest), 5))
    except BaseException:
        kept.end()
        raise
    moved[place] = kept
    assert kept.last is not None
    end, sent = kept.last
    yield from sent
    yield task, end


def run_task(
    settings: MoveSettings, number: int, is_first: bool, task: int, rows: Iterable[tuple[int, Passed]]
) -> Iterator[tuple[int, Passed]]:
    """A move in a stage of Spark.  Unless that is the first of a job, each task has sent rows, its mark at the end, and
    the task itself how its earlier moves ended; the marks show that all has come."""
    came = [each for _, each in rows]  # always all of them, or Spark would not use the worker again
    _spare_collections(next(_tasks_done))
    sent = [(task, each) for each in came if isinstance(each, tuple)]
    if not is_first and {each for each in came if isinstance(each, int)} != {*range(settings.tasks)}:
        raise RuntimeError(f"rows for move {number} of task {task} are missing")  # PySpark reads to where they end
    yield from run_move(settings, number, task, sent, _moved)
    yield from ((task, each) for each in came if isinstance(each, MoveEnd))
    yield from _marks(settings, task)


def repeat_task(settings: MoveSettings, number: int, task: int, nothing: Iterable[Any]) -> Iterator[tuple[int, Passed]]:
    """The last moves of the job before, for what they have sent."""
    list(nothing)
    _spare_collections(next(_tasks_done))
    yield from run_move(settings, number, task, None, _moved)
    yield from _marks(settings, task)


def _marks(settings: MoveSettings, task: int) -> Iterator[tuple[int, int]]:
    return ((other, task) for other in range(settings.tasks))


def _spare_collections(number: int) -> None:
    """PySpark has just collected all garbage, as after each task: the next time, it need not pass over what is alive
    now.  Some of this will become garbage; what is for many tasks, now and then."""
    if number % _TASKS_OF_GARBAGE:
        gc.freeze()
    else:
        gc.unfreeze()


def _drop_unneeded(moved: MovesMemory) -> None:
    closed = [place for place, kept in moved.items() if not Path(kept.folder).is_dir()]
    for place in closed or list(moved)[: max(0, len(moved) + 1 - _MOST_HELD)]:
        moved.pop(place).end()
        gc.unfreeze()


def _repeat(settings: MoveSettings, kept: MovedShards, number: int, task: int) -> None:
    came, digest = pickle.loads(_moves_path(settings, number, task).read_bytes())
    if kept.move(said(settings, number, task), came) != digest:
        raise RuntimeError(f"task {task} has found something else when it repeated move {number}")


def _digest(kind: str, sent: Iterable[tuple[int, SentRows]]) -> bytes:
    found = blake2b(kind.encode(), digest_size=16)
    for other, (turn, exchange, _, data) in sent:
        found.update(repr((other, turn, exchange, len(data))).encode())
        found.update(data)
    return found.digest()


# --- files ---------------------------------------------------------------------------------------------


def say(settings: MoveSettings, number: int, messages: Sequence[DriverMessage]) -> None:
    """Write what the driver says to the tasks in a move: one file if it is the same for all."""
    is_one = all(message == messages[0] for message in messages)
    for task, message in enumerate(messages[:1] if is_one else messages):
        _write(_said_path(settings, number, "all" if is_one else str(task)), pickle.dumps(message))


def said(settings: MoveSettings, number: int, task: int) -> DriverMessage:
    """What the driver says to a task in a move."""
    own = _said_path(settings, number, str(task))
    message: DriverMessage = pickle.loads((own if own.exists() else _said_path(settings, number, "all")).read_bytes())
    return message


def remove_moves(folder: str) -> None:
    """Remove the files of attempts that have ended."""
    for kind in ("said-*", "moved-*"):
        for path in Path(folder).glob(kind):
            path.unlink(missing_ok=True)


def _said_path(settings: MoveSettings, number: int, whom: str) -> Path:
    return Path(settings.folder) / f"said-{settings.attempt}-{number}-{whom}"


def _moves_path(settings: MoveSettings, number: int, task: int) -> Path:
    return Path(settings.folder) / f"moved-{settings.attempt}-{number}-{task}"


def _write(path: Path, data: bytes) -> None:
    with replacing(path) as written:
        written.write_bytes(data)
