"""Write results.  Repeating an update overwrites what was written under its number, so nothing is written twice."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from holdfast.backends.spark_parted.folders import lending
from holdfast.errors import Diagnostic, UsageError
from holdfast.pipeline.checking import DELETE, INSERT
from holdfast.pipeline.model import Pipeline, Place, Sink
from holdfast.pipeline.naming import sink_places
from holdfast.pipeline.sources import CHANGE_TYPE
from holdfast.pipeline.state import on_spark
from holdfast.program.model import Relation
from holdfast.relation_view import RelationView
from holdfast.spark_session import spark_errors
from holdfast.updates import Change
from holdfast.values import Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.knowledge.facade import KnowledgeBase

UPDATE: Final = "_update"
_FORMAT: Final = {"tsv": "csv"}
_OPTIONS: Final = {"csv": {"header": "true"}, "tsv": {"header": "true", "sep": "\t"}}
_OURS: Final = re.compile(r"part-.*|_SUCCESS|\..*\.crc|_temporary|_update=\d+")


class SinkWriter:
    """Writes to the sinks of a pipeline."""

    def __init__(self, session: SparkSession, pipeline: Pipeline) -> None:
        self._session = session
        self._sinks = pipeline.sinks
        self._quarantine = pipeline.quarantine.place
        self.distributed = False  # whether relations live on Spark

    def check(self, relations: Mapping[str, Relation]) -> None:
        """Refuse folders that cannot be replaced, before anything is computed."""
        displays = {name: relation.display for name, relation in relations.items() if not relation.auxiliary}
        for sink in self._sinks:
            for place, _ in () if sink.changes else sink_places(sink, displays):
                if place.path is not None and "://" not in place.path:
                    _refuse_foreign(sink, place, _names(Path(place.path)))

    def state(self, base: KnowledgeBase) -> list[Place]:
        """Write every relation of the state sinks; return the places written."""
        written = []
        for sink in self._sinks:
            for place, name in _matching(sink, base.relations, changes=False):
                with spark_errors(f"cannot write {place}"), lending():
                    self._whole(sink, place, self.frame(base.relations[name]))
                written.append(place)
        return written

    def changes(self, number: int, change: Change, base: KnowledgeBase) -> None:
        """Write the changes of an update to the change sinks."""
        changed = {**change.removed, **change.added}
        for sink in self._sinks:
            for place, name in _matching(sink, {**base.relations, **changed}, changes=True):
                with spark_errors(f"cannot write {place}"), lending():
                    if name in changed:
                        self._numbered(place, number, self._changed(name, change))
                    else:
                        self._clear(place, number)

    def rejected(self, number: int, parts: Sequence[pa.Table | DataFrame]) -> None:
        """Write rejected rows, with the reasons."""
        if self._quarantine is None:
            return
        with spark_errors(f"cannot write {self._quarantine}"):
            frames = [self._session.createDataFrame(part) if isinstance(part, pa.Table) else part for part in parts]
            if frames:
                self._numbered(self._quarantine, number, reduce(lambda a, b: a.unionByName(b), frames))
            else:
                self._clear(self._quarantine, number)

    def frame(self, view: RelationView) -> DataFrame:
        """A relation as a DataFrame of this session."""
        if self.distributed and Type.UNSIGNED not in view.types:
            return on_spark(view)
        return self._session.createDataFrame(_signed(view.to_arrow()))

    def _changed(self, name: str, change: Change) -> DataFrame:
        from pyspark.sql import functions as sf

        frames = [
            self.frame(part[name]).withColumn(CHANGE_TYPE, sf.lit(kind))
            for kind, part in ((DELETE, change.removed), (INSERT, change.added))
            if name in part
        ]
        frame = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
        return frame.coalesce(1)

    def _whole(self, sink: Sink, place: Place, frame: DataFrame) -> None:
        writer = frame.write.mode("overwrite").options(**_options(place))
        match place.format:
            case "table":
                writer.saveAsTable(str(place.table))
            case "jdbc":
                writer.format("jdbc").options(url=place.url, dbtable=place.table, truncate="true").save()
            case format if place.path is not None and "://" not in place.path:
                _refuse_foreign(sink, place, _names(Path(place.path)))
                beside = _beside(Path(place.path), "new")
                writer.format(_FORMAT.get(format, format)).save(str(beside))
                _swap(beside, Path(place.path))
            case format:
                _refuse_foreign(sink, place, self._names(str(place.path)))
                writer.format(_FORMAT.get(format, format)).save(place.path)

    def _names(self, url: str) -> list[str]:
        """The names in a folder given by a URL; empty if it does not exist."""
        jvm: Any = self._session._jvm
        path = jvm.org.apache.hadoop.fs.Path(url)
        system = path.getFileSystem(self._session._jsc.hadoopConfiguration())
        return [entry.getPath().getName() for entry in system.listStatus(path)] if system.exists(path) else []

    def _numbered(self, place: Place, number: int, frame: DataFrame) -> None:
        """Write the rows of one update, replacing what an interrupted attempt left under its number."""
        from pyspark.sql import functions as sf

        options = _options(place)
        match place.format:
            case "table":
                if self._session.catalog.tableExists(str(place.table)):
                    _overwrite_partition(str(place.table), number, frame)
                else:
                    numbered = frame.withColumn(UPDATE, sf.lit(number).cast("BIGINT"))
                    numbered.write.partitionBy(UPDATE).options(**options).saveAsTable(str(place.table))
            case "jdbc":
                _delete_numbered(self._session, place, number)
                numbered = frame.withColumn(UPDATE, sf.lit(number).cast("BIGINT"))
                writer = numbered.write.mode("append").options(**options)
                writer.format("jdbc").options(url=place.url, dbtable=place.table).save()
            case format:
                writer = frame.write.mode("overwrite").options(**options).format(_FORMAT.get(format, format))
                writer.save(f"{place.path}/{UPDATE}={number}")

    def _clear(self, place: Place, number: int) -> None:
        """Remove what an interrupted attempt, possibly with other rows, left under an update's number."""
        if place.format == "table":
            if self._session.catalog.tableExists(str(place.table)):
                self._session.sql(f"ALTER TABLE {place.table} DROP IF EXISTS PARTITION ({UPDATE} = {number})")
        elif place.format == "jdbc":
            _delete_numbered(self._session, place, number)
        elif place.path is not None and "://" not in place.path:
            shutil.rmtree(f"{place.path}/{UPDATE}={number}", ignore_errors=True)
        else:
            jvm: Any = self._session._jvm
            path = jvm.org.apache.hadoop.fs.Path(f"{place.path}/{UPDATE}={number}")
            path.getFileSystem(self._session._jsc.hadoopConfiguration()).delete(path, True)


