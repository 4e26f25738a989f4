"""The representation of values in Spark's columns, in rows on the driver, and in the text of queries.

Numbers are BIGINT (an unsigned one has the same 64 bits), floats DOUBLE, symbols and values of type `any` STRING.
Symbols and `any` share one representation, as in the dictionary of codes, so that they can be joined: the text begins
with a letter for the kind of value, followed by the value.  Equal values have equal texts, and there are no nulls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from holdfast.program.model import Relation
from holdfast.values import BlankNode, Iri, Literal, Type, Value
from holdfast.values.arrow_columns import distinct, encode_distinct
from holdfast.values.dictionary import Codes, Dictionary, float_codes

Native: TypeAlias = int | float | str
NativeRow: TypeAlias = tuple[Native, ...]

_NAN = math.nan  # the one object that rows on the driver use, so that it equals itself in a set
_SPARK_TYPES = {Type.NUMBER: "BIGINT", Type.UNSIGNED: "BIGINT", Type.FLOAT: "DOUBLE"}
_ARROW_TYPES = {Type.NUMBER: pa.int64(), Type.UNSIGNED: pa.int64(), Type.FLOAT: pa.float64()}
_INLINE = 256  # rows; a query lists no more than this inline


def types_of(relation: Relation) -> tuple[Type, ...]:
    """The types of a relation's columns in Spark; a relation without columns has one there, which is always 0."""
    return relation.types or (Type.NUMBER,)


def spark_type(type: Type) -> str:
    """The type of a column in a query."""
    return _SPARK_TYPES.get(type, "STRING")


def arrow_type(type: Type) -> pa.DataType:
    """The type of a column in an Arrow table."""
    return _ARROW_TYPES.get(type, pa.string())


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
    raise AssertionError(f"records are refused on Spark: {value}")


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


# --- codes and columns -------------------------------------------------------------------------------


def column_of(codes: Codes, type: Type, dictionary: Dictionary) -> pa.Array:
    """Converts codes to a column for Spark."""
    codes = np.ascontiguousarray(codes)
    match type:
        case Type.NUMBER | Type.UNSIGNED:
            return pa.array(codes)
        case Type.FLOAT:
            return pa.array(codes.view(np.float64))
    ids, places = distinct(codes, len(dictionary))
    texts = [text_of(dictionary.value_of(id)) for id in ids.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(places))


def codes_of(column: pa.Array | pa.ChunkedArray, type: Type, dictionary: Dictionary) -> Codes:
    """Converts a column of Spark to codes."""
    match type:
        case Type.NUMBER | Type.UNSIGNED:
            return np.asarray(column.to_numpy(), np.int64)
        case Type.FLOAT:
            return float_codes(np.asarray(column.to_numpy(), np.float64))
    return encode_distinct(column, lambda texts: np.array([dictionary.id_of(value_of(t)) for t in texts], np.int64))


def table_of(codes: Codes, relation: Relation, dictionary: Dictionary) -> pa.Table:
    """Converts encoded facts to a table for Spark."""
    if not relation.columns:
        return pa.table([pa.array(np.zeros(len(codes), np.int64))], ["c0"])
    columns = [column_of(codes[:, place], type, dictionary) for place, type in enumerate(relation.types)]
    return pa.table(columns, [f"c{place}" for place in range(len(columns))])


def codes_of_table(table: pa.Table, relation: Relation, dictionary: Dictionary) -> Codes:
    """Converts a table of Spark to encoded facts."""
    codes = np.empty((table.num_rows, relation.arity), np.int64)
    for place, type in enumerate(relation.types):
        codes[:, place] = codes_of(table.column(place), type, dictionary)
    return codes


# --- rows on the driver ------------------------------------------------------------------------------


def rows_of(columns: Sequence[pa.ChunkedArray], types: Sequence[Type]) -> list[NativeRow]:
    """Converts columns of Spark to rows."""
    lists = [column.to_pylist() for column in columns]
    for place, type in enumerate(types):
        if type is Type.FLOAT:
            lists[place] = [value if value == value else _NAN for value in lists[place]]
    return list(zip(*lists, strict=True))


def table_of_rows(rows: Iterable[NativeRow], types: Sequence[Type], **more: list[int]) -> pa.Table:
    """Converts rows to a table for Spark, with further columns of integers."""
    lists: Iterable[Sequence[Native]] = list(zip(*rows, strict=True)) or [()] * len(types)
    columns = [pa.array(values, arrow_type(type)) for values, type in zip(lists, types, strict=True)]
    columns += [pa.array(values, pa.int64()) for values in more.values()]
    return pa.table(columns, [*(f"c{place}" for place in range(len(types))), *more])


# --- the text of queries -----------------------------------------------------------------------------


def sql_value(value: Native) -> str:
    """A value of a row as text of a query."""
    match value:
        case int():
            return f"{value}L" if abs(value) < 2**63 else f"CAST('{value}' AS BIGINT)"
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case str():
            return f"CAST(X'{value.encode().hex()}' AS STRING)"


def native_of(value: Value, type: Type) -> Native:
    """A constant of a program as a value of a row."""
    match type:
        case Type.UNSIGNED:
            assert isinstance(value, int)
            return value if value < 2**63 else value - 2**64
        case Type.NUMBER | Type.FLOAT:
            assert isinstance(value, int | float)
            return value + 0.0 if type is Type.FLOAT else value
    return text_of(value)


def inline_rows(rows: Sequence[NativeRow], width: int) -> str | None:
    """A query that returns some rows, if they are few."""
    names = ", ".join(f"c{place}" for place in range(width))
    if not rows or len(rows) > _INLINE:
        return None
    listed = ", ".join(f"({', '.join(map(sql_value, row))})" for row in rows)
    # in one partition, so that joins of such rows move nothing
    return f"SELECT /*+ COALESCE(1) */ * FROM VALUES {listed} AS t({names})"
