"""Converts between facts and the user's DataFrames."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  everybody calls it so
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampType,
)

from holdfast.backends.spark.frames import Frame, Named, Space
from holdfast.backends.spark.functors import arrow_function
from holdfast.backends.spark.values import codes_of_table, spark_type, text_of, value_of
from holdfast.formats.parquet import MARK, column_places
from holdfast.formats.places import refuse
from holdfast.program.model import Column, Relation
from holdfast.spark_session import FAULT, NOTE, spark_errors
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary
from holdfast.values.foreign_values import adapted, fits_float
from holdfast.values.term_text import parse_term, term_text

_TWO_TO_63, _TWO_TO_64 = Decimal(2**63), Decimal(2**64)
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_FOREIGN = (BooleanType, DecimalType, DateType, TimestampType)


class SparkRows:
    """The facts of a relation on the executors, at the time of the call."""

    def __init__(self, relation: Relation, frame: Frame, size: int, dictionary: Dictionary) -> None:
        self._relation = relation
        self._frame = frame
        self._size = size
        self._dictionary = dictionary

    def __len__(self) -> int:
        return self._size

    def codes(self) -> Codes:
        """The facts, fetched to the driver."""
        table = self._frame.space.fetched(self._frame.query)
        return codes_of_table(table, self._relation, self._dictionary)

    def frame(self) -> DataFrame:
        """The facts as the user's DataFrame; from now on Spark frees what it reads."""
        _lend(self._frame)
        made = self._frame.dataframe()
        columns = [_shown(f"c{place}", column) for place, column in enumerate(self._relation.columns)]
        with spark_errors():
            return made.select(*columns) if columns else made.select(F.lit(True).alias("()"))


def _lend(frame: Frame) -> None:
    if isinstance(frame, Named):
        frame.lend()
    for needed in frame.needs:
        _lend(needed)


def _shown(name: str, column: Column) -> SparkColumn:
    """A column as users see it: symbols as strings, unsigned numbers as decimals, `any` as text."""
    match column.type:
        case Type.SYMBOL:
            value = F.substr(F.col(name), F.lit(2))
        case Type.UNSIGNED:
            number = F.col(name).cast(DecimalType(20, 0))
            value = F.when(number < 0, number + F.lit(_TWO_TO_64)).otherwise(number)
            value = value.cast(DecimalType(20, 0))
        case Type.ANY:
            value = arrow_function(_shown_text, "string")(F.col(name))
        case _:
            value = F.col(name)
    return value.alias(column.name)


def _shown_text(column: pa.Array) -> pa.Array:
    return pa.array([term_text(value_of(text)) for text in column.to_pylist()], pa.string())


def _meant_text(column: pa.Array) -> pa.Array:
    return pa.array([text_of(parse_term(text)) for text in column.to_pylist()], pa.string())


def _float_text(column: pa.Array) -> pa.Array:
    return pa.array([text_of(value + 0.0) for value in column.to_pylist()], pa.string())


def native_frame(space: Space, frame: DataFrame, relation: Relation) -> Frame:
    """A user's DataFrame as facts of a relation, each once."""
    checked = checked_frame(frame, relation)
    with spark_errors(f"the facts for relation {relation.display} cannot be read", "E0630"):
        made = Named(space, checked.distinct())
        made.rows = _most_rows(frame) if relation.columns else made.rows
        return made


def checked_frame(frame: DataFrame, relation: Relation) -> DataFrame:
    """A user's DataFrame with our columns, matched in the same way as those of Arrow tables."""
    origin = f"facts for relation {relation.display}"
    if not relation.columns:
        return frame.select(F.lit(0).cast("bigint").alias("c0"))
    places = column_places(frame.columns, relation, origin, None)
    columns = []
    for place, (column, source) in enumerate(zip(relation.columns, places, strict=True)):
        value, field = F.col(f"`{frame.columns[source].replace('`', '``')}`"), frame.schema.fields[source]
        if column.type is Type.ANY and field.metadata == MARK:
            converted = arrow_function(_meant_text, "string")(value)
        else:
            converted = _checked(value, field.dataType, column, frame.columns[source], relation)
        columns.append(converted.alias(f"c{place}"))
    with spark_errors(f"the {origin} cannot be read", "E0630"):
        return frame.select(*columns)


