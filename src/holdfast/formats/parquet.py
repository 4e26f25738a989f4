"""Facts in Parquet files and Arrow tables.

Columns are matched by name if the relation declares them, and by position if it does not or if the table's columns are
only numbered: 0, 1 … or c1, c2 ….  A column of type `any` is written as text and marked in the schema; unmarked strings
are strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from holdfast.errors import Span
from holdfast.formats.files import reading_of, refuse_unreadable
from holdfast.formats.places import file_span, other_columns, refuse
from holdfast.formats.staging import Replacing, replacing
from holdfast.lazy import lazily
from holdfast.program.model import Column, Relation
from holdfast.settings import Memory
from holdfast.values import Record, Type
from holdfast.values.arrow_columns import is_text
from holdfast.values.dictionary import Codes, Dictionary, EncodingError
from holdfast.values.number_text import NumberError
from holdfast.values.records import parse_record
from holdfast.values.structures import Kind, Structure

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    pa = lazily("pyarrow")
    pq = lazily("pyarrow.parquet")

_ROWS = 1 << 16  # rows read at a time
MARK = {"holdfast": "any"}  # marks a column whose texts denote values of any type
_COUNT = "()"  # the only column of a relation without columns, so that its rows can be counted


def read_parquet(path: Path, relation: Relation, dictionary: Dictionary) -> Codes:
    """The facts in a Parquet file, read in batches."""
    what, parts, first = reading_of(path), [], 0
    with ExitStack() as held, _opened(path) as file:
        for table in _tables(file, what, dictionary.memory):
            parts.append(encode_table(table, relation, dictionary, path.as_posix(), file_span(path), first))
            held.enter_context(dictionary.memory.holding(what, 2 * parts[-1].nbytes))  # concatenating copies them
            first += table.num_rows
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def sniff_parquet(path: Path) -> tuple[Type, ...]:
    """The types of a Parquet file's columns."""
    with _opened(path) as file:
        return tuple(map(arrow_type, file.schema_arrow)) if file.metadata.num_rows else ()


def _tables(file: pq.ParquetFile, what: str, memory: Memory) -> Iterator[pa.Table]:
    """The rows in batches; at least one table, which may be empty."""
    groups = [file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups)]
    if not file.metadata.num_rows:
        yield file.schema_arrow.empty_table()
    with memory.holding(what, max(groups, default=0)):
        for batch in file.iter_batches(_ROWS):
            with memory.holding(what, batch.nbytes):
                yield pa.Table.from_batches([batch])


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file with dictionary-encoded strings, so that rows sharing a long string take little memory."""
    try:
        with path.open("rb") as file:
            texts = [field.name for field in pq.read_schema(file) if is_text(field.type)]
            yield pq.ParquetFile(file, read_dictionary=texts)
    except pa.ArrowException:
        refuse("E0614", f"{path.as_posix()} is not a Parquet file, or is damaged", file_span(path))
    except OSError as error:
        refuse_unreadable(path, error)


def write_parquet(path: Path, schema: pa.Schema, parts: Iterable[pa.Table], replacing: Replacing = replacing) -> None:
    """Write the parts of a table, atomically."""
    with replacing(path) as temporary, pq.ParquetWriter(temporary, schema) as writer:
        for part in parts:
            writer.write_table(part)


def to_arrow(relation: Relation, codes: Codes, dictionary: Dictionary) -> pa.Table:
    """The facts as a table with the relation's columns."""
    if not relation.columns:
        return pa.table({_COUNT: pa.nulls(len(codes), pa.bool_()).fill_null(True)})
    arrays = [dictionary.decode_column(codes[:, number], column.kind) for number, column in enumerate(relation.columns)]
    fields = [
        pa.field(column.name, array.type, False, MARK if column.type is Type.ANY else None)
        for column, array in zip(relation.columns, arrays, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def arrow_type(field: pa.Field) -> Type:
    """The type for an Arrow column."""
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_uint64(kind):
        return Type.UNSIGNED
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return Type.NUMBER
    if pa.types.is_floating(kind):
        return Type.FLOAT
    return Type.ANY if field.metadata and b"holdfast" in field.metadata else Type.SYMBOL


def encode_table(
    table: pa.Table, relation: Relation, dictionary: Dictionary, origin: str, span: Span | None = None, first: int = 0
) -> Codes:
    """The facts in an Arrow table; `origin` names it in errors; `first` is the number of rows before it."""
    if not relation.columns:
        return np.empty((table.num_rows, 0), np.int64)
    codes = np.empty((table.num_rows, relation.arity), np.int64)
    for number, place in enumerate(column_places(table.column_names, relation, origin, span)):
        column = relation.columns[number]
        try:
            codes[:, number] = _encode(table.field(place), table.column(place), column.kind, dictionary)
        except EncodingError as error:
            _refuse(error, column, table.schema.field(place), relation, origin, span, first)
    return codes


def _encode(field: pa.Field, values: pa.ChunkedArray, type: Kind, dictionary: Dictionary) -> Codes:
    if isinstance(type, Structure):
        return dictionary.encode_texts(values, lambda text: _record(text, type))
    marked = type is Type.ANY and bool(field.metadata) and b"holdfast" in field.metadata
    return dictionary.encode_texts(values) if marked else dictionary.encode_column(values, type)


def _record(text: str, structure: Structure) -> Record:
    try:
        return parse_record(text, structure)
    except NumberError as reason:
        raise EncodingError(f"{text} {reason}", text) from None


def column_places(
    names: list[str], relation: Relation, origin: str, span: Span | None, *, by_position: bool = True
) -> list[int]:
    """The table's column for each column of the relation."""
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
    """Default column names: those of pandas, and ours."""
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
    error: EncodingError,
    column: Column,
    field: pa.Field,
    relation: Relation,
    origin: str,
    span: Span | None,
    first: int,
) -> NoReturn:
    where = "" if error.row is None else f", row {first + error.row + 1}"
    refuse(
        "E0606",
        f"{origin}{where}, column {field.name}: {error.reason}",
        span,
        notes=(f"column {column.name} of relation {relation.display} has type {column.type.value}",),
    )
