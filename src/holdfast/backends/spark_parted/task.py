"""What a task of a barrier stage does: it holds a shard, and obeys the driver until that ends the job.

A shard stays in the memory of the Python worker when its task ends.  The driver asks each task of the next job which
shards its worker has, and in which state; a shard in another state than the committed one is restored from files.
"""

from __future__ import annotations

import os
import pickle
import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from holdfast.backends.parted.exchange import Exchange, StoppedError
from holdfast.backends.parted.partition import AnyParted
from holdfast.backends.parted.shard import ShardCommand
from holdfast.backends.spark_parted.images import image_folder
from holdfast.backends.spark_parted.links import Door, JobKey, Link, SocketAddress, connected, shut, unpacked
from holdfast.backends.spark_parted.recording import RecordedShard, RecordedState
from holdfast.backends.spark_parted.replica import ReplicaDictionary
from holdfast.errors import HoldfastError
from holdfast.quick_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

LOOPBACK = "127.0.0.1"
OK, FAILED, STOPPED = "ok", "failed", "stopped"
COMMAND, VALUES = "command", "values"  # what a connection to the driver is for
_STOP = b""  # in place of rows: the sender has failed
_WAIT = 600  # seconds for the tasks of the other shards
StateLabel: TypeAlias = tuple[int, int]
"""A committed version, and the number of the last command after it."""


@dataclass(frozen=True)
class TaskSettings:
    """What a task has to know."""

    driver: SocketAddress
    key: JobKey
    knowledge_base: str
    parts: int
    is_local: bool
    folder: str
    images: str | None = None
    """A folder on each machine for images, "" for the usual place of temporary files; None: no images."""


@dataclass(frozen=True)
class Arrival:
    """How a task introduces itself."""

    rank: int
    pid: int
    address: SocketAddress
    shards: dict[int, StateLabel]  # that its worker holds


@dataclass(frozen=True)
class Assignment:
    """The shard of a task, and where the others are; `saved` if it has to be restored."""

    shard: int
    addresses: tuple[SocketAddress, ...]
    saved: RecordedState | None
    label: StateLabel


@dataclass(frozen=True)
class Usage:
    """What shards report with each answer: batches, new facts, and the bytes of tables that have grown."""

    batches: int
    facts: int
    bytes: dict[str, int]


class OverLimitError(Exception):
    """A shard alone has passed a limit; the driver knows which when it has the usage of all."""


class TaskWatch:
    """Counts what a shard does; the driver has the limits."""

    def __init__(self) -> None:
        self.most: tuple[float, float] = (float("inf"), float("inf"))
        """New facts, and bytes of tables."""
        self._bytes: dict[str, int] = {}
        self._batches = self._facts = 0
        self._grown: dict[str, int] = {}

    def usage(self) -> Usage:
        """What there was since the last call."""
        found = Usage(self._batches, self._facts, self._grown)
        self._batches, self._facts, self._grown = 0, 0, {}
        return found

    def batch(self, new_facts: int) -> None:
        """A batch was processed."""
        self._batches += 1
        self._facts += new_facts
        if self._facts > self.most[0]:
            raise OverLimitError

    def grown(self, table: str, nbytes: int) -> None:
        """A table takes so many bytes now."""
        self._bytes[table] = self._grown[table] = nbytes
        if sum(self._bytes.values()) > self.most[1]:
            raise OverLimitError


# --- between tasks -------------------------------------------------------------------------------------


class TurnExchange(Exchange, Protocol):
    """An exchange that knows to which command of the driver its rows belong."""

    turn: int

    def stop(self) -> None:
        """This shard has failed: the others must not wait for it."""
        ...


class SocketExchange:
    """Rows go directly from task to task.

    A message has the number of the driver's command that it belongs to: what a failed command has left in a connection
    is passed over.  Each peer has a thread that sends, in order: a shard that sends receives meanwhile.
    """

    def __init__(self, shard: int, peers: dict[int, Link], dictionary: ReplicaDictionary) -> None:
        self._shard, self._peers, self._dictionary = shard, peers, dictionary
        self._senders = {other: ThreadPoolExecutor(1, "holdfast-send") for other in peers}
        self.turn = 0

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        """As `Exchange` says."""
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
        """This shard has failed: the others must not wait for it."""
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


