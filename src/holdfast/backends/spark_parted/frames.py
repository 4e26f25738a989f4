"""Facts as DataFrames of Spark, in and out: they go through files, from tasks to shards and from shards to Spark."""

from __future__ import annotations

import pickle
import secrets
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, DecimalType, DoubleType, LongType, StringType, StructField, StructType

from holdfast.backends.parted.handles import PartedFacts
from holdfast.backends.parted.hubs import FrequentValues
from holdfast.backends.parted.partition import Hubs, routed
from holdfast.backends.spark_parted.columns import checked_frame, spark_type, types_of, value_of
from holdfast.backends.spark_parted.jobs import SHUFFLE, JobSettings
from holdfast.backends.spark_parted.links import Door, JobKey, SocketAddress, connected, new_key
from holdfast.backends.spark_parted.recording import load_rows
from holdfast.backends.spark_parted.replica import codes_by, encoded_values, serve_values
from holdfast.formats.parquet import MARK
from holdfast.formats.python_data import encode_facts
from holdfast.interrupts import allowed
from holdfast.program.model import Relation
from holdfast.quick_dataclass import dataclass
from holdfast.spark_session import spark_errors
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary, encode_distinct, float_codes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row

    from holdfast.backends.spark_parted.store import SparkPartedBackend

_TASKS = 2  # for each shard, when several frames are read together


# --- in ------------------------------------------------------------------------------------------------


def with_records(
    rows: Mapping[str, Codes], frames: Mapping[str, Sequence[Any]], relations: Mapping[str, Relation], ids: Dictionary
) -> dict[str, Codes]:
    """Encoded rows, with those of frames for relations with records: their texts are read on the driver."""
    found = dict(rows)
    for name, several in frames.items():
        if Type.RECORD in relations[name].types:
            encoded = [encode_facts(frame, relations[name], ids) for frame in several]
            found[name] = np.concatenate([*([rows[name]] if name in rows else []), *encoded])
    return found


@dataclass(frozen=True)
class GivenFrame:
    """A DataFrame with facts of a relation, the column that places them, the values whose facts are spread, and the
    columns in which others may be frequent."""

    frame: DataFrame
    relation: Relation
    column: int
    hubs: Hubs
    joined: tuple[int, ...]


@dataclass(frozen=True)
class IntakeSettings:
    """What a task has to know that turns rows of DataFrames into codes."""

    driver: SocketAddress | None  # None: tasks have no connections
    key: JobKey
    kinds: tuple[tuple[tuple[Type, ...], int, Hubs, tuple[int, ...]], ...]
    """Of each frame: the types of its columns, its places, and what is joined."""
    parts: int
    path: str  # of its files, without their numbers

    @property
    def texts(self) -> list[int]:
        """The columns of all frames that hold texts."""
        return [place for place, type in enumerate(self.kinds[0][0]) if not type.is_numeric]

    @property
    def codes(self) -> Path:
        """The file with the codes of all texts, where tasks have no connections."""
        return Path(f"{self.path}-codes")


def taken_in(
    settings: JobSettings, dictionary: Dictionary, given: Sequence[GivenFrame]
) -> tuple[dict[str, list[str]], int, FrequentValues]:
    """Files with the facts of DataFrames, by predicate, encoded by the tasks that compute them; the number of rows, and
    the values that are frequent in them.

    The end of each file's name is the number of the shard.  Frames with the same types of columns are read by one job,
    since jobs cost more than rows.
    """
    groups: dict[tuple[str, ...], list[GivenFrame]] = {}
    for each in given:
        groups.setdefault(tuple(map(spark_type, types_of(each.relation))), []).append(each)
    key, files, frequent = new_key(settings.identity), dict[str, list[str]](), FrequentValues(settings.parts)
    door = None
    if settings.exchange != SHUFFLE:
        door = Door(settings.host, key, lambda connection, _: serve_values(connection, dictionary))
    try:
        for group in groups.values():
            path = str(Path(settings.folder) / f"given-{secrets.token_hex(8)}")
            kinds = tuple((each.relation.types, each.column, each.hubs, each.joined) for each in group)
            intake = IntakeSettings(door.address if door else None, key, kinds, settings.parts, path)
            for made in _made(intake, group, dictionary):
                name = group[made["frame"]].relation.name
                if made["path"]:
                    files.setdefault(name, []).append(made["path"])
                    frequent.rows[name] += made["rows"]
                else:
                    frequent.times[name, made["column"], made["value"]] += made["rows"]
    finally:
        if door is not None:
            door.close()
    return files, frequent.rows.total(), frequent


