"""Read separated values fast, through pyarrow.

pyarrow reads some lines differently than we do: it takes hexadecimal for two's complement, any carriage return for a
line end, an empty line for a row of empty values, and an unclosed quote for closed at the end of the file.  Data where
that could matter, and data that pyarrow refuses, go to the exact reader (`holdfast.formats.exact`), which also reports
errors with their places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from holdfast.formats import exact
from holdfast.formats.escapes import unescape
from holdfast.formats.files import BOM, reading_of
from holdfast.formats.parameters import Layout
from holdfast.program.model import Relation
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary, encode_distinct
from holdfast.values.foreign_values import fits_float
from holdfast.values.number_text import NumberError, parse_integer
from holdfast.values.records import parse_record
from holdfast.values.structures import Kind, Structure
from holdfast.values.term_text import parse_term

_TEXT = pa.dictionary(pa.int32(), pa.string())
_INTEGERS = (Type.NUMBER, Type.UNSIGNED)
_ARROW = {
    Type.NUMBER: pa.int64(),
    Type.UNSIGNED: pa.uint64(),
    Type.FLOAT: pa.float64(),
    Type.SYMBOL: _TEXT,
    Type.ANY: _TEXT,
    Type.RECORD: _TEXT,
}
_BLOCK = 1 << 24
_LEADING_ZERO = re.compile(rb"0(?<![0-9]0)[0-9]")  # starting with a literal zero makes the search fast
_PADDED = r"^\s*[+-]?0[0-9]+\s*$"
_DIGITS = r"^\s*[+-]?[0-9]+\s*$"
_MANY_DIGITS = r"^\s*[+-]?[0-9.]{16,}([eE][+-]?[0-9]+)?\s*$"
_EXACT = 2.0**53  # every smaller integer is exact as a float


def read_delimited(path: Path, data: bytes, layout: Layout, relation: Relation, dictionary: Dictionary) -> Codes:
    """The facts in a file's contents."""
    data = data.removeprefix(BOM)
    if relation.arity == 0:
        return exact.read_nullary(path, data, layout, relation)
    if not data:
        return np.empty((0, relation.arity), np.int64)
    with dictionary.memory.holding(reading_of(path), delimited_size(data, layout)):
        codes = _read_quickly(data, layout, relation, dictionary)
        return exact.read_exactly(path, data, layout, relation, dictionary) if codes is None else codes


def delimited_size(data: bytes, layout: Layout) -> int:
    """The bytes that reading needs besides the data: a copy of the texts, and each value in Arrow's form and ours."""
    return len(data) + 24 * (data.count(layout.delimiter.encode()) + data.count(b"\n"))


def _read_quickly(data: bytes, layout: Layout, relation: Relation, dictionary: Dictionary) -> Codes | None:
    """The facts as pyarrow reads them; None if the exact reader must decide."""
    hexadecimal = b"0x" in data or b"0X" in data
    kinds = [_TEXT if hexadecimal and type in _INTEGERS else _ARROW[type] for type in relation.types]
    table = _parse(data, layout, kinds)
    if table is None or _overflows(data, table, layout, kinds):
        return None
    try:
        return _encode_table(table, layout, relation, dictionary)
    except NumberError:
        return None


def _overflows(data: bytes, table: pa.Table, layout: Layout, kinds: Sequence[pa.DataType]) -> bool:
    """Whether pyarrow rounded a number too large for a float to infinity."""
    infinite = [place for place, column in enumerate(table.columns) if _has_infinity(column)]
    if not infinite:
        return False
    texts = _parse(data, layout, [_TEXT if place in infinite else kind for place, kind in enumerate(kinds)])
    return texts is None or any(_is_too_large(texts.column(place), table.column(place)) for place in infinite)


def _has_infinity(column: pa.ChunkedArray) -> bool:
    return column.type == pa.float64() and bool(pc.any(pc.is_inf(column)).as_py())


def _is_too_large(texts: pa.ChunkedArray, values: pa.ChunkedArray) -> bool:
    infinite = pc.unique(texts.filter(pc.is_inf(values))).cast(pa.string())
    return not pc.all(pc.match_substring(infinite, "inf", ignore_case=True)).as_py()


def _encode_table(table: pa.Table, layout: Layout, relation: Relation, dictionary: Dictionary) -> Codes:
    codes = np.empty((table.num_rows, relation.arity), np.int64)
    for number, column in enumerate(relation.columns):
        codes[:, number] = _encode(table.column(number), column.kind, layout, dictionary)
    return codes


def _encode(column: pa.ChunkedArray, type: Kind, layout: Layout, dictionary: Dictionary) -> Codes:
    if isinstance(type, Structure):
        structure, unescaped = type, unescape if layout.escape else str
        return dictionary.encode_texts(column, lambda text: parse_record(unescaped(text), structure))
    if type in _INTEGERS and column.type == _TEXT:
        return encode_distinct(
            column, lambda texts: dictionary.encode_values([parse_integer(text, type) for text in texts], type)
        )
    if type is Type.ANY:
        parse = (lambda text: parse_term(unescape(text))) if layout.escape else parse_term
        return dictionary.encode_texts(column, parse)
    if type is Type.SYMBOL and layout.escape:
        return dictionary.encode_texts(column, unescape)
    return dictionary.encode_column(column, type)


