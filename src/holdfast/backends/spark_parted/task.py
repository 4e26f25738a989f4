"""What a task does: it holds shards, and obeys the driver until that ends the job.

Shards stay in the memory of the Python worker when their task ends.  The driver asks each task of the next job which
shards its worker has, and in which state; shards in another state than the committed one are restored from files.
"""

from __future__ import annotations

import os
import pickle
import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from holdfast.backends.parted.exchange import StoppedError
from holdfast.backends.spark_parted.holding import OK, Assignment, HeldShards, StateLabel
from holdfast.backends.spark_parted.images import image_folder
from holdfast.backends.spark_parted.links import (
    Door,
    JobKey,
    Link,
    SocketAddress,
    connected,
    own_address,
    shut,
    unpacked,
)
from holdfast.backends.spark_parted.replica import ReplicaDictionary
from holdfast.quick_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

LOOPBACK = "127.0.0.1"
COMMAND, VALUES = "command", "values"  # what a connection to the driver is for
_STOP = b""  # in place of rows: the sender has failed
_WAIT = 600  # seconds for the tasks of the other shards
_NO_STATE = 0, -1


@dataclass(frozen=True)
class TaskSettings:
    """What a task has to know."""

    driver: SocketAddress
    key: JobKey
    knowledge_base: str
    is_local: bool
    folder: str
    images: str | None = None
    """A folder on each machine for images, "" for the usual place of temporary files; None: no images."""


@dataclass(frozen=True)
class Arrival:
    """How a task introduces itself: with the shards that its worker holds."""

    rank: int
    pid: int
    address: SocketAddress
    shards: tuple[int, ...] = ()
    label: StateLabel = _NO_STATE


# --- between tasks -------------------------------------------------------------------------------------


class SocketExchange:
    """Rows go directly from task to task.

    A message has the number of the driver's command that it belongs to: what a failed command has left in a connection
    is passed over.  Each peer has a thread that sends, in order: a task that sends receives meanwhile.
    """

    def __init__(self, peers: dict[int, Link], dictionary: ReplicaDictionary) -> None:
        self._peers, self._dictionary = peers, dictionary
        self._senders = {other: ThreadPoolExecutor(1, "holdfast-send") for other in peers}
        self.turn = 0

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        """As `Exchange` says, with tasks in place of shards."""
        newest = self._dictionary.newest
        for other in self._peers:
            self._send(other, pickle.dumps((newest, outgoing[other]), 5))
        received: list[Any] = [None] * len(outgoing)
        received[shard] = outgoing[shard]
        for other, peer in self._peers.items():
            newest, received[other] = pickle.loads(self._receive(peer))
            self._dictionary.newest = max(self._dictionary.newest, newest)
        return received

    def stop(self) -> None:
        """A shard of this task has failed: the other tasks must not wait for it."""
        for other in self._peers:
            self._send(other, _STOP)

    def close(self) -> None:
        """The job ends."""
        for peer in self._peers.values():
            shut(peer)
        for sender in self._senders.values():
            sender.shutdown(wait=False, cancel_futures=True)

    def _send(self, other: int, data: bytes) -> None:
        self._senders[other].submit(_sent, self._peers[other], self.turn, data)

    def _receive(self, peer: Link) -> bytes:
        while True:
            turn, data = int.from_bytes(peer.recv_bytes(), "little"), peer.recv_bytes()
            if turn == self.turn:
                if data == _STOP:
                    raise StoppedError
                return data


def _sent(peer: Link, turn: int, data: bytes) -> None:
    with suppress(OSError):  # a peer that is gone is noticed where its rows are missing
        peer.send_bytes(turn.to_bytes(8, "little"))
        peer.send_bytes(data)


# --- a task --------------------------------------------------------------------------------------------

WorkerMemory: TypeAlias = dict[str, HeldShards]
"""By knowledge base."""
_held: WorkerMemory = {}


def serve(settings: TaskSettings, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of a task."""
    from pyspark import TaskContext

    for _ in batches:
        pass
    context = TaskContext.get()
    assert context is not None
    host = LOOPBACK if settings.is_local else own_address(settings.driver)
    hold_shards(settings, context.partitionId(), host, _held)
    yield from ()


def hold_shards(settings: TaskSettings, rank: int, host: str, held: WorkerMemory) -> None:
    """Hold shards until the job ends, reachable at an address of this machine; `held` are those of this worker."""
    for name, kept in list(held.items()):
        if not os.path.isdir(kept.folder):  # noqa: PTH112
            del held[name]  # its knowledge base was closed
    _Task(settings, rank, host, held).run()


class _Task:
    """One task of a job."""

    def __init__(self, settings: TaskSettings, rank: int, host: str, held: WorkerMemory) -> None:
        self._settings, self._rank, self._held = settings, rank, held
        self._came: queue.Queue[tuple[int, Link]] = queue.Queue()
        self._door = Door(host, settings.key, lambda peer, task: self._came.put((task, peer)))
        self._driver = connected(settings.driver, settings.key, (COMMAND, self._arrival()))
        self._open: list[SocketExchange | Link] = [self._driver]

    def _arrival(self) -> Arrival:
        held = self._held.get(self._settings.knowledge_base)
        shards, label = ((), _NO_STATE) if held is None else (held.numbers, held.label)
        return Arrival(self._rank, os.getpid(), self._door.address, shards, label)

    def run(self) -> None:
        """Obey until the driver ends the job; without a driver the shards are in no known state."""
        try:
            assigned: Assignment = pickle.loads(self._driver.recv_bytes())
            held = self._assigned(assigned)
            with suppress(EOFError, ConnectionError):
                while (message := unpacked(self._driver.recv_bytes(), held.plans)) is not None:
                    self._driver.send_bytes(held.obeyed(*message))
                return
            self._drop()
        except BaseException:
            self._drop()
            raise
        finally:
            self._door.close()
            for opened in self._open:
                opened.close()

    def _drop(self) -> None:
        self._held.pop(self._settings.knowledge_base, None)

    def _assigned(self, assigned: Assignment) -> HeldShards:
        settings = self._settings
        held = self._held.pop(settings.knowledge_base, None)
        if assigned.saved is not None:
            held = HeldShards(settings.folder, image_folder(settings))
        assert held is not None
        held.dictionary.connection = connected(settings.driver, settings.key, (VALUES, assigned.task))
        self._open.append(held.dictionary.connection)
        exchange = SocketExchange(self._peers(assigned), held.dictionary)
        self._open.append(exchange)
        held.take_up(assigned, exchange)
        self._held[settings.knowledge_base] = held
        self._driver.send_bytes(pickle.dumps(OK))
        return held

    def _peers(self, assigned: Assignment) -> dict[int, Link]:
        """A connection to each other task: to those before it this one connects, those after it connect to it."""
        number, key = assigned.task, self._settings.key
        peers = {other: connected(assigned.addresses[other], key, number) for other in range(number)}
        while len(peers) < len(assigned.shares) - 1:
            other, peer = self._came.get(timeout=_WAIT)
            peers[other] = peer
        return dict(sorted(peers.items()))
