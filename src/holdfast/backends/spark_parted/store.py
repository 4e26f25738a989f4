"""The backend: the parted one, with its shards in tasks of Spark."""

from __future__ import annotations

import secrets
import sys
import tempfile
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.backends.abilities import Frames, HoldingCores, ModuleBudget
from holdfast.backends.parted.handles import HeldFacts, KeptSet, PartedFacts, own
from holdfast.backends.parted.partition import AnyParted
from holdfast.backends.parted.store import PartedBackend
from holdfast.backends.protocol import Engine, Facts, UndoneError, Watch
from holdfast.backends.spark_parted.crew import SparkCrew, release_idle
from holdfast.backends.spark_parted.folders import frame_folder, new_folder
from holdfast.backends.spark_parted.frames import GivenFrame, ShardRows, schema_of, taken_in, with_records
from holdfast.backends.spark_parted.jobs import DIRECT, SHUFFLE, JobSettings, slots
from holdfast.backends.spark_parted.tls import made_identity
from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import InterruptedCommitError
from holdfast.formats.fact_data import is_spark_frame
from holdfast.plans.model import AnyPlan, Plan
from holdfast.program.impact import AnyRule
from holdfast.program.model import Relation
from holdfast.program.similar import similar
from holdfast.quick_dataclass import dataclass
from holdfast.spark_session import spark_errors
from holdfast.user_functors import UserFunctor, functors_of, registered
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.conf import RuntimeConfig

N = TypeVar("N", int, float)
TLS = "spark.holdfast.tls"
_MESSAGE, _JOB = 8_000, 50_000  # rule instances that take as long, on two cores
_ENCRYPTING = "spark.network.crypto.enabled", "spark.ssl.enabled"
"""Settings of sessions that want connections to be encrypted."""


@dataclass(frozen=True)
class ShardOptions:
    """Settings `spark.holdfast.…`."""

    holdSeconds: float = 1.0  # noqa: N815  that an idle job keeps its cores
    driverRows: float = 50_000  # noqa: N815  that are collected at once
    moduleRows: float = 1_000_000  # noqa: N815
    moduleFacts: float = 10_000_000  # noqa: N815