class HeldShard:
    """A shard in the memory of this worker, with the plans that it knows."""

    def __init__(self, number: int, parts: int, folder: str, images: str | None = None) -> None:
        self.dictionary, self.watch = ReplicaDictionary(), TaskWatch()
        exchange = SocketExchange(number, {}, self.dictionary)
        self.shard = RecordedShard(number, parts, exchange, self.dictionary, self.watch)
        self.shard.folder, self.shard.images = folder, images
        self.plans: dict[int, AnyParted] = {}

    @property
    def label(self) -> StateLabel:
        """Its state."""
        return self.shard.version, self.shard.step

    @label.setter
    def label(self, label: StateLabel) -> None:
        self.shard.version, self.shard.step = label

    def forget_plans(self, commands: Sequence[ShardCommand]) -> None:
        """Some commands were done; what they forget is not referred to again."""
        dropped = {id(plan) for name, *arguments in commands if name == "forget_plans" for plan in arguments[0]}
        if dropped:
            self.plans = {number: plan for number, plan in self.plans.items() if id(plan) not in dropped}

    def take_up(self, assigned: Assignment, exchange: TurnExchange) -> None:
        """Be the shard that the driver wants, restored from files if it says so."""
        if assigned.saved is not None:
            self.shard.restore_recorded(assigned.saved)
        self.label = assigned.label
        self.shard.join(exchange)

    def obeyed(
        self,
        exchange: TurnExchange,
        turn: int,
        step: int,
        newest: int,
        most: tuple[float, float],
        commands: Sequence[ShardCommand],
    ) -> bytes:
        """Do some commands; gives the answer for the driver."""
        exchange.turn, self.watch.most = turn, most
        self.dictionary.newest = max(self.dictionary.newest, newest)
        try:
            answers = self.shard.obey(commands)
        except (EOFError, ConnectionError):  # another shard is gone, and the driver will see that
            raise
        except StoppedError:
            exchange.stop()
            return pickle.dumps((STOPPED, None, self.watch.usage()))
        except Exception as error:
            exchange.stop()
            return pickle.dumps((FAILED, _portable(error), self.watch.usage()))
        self.shard.step = step
        self.forget_plans(commands)
        return pickle.dumps((OK, answers, self.watch.usage()), 5)


HeldShards: TypeAlias = dict[tuple[str, int], HeldShard]
"""By knowledge base and shard."""
_held: HeldShards = {}


def serve(settings: TaskSettings, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of a task."""
    from pyspark import BarrierTaskContext

    for _ in batches:
        pass
    context = BarrierTaskContext.get()
    rank = context.partitionId()
    host = LOOPBACK if settings.is_local else context.getTaskInfos()[rank].address.split(":")[0]
    hold_shard(settings, rank, host, _held)
    yield from ()


def hold_shard(settings: TaskSettings, rank: int, host: str, held: HeldShards) -> None:
    """Hold a shard until the job ends, reachable at an address of this machine; `held` are those of this worker."""
    for place, kept in list(held.items()):
        if not os.path.isdir(kept.shard.folder):  # noqa: PTH112
            del held[place]  # its knowledge base was closed
    _Task(settings, rank, host, held).run()


class _Task:
    """One task of a job."""

    def __init__(self, settings: TaskSettings, rank: int, host: str, held: HeldShards) -> None:
        self._settings, self._rank, self._held = settings, rank, held
        self._came: queue.Queue[tuple[int, Link]] = queue.Queue()
        self._door = Door(host, settings.key, lambda peer, shard: self._came.put((shard, peer)))
        self._driver = connected(settings.driver, settings.key, (COMMAND, self._arrival()))
        self._open: list[SocketExchange | Link] = [self._driver]

    def _arrival(self) -> Arrival:
        kb = self._settings.knowledge_base
        shards = {number: held.label for (name, number), held in self._held.items() if name == kb}
        return Arrival(self._rank, os.getpid(), self._door.address, shards)

    def run(self) -> None:
        """Obey until the driver ends the job; without a driver the shard is in no known state."""
        try:
            assigned: Assignment = pickle.loads(self._driver.recv_bytes())
            held = self._assigned(assigned)
            with suppress(EOFError, ConnectionError):
                while (message := unpacked(self._driver.recv_bytes(), held.plans)) is not None:
                    self._driver.send_bytes(held.obeyed(self._exchange, *message))
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
        for place in [place for place in self._held if place[0] == self._settings.knowledge_base]:
            del self._held[place]

    def _assigned(self, assigned: Assignment) -> HeldShard:
        settings, number = self._settings, assigned.shard
        place = settings.knowledge_base, number
        held = self._held.get(place)
        if assigned.saved is not None:
            held = HeldShard(number, settings.parts, settings.folder, image_folder(settings))
        assert held is not None
        self._drop()
        held.dictionary.connection = connected(settings.driver, settings.key, (VALUES, number))
        self._open.append(held.dictionary.connection)
        self._exchange = SocketExchange(number, self._peers(assigned), held.dictionary)
        self._open.append(self._exchange)
        held.take_up(assigned, self._exchange)
        self._held[place] = held
        self._driver.send_bytes(pickle.dumps(OK))
        return held

    def _peers(self, assigned: Assignment) -> dict[int, Link]:
        """A connection to each other shard: to those before it this one connects, those after it connect to it."""
        number, key = assigned.shard, self._settings.key
        peers = {other: connected(assigned.addresses[other], key, number) for other in range(number)}
        while len(peers) < self._settings.parts - 1:
            other, peer = self._came.get(timeout=_WAIT)
            peers[other] = peer
        return dict(sorted(peers.items()))


def _portable(error: Exception) -> Exception:
    """An error that another process can read."""
    if isinstance(error, HoldfastError | OverLimitError | MemoryError | OSError):
        return error
    import traceback

    return RuntimeError("".join(traceback.format_exception(error)))