def _made(intake: IntakeSettings, group: Sequence[GivenFrame], dictionary: Dictionary) -> list[Row]:
    """What a job has made: files, and frequent values with the number of their rows."""
    from pyspark.sql import functions as F  # noqa: N812

    names = ", ".join(sorted({each.relation.display for each in group}))
    with spark_errors(f"the facts for relation {names} cannot be read", "E0630"), allowed():
        checked = [
            checked_frame(each.frame, each.relation).withColumn("frame", F.lit(number))
            for number, each in enumerate(group)
        ]
        together = reduce(DataFrame.unionAll, checked)
        if len(group) > 1:
            together = together.coalesce(_TASKS * intake.parts)
        with _codes_known(intake, together, dictionary):
            schema = "frame int, path string, rows bigint, column int, value bigint"
            return together.mapInArrow(lambda batches: _take_in(intake, batches), schema).collect()


@contextmanager
def _codes_known(intake: IntakeSettings, frame: DataFrame, dictionary: Dictionary) -> Iterator[None]:
    """Inside a `with` tasks find the codes of all texts of a frame in a file, if they cannot ask for them."""
    if intake.driver is not None or not intake.texts:
        yield
        return
    frame.persist()  # it is read twice
    try:
        found = frame.mapInArrow(lambda batches: _distinct(intake, batches), "text string").toArrow()
        texts = found.column(0).unique().to_pylist()
        codes = encoded_values(dictionary, [value_of(text) for text in texts]).tolist()
        intake.codes.write_bytes(pickle.dumps(dict(zip(texts, codes, strict=True))))
        yield
    finally:
        frame.unpersist()
        intake.codes.unlink(missing_ok=True)