class SparkPartedBackend(PartedBackend, ModuleBudget, Frames, HoldingCores):
    """Facts on shards in the Python workers of Spark."""

    is_elsewhere = True
    indexing = 0.0  # instances count, and indexes do not
    session: SparkSession | None = None
    """The user's, to which the DataFrames of relations belong."""

    def __init__(
        self,
        settings: JobSettings,
        options: ShardOptions,
        relations: Mapping[str, Relation],
        dictionary: Dictionary,
        watch: Watch,
    ) -> None:
        self._settings, self._options = settings, options
        self._functors: dict[str, UserFunctor] = {}  # that the shards know
        self._unread = weakref.WeakSet[ShardRows]()  # views of E and I that were not read yet
        # Modules work on the driver: their edges have to fit there (-1: no modules), and what they derive.
        self.most_for_modules, self.most_by_modules = options.moduleRows or -1, options.moduleFacts
        super().__init__(settings.parts, relations, dictionary, watch)
        self._driver.before_change = self._before_change

    def _crew(self, watch: Watch) -> SparkCrew:
        """The shards: in tasks of Spark."""
        placement = weakref.proxy(self.placement)  # which refers to this backend: the crew, which ends it, must not
        crew = SparkCrew(self._settings, self.dictionary, watch, self.relations, placement, self._options.holdSeconds)
        weakref.finalize(self, crew.close)
        self.crew = crew
        return crew

    def _parted(self, plan: AnyPlan, *, ranked: bool = False) -> AnyParted:
        for name in functors_of(plan.rule) if isinstance(plan, Plan) else ():
            self._send_functor(name, plan.rule)
        return super()._parted(plan, ranked=ranked)

    def _send_functor(self, name: str, rule: AnyRule) -> None:
        """Have the shards know a function of the user, as it is registered now."""
        functor = registered(name)
        if self._functors.get(name) is not functor:
            self.crew.functors[name] = packed = _packed(functor, rule)
            self._driver.ask("functors", {name: packed})
            self._functors[name] = functor

    @property
    def requests(self) -> int:  # type: ignore[override]
        """Messages or jobs so far."""
        return self.crew.requests

    @property
    def request_cost(self) -> int:  # type: ignore[override]
        """Rule instances that take as long as a message or a job: decisions 0072 and 0088."""
        return _JOB if self._settings.exchange == SHUFFLE else _MESSAGE

    # --- transactions ----------------------------------------------------------------------------------

    def commit(self) -> None:
        """The shards have done what was queued, and written it."""
        with self.crew.unlimited():
            self._driver.ask()
            try:
                self.crew.commit()
            except UndoneError:
                raise
            except Exception:
                self._commit_again()

    def _commit_again(self) -> None:
        try:
            self.crew.commit()
        except UndoneError:
            raise
        except Exception as error:
            if not self.crew.version:  # the knowledge base was being opened
                raise
            raise InterruptedCommitError from error

    def release_cores(self) -> None:
        """The shards stay in the memory of their workers."""
        self.crew.release()

    def restore(self) -> None:
        """The shards hold the committed version again; if they cannot be reached, from when they can."""
        if self.crew.is_undone:
            self.crew.is_undone = False
            self._forget_update()
            return
        with self.crew.unlimited():
            try:
                super().restore()
                self._driver.flush()
            except Exception:
                self.crew.abandon()
                self._forget_update()
            self.crew.roll_back()
            self.crew.is_undone = False

    def _forget_update(self) -> None:
        """The shards know nothing of an update."""
        self._driver.forget()
        for kept in (self.deleted, self.added, self.checked, self.proved, self.delayed):
            kept.is_cleared()
        for counters in (self.nonrecursive, self.recursive, self.ranking.founded):
            counters.is_mended()

    def mend(self) -> None:
        """A call was interrupted: go back to the committed version; the counters are not known."""
        self.crew.reset()
        super().mend()

    def tidy(self, removed: Facts) -> None:
        """Facts were deleted; each shard packs the tables that consist mostly of such rows."""
        self._pin(self.relations)
        super().tidy(removed)

    def reclaim(self) -> None:
        """The limit holds for this process, and the facts are in others."""

    def drop_relation(self, name: str) -> None:
        """Forget a relation and its facts."""
        self._pin((name,))
        super().drop_relation(name)

    # --- facts in and out ------------------------------------------------------------------------------

    def takes(self, data: object) -> bool:
        """DataFrames of Spark."""
        return is_spark_frame(data)

    def facts_with_frames(
        self, rows: Mapping[str, Codes], frames: Mapping[str, Sequence[Any]]
    ) -> tuple[HeldFacts, int]:
        """Encoded rows and DataFrames as a set of facts, and the number of given rows.

        The rows of DataFrames do not come to the driver, and are counted when they are read: while the shards have the
        cores, another job would wait.
        """
        rows = with_records(rows, frames, self.relations, self.dictionary)
        given = [
            GivenFrame(
                frame,
                self.relations[name],
                self.placement.primary[name],
                self.placement.spreads(name),
                tuple(sorted(self._balance.columns(name))),
            )
            for name, several in frames.items()
            for frame in several
            if Type.RECORD not in self.relations[name].types
        ]
        release_idle()  # the jobs that read them need cores
        files, read, frequent = taken_in(self._settings, self.dictionary, given)
        are_new = self._balance.first_hubs(frequent.found(self._balance.least), self.relations)
        found = self._driver.loaded(files, are_placed=not are_new)
        number = sum(map(len, rows.values())) + read
        return ((self.facts(rows) | found).snapshot() if rows else found), number

    def rows(self, predicate: str, facts: Facts) -> Codes | ShardRows:  # type: ignore[override]
        """The encoded rows of a set's facts of one predicate; many stay where they are."""
        found = own(facts, self._driver)
        size = found.size(predicate)
        if size <= self._options.driverRows:
            return super().rows(predicate, found)
        rows = ShardRows(self, self.relations[predicate], found, size)
        if isinstance(found, KeptSet):
            self._unread.add(rows)
        else:
            rows.pin()  # what an update has moved is not held for long
        return rows

    def collected(self, predicate: str, facts: PartedFacts) -> Codes:
        """The rows of a set, on the driver."""
        return super().rows(predicate, facts)

    def written(self, predicate: str, facts: PartedFacts) -> list[str]:
        """Files with the rows of a set, one from each shard."""
        name = f"rows-{secrets.token_hex(8)}"
        return [str(path) for path in self._driver.ask("write", predicate, facts.tree, name)]

    def published(self, relation: Relation, files: Sequence[str]) -> DataFrame:
        """A DataFrame of the user's session with the facts that are in files; it outlives the knowledge base."""
        folder = frame_folder(self._settings.folder)
        self._driver.ask("publish", relation, list(files), folder)
        self.crew.release()
        with spark_errors():
            return (self.session or self._settings.session).read.schema(schema_of(relation)).parquet(folder)

    def _before_change(self, facts: HeldFacts) -> None:
        if self._unread:
            self._pin(set(facts.predicates()))

    def _pin(self, predicates: Container[str]) -> None:
        """E or I is about to change: write the rows of views that show what it was."""
        for rows in [rows for rows in self._unread if rows.predicate in predicates]:
            rows.pin()
            self._unread.discard(rows)


