"""Jobs of Spark whose tasks hold shards: one stage, and connections of the driver to its tasks.

All tasks have to run at once.  In a barrier stage Spark sees to that.  Under dynamic allocation there are none: the
tasks of an ordinary stage come one by one, while Spark asks for executors.  If some do not come, the job is started
again with as many as came.
"""

from __future__ import annotations

import pickle
import queue
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any

from holdfast.backends.spark_parted.holding import Assignment, ShardReply, Shares
from holdfast.backends.spark_parted.links import Door, Link, new_key, shut
from holdfast.backends.spark_parted.replica import serve_values
from holdfast.backends.spark_parted.task import COMMAND, LOOPBACK, Arrival, TaskSettings, serve
from holdfast.backends.spark_parted.tls import Identity
from holdfast.errors import Diagnostic
from holdfast.quick_dataclass import dataclass
from holdfast.spark_session import SparkFailure, spark_cause
from holdfast.values.dictionary import Dictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIRECT, SHUFFLE = "direct", "shuffle"  # how rows move between shards
LOOK = 0.05  # seconds between two looks at signals and at the job
_END = 60.0  # seconds that an abandoned job may take to end
_PATIENCE = 30.0  # seconds in which another task of an ordinary stage has to come


class LostError(Exception):
    """A task or a connection is gone, and with it the state of its shard."""


class FewTasksError(LostError):
    """Not all tasks of an ordinary stage can run at once."""

    def __init__(self, tasks: int) -> None:
        super().__init__(f"only {tasks} tasks have started")
        self.tasks = tasks


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
    wanted_tasks: int = 0  # 0: as many as there are cores
    has_barriers: bool = True  # otherwise stages are ordinary ones

    @property
    def host(self) -> str:
        """The address at which tasks reach the driver."""
        return LOOPBACK if self.is_local else str(self.session.sparkContext.getConf().get("spark.driver.host"))

    def tasks(self) -> int:
        """The tasks of a job that starts now: at most one for each shard."""
        if self.session is not None and self.session.sparkContext._jsc is None:
            message = "the Spark session of this knowledge base was stopped"
            raise SparkFailure(Diagnostic("E1005", message, help="open the knowledge base again, in a new session"))
        if self.wanted_tasks or self.session is None:
            return min(self.wanted_tasks or self.parts, self.parts)
        if self.exchange == DIRECT and not self.has_barriers:
            return self.parts  # Spark starts executors for tasks that wait
        context = self.session.sparkContext
        cores = slots(context) if self.exchange == DIRECT else context.defaultParallelism
        return max(1, min(cores, self.parts))


def slots(context) -> int:  # type: ignore[no-untyped-def]
    """The tasks that the executors can run at once."""
    java = context._jsc.sc()
    return int(java.maxNumConcurrentTasks(java.resourceProfileManager().defaultResourceProfile()))


def by_shard(shares: Shares, replies: Sequence[Sequence[Any]]) -> list[ShardReply]:
    """What each shard replies, of what tasks say for all of theirs."""
    found = {
        s: ShardReply(*r) for share, each in zip(shares, replies, strict=True) for s, r in zip(share, each, strict=True)
    }
    return [found[shard] for shard in range(len(found))]


class ShardJob:
    """A stage, from its start until it is ended or abandoned."""

    keeps_cores = True
    """While it is there, others may wait for its cores."""
    repeats = False
    """Whether shards may read files again that they have read before."""
    is_long = False
    requests = 0
    """How often its tasks were asked."""

    def __init__(self, settings: JobSettings, dictionary: Dictionary, look: Callable[[], None]) -> None:
        self._settings, self._dictionary, self._look_around = settings, dictionary, look
        self._arrivals: queue.Queue[tuple[Arrival, Link]] = queue.Queue()
        self._links: list[Link] = []
        self.tasks = settings.tasks()
        self.shares: Shares = ()
        """The shards of each task."""
        self.pids: list[int] = []  # of the workers, by task
        self._failure: BaseException | None = None
        self._tag = f"holdfast-{secrets.token_hex(8)}"
        key = new_key(settings.identity)
        self._door = Door(settings.host, key, self._welcome)
        task = TaskSettings(
            self._door.address,
            key,
            settings.knowledge_base,
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
        session = self._settings.session
        session.addTag(self._tag)
        numbers = session.range(0, self.tasks, 1, self.tasks)
        held = numbers.mapInArrow(lambda batches: serve(task, batches), "id bigint", self._settings.has_barriers)
        held.collect()

    def _welcome(self, connection: Link, hello: tuple[str, Any]) -> None:
        purpose, about = hello
        if purpose == COMMAND:
            self._arrivals.put((about, connection))
        else:
            serve_values(connection, self._dictionary)

    # --- tasks and shards ------------------------------------------------------------------------------

    def arrivals(self) -> list[Arrival]:
        """The tasks, when all have come; of two attempts at a task, the later one."""
        came: dict[int, tuple[Arrival, Link]] = {}
        last = time.monotonic()
        while len(came) < self.tasks:
            try:
                arrival, link = self._arrivals.get(timeout=LOOK)
            except queue.Empty:
                self._look()
                if came and not self._settings.has_barriers and time.monotonic() > last + _PATIENCE:
                    raise FewTasksError(len(came)) from None
                continue
            self._links.append(link)
            if arrival.rank in came:
                shut(came[arrival.rank][1])
            came[arrival.rank], last = (arrival, link), time.monotonic()
        found = [came[rank] for rank in sorted(came)]
        self._links = [link for _, link in found]
        self.pids = [arrival.pid for arrival, _ in found]
        return [arrival for arrival, _ in found]

    def assign(self, assignments: Sequence[Assignment]) -> None:
        """Give each task its shards; they are ready then."""
        for link, assignment in zip(self._links, assignments, strict=True):
            self._sending(link, pickle.dumps(assignment))
        self._received()
        self.shares = assignments[0].shares

    def ask(self, messages: Sequence[bytes], *, exchanges: int) -> list[ShardReply]:
        """Send each task its message; what each shard replies.  Here it is the same how often they exchange rows."""
        del exchanges
        self.requests += 1
        for link, message in zip(self._links, messages, strict=True):
            self._sending(link, message)
        return by_shard(self.shares, self._received())

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
        if current_thread() is not self._thread:  # where a collection of garbage may close the knowledge base
            self._thread.join(_END)
        for link in self._links:
            shut(link)