def _options(place: Place) -> dict[str, str]:
    return {**_OPTIONS.get(place.format, {}), **place.options}


def _matching(sink: Sink, relations: Mapping[str, RelationView], *, changes: bool) -> list[tuple[Place, str]]:
    """The relations that a sink writes, each with its place."""
    if sink.changes != changes:
        return []
    return sink_places(sink, {name: view.name for name, view in relations.items()})


def _signed(table: pa.Table) -> pa.Table:
    """The table with decimals in place of unsigned integers, which Spark lacks."""
    fields = [
        field.with_type(pa.decimal128(20, 0)) if pa.types.is_uint64(field.type) else field for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _names(path: Path) -> list[str]:
    """The names in a folder, or the name of a file."""
    return [entry.name for entry in path.iterdir()] if path.is_dir() else [path.name] if path.exists() else []


def _refuse_foreign(sink: Sink, place: Place, names: Iterable[str]) -> None:
    """Refuse to replace a folder that contains files not written by a sink."""
    foreign = [name for name in names if not _OURS.fullmatch(name)]
    if foreign:
        message = f"{place} is not overwritten: it holds {foreign[0]}, which no sink wrote"
        raise UsageError(Diagnostic("E1108", message, sink.span, help="give the sink its own folder"))


def _beside(path: Path, what: str) -> Path:
    """A folder beside another, for use while that one is replaced."""
    return path.with_name(f".{path.name}.holdfast-{what}")


def _swap(beside: Path, path: Path) -> None:
    """Replace a folder by another.  If a run stops in between, the next one writes it again."""
    old = _beside(path, "old")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    beside.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def _overwrite_partition(table: str, number: int, frame: DataFrame) -> None:
    """Overwrite the partition of an update."""
    session = frame.sparkSession  # the view must be in the frame's session
    view = "holdfast_rows_of_an_update"
    columns = ", ".join(f"`{name}`" for name in session.table(table).columns if name != UPDATE)
    frame.createOrReplaceTempView(view)
    try:
        session.sql(f"INSERT OVERWRITE {table} PARTITION ({UPDATE} = {number}) SELECT {columns} FROM {view}")
    finally:
        session.catalog.dropTempView(view)


def _delete_numbered(session: SparkSession, place: Place, number: int) -> None:
    """Delete the rows that an interrupted update left in a database; Spark can only append."""
    jvm: Any = session._jvm
    java = {"url": place.url, "dbtable": place.table, **place.options}
    scala = jvm.PythonUtils.toScalaMap(java)
    options = jvm.org.apache.spark.sql.execution.datasources.jdbc.JdbcOptionsInWrite(scala)
    connection = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(place.url).createConnectionFactory(options).apply(-1)
    try:
        if jvm.org.apache.spark.sql.execution.datasources.jdbc.JdbcUtils.tableExists(connection, options):
            connection.createStatement().executeUpdate(f'DELETE FROM {place.table} WHERE "{UPDATE}" = {number}')
    finally:
        connection.close()