def _packed(functor: UserFunctor, rule: AnyRule) -> bytes:
    """A functor as executors take it: with its code, since they need not have its module."""
    from pyspark import cloudpickle as untyped

    cloudpickle: Any = untyped
    module = sys.modules.get(getattr(functor.function, "__module__", None) or "")
    is_plain = module is not None and isinstance(functor.function, FunctionType)
    try:
        if is_plain:
            cloudpickle.register_pickle_by_value(module)
        try:
            return bytes(cloudpickle.dumps(functor))
        finally:
            if is_plain:
                cloudpickle.unregister_pickle_by_value(module)
    except Exception as error:
        message = f"the functor @{functor.name} cannot be sent to executors: {error}"
        help = "define it without files, locks and connections in its module or closure"
        raise UsageError(Diagnostic("E0917", message, rule.span, help=help)) from error


_SETTINGS = (
    *(field.name for field in fields(ShardOptions)),
    "shards",
    "tasks",
    "exchange",
    "directory",
    "tls",
    "images",
)


def _refuse_unknown(session: SparkSession) -> None:
    """A slip in the name of a setting would leave the default."""
    for key in session.conf.getAll:
        name = key.removeprefix("spark.holdfast.")
        if name != key and name not in _SETTINGS:
            help = similar(name, _SETTINGS) or f"the settings are {', '.join(sorted(_SETTINGS))}"
            raise UsageError(Diagnostic("E1004", f"unknown setting {key}", help=help))


def spark_parted(session: SparkSession, parts: int | None) -> Engine:
    """Makes backends on the executors of a session."""

    def make(relations: Mapping[str, Relation], dictionary: Dictionary, watch: Watch) -> SparkPartedBackend:
        found = {field.name: session.conf.get(f"spark.holdfast.{field.name}", None) for field in fields(ShardOptions)}
        options = ShardOptions(**{name: _number(name, text, float) for name, text in found.items() if text})
        backend = SparkPartedBackend(job_settings(session, parts), options, relations, dictionary, watch)
        backend.session = session
        return backend

    return make


def _number(name: str, text: str, kind: Callable[[str], N]) -> N:
    try:
        if (number := kind(text)) >= 0:
            return number
    except ValueError:
        pass
    what = "a whole number" if kind is int else "a number"
    message = f"spark.holdfast.{name} is {what} that is not negative, not {text!r}"
    raise UsageError(Diagnostic("E1004", message))


