"""Read separated values exactly, line by line.

About thirty times slower than pyarrow, and used only where pyarrow gives up: for notations it does not support, and to
report which value on which line is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from holdfast.errors import shortened
from holdfast.formats.escapes import unescape
from holdfast.formats.files import as_text, reading_of, text_size
from holdfast.formats.parameters import Layout
from holdfast.formats.places import Problems
from holdfast.program.model import Column, Relation
from holdfast.values import Type, Value
from holdfast.values.dictionary import Codes, Dictionary
from holdfast.values.number_text import NumberError, parse_float, parse_integer
from holdfast.values.records import parse_record
from holdfast.values.structures import Kind, Structure
from holdfast.values.term_text import parse_term

_OBJECT = 100  # bytes of a value or a row as a Python object, besides its characters


@dataclass(frozen=True)
class TextRow:
    """A row as text: its position, its first line, and each value with its column."""

    line: int
    text: str
    fields: tuple[tuple[int, str], ...]
    open_quote: bool = False


def rows(text: str, layout: Layout) -> Iterator[TextRow]:
    """The rows of a text, without the header."""
    found = _quoted_rows(text, layout.delimiter) if layout.rfc4180 else _raw_rows(text, layout)
    if layout.headers:
        next(found, None)
    return found


def _raw_rows(text: str, layout: Layout) -> Iterator[TextRow]:
    width = len(layout.delimiter)
    for number, line in enumerate(_lines(text), 1):
        start, fields = 1, []
        for value in line.split(layout.delimiter):
            fields.append((start, value))
            start += len(value) + width
        yield TextRow(number, line, tuple(fields))


def _lines(text: str) -> list[str]:
    """Lines without their ends, LF or CR LF; the last line may lack one."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _quoted_rows(text: str, delimiter: str) -> Iterator[TextRow]:
    """Rows as in RFC 4180: a value in double quotes may contain delimiters and line ends."""
    ends = re.compile(rf"{re.escape(delimiter)}|\r?\n|\Z")
    place, line = 0, 1
    while place < len(text):
        start, fields, first_line, open_quote = place, [], line, False
        while True:
            begin = place
            value, closed, place = _quoted_value(text, place) if text.startswith('"', place) else ("", True, place)
            end = _end(ends, text, place)
            fields.append((begin - start + 1, value + text[place:end]))
            open_quote = open_quote or not closed
            line += text.count("\n", begin, end)
            place = end
            if not text.startswith(delimiter, place):
                break
            place += len(delimiter)
        yield TextRow(first_line, text[start:place].split("\n")[0], tuple(fields), open_quote)
        place += 2 if text.startswith("\r\n", place) else 1
        line += 1


def _end(ends: re.Pattern[str], text: str, place: int) -> int:
    """The end of the value that continues at a position."""
    found = ends.search(text, place)
    return found.start() if found else len(text)


def _quoted_value(text: str, place: int) -> tuple[str, bool, int]:
    """The quoted value at a position, whether the quotes are closed, and where the rest begins."""
    start = end = place + 1
    while (end := text.find('"', end)) >= 0:
        if not text.startswith('"', end + 1):
            return text[start:end].replace('""', '"'), True, end + 1
        end += 2
    return text[start:].replace('""', '"'), False, len(text)


def read_exactly(path: Path, data: bytes, layout: Layout, relation: Relation, dictionary: Dictionary) -> Codes:
    """The facts in a file's contents; raises a data error with everything that is wrong."""
    values = data.count(b"\n") + data.count(layout.delimiter.encode()) + 1
    with dictionary.memory.holding(reading_of(path), 3 * text_size(data) + _OBJECT * (values + data.count(b"\n"))):
        return _read_each(path, data, layout, relation, dictionary)


def _read_each(path: Path, data: bytes, layout: Layout, relation: Relation, dictionary: Dictionary) -> Codes:
    problems = Problems(path)
    values: list[list[Value]] = []
    for row in rows(as_text(path, data), layout):
        fields = _fields(row, layout, relation, problems)
        if fields is not None:
            parsed = _parse_row(row, fields, layout, relation, problems)
            if parsed is not None:
                values.append(parsed)
    problems.raise_any()
    return dictionary.encode_rows(values, relation.kinds)