def sniff_delimited(data: bytes, layout: Layout, arity: int | None) -> tuple[Type, ...]:
    """The narrowest types that fit every value: number, unsigned, float, else symbol; empty if there are no rows.

    Distinct texts never become the same number: `007` is a symbol, and so is an integer of more than 64 bits or a
    decimal with more digits than a float keeps.
    """
    data = data.removeprefix(BOM)
    if layout.columns is not None:
        arity = len(layout.columns)
    arity = _width(data, layout) if arity is None else arity
    if not data or not arity:
        return ()
    table = None if _LEADING_ZERO.search(data) else _parse(data, layout, [pa.int64()] * arity)
    if table is None:
        table = _parse(data, layout, [_TEXT] * arity)
    if table is None:
        return (Type.SYMBOL,) * arity  # malformed; the reader reports where
    return tuple(_narrowest(column) for column in table.columns) if table.num_rows else ()


def _narrowest(column: pa.ChunkedArray) -> Type:
    if not pa.types.is_dictionary(column.type):
        return Type.NUMBER
    texts = pc.unique(column).cast(pa.string())
    if not pc.all(pc.match_substring_regex(texts, "[0-9]")).as_py():
        return Type.SYMBOL  # the words nan and inf alone do not make a column float
    if pc.any(pc.match_substring_regex(texts, _PADDED)).as_py():
        return Type.SYMBOL
    return next((type for type in (Type.NUMBER, Type.UNSIGNED, Type.FLOAT) if _fits(texts, type)), Type.SYMBOL)


def _fits(texts: pa.Array, type: Type) -> bool:
    try:
        values = texts.cast(_ARROW[type])
    except pa.ArrowInvalid:
        return False
    if type is not Type.FLOAT:
        return True
    integers = pc.match_substring_regex(texts, _DIGITS)
    long = texts.filter(pc.match_substring_regex(texts, _MANY_DIGITS)).to_pylist()
    if not all(fits_float(Decimal(text.strip())) for text in long):
        return False
    exact = pc.or_(pc.invert(integers), pc.less(pc.abs(values), _EXACT))
    return not pc.all(integers).as_py() and bool(pc.all(pc.and_(exact, pc.is_finite(values))).as_py())


def _parse(data: bytes, layout: Layout, kinds: Sequence[pa.DataType]) -> pa.Table | None:
    """Parse the data into a table; None if the exact reader must decide."""
    single = _single_delimiter(data, layout) if _is_plain(data, len(kinds)) else None
    if single is None or data.startswith(BOM):  # Arrow would drop a byte order mark that belongs to a value
        return None
    width = len(kinds) if layout.columns is None else _width(data, layout)
    names = [str(column) for column in range(width)]
    chosen = names if layout.columns is None else [str(column) for column in layout.columns]
    if not set(chosen) <= set(names):
        return None
    if single != layout.delimiter:
        data = data.replace(layout.delimiter.encode(), single.encode())
    if not layout.rfc4180:
        return _parse_plainly(data, layout, single, names, dict(zip(chosen, kinds, strict=True)))
    table = _parse_plainly(
        _with_last_row(data, single, width), layout, single, names, dict(zip(chosen, kinds, strict=True))
    )
    return None if table is None else _without_last_row(table)


def _parse_plainly(
    data: bytes, layout: Layout, delimiter: str, names: list[str], kinds: Mapping[str, pa.DataType]
) -> pa.Table | None:
    try:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            read_options=_read_options(layout, names),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if layout.rfc4180 else False,
                double_quote=layout.rfc4180,
                newlines_in_values=layout.rfc4180,
                ignore_empty_lines=False,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=kinds, include_columns=list(kinds), null_values=[], strings_can_be_null=False
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None


def _with_last_row(data: bytes, delimiter: str, width: int) -> bytes:
    """Append a row of zeros, which an unclosed quote before it would swallow."""
    end = b"" if data.endswith(b"\n") or not data else b"\n"
    return data + end + delimiter.join("0" * width).encode() + b"\n"


def _without_last_row(table: pa.Table) -> pa.Table | None:
    last = table.num_rows - 1
    is_whole = last >= 0 and all(str(column[last].as_py()) in ("0", "0.0") for column in table.columns)
    return table.slice(0, last) if is_whole else None


def _read_options(layout: Layout, names: list[str]) -> pa.csv.ReadOptions:
    # a quoted header may span lines; without quotes it is the first line, whatever its separators
    skipped = {"skip_rows_after_names" if layout.rfc4180 else "skip_rows": int(layout.headers)}
    return pa.csv.ReadOptions(column_names=names, block_size=_BLOCK, **skipped)


def _is_plain(data: bytes, arity: int) -> bool:
    """Whether pyarrow reads this data as we do."""
    returns = data.count(b"\r")
    if returns and returns != data.count(b"\r\n"):
        return False
    return arity == 1 or not (data.startswith((b"\n", b"\r\n")) or b"\n\n" in data or b"\n\r\n" in data)


def _single_delimiter(data: bytes, layout: Layout) -> str | None:
    """A one-byte delimiter: the given one, or a control character that does not occur in the data."""
    if len(layout.delimiter) == 1 and layout.delimiter.isascii():
        return layout.delimiter
    if layout.rfc4180:
        return None  # a delimiter inside quotes must stay as it is
    return next((chr(byte) for byte in (31, 30, 29, 28, 1, 2) if bytes([byte]) not in data), None)


def _width(data: bytes, layout: Layout) -> int:
    """The number of values in the first row."""
    lines = data.split(b"\n", 2)
    first = lines[1] if layout.headers and not layout.rfc4180 and len(lines) > 1 else lines[0]
    if not layout.rfc4180:
        return first.count(layout.delimiter.encode()) + 1 if first or len(lines) > 1 else 0
    row = next(exact.rows(data.decode(errors="replace"), layout), None)
    return len(row.fields) if row else 0
