"""Runs the shards of one process in parallel: a thread each, and exchanges in which every shard takes part.

All shards run the same commands in the same order.  If one shard skipped an exchange, the others would wait forever, so
only the data of a command decides whether there is one, never what a shard finds in its tables.  If a shard fails, the
others stop at their next exchange or batch.
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
_LOOK = 0.05  # seconds between two checks for pending signals


class StoppedError(Exception):
    """Another shard has failed; its error is the one to report."""


class Exchange(Protocol):
    """Moves rows between shards."""

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        """Send `outgoing[i]` to shard i; returns what each shard has sent to this one.  Every shard must call it."""
        ...


class Obeying(Protocol):
    """A set of shards that runs commands, in threads or elsewhere."""

    def obey(self, commands: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
        """Run commands on every shard; returns each shard's answer to each command."""
        ...


class ThreadExchange:
    """An exchange between threads: messages are passed by reference, so the sender must not change them afterwards."""

    def __init__(self, parts: int) -> None:
        self._parts, self._changed = parts, Condition()
        self.reset()

    def reset(self) -> None:
        """Prepare for the next call, when no shard is at work."""
        self.is_stopped = False
        self._arrived = self._number = 0
        # Two, since a shard may be ready for the next exchange while another still reads the messages of this one.
        self._boxes: tuple[list[Any], list[Any]] = [()] * self._parts, [()] * self._parts

    def stop(self) -> None:
        """Stop all shards because one has failed."""
        with self._changed:
            self.is_stopped = True
            self._changed.notify_all()

    def look(self) -> None:
        """Raise if another shard has failed."""
        if self.is_stopped:
            raise StoppedError

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        """See `Exchange`."""
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
            box[shard] = None  # a received message belongs to the receiver alone
        return received


class ShardWatch:
    """The watch of one of several shards: forwards to the watch of the run, one thread at a time."""

    def __init__(self, watch: Watch, shard: int, exchange: ThreadExchange, lock: AnyLock) -> None:
        self._watch, self._shard, self._exchange, self._lock = watch, shard, exchange, lock

    def batch(self, new_facts: int) -> None:
        """Report a batch of this shard."""
        self._exchange.look()
        with self._lock:
            self._watch.batch(new_facts)

    def left(self) -> tuple[float, float]:
        """The new facts and the bytes that the limits of the run allow."""
        return self._watch.left()

    def grown(self, table: str, nbytes: int) -> None:
        """Report that a table of this shard now takes this number of bytes."""
        with self._lock:
            self._watch.grown(f"{table}, shard {self._shard}", nbytes)


class Crew(Generic[S]):
    """Runs work on all shards: the first in the caller's thread, each other in a thread of its own.

    An asynchronous exception may interrupt the first thread at any point, even before it knows of the others' work. So
    each call has a number, and the next call first stops what is left of an earlier one.
    """

    def __init__(self, shards: Sequence[S], exchange: ThreadExchange) -> None:
        self._shards, self._exchange = shards, exchange
        self._threads = ThreadPoolExecutor(len(shards) - 1, "holdfast-shard") if len(shards) > 1 else None
        self._changed = Condition()
        self._turn = self._busy = 0
        self._is_asking = False

    def ask(self, work: Callable[[S], T]) -> list[T]:
        """The result of some work on each shard; if a shard fails, raises its error once all have stopped."""
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
        """Run commands on every shard."""
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
        """Wait until no helper works on the current call, and keep others from starting."""
        with self._changed:
            self._turn += 1
            while self._busy:
                self._exchange.stop()
                self._changed.wait(_LOOK)
        self._exchange.reset()
        self._is_asking = False

    def _cause(self, error: BaseException, waiting: Sequence[Future[Any]]) -> BaseException:
        """The first error that is not a consequence of another."""
        found = [error, *(failed for each in waiting if (failed := each.exception()) is not None)]
        return next((each for each in found if not isinstance(each, StoppedError)), error)


def _result(waiting: Future[T]) -> T:
    """Wait for the result of a shard, checking for signals meanwhile."""
    while True:
        wait((waiting,), _LOOK)
        if waiting.done():
            return waiting.result()
        checkpoint()
