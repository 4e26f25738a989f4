"""Facts as DataFrames of Spark, in and out: they go through files, from tasks to shards and from shards to Spark."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.backends.parted.handles import PartedFacts
from holdfast.backends.parted.partition import routed
from holdfast.backends.spark_parted.jobs import JobSettings
from holdfast.backends.spark_parted.links import Door, SocketAddress, connected
from holdfast.backends.spark_parted.replica import codes_by, serve_values
from holdfast.interrupts import allowed
from holdfast.program.model import Relation
from holdfast.quick_dataclass import dataclass
from holdfast.spark_session import spark_errors
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary, encode_distinct, float_codes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from holdfast.backends.spark_parted.store import SparkPartedBackend


# --- in ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IntakeSettings:
    """What a task has to know that turns rows of a DataFrame into codes."""

    driver: SocketAddress
    key: bytes
    types: tuple[Type, ...]
    column: int  # that places the facts
    parts: int
    path: str  # of its files, without their numbers


def taken_in(
    settings: JobSettings, dictionary: Dictionary, frame: DataFrame, relation: Relation, column: int
) -> list[str]:
    """Files with the facts of a DataFrame, encoded by the tasks that compute it; the shard is the end of each name."""
    from holdfast.backends.spark.exchange import checked_frame

    checked, key = checked_frame(frame, relation), secrets.token_bytes(32)
    door = Door(settings.host, key, lambda connection, _: serve_values(connection, dictionary))
    path = str(Path(settings.folder) / f"given-{secrets.token_hex(8)}")
    intake = IntakeSettings(door.address, key, relation.types, column, settings.parts, path)
    try:
        with spark_errors(f"the facts for relation {relation.display} cannot be read", "E0630"), allowed():
            made = checked.mapInArrow(lambda batches: _take_in(intake, batches), "path string").collect()
    finally:
        door.close()
    return [row["path"] for row in made]


def _take_in(intake: IntakeSettings, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task: encode rows and write those of each shard to a file of their own."""
    import pyarrow as pa

    connection = connected(intake.driver, intake.key, None)
    parts: list[list[Codes]] = [[] for _ in range(intake.parts)]
    try:
        for batch in batches:
            if batch.num_rows:
                for part, rows in zip(
                    parts, routed(_encoded(intake, batch, connection), intake.column, intake.parts), strict=True
                ):
                    part.append(rows)
    finally:
        connection.close()
    name, paths = f"{intake.path}-{secrets.token_hex(4)}", list[str]()
    for shard, some in enumerate(parts):
        if some:
            paths.append(f"{name}-{shard}.npy")
            np.save(paths[-1], np.concatenate(some))
    yield pa.RecordBatch.from_arrays([pa.array(paths, pa.string())], ["path"])


def _encoded(intake: IntakeSettings, batch: pa.RecordBatch, connection: Connection) -> Codes:
    codes = np.empty((batch.num_rows, len(intake.types)), np.int64)
    for place, type in enumerate(intake.types):
        codes[:, place] = _encoded_column(batch.column(place), type, connection)
    return codes


def _encoded_column(column: pa.Array, type: Type, connection: Connection) -> Codes:
    from holdfast.backends.spark.values import value_of

    match type:
        case Type.NUMBER | Type.UNSIGNED:
            return np.asarray(column.to_numpy(), np.int64)
        case Type.FLOAT:
            return float_codes(np.asarray(column.to_numpy(), np.float64))
    return encode_distinct(column, lambda texts: codes_by(connection, [value_of(text) for text in texts]))


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
        return np.concatenate([np.load(path) for path in self._files])

    def frame(self) -> DataFrame:
        """The facts as the user's DataFrame."""
        return self._backend.published(self._relation, self.pin())


def _remove(files: Sequence[str]) -> None:
    for path in files:
        Path(path).unlink(missing_ok=True)


def write_parquet(rows: Codes, relation: Relation, dictionary: Dictionary, path: Path) -> None:
    """Write facts as the columns that users see: symbols as strings, unsigned numbers as decimals, `any` as text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: list[Any] = []
    for place, column in enumerate(relation.columns):
        values = dictionary.decode_column(rows[:, place], column.type)
        columns.append(values.cast(pa.decimal128(20, 0)) if column.type is Type.UNSIGNED else values)
    names: Sequence[str] = [column.name for column in relation.columns]
    if not relation.columns:
        columns, names = [pa.array([True] * len(rows))], ["()"]
    pq.write_table(pa.table(columns, list(names)), path)
