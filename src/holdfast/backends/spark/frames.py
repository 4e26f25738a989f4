"""DataFrames that queries refer to by name, and DataFrames that are computed and cached while in use."""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from holdfast.backends.spark.values import NativeRow, inline_rows, spark_type, table_of_rows
from holdfast.interrupts import allowed
from holdfast.spark_session import spark_errors
from holdfast.values import Type

SETTINGS = {
    "driverRows": 50_000,
    "foldRows": 20_000,
    "broadcastRows": 500_000,
    "moduleRows": 1_000_000,
    "moduleFacts": 10_000_000,
}
"""Settings: the most rows of a delta that are collected to the driver; the number of records after which they are
folded into the base; the most bindings, by estimate, that are broadcast to the facts; the most explicit facts of a
program whose rules modules serve on the driver, and the most facts that modules may derive."""

_MANY, _VERY_MANY = 300_000, 4_000_000  # rows read by a query, above which stages and expressions are compiled
_numbers = count(1)
_unused: deque[tuple[SparkSession, str, Any]] = deque()


class Frame:
    """A DataFrame or the text of a query, with the frames that it reads; these live as long as it does."""

    is_kept = False  # computed and cached
    rows = math.inf  # an upper bound, if Spark knows one

    def __init__(
        self, space: Space, query: str, needs: Sequence[Frame] = (), part_of: tuple[Frame, str] | None = None
    ) -> None:
        self.space = space
        self.query = query  # in parentheses it can be used as a table
        self.needs = tuple(needs)
        self._part_of = part_of

    @property
    def table(self) -> str:
        """The text after FROM."""
        return f"({self.query})"

    @property
    def part_of(self) -> tuple[Frame, str]:
        """A frame (perhaps this one) and a condition: this frame has the facts of that one that satisfy it."""
        return self._part_of or (self, "true")

    @property
    def is_small(self) -> bool:
        """Whether it reads nothing but data of the driver."""
        return all(need.is_small for need in self.needs)

    def sent(self, alias: str, *others: Frame) -> str:
        """A hint to broadcast it, under its name in the query, when it is joined with frames that are not small."""
        return f"/*+ BROADCAST({alias}) */ " if self.is_small and not all(o.is_small for o in others) else ""

    def dataframe(self) -> DataFrame:
        """The DataFrame; nothing is computed yet."""
        return self.space.sql(self.query)


class Named(Frame):
    """A DataFrame as a temporary view; with `held`, which holds its blocks, these are freed with it.

    A view belongs to its frame's session.  Those of the user's frames are global, so that our session sees them.
    """

    def __init__(
        self, space: Space, frame: DataFrame, held: Any = None, needs: Sequence[Frame] = (), *, is_small: bool = False
    ) -> None:
        name = f"holdfast_{next(_numbers)}"
        is_ours = frame.sparkSession is space.session
        self.name = name if is_ours else f"global_temp.{name}"
        super().__init__(space, f"SELECT * FROM {self.name}", needs)
        self.frame = frame
        self.is_kept = held is not None
        self._is_small = is_small
        if is_ours:
            frame.createOrReplaceTempView(name)
        else:
            frame.createOrReplaceGlobalTempView(name)
        self._free = weakref.finalize(self, _unused.append, (space.session, self.name, held))
        self._free.atexit = False

    @property
    def table(self) -> str:
        """Its name."""
        return self.name

    @property
    def is_small(self) -> bool:
        """Whether it is a small table from the driver."""
        return self._is_small

    def lend(self) -> None:
        """Note a reference from outside: Spark frees its blocks when the last reference is gone."""
        self._free.detach()


def free_unused() -> None:
    """Release the frames that are no longer referenced.

    This does not happen in a finalizer, which could run in the middle of a call to Spark and garble it.
    """
    while _unused:
        session, name, held = _unused.popleft()
        if session.sparkContext._jsc is None:  # Spark has stopped and released its frames
            continue
        space, _, view = name.rpartition(".")
        if space:
            session.catalog.dropGlobalTempView(view)
        else:
            session.catalog.dropTempView(view)
        if held is not None:
            held.unpersist(False)


@dataclass(frozen=True)
class Wanted:
    """A query to compute, and integer figures to compute from its result.

    The estimated number of `rows` it reads decides how it is run; it may `forget` its lineage.
    """

    query: str
    figures: Sequence[str]
    rows: float = math.inf
    forgets: bool = False


