"""The shards of one task, in the memory of its Python worker: one or several, of which one works at a time.

A task has one core, so its shards take turns: each works until it needs rows of the others, or until its commands are
done.  Rows for shards of the same task are passed by reference.  When all of them have said what they send, the last
one exchanges it with the other tasks, in one message for each.  So a task goes the same way each time, and its shards
can share what is not made for several threads: a replica of the driver's dictionary, and the plans.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import chain
from threading import Semaphore, Thread
from typing import Any, Protocol, TypeAlias

from holdfast.backends.parted.exchange import Exchange, StoppedError
from holdfast.backends.parted.shard import EXCHANGING, ShardCommand
from holdfast.backends.spark_parted.links import KnownThing
from holdfast.backends.spark_parted.recording import RecordedShard, RecordedState
from holdfast.backends.spark_parted.replica import ReplicaDictionary
from holdfast.backends.spark_parted.usage import OverLimitError, TaskLimits, TaskWatch, Usage
from holdfast.errors import HoldfastError
from holdfast.quick_dataclass import dataclass

OK, FAILED, STOPPED = "ok", "failed", "stopped"
StateLabel: TypeAlias = tuple[int, int]
"""A committed version, and the number of the last command after it."""
Shares: TypeAlias = tuple[tuple[int, ...], ...]
"""The shards of each task."""


@dataclass(frozen=True)
class Assignment:
    """The number of a task, the shards of all, and where the tasks are; `saved` if shards have to be restored."""

    task: int
    shares: Shares
    addresses: Sequence[tuple[str, int]]
    saved: RecordedState | None
    label: StateLabel


@dataclass(frozen=True)
class ShardReply:
    """What a shard answers to a message."""

    kind: str
    answers: Any  # or the error
    usage: Usage


def shares_of(parts: int, tasks: int) -> Shares:
    """Neighbouring shards for each task, as evenly as possible."""
    bounds = [parts * task // tasks for task in range(tasks + 1)]
    return tuple(tuple(range(bounds[task], bounds[task + 1])) for task in range(tasks))


class TurnExchange(Exchange, Protocol):
    """An exchange that knows to which command of the driver its rows belong."""

    turn: int

    def stop(self) -> None:
        """A shard here has failed: the others must not wait for it."""
        ...


# --- taking turns --------------------------------------------------------------------------------------


class SharedExchange:
    """The exchange of the shards of one task, and the order in which they work."""

    def __init__(self, task: int, shares: Shares, outer: TurnExchange) -> None:
        self._task, self._shares, self._outer = task, shares, outer
        self._own = shares[task]
        self._turns = [Semaphore(0) for _ in self._own]
        self._parts = sum(map(len, shares))
        self.begin(0)

    def begin(self, turn: int) -> None:
        """A command of the driver begins."""
        self._outer.turn, self.is_stopped = turn, False
        self._is_busy = [True] * len(self._own)
        self._sent: list[Sequence[Any]] = [()] * len(self._own)
        self._came: list[list[Any]] = []

    def stop(self) -> None:
        """A shard of this task has failed: no other must wait for it."""
        if not self.is_stopped:
            self.is_stopped = True
            self._outer.stop()

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        """As `Exchange` says."""
        self.look()
        place = self._own.index(shard)
        self._sent[place] = outgoing
        if place == len(self._own) - 1:  # the others wait, and have read what came the last time
            self._came = self._exchanged()
        self._let_others(place)
        self.look()
        return self._came[place]

    def look(self) -> None:
        """Raise if another shard of this task has failed."""
        if self.is_stopped:
            raise StoppedError

    def _exchanged(self) -> list[list[Any]]:
        """What has come for each shard of this task, by sender."""
        outgoing = [[[sent[to] for to in share] for sent in self._sent] for share in self._shares]
        incoming = self._outer.all_to_all(self._task, outgoing)
        came = [[None] * self._parts for _ in self._own]
        for share, boxes in zip(self._shares, incoming, strict=True):
            for sender, rows in zip(share, boxes, strict=True):
                for place, each in enumerate(rows):
                    came[place][sender] = each
        return came

    def run(self, work: Callable[[int], Any]) -> None:
        """Do some work of each shard, in turns; raises what the work of one raises, when none is at work any more."""
        errors = list[BaseException]()
        threads = [Thread(target=self._run_one, args=(work, place, errors), daemon=True) for place in self._places()]
        for thread in threads:
            thread.start()
        self._turns[0].release()
        self._run_one(work, 0, errors)
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _places(self) -> range:
        return range(1, len(self._own))

    def _run_one(self, work: Callable[[int], Any], place: int, errors: list[BaseException]) -> None:
        self._turns[place].acquire()
        try:
            work(place)
        except BaseException as error:
            errors.append(error)
            self.stop()
        finally:
            self._is_busy[place] = False
            following = self._next_after(place)
            if following is not None:
                self._turns[following].release()

    def _let_others(self, place: int) -> None:
        following = self._next_after(place)
        if following is not None:
            self._turns[following].release()
            self._turns[place].acquire()

    def _next_after(self, place: int) -> int | None:
        """Whose turn it is after a shard's; None if no other is at work."""
        others = chain(range(place + 1, len(self._own)), range(place))
        return next((other for other in others if self._is_busy[other]), None)


