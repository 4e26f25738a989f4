"""How shards of one process work side by side: a thread each, and exchanges in which every shard takes part.

All shards do the same commands in the same order.  An exchange that one shard left out would keep the others waiting,
so only the data of a command decides whether there is one, never what a shard finds in its tables.  If a shard fails,
the others stop at their next exchange or batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from contextvars import copy_context
from threading import Condition, get_ident
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from holdfast.backends.protocol import Watch
from holdfast.interrupts import checkpoint, helping

AnyLock: TypeAlias = AbstractContextManager[Any]
S = TypeVar("S")
T = TypeVar("T")
_LOOK = 0.05  # seconds between two looks at signals that wait


class StoppedError(Exception):
    """Another shard has failed, and its error is the one that counts."""


class Exchange(Protocol):
    """Moves rows between shards."""

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        """Send `outgoing[i]` to shard i; gives what each shard has sent to this one.  Every shard must call it."""
        ...


class Obeying(Protocol):
    """Shards, wherever they are."""

    def obey(self, commands: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
        """Have every shard do some commands; what each shard answers to each."""
        ...


class ThreadExchange:
    """An exchange between threads: messages change hands as they are, so the sender must not change them."""

    def __init__(self, parts: int) -> None:
        self._parts, self._changed = parts, Condition()
        self.reset()

    def reset(self) -> None:
        """No shard is at work."""
        self.is_stopped = False
        self._arrived = self._number = 0
        # Two, since a shard may be ready for the next exchange while another still reads what came in this one.
        self._boxes: tuple[list[Any], list[Any]] = [()] * self._parts, [()] * self._parts

    def stop(self) -> None:
        """A shard has failed."""
        with self._changed:
            self.is_stopped = True
            self._changed.notify_all()

    def look(self) -> None:
        """Raise if another shard has failed."""
        if self.is_stopped:
            raise StoppedError

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        """As `Exchange` says."""
        with self._changed:
            self.look()
            number, boxes = self._number, self._boxes[self._number % 2]
            boxes[shard] = list(outgoing)
            self._arrived += 1
            if self._arrived == self._parts:
                self._arrived, self._number = 0, number + 1
                self._changed.notify_all()
            while self._number == number:
                self._changed.wait(_LOOK)
                self.look()
                checkpoint()
        received = [box[shard] for box in boxes]
        for box in boxes:
            box[shard] = None  # what was received is the receiver's alone
        return received


class ShardWatch:
    """What one of several shards reports to: the watch of the run, one thread at a time."""

    def __init__(self, watch: Watch, shard: int, exchange: ThreadExchange, lock: AnyLock) -> None:
        self._watch, self._shard, self._exchange, self._lock = watch, shard, exchange, lock

    def batch(self, new_facts: int) -> None:
        """A batch was processed here."""
        self._exchange.look()
        with self._lock:
            self._watch.batch(new_facts)

    def grown(self, table: str, nbytes: int) -> None:
        """A table of this shard takes so many bytes now."""
        with self._lock:
            self._watch.grown(f"{table}, shard {self._shard}", nbytes)


class Crew(Generic[S]):
    """The shards at work: the first in the thread that asks, each other in a thread of its own.

    An exception from elsewhere may interrupt the first thread at any point, also before it knows of the others' work.
    So each call has a number, and the next call first stops what is left of an earlier one.
    """

    def __init__(self, shards: Sequence[S], exchange: ThreadExchange) -> None:
        self._shards, self._exchange = shards, exchange
        self._threads = ThreadPoolExecutor(len(shards) - 1, "holdfast-shard") if len(shards) > 1 else None
        self._changed = Condition()
        self._turn = self._busy = 0
        self._is_asking = False

    def ask(self, work: Callable[[S], T]) -> list[T]:
        """What each shard makes of some work; if one fails, its error, when all have stopped."""
        if self._threads is None:
            return [work(self._shards[0])]
        if self._is_asking:
            self._stop()
        self._is_asking, waiting = True, list[Future[T]]()
        try:
            turn, caller = self._turn, get_ident()
            for shard in self._shards[1:]:
                waiting.append(self._threads.submit(copy_context().run, self._help, turn, caller, work, shard))
            results = [self._stopping(work, self._shards[0]), *map(_result, waiting)]
        except BaseException as error:
            failed = error
        else:
            self._is_asking = False
            return results
        self._stop()
        raise self._cause(failed, waiting)

    def obey(self, commands: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
        """Have every shard do some commands."""
        return self.ask(lambda shard: shard.obey(commands))  # type: ignore[attr-defined]

    def _help(self, turn: int, caller: int, work: Callable[[S], T], shard: S) -> T:
        with self._changed:
            if turn != self._turn:
                raise StoppedError
            self._busy += 1
        try:
            with helping(caller):
                return self._stopping(work, shard)
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _stopping(self, work: Callable[[S], T], shard: S) -> T:
        try:
            return work(shard)
        except BaseException:
            self._exchange.stop()
            raise

    def _stop(self) -> None:
        """No helper works on the current call, or will."""
        with self._changed:
            self._turn += 1
            while self._busy:
                self._exchange.stop()
                self._changed.wait(_LOOK)
        self._exchange.reset()
        self._is_asking = False

    def _cause(self, error: BaseException, waiting: Sequence[Future[Any]]) -> BaseException:
        """The first error that another one did not cause."""
        found = [error, *(failed for each in waiting if (failed := each.exception()) is not None)]
        return next((each for each in found if not isinstance(each, StoppedError)), error)


def _result(waiting: Future[T]) -> T:
    """What a shard gives; signals are heeded meanwhile."""
    while True:
        wait((waiting,), _LOOK)
        if waiting.done():
            return waiting.result()
        checkpoint()
