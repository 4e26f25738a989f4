"""The columns of users' DataFrames as columns of facts: checked, and with symbols and values of type `any` as texts.

Numbers are BIGINT (an unsigned one has the same 64 bits) and floats DOUBLE.  The text of a symbol or of a value of type
`any` begins with a letter for the kind of value, followed by the value; equal values have equal texts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  everybody calls it so
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf
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
    StructField,
    TimestampType,
)

from holdfast.formats.parquet import MARK, column_places
from holdfast.formats.places import refuse
from holdfast.program.model import Column, Relation
from holdfast.spark_session import FAULT, NOTE, spark_errors
from holdfast.values import BlankNode, Iri, Literal, Type, Value
from holdfast.values.foreign_values import adapted, fits_float
from holdfast.values.term_text import parse_term

_TWO_TO_63, _TWO_TO_64 = Decimal(2**63), Decimal(2**64)
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_FOREIGN = (BooleanType, DecimalType, DateType, TimestampType)
_SPARK_TYPES = {Type.NUMBER: "BIGINT", Type.UNSIGNED: "BIGINT", Type.FLOAT: "DOUBLE"}


def checked_frame(frame: DataFrame, relation: Relation) -> DataFrame:
    """A user's DataFrame with our columns, matched in the same way as those of Arrow tables."""
    origin = f"facts for relation {relation.display}"
    if not relation.columns:
        return frame.select(F.lit(0).cast("bigint").alias("c0"))
    places = column_places(frame.columns, relation, origin, None)
    columns = []
    for place, (column, source) in enumerate(zip(relation.columns, places, strict=True)):
        value, field = F.col(f"`{frame.columns[source].replace('`', '``')}`"), frame.schema.fields[source]
        converted = _converted(value, field, column, relation)
        columns.append(_present(converted, value, field, column, relation).alias(f"c{place}"))
    with spark_errors(f"the {origin} cannot be read", "E0630"):
        return frame.select(*columns)


def _converted(value: SparkColumn, field: StructField, column: Column, relation: Relation) -> SparkColumn:
    """A column with values of our type; null where a value is missing or does not fit."""
    converted: SparkColumn
    kind = field.dataType
    match column.type:
        case Type.ANY if field.metadata == MARK:
            converted = arrow_function(_meant_text, "string")(value)
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
                f"facts for relation {relation.display}, column {field.name}: values of Spark's type "
                f"{kind.simpleString()} do not fit type {column.type.value}",
                notes=(f"column {column.name} of relation {relation.display} has type {column.type.value}",),
            )
    return converted


def _present(
    converted: SparkColumn, value: SparkColumn, field: StructField, column: Column, relation: Relation
) -> SparkColumn:
    """A converted column, of which a null stops the job that reads it."""
    kind = f"type {column.type.value}"
    before = f"{FAULT}facts for relation {relation.display}, column {field.name}: "
    missing, after = "a value is missing", f"{NOTE}column {column.name} of relation {relation.display} has {kind}"
    if _always_fits(field.dataType, column.type):  # in one text: many frames have many columns, and each call costs
        reason = F.lit(before + missing + after)
    else:
        fault = F.coalesce(F.concat(value.cast("string"), F.lit(f" does not fit {kind}")), F.lit(missing))
        reason = F.concat(F.lit(before), fault, F.lit(after))
    return F.coalesce(converted, F.raise_error(reason).cast(spark_type(column.type)))


def _always_fits(kind: DataType, type: Type) -> bool:
    """Whether every value of Spark's type has one of ours."""
    return isinstance(kind, (StringType, FloatType, DoubleType)) or (
        isinstance(kind, _INTEGERS) and type is not Type.UNSIGNED
    )


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


def _meant_text(column: pa.Array) -> pa.Array:
    return pa.array([None if text is None else text_of(parse_term(text)) for text in column.to_pylist()], pa.string())


def _float_text(column: pa.Array) -> pa.Array:
    return pa.array([None if value is None else text_of(value + 0.0) for value in column.to_pylist()], pa.string())


def arrow_function(function: Callable[..., pa.Array], returns: str) -> Any:
    """A function of Arrow columns for Spark."""

    def run(*columns: pa.Array) -> pa.Array:
        return function(*columns)

    with warnings.catch_warnings(action="ignore", category=UserWarning):  # it prefers type hints, which add nothing
        return arrow_udf(run, returns, ArrowUDFType.SCALAR)


# --- types and texts -----------------------------------------------------------------------------------


def types_of(relation: Relation) -> tuple[Type, ...]:
    """The types of a relation's columns in Spark; a relation without columns has one there, which is always 0."""
    return relation.types or (Type.NUMBER,)


def spark_type(type: Type) -> str:
    """The type of a column in a query."""
    return _SPARK_TYPES.get(type, "STRING")


def text_of(value: Value) -> str:
    """The text of a symbol or of a value of type `any`."""
    match value:
        case str():
            return "s" + value
        case Iri(value=text):
            return "i" + text
        case BlankNode(label=label):
            return "b" + label
        case int():
            return f"n{value}"
        case float():
            return f"f{value!r}"
        case Literal(lexical=lexical, datatype=datatype, language=language):
            return f"l@{language}\0{lexical}" if language else f"l^{datatype}\0{lexical}"
    raise AssertionError(f"no column of a DataFrame has records: {value}")


def value_of(text: str) -> Value:
    """The value that a text stands for."""
    rest = text[1:]
    match text[0]:
        case "s":
            return rest
        case "i":
            return Iri(rest)
        case "b":
            return BlankNode(rest)
        case "n":
            return int(rest)
        case "f":
            return float(rest)
    kind, _, lexical = rest.partition("\0")
    return Literal(lexical, None, kind[1:]) if kind[0] == "@" else Literal(lexical, kind[1:])
