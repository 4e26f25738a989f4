"""Write facts as separated values, sorted, so that reading them gives the same facts.

A string that would read back differently, because it contains the delimiter or a line end, is refused; `escape=true`
and `rfc4180=true` can write it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.formats.escapes import escape_column
from holdfast.formats.files import BOM
from holdfast.formats.parameters import Layout
from holdfast.formats.places import refuse
from holdfast.program.model import Column, Relation
from holdfast.values import quote
from holdfast.values.dictionary import Codes, Dictionary

_CHUNK = 500_000
_TEXT = 1 << 22  # characters of rows written at a time
_COPIES = 7  # of a text while it is written, mostly Arrow's; measured
_OF_NUMBERS = frozenset("0123456789+-.einfa")


def pieces(relation: Relation, codes: Codes, dictionary: Dictionary, most: int) -> Iterator[Codes]:
    """The rows in batches of bounded size, smaller if texts are long."""
    for start in range(0, len(codes), most):
        part = codes[start : start + most]
        if dictionary.longest * relation.arity * len(part) <= _TEXT:
            yield part
            continue
        lengths = dictionary.lengths(part, relation.types)
        dictionary.memory.check(f"rows of {relation.display} that are written", _COPIES * int(lengths.max()))
        ends = np.cumsum(lengths)
        first = 0
        while first < len(part):
            last = int(np.searchsorted(ends, (ends[first - 1] if first else 0) + _TEXT, "right"))
            yield part[first : max(last, first + 1)]
            first = max(last, first + 1)


def delimited_lines(relation: Relation, codes: Codes, dictionary: Dictionary, layout: Layout) -> Iterator[bytes]:
    """The contents of a file of separated values, in batches of lines."""
    if layout.headers:
        yield (layout.delimiter.join(column.name for column in relation.columns) + "\n").encode()
    if not relation.columns:
        yield b"()\n" * len(codes)
        return
    for number, part in enumerate(pieces(relation, codes, dictionary, _CHUNK)):
        lines = _lines(relation, part, dictionary, layout)
        # a value that starts with U+FEFF would be taken for a byte order mark
        yield BOM + lines if number == 0 and not layout.headers and lines.startswith(BOM) else lines


def _lines(relation: Relation, codes: Codes, dictionary: Dictionary, layout: Layout) -> bytes:
    columns = [
        _texts(relation, column, codes[:, number], dictionary, layout).cast(pa.large_string())
        for number, column in enumerate(relation.columns)
    ]
    rows = pc.binary_join_element_wise(*columns, pa.scalar(layout.delimiter, pa.large_string()))
    ended = pc.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string()))
    _, offsets, content = ended.buffers()  # the lines are contiguous, as in the file
    return bytes(memoryview(content)[: np.frombuffer(offsets, np.int64)[len(ended)]])


def _texts(relation: Relation, column: Column, codes: Codes, dictionary: Dictionary, layout: Layout) -> pa.Array:
    # floats: the shortest digits that read back exactly; a whole float has no point, as in Soufflé
    values = dictionary.decode_column(codes, column.kind).cast(pa.string())
    if not column.type.in_dictionary and not set(layout.delimiter) & _OF_NUMBERS:
        return values
    if layout.escape and column.type.in_dictionary:
        values = escape_column(values)
    special = _is_special(values, layout)
    if not pc.any(special).as_py():
        return values
    if not layout.rfc4180:
        _refuse(relation, column, values.filter(special)[0].as_py(), layout)
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(values, '"', '""'), '"', "")
    return pc.if_else(special, quoted, values)


def _is_special(values: pa.Array, layout: Layout) -> pa.Array:
    """Which texts cannot stand in a line unquoted."""
    special = pc.match_substring_regex(values, '["\r\n]' if layout.rfc4180 else "[\r\n]")
    # a value may also end with a prefix of a longer delimiter, and so shift the match
    found = pc.find_substring(pc.binary_join_element_wise(values, layout.delimiter, ""), layout.delimiter)
    return pc.or_(special, pc.not_equal(found, pc.binary_length(values)))


def _refuse(relation: Relation, column: Column, value: str, layout: Layout) -> NoReturn:
    delimiter = "a tab" if layout.delimiter == "\t" else f"the delimiter {layout.delimiter!r} or a part of it"
    what = "a line end" if "\n" in value else "a carriage return" if "\r" in value else delimiter
    refuse(
        "E0612",
        f"the value {quote(value)} in column {column.name} of relation {relation.display} contains {what}, "
        "which a line of separated values cannot hold",
        help="write with escape=true or rfc4180=true, or to a .jsonl or .parquet file",
    )