def _foreign(value: SparkColumn, kind: DataType, type: Type) -> SparkColumn | None:
    """Booleans, decimals, dates and times as values of a column's type; None where they have no such value."""
    number: SparkColumn
    match kind:
        case _ if type.in_dictionary and isinstance(kind, _FOREIGN):
            number = arrow_function(partial(_foreign_text, type), "string")(value)
            return number
        case DecimalType() if type is Type.FLOAT:
            number = arrow_function(_decimal_float, "double")(value)
            return number
        case DecimalType():
            whole = value.cast(DecimalType(38, 0))
            fits = (whole.cast(kind) == value) & (whole >= F.lit(-_TWO_TO_63)) & (whole < F.lit(_TWO_TO_63))
            number = F.when(fits, whole.cast("bigint"))
        case BooleanType():
            number = value.cast("bigint")
        case DateType():
            number = F.unix_date(value).cast("bigint")
        case TimestampType():
            number = F.unix_micros(value)
        case _:
            return None
    return None if type is Type.FLOAT else F.when(number >= F.lit(0 if type is Type.UNSIGNED else -(2**63)), number)


def _decimal_float(values: pa.Array) -> pa.Array:
    """Decimals as floats; null where no float is written like that."""
    return pa.array([None if v is None or not fits_float(v) else float(v) for v in values.to_pylist()], pa.float64())


def _foreign_text(type: Type, values: pa.Array) -> pa.Array:
    """Booleans, decimals, dates and times as the texts of symbols or of RDF literals."""
    texts = [None if value is None else text_of(adapted(value, type)) for value in values.to_pylist()]
    return pa.array(texts, pa.string())


def _most_rows(frame: DataFrame) -> float:
    """An upper bound of the number of rows, by Spark's estimate: a value takes about eight bytes."""
    size = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    return float(str(size)) / (8 * len(frame.columns))


def _checked(value: SparkColumn, kind: DataType, column: Column, name: str, relation: Relation) -> SparkColumn:
    """A column with values of our type; a missing or unsuitable value stops the job that reads it."""
    match column.type:
        case Type.NUMBER if isinstance(kind, _INTEGERS):
            converted = value.cast("bigint")
        case Type.UNSIGNED if isinstance(kind, _INTEGERS):
            converted = F.when(value >= 0, value.cast("bigint"))
        case Type.UNSIGNED if isinstance(kind, DecimalType) and kind.scale == 0:
            wide = value.cast(DecimalType(38, 0))
            low = F.when((wide >= 0) & (wide < F.lit(_TWO_TO_63)), wide.cast("bigint"))
            signed = (wide - F.lit(_TWO_TO_64)).cast("bigint")
            high = F.when((wide >= F.lit(_TWO_TO_63)) & (wide < F.lit(_TWO_TO_64)), signed)
            converted = F.coalesce(low, high)
        case Type.FLOAT if isinstance(kind, (*_INTEGERS, FloatType, DoubleType)):
            converted = value.cast("double") + F.lit(0.0)
        case Type.SYMBOL | Type.ANY if isinstance(kind, StringType):
            converted = F.concat(F.lit("s"), value)
        case Type.ANY if isinstance(kind, _INTEGERS):
            converted = F.concat(F.lit("n"), value.cast("string"))
        case Type.ANY if isinstance(kind, FloatType | DoubleType):
            converted = arrow_function(_float_text, "string")(value.cast("double"))
        case _ if (foreign := _foreign(value, kind, column.type)) is not None:
            converted = foreign
        case _:
            refuse(
                "E0606",
                f"facts for relation {relation.display}, column {name}: values of Spark's type "
                f"{kind.simpleString()} do not fit type {column.type.value}",
                notes=(f"column {column.name} of relation {relation.display} has type {column.type.value}",),
            )
    fault = F.coalesce(
        F.concat(value.cast("string"), F.lit(f" does not fit type {column.type.value}")), F.lit("a value is missing")
    )
    reason = F.concat(
        F.lit(f"{FAULT}facts for relation {relation.display}, column {name}: "),
        fault,
        F.lit(f"{NOTE}column {column.name} of relation {relation.display} has type {column.type.value}"),
    )
    return F.coalesce(converted, F.raise_error(reason).cast(spark_type(column.type)))