def _fields(row: TextRow, layout: Layout, relation: Relation, problems: Problems) -> Sequence[tuple[int, str]] | None:
    """The values that the relation takes from a row; None if there are too few or too many."""
    found = len(row.fields)
    if row.open_quote:
        problems.add(
            "E0616",
            f"the quoted value that begins on line {row.line} is not closed",
            row.line,
            row.fields[-1][0],
            1,
            row.text,
        )
        return None
    if layout.columns is not None and max(layout.columns) < found:
        return [row.fields[column] for column in layout.columns]
    if layout.columns is None and found == relation.arity:
        return row.fields
    wanted = relation.arity if layout.columns is None else max(layout.columns) + 1
    problems.add(
        "E0605",
        _arity_message(row, found, relation, wanted),
        row.line,
        1,
        len(row.text),
        row.text,
        help=_delimiter_help(row, layout, wanted),
    )
    return None


def _arity_message(row: TextRow, found: int, relation: Relation, wanted: int) -> str:
    values = f"has {found} value{'s' if found != 1 else ''}" if row.text else "is empty"
    return f"line {row.line} {values}, but relation {relation.display} has {wanted} column{'s' if wanted != 1 else ''}"


def _delimiter_help(row: TextRow, layout: Layout, wanted: int) -> str | None:
    names = {"\t": '"\\t"', ",": '","', ";": '";"', "|": '"|"', " ": '" "'}
    for delimiter, shown in names.items():
        if delimiter != layout.delimiter and row.text.count(delimiter) == wanted - 1 > 0:
            return f"if another character separates the values: .input …(delimiter={shown})"
    return None


def _parse_row(
    row: TextRow, fields: Sequence[tuple[int, str]], layout: Layout, relation: Relation, problems: Problems
) -> list[Value] | None:
    values: list[Value] = []
    for number, ((start, text), column) in enumerate(zip(fields, relation.columns, strict=True), 1):
        try:
            values.append(_parse_value(text, column.kind, layout))
        except NumberError as reason:
            problems.add(
                "E0606",
                _type_message(text, number, column, relation, reason),
                row.line,
                start,
                len(text),
                row.text,
                help=_header_help(row, text, layout),
            )
            return None
    return values


def _header_help(row: TextRow, text: str, layout: Layout) -> str | None:
    if row.line > 1 or layout.headers or not text.isidentifier():
        return None
    return "if the first line has the column names: .input …(headers=true)"


def _parse_value(text: str, type: Kind, layout: Layout) -> Value:
    if isinstance(type, Structure):
        return parse_record(unescape(text) if layout.escape else text, type)
    match type:
        case Type.NUMBER | Type.UNSIGNED:
            return parse_integer(text, type)
        case Type.FLOAT:
            return parse_float(text)
        case Type.SYMBOL:
            return unescape(text) if layout.escape else text
    return parse_term(unescape(text) if layout.escape else text)


def _type_message(text: str, number: int, column: Column, relation: Relation, reason: Exception) -> str:
    shown = f"the value {shortened(text)}" if text.strip() else "the empty value"
    return f"{shown} in column {number} ({column.name}) of relation {relation.display} {reason}"


def read_nullary(path: Path, data: bytes, layout: Layout, relation: Relation) -> Codes:
    """The facts of a relation without columns: one for each line `()`."""
    problems = Problems(path)
    first = int(layout.headers)
    lines = _lines(as_text(path, data))[first:]
    for number, line in enumerate(lines, 1 + first):
        if line.strip() != "()":
            problems.add(
                "E0617",
                f"line {number} of relation {relation.display}, which has no columns, is not ()",
                number,
                1,
                len(line),
                line,
            )
    problems.raise_any()
    return np.empty((len(lines), 0), np.int64)
