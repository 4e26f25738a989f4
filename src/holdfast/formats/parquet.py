"""Facts in Parquet files and Arrow tables.

Columns are found by name if the relation declares them, and by position if nothing is declared or if the table's
columns have only numbers for names, 0, 1 … or c1, c2 ….  A column of type `any` is written as text and marked so in the
schema; unmarked strings are strings.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from holdfast.encoding import Codes, Dictionary, EncodingError
from holdfast.errors import Span
from holdfast.formats.files import refuse_unreadable, replacing
from holdfast.formats.places import file_span, other_columns, refuse
from holdfast.lazy import lazily
from holdfast.program.model import Column, Relation
from holdfast.values import Type

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    pa = lazily("pyarrow")
    pq = lazily("pyarrow.parquet")

MARK = {"holdfast": "any"}  # of a column whose texts stand for values of any type
_COUNT = "()"  # the one column in which a relation without columns is kept, so that its rows can be counted


def read_parquet(path: Path, relation: Relation, dictionary: Dictionary) -> Codes:
    """The facts in a Parquet file."""
    return encode_table(_read_table(path), relation, dictionary, path.as_posix(), file_span(path))


def sniff_parquet(path: Path) -> tuple[Type, ...]:
    """The types of a Parquet file's columns."""
    table = _read_table(path)
    return tuple(map(arrow_type, table.schema)) if table.num_rows else ()


def _read_table(path: Path) -> pa.Table:
    try:
        with path.open("rb") as file:
            return pq.read_table(file)
    except pa.ArrowException:
        refuse("E0614", f"{path.as_posix()} is not a Parquet file, or is damaged", file_span(path))
    except OSError as error:
        refuse_unreadable(path, error)


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a table whole or not at all."""
    with replacing(path) as temporary:
        pq.write_table(table, temporary)


def to_arrow(relation: Relation, codes: Codes, dictionary: Dictionary) -> pa.Table:
    """The facts as a table with the relation's columns."""
    if not relation.columns:
        return pa.table({_COUNT: pa.nulls(len(codes), pa.bool_()).fill_null(True)})
    arrays = [dictionary.decode_column(codes[:, number], column.type) for number, column in enumerate(relation.columns)]
    fields = [
        pa.field(column.name, array.type, False, MARK if column.type is Type.ANY else None)
        for column, array in zip(relation.columns, arrays, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def arrow_type(field: pa.Field) -> Type:
    """The type that an Arrow column suggests."""
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_uint64(kind):
        return Type.UNSIGNED
    if pa.types.is_integer(kind):
        return Type.NUMBER
    if pa.types.is_floating(kind):
        return Type.FLOAT
    return Type.ANY if field.metadata and b"holdfast" in field.metadata else Type.SYMBOL


def encode_table(
    table: pa.Table, relation: Relation, dictionary: Dictionary, origin: str, span: Span | None = None
) -> Codes:
    """The facts in an Arrow table; `origin` says in errors where it is from."""
    if not relation.columns:
        return np.empty((table.num_rows, 0), np.int64)
    codes = np.empty((table.num_rows, relation.arity), np.int64)
    for number, place in enumerate(column_places(table.column_names, relation, origin, span)):
        column = relation.columns[number]
        try:
            codes[:, number] = _encode(table.field(place), table.column(place), column.type, dictionary)
        except EncodingError as error:
            _refuse(error, column, table.schema.field(place), relation, origin, span)
    return codes


def _encode(field: pa.Field, values: pa.ChunkedArray, type: Type, dictionary: Dictionary) -> Codes:
    marked = type is Type.ANY and bool(field.metadata) and b"holdfast" in field.metadata
    return dictionary.encode_texts(values) if marked else dictionary.encode_column(values, type)


def column_places(
    names: list[str], relation: Relation, origin: str, span: Span | None, *, by_position: bool = True
) -> list[int]:
    """For each column of the relation the place of the table's column."""
    if by_position and not relation.declared and len(names) == relation.arity:
        return list(range(relation.arity))
    wanted = [column.name for column in relation.columns]
    present = set(wanted) & set(names)
    if len(present) == len(wanted) == len(names):
        return [names.index(name) for name in wanted]
    if not by_position or names not in _nameless(len(wanted)):
        _refuse_columns(names, wanted, relation, origin, span)
    return list(range(len(wanted)))


def _nameless(count: int) -> tuple[list[str], list[str]]:
    """What columns are called that nobody named: by pandas, and by us."""
    return [str(place) for place in range(count)], [f"c{place}" for place in range(1, count + 1)]


def _refuse_columns(
    names: list[str], wanted: list[str], relation: Relation, origin: str, span: Span | None
) -> NoReturn:
    refuse(
        "E0615",
        f"{origin} {other_columns(names, wanted)}",
        span,
        notes=(f"relation {relation.display} has the columns {', '.join(wanted)}",),
    )


def _refuse(
    error: EncodingError, column: Column, field: pa.Field, relation: Relation, origin: str, span: Span | None
) -> NoReturn:
    where = "" if error.row is None else f", row {error.row + 1}"
    refuse(
        "E0606",
        f"{origin}{where}, column {field.name}: {error.reason}",
        span,
        notes=(f"column {column.name} of relation {relation.display} has type {column.type.value}",),
    )