def job_settings(session: SparkSession, parts: int | None) -> JobSettings:
    """What the jobs of a knowledge base need; refuses a session in which they cannot run."""
    context = _context(session)
    _refuse_unknown(session)
    exchange = _exchange(session, context.getConf())
    is_local = context.master.startswith("local")
    cores = slots(context) if is_local and exchange == DIRECT else 0
    wanted = parts or _count(session, "shards") or cores or context.defaultParallelism
    tasks = _count(session, "tasks")
    has_barriers = _has_barriers(context.getConf())
    if has_barriers and cores and min(tasks, wanted) > cores:
        message = f"{tasks} tasks need {tasks} cores at once, and {context.master} has {cores}"
        raise UsageError(Diagnostic("E1004", message, help="leave spark.holdfast.tasks out"))
    folder = _folder(session, is_local=is_local)
    images: str | None = session.conf.get("spark.holdfast.images", None) or ""
    if images == "none":
        images = None
    elif is_local:  # where all files are on one machine, and go together
        images = folder
    identity = made_identity(context._jvm) if _is_tls(session) else None
    kb = secrets.token_hex(8)
    return JobSettings(
        session.newSession(), kb, wanted, folder, is_local, exchange, identity, images, tasks, has_barriers
    )


def _exchange(session: SparkSession, conf: SparkConf) -> str:
    """How rows move between shards: as the user says, else directly where that is possible."""
    chosen = session.conf.get("spark.holdfast.exchange", None) or "auto"
    if chosen not in ("auto", DIRECT, SHUFFLE):
        message = f"spark.holdfast.exchange is auto, direct or shuffle, not {chosen!r}"
        raise UsageError(Diagnostic("E1004", message))
    if _is_set(conf, "spark.io.encryption.enabled"):
        raise _refused("its files are not encrypted, and spark.io.encryption.enabled is set")
    obstacle = _not_direct(session, conf)
    if chosen == DIRECT and obstacle:
        raise _refused(obstacle)
    return SHUFFLE if chosen == SHUFFLE or obstacle else DIRECT


def _not_direct(session: SparkSession, conf: SparkConf) -> str | None:
    """Why tasks cannot send rows directly."""
    for name in _ENCRYPTING:
        if _is_set(conf, name) and not _is_tls(session):
            return f"connections between tasks are not encrypted, and {name} is set; set {TLS}=true"
    return None


def _has_barriers(conf: SparkConf) -> bool:
    """Whether Spark has barrier stages in a session."""
    return not _is_set(conf, "spark.dynamicAllocation.enabled")


def _is_tls(session: SparkSession) -> bool:
    chosen = session.conf.get(TLS, None) or "false"
    if chosen.lower() not in ("true", "false"):
        raise UsageError(Diagnostic("E1004", f"{TLS} is true or false, not {chosen!r}"))
    return _is_set(session.conf, TLS)


def _is_set(conf: SparkConf | RuntimeConfig, name: str) -> bool:
    """As Spark reads its settings."""
    return (conf.get(name, "false") or "").strip().lower() == "true"


def _context(session: SparkSession):  # type: ignore[no-untyped-def]
    try:
        return session.sparkContext
    except Exception:
        raise _refused("a session of Spark Connect has no Spark context") from None


def _count(session: SparkSession, name: str) -> int:
    """A setting that is a number of something, 0 if it is not set."""
    return _number(name, session.conf.get(f"spark.holdfast.{name}", None) or "0", int)


def _folder(session: SparkSession, *, is_local: bool) -> str:
    """A new folder for the base and the log; all executors must reach it."""
    chosen = session.conf.get("spark.holdfast.directory", None)
    if not chosen and not is_local:
        message = "the spark engine keeps its base and log in files, and needs a folder that all executors reach"
        raise UsageError(Diagnostic("E1004", message, help="set spark.holdfast.directory"))
    try:
        if chosen:
            Path(chosen).mkdir(parents=True, exist_ok=True)
        return new_folder(chosen)
    except OSError as error:
        message = f"the folder {chosen or tempfile.gettempdir()} cannot be used: {error.strerror}"
        raise UsageError(Diagnostic("E1004", message, help="set spark.holdfast.directory to another folder")) from error


def _refused(why: str) -> UsageError:
    return UsageError(Diagnostic("E0917", f"the spark engine cannot run in this session: {why}"))