def _distinct(intake: IntakeSettings, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task: the texts in some rows."""
    import pyarrow as pa

    found = set[str]()
    for batch in batches:
        for place in intake.texts:
            found.update(batch.column(place).unique().to_pylist())
    yield pa.RecordBatch.from_arrays([pa.array(sorted(found), pa.string())], ["text"])


CodesOf: TypeAlias = Callable[[list[str]], Codes]
"""Gives the codes of texts."""


@contextmanager
def _codes_of(intake: IntakeSettings) -> Iterator[CodesOf]:
    if not intake.texts:
        yield lambda _: np.empty(0, np.int64)
    elif intake.driver is None:
        known: dict[str, int] = pickle.loads(intake.codes.read_bytes())
        yield lambda texts: np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))
    else:
        connection = connected(intake.driver, intake.key, None)
        try:
            yield lambda texts: codes_by(connection, [value_of(text) for text in texts])
        finally:
            connection.close()


def _take_in(intake: IntakeSettings, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task: encode rows and write those of each frame and shard to a file of their own."""
    import pyarrow as pa

    parts: dict[tuple[int, int], list[Codes]] = {}
    frequent = FrequentValues(intake.parts)
    with _codes_of(intake) as codes_of:
        for batch in batches:
            for number, rows in _encoded(intake, batch, codes_of):
                _, column, hubs, joined = intake.kinds[number]
                frequent.see(str(number), rows, joined if intake.parts > 1 else ())
                for shard, some in enumerate(routed(rows, column, intake.parts, hubs)):
                    parts.setdefault((number, shard), []).append(some)
    name = f"{intake.path}-{secrets.token_hex(4)}"
    made = [(int(number), "", times, column, value) for (number, column, value), times in frequent.times.items()]
    for (number, shard), several in parts.items():
        rows = np.concatenate(several)
        if len(rows):
            path = f"{name}-{number}-{shard}.npy"
            made.append((number, path, len(rows), 0, 0))
            np.save(path, rows)
    names, kinds = ["frame", "path", "rows", "column", "value"], ["int32", "string", "int64", "int32", "int64"]
    columns = [pa.array([row[place] for row in made], kind) for place, kind in enumerate(kinds)]
    yield pa.RecordBatch.from_arrays(columns, names)


def _encoded(intake: IntakeSettings, batch: pa.RecordBatch, codes_of: CodesOf) -> Iterator[tuple[int, Codes]]:
    """The rows of each frame in a batch, with the number of the frame, which is the last column."""
    import pyarrow.compute as pc

    frames = batch.column(batch.num_columns - 1)
    for number in pc.unique(frames).to_pylist():
        some, (types, *_) = batch.filter(pc.equal(frames, number)), intake.kinds[number]
        codes = np.empty((some.num_rows, len(types)), np.int64)
        for place, type in enumerate(types):
            codes[:, place] = _encoded_column(some.column(place), type, codes_of)
        yield number, codes


def _encoded_column(column: pa.Array, type: Type, codes_of: CodesOf) -> Codes:
    match type:
        case Type.NUMBER | Type.UNSIGNED:
            return np.asarray(column.to_numpy(), np.int64)
        case Type.FLOAT:
            return float_codes(np.asarray(column.to_numpy(), np.float64))
    return encode_distinct(column, codes_of)


# --- out -----------------------------------------------------------------------------------------------


class ShardRows:
    """The facts of a relation at the time of the call: on the shards while these are as they were, then in files."""

    def __init__(self, backend: SparkPartedBackend, relation: Relation, facts: PartedFacts, size: int) -> None:
        self._backend, self._relation, self._facts, self._size = backend, relation, facts, size
        self._files: list[str] | None = None

    @property
    def predicate(self) -> str:
        """Whose facts they are."""
        return self._relation.name

    def __len__(self) -> int:
        return self._size

    def pin(self) -> list[str]:
        """Have them in files, whatever happens to the shards."""
        if self._files is None:
            self._files = self._backend.written(self.predicate, self._facts)
            weakref.finalize(self, _remove, self._files)
        return self._files

    def codes(self) -> Codes:
        """The facts, brought here."""
        if self._files is None:
            return self._backend.collected(self.predicate, self._facts)
        return np.concatenate([*map(load_rows, self._files)])

    def frame(self) -> DataFrame:
        """The facts as the user's DataFrame."""
        return self._backend.published(self._relation, self.pin())


def _remove(files: Sequence[str]) -> None:
    for path in files:
        Path(path).unlink(missing_ok=True)


def schema_of(relation: Relation) -> StructType:
    """The columns that users see; those of type `any` are marked, as in our Parquet files."""
    kinds = {Type.NUMBER: LongType(), Type.UNSIGNED: DecimalType(20, 0), Type.FLOAT: DoubleType()}
    fields = [
        StructField(column.name, kinds.get(column.type, StringType()), True, MARK if column.type is Type.ANY else None)
        for column in relation.columns
    ]
    return StructType(fields or [StructField("()", BooleanType())])


def write_parquet(rows: Codes, relation: Relation, dictionary: Dictionary, path: Path) -> None:
    """Write facts as the columns that users see: symbols as strings, unsigned numbers as decimals, `any` as text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: list[Any] = []
    for place, column in enumerate(relation.columns):
        values = dictionary.decode_column(rows[:, place], column.kind)
        columns.append(values.cast(pa.decimal128(20, 0)) if column.type is Type.UNSIGNED else values)
    names: Sequence[str] = [column.name for column in relation.columns]
    if not relation.columns:
        columns, names = [pa.array([True] * len(rows))], ["()"]
    pq.write_table(pa.table(columns, list(names)), path)
