"""Facts as lines of separated values: sorted, and such that reading them gives the same facts.

Strings that the lines cannot hold (with the delimiter or a line end in them) are refused rather than written
so that they read back as something else; `escape=true` and `rfc4180=true` have room for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.encoding import Codes, Dictionary
from holdfast.formats.delimited import BOM
from holdfast.formats.escapes import escape_column
from holdfast.formats.parameters import Layout
from holdfast.formats.places import refuse
from holdfast.program.model import Column, Relation
from holdfast.values import quote

_CHUNK = 500_000


def in_order(relation: Relation, codes: Codes, dictionary: Dictionary) -> Codes:
    """The facts sorted column by column: numbers by size, strings by their bytes."""
    if not relation.columns or len(codes) < 2:
        return codes
    keys = [dictionary.order_keys(codes[:, number], column.type) for number, column in enumerate(relation.columns)]
    return codes[np.lexsort(keys[::-1])]


def delimited_lines(relation: Relation, codes: Codes, dictionary: Dictionary, layout: Layout) -> Iterator[bytes]:
    """The content of a file of separated values, many lines at a time."""
    if layout.headers:
        yield (layout.delimiter.join(column.name for column in relation.columns) + "\n").encode()
    if not relation.columns:
        yield b"()\n" * len(codes)
        return
    for start in range(0, len(codes), _CHUNK):
        lines = _lines(relation, codes[start:start + _CHUNK], dictionary, layout)
        # a mark at the very start would be taken for the file's own
        yield BOM + lines if start == 0 and not layout.headers and lines.startswith(BOM) else lines


def _lines(relation: Relation, codes: Codes, dictionary: Dictionary, layout: Layout) -> bytes:
    columns = [_texts(relation, column, codes[:, number], dictionary, layout).cast(pa.large_string())
               for number, column in enumerate(relation.columns)]
    rows = pc.binary_join_element_wise(*columns, pa.scalar(layout.delimiter, pa.large_string()))
    ended = pc.binary_join_element_wise(rows, pa.scalar("", pa.large_string()), pa.scalar("\n", pa.large_string()))
    _, offsets, content = ended.buffers()  # one line after another, which is all that the file needs
    return bytes(memoryview(content)[: np.frombuffer(offsets, np.int64)[len(ended)]])


def _texts(relation: Relation, column: Column, codes: Codes, dictionary: Dictionary, layout: Layout) -> pa.Array:
    values = dictionary.decode_column(codes, column.type)
    if not column.type.in_dictionary:
        # shortest digits that read back exactly; a whole float prints without a point, as Soufflé has it
        return values.cast(pa.string())
    if layout.rfc4180:
        return _quoted(values, layout)
    values = escape_column(values) if layout.escape else values
    for forbidden in (layout.delimiter, "\n", "\r"):
        found = pc.match_substring(values, forbidden)
        if pc.any(found).as_py():
            _refuse(relation, column, values.filter(found)[0].as_py(), forbidden)
    return values


def _quoted(values: pa.Array, layout: Layout) -> pa.Array:
    values = escape_column(values) if layout.escape else values
    special = pc.match_substring_regex(values, '["\r\n]')
    special = pc.or_(special, pc.match_substring(values, layout.delimiter))
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(values, '"', '""'), '"', "")
    return pc.if_else(special, quoted, values)


def _refuse(relation: Relation, column: Column, value: str, forbidden: str) -> NoReturn:
    names = {"\t": "a tab", "\n": "a line end", "\r": "a carriage return"}
    what = names.get(forbidden, f"the delimiter {forbidden!r}")
    refuse("E0612", f"the value {quote(value)} in column {column.name} of relation {relation.display} contains {what}, "
                    "which a line of separated values cannot hold",
           help="write with escape=true or rfc4180=true, or to a .jsonl or .parquet file")
