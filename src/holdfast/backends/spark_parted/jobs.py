"""Jobs of Spark whose tasks hold shards: a barrier stage, and connections of the driver to its tasks."""

from __future__ import annotations

import pickle
import queue
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from threading import Thread
from typing import TYPE_CHECKING, Any

from holdfast.backends.spark_parted.links import Door, Link, new_key, shut
from holdfast.backends.spark_parted.replica import serve_values
from holdfast.backends.spark_parted.task import COMMAND, LOOPBACK, Arrival, Assignment, TaskSettings, Usage, serve
from holdfast.backends.spark_parted.tls import Identity
from holdfast.quick_dataclass import dataclass
from holdfast.spark_session import spark_cause
from holdfast.values.dictionary import Dictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIRECT, SHUFFLE = "direct", "shuffle"  # how rows move between shards
LOOK = 0.05  # seconds between two looks at signals and at the job
_END = 60.0  # seconds that an abandoned job may take to end


class LostError(Exception):
    """A task or a connection is gone, and with it the state of its shard."""


@dataclass(frozen=True)
class JobSettings:
    """What all jobs of a knowledge base share."""

    session: SparkSession  # our own, in the application of the user's
    knowledge_base: str
    parts: int
    folder: str
    is_local: bool
    exchange: str = DIRECT  # or SHUFFLE
    identity: Identity | None = None  # that encrypts connections
    images: str | None = None  # the folder on each machine, see `TaskSettings`

    @property
    def host(self) -> str:
        """The address at which tasks reach the driver."""
        return LOOPBACK if self.is_local else str(self.session.sparkContext.getConf().get("spark.driver.host"))


@dataclass(frozen=True)
class ShardReply:
    """What a shard answers to a message."""

    kind: str
    answers: Any  # or the error
    usage: Usage


class ShardJob:
    """A barrier stage, from its start until it is ended or abandoned."""

    keeps_cores = True
    """While it is there, others may wait for its cores."""
    repeats = False
    """Whether shards may read files again that they have read before."""
    is_long = False

    def __init__(self, settings: JobSettings, dictionary: Dictionary, look: Callable[[], None]) -> None:
        self._settings, self._dictionary, self._look_around = settings, dictionary, look
        self._arrivals: queue.Queue[tuple[Arrival, Link]] = queue.Queue()
        self._links: list[Link] = []
        self.pids: list[int] = []  # of the workers, by shard
        self._failure: BaseException | None = None
        self._tag = f"holdfast-{secrets.token_hex(8)}"
        key = new_key(settings.identity)
        self._door = Door(settings.host, key, self._welcome)
        task = TaskSettings(
            self._door.address,
            key,
            settings.knowledge_base,
            settings.parts,
            settings.is_local,
            settings.folder,
            settings.images,
        )
        self._thread = Thread(target=self._run, args=(task,), name="holdfast-job", daemon=True)
        self._thread.start()

    def _run(self, task: TaskSettings) -> None:
        try:
            self._run_tasks(task)
        except BaseException as error:
            self._failure = error

    def _run_tasks(self, task: TaskSettings) -> None:
        session, parts = self._settings.session, self._settings.parts
        session.addTag(self._tag)
        numbers = session.range(0, parts, 1, parts)
        numbers.mapInArrow(lambda batches: serve(task, batches), "id bigint", barrier=True).collect()

    def _welcome(self, connection: Link, hello: tuple[str, Any]) -> None:
        purpose, about = hello
        if purpose == COMMAND:
            self._arrivals.put((about, connection))
        else:
            serve_values(connection, self._dictionary)

    # --- tasks and shards ------------------------------------------------------------------------------

    def arrivals(self) -> list[Arrival]:
        """The tasks, when all have come."""
        came: list[tuple[Arrival, Link]] = []
        while len(came) < self._settings.parts:
            try:
                came.append(self._arrivals.get(timeout=LOOK))
                self._links.append(came[-1][1])
            except queue.Empty:
                self._look()
        came.sort(key=lambda each: each[0].rank)
        self._links = [link for _, link in came]
        return [arrival for arrival, _ in came]

    def assign(self, arrivals: Sequence[Arrival], assignments: Sequence[Assignment]) -> None:
        """Give each task, in the order of arrivals, its shard; they are ready then."""
        for link, assignment in zip(self._links, assignments, strict=True):
            self._sending(link, pickle.dumps(assignment))
        self._received()
        by_shard = sorted(zip(assignments, self._links, arrivals, strict=True), key=lambda each: each[0].shard)
        self._links = [link for _, link, _ in by_shard]
        self.pids = [arrival.pid for _, _, arrival in by_shard]

    def ask(self, messages: Sequence[bytes], *, exchanges: bool) -> list[ShardReply]:
        """Send each shard its message; what each replies.  Here it is the same whether they exchange rows for that."""
        del exchanges
        for link, message in zip(self._links, messages, strict=True):
            self._sending(link, message)
        return [ShardReply(*reply) for reply in self._received()]

    def _sending(self, link: Link, message: bytes) -> None:
        try:
            link.send_bytes(message)
        except OSError as error:
            raise LostError(self._cause()) from error

    def _received(self) -> list[Any]:
        replies: dict[Link, Any] = {}
        while len(replies) < len(self._links):
            waiting: list[Any] = [link for link in self._links if link not in replies]
            for link in wait(waiting, LOOK):
                assert isinstance(link, Link)
                try:
                    replies[link] = pickle.loads(link.recv_bytes())
                except (EOFError, OSError) as error:
                    raise LostError(self._cause()) from error
            self._look()
        return [replies[link] for link in self._links]

    def _look(self) -> None:
        self._look_around()
        if not self._thread.is_alive():
            raise LostError(self._cause())

    def _cause(self) -> str:
        self._thread.join(LOOK)
        return "a task was lost" if self._failure is None else spark_cause(self._failure)

    # --- the end ---------------------------------------------------------------------------------------

    def end(self, message: bytes) -> None:
        """The tasks may return; the shards stay in their workers."""
        for link in self._links:
            with suppress(OSError):
                link.send_bytes(message)
        self._close()

    def abandon(self) -> None:
        """The state of the shards is not known: have Spark stop the tasks."""
        for link in self._links:
            shut(link)
        with suppress(Exception):  # whatever Spark thinks of it, the connections are closed
            self._settings.session.interruptTag(self._tag)
        self._close()

    def _close(self) -> None:
        self._door.close()
        self._thread.join(_END)
        for link in self._links:
            shut(link)