# --- shards --------------------------------------------------------------------------------------------


class HeldShards:
    """The shards of a task, with the dictionary that they share and the plans that they know."""

    def __init__(self, folder: str, images: str | None = None) -> None:
        self.folder, self._images = folder, images
        self.plans: dict[int, KnownThing] = {}
        self.numbers: tuple[int, ...] = ()
        self._shards: list[RecordedShard] = []
        self._limits, self._watches = TaskLimits(), list[TaskWatch]()
        self.dictionary = ReplicaDictionary(self._limits)

    @property
    def label(self) -> StateLabel:
        """Their state."""
        labels = {(shard.version, shard.step) for shard in self._shards}
        return labels.pop() if len(labels) == 1 else (0, -1)

    def take_up(self, assigned: Assignment, exchange: TurnExchange) -> None:
        """Be the shards that the driver wants, restored from files if it says so."""
        self._exchange = SharedExchange(assigned.task, assigned.shares, exchange)
        if assigned.saved is not None:
            self._restore(assigned, assigned.saved)
        assert self.numbers == assigned.shares[assigned.task]
        for shard in self._shards:
            shard.version, shard.step = assigned.label
            shard.join(self._exchange)

    def _restore(self, assigned: Assignment, saved: RecordedState) -> None:
        self.numbers, parts = assigned.shares[assigned.task], sum(map(len, assigned.shares))
        self._watches = [TaskWatch(self._limits) for _ in self.numbers]
        self._shards = [
            RecordedShard(number, parts, self._exchange, self.dictionary, watch)
            for number, watch in zip(self.numbers, self._watches, strict=True)
        ]
        for shard in self._shards:
            shard.folder, shard.images = self.folder, self._images
            shard.restore_recorded(saved)

    def obeyed(
        self, turn: int, step: int, newest: int, most: tuple[float, float], commands: Sequence[ShardCommand]
    ) -> bytes:
        """Do some commands; gives the answers for the driver, of each shard."""
        self._exchange.begin(turn)
        self._limits.begin(most)
        self.dictionary.newest = max(self.dictionary.newest, newest)
        replies: list[Any] = [None] * len(self._shards)

        def work(place: int) -> None:
            replies[place] = self._reply(place, step, commands)

        if any(command[0] in EXCHANGING for command in commands):
            self._exchange.run(work)
        else:
            for place in range(len(self._shards)):
                work(place)
        if all(kind == OK for kind, *_ in replies):
            self._forget_plans(commands)
        return pickle.dumps(replies, 5)

    def _reply(self, place: int, step: int, commands: Sequence[ShardCommand]) -> tuple[str, Any, Usage]:
        shard, watch, exchange = self._shards[place], self._watches[place], self._exchange
        try:
            exchange.look()
            answers = shard.obey(commands)
        except (EOFError, ConnectionError):  # another task is gone, and the driver will see that
            raise
        except StoppedError:
            exchange.stop()
            return STOPPED, None, watch.usage()
        except Exception as error:
            exchange.stop()
            return FAILED, _portable(error), watch.usage()
        shard.step = step
        return OK, answers, watch.usage()

    def _forget_plans(self, commands: Sequence[ShardCommand]) -> None:
        """Some commands were done; what they forget is not referred to again."""
        dropped = {id(plan) for name, *arguments in commands if name == "forget_plans" for plan in arguments[0]}
        if dropped:
            self.plans = {number: plan for number, plan in self.plans.items() if id(plan) not in dropped}


def _portable(error: Exception) -> Exception:
    """An error that another process can read."""
    if isinstance(error, HoldfastError | OverLimitError | MemoryError | OSError):
        return error
    import traceback

    return RuntimeError("".join(traceback.format_exception(error)))