class Space:
    """A Spark session of our own in the user's application, separate from the user's queries, views and settings."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session.newSession()
        conf, context = self.session.conf, session.sparkContext
        conf.set("spark.sql.constraintPropagation.enabled", "false")  # fails on frames computed in a loop
        conf.set("spark.sql.ansi.enabled", "true")
        conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")  # hints decide what is broadcast
        conf.set("spark.sql.adaptive.enabled", "false")  # makes a job of each shuffle, and rounds were no faster
        conf.set("spark.sql.unionOutputPartitioning", "false")  # sets of several segments could not be "zipped" with it
        self.driver_rows, self.fold_rows, self.broadcast_rows, self.module_rows, self.module_facts = (
            int(session.conf.get(f"spark.holdfast.{name}", str(default)) or 0) for name, default in SETTINGS.items()
        )
        self.few_rows = min(self.driver_rows, self.fold_rows // 2)  # larger results stay where they are computed
        self.partitions = max(2, context.defaultParallelism)
        master = context.master or ""
        self._is_alone = master.startswith("local") and not master.startswith("local-cluster")

    def sql(self, query: str) -> DataFrame:
        """The DataFrame of a query."""
        with spark_errors():
            return self.session.sql(query)

    def fetched(self, query: str, rows: float = math.inf) -> pa.Table:
        """The result of a query, fetched to the driver in one job, plus one for each broadcast side of a join.

        `rows` is the estimated number of rows it reads.
        """
        free_unused()
        self.session.conf.set("spark.sql.shuffle.partitions", str(min(2, self.partitions)))
        with spark_errors(), allowed(), self._reading(rows):
            return self.session.sql(query).coalesce(self.partitions).toArrow()  # each task unpacks the plans of all

    def snapshot(self, *wanted: Wanted) -> list[tuple[Named, list[int]]]:
        """Computes queries in one job and leaves the results on the executors, each with its figures.

        The plans are always dropped.  Where executors may die, the lineage of lost blocks is kept, unless the query
        asks to forget it, which it has to do from time to time.
        """
        if not wanted:
            return []
        free_unused()
        self.session.conf.set("spark.sql.shuffle.partitions", str(self.partitions))
        with spark_errors():
            made = [self._kept(one) for one in wanted]
            figures = " UNION ALL ".join(
                f"SELECT array({', '.join(one.figures)}) AS figures FROM {named.table}"
                for one, named in zip(wanted, made, strict=True)
            )
            with allowed(), self._reading(max(one.rows for one in wanted)):
                # in one task, or each would unpack the plans of all; and in the order of the parts
                rows = self.session.sql(figures).coalesce(1).toArrow().column(0).to_pylist()
        return [(named, [figure or 0 for figure in row]) for named, row in zip(made, rows, strict=True)]

    def _kept(self, wanted: Wanted) -> Named:
        """A frame whose rows are cached when they are read."""
        with self._reading(wanted.rows):
            made = self.session.sql(wanted.query).coalesce(self.partitions)  # otherwise each union would add partitions
            if self._is_alone or wanted.forgets:
                # unpacked rows: PySpark's own levels serialise them, and deserialising is most of the cost of a scan
                level = StorageLevel(True, True, False, True, 1 if self._is_alone else 2)
                kept = made.localCheckpoint(eager=False, storageLevel=level)
                rows = held = kept._jdf.queryExecution().analyzed().rdd()
            else:
                held = made.persist(StorageLevel.MEMORY_AND_DISK)
                rows = made._jdf.queryExecution().toRdd()
        # Spark believes that the rows are partitioned as its plan said, which they need not be when it has changed
        # the plan on the way; without statistics it assumes nothing
        plain = self.session._jsparkSession.internalCreateDataFrame(rows, made._jdf.schema(), False)
        return Named(self, ClassicFrame(plain, self.session), held)

    def given(self, table: pa.Table) -> Named:
        """A table of the driver as a frame."""
        with spark_errors():
            return Named(self, self.session.createDataFrame(table), is_small=table.num_rows <= self.broadcast_rows)

    def rows(self, rows: Iterable[NativeRow], types: Sequence[Type]) -> Frame:
        """Rows of the driver as a frame."""
        listed = list(rows)
        if not listed:
            nothing = ", ".join(f"CAST(NULL AS {spark_type(type)}) AS c{i}" for i, type in enumerate(types))
            return Frame(self, f"SELECT {nothing} WHERE false")
        query = inline_rows(listed, len(types))
        return Frame(self, query) if query is not None else self.given(table_of_rows(listed, types))

    @contextmanager
    def _reading(self, rows: float) -> Iterator[None]:
        """Settings for a query that reads this many rows: for few, Spark generates no Java code, which would take
        longer to compile than it saves.

        They do not apply to what users do with our frames later.
        """
        off = {"spark.sql.codegen.wholeStage": "false"} if rows <= _MANY else {}
        off |= {"spark.sql.codegen.factoryMode": "NO_CODEGEN"} if rows <= _VERY_MANY else {}
        conf = self.session.conf
        before = {key: conf.get(key) or "" for key in off}
        try:
            for key, value in off.items():
                conf.set(key, value)
            yield
        finally:
            for key, value in before.items():
                conf.set(key, value)
