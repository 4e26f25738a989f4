"""A value as the command line shows it: as text in a table, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.values import Row, Type
from holdfast.values.term_text import as_json, term_text

_CONTROLS = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


def row_as_text(row: Row, types: Sequence[Type]) -> list[str]:
    """The cells of a row, as in facts files: a string is itself, unless a column of type `any` would make it
    look like another value; a cell stays on its line."""
    return [
        term_text(value) if type is Type.ANY else str(value).translate(_CONTROLS)
        for value, type in zip(row, types, strict=True)
    ]


def row_as_json(row: Row) -> list[object]:
    """A row for `--json`, as an update takes it."""
    return [as_json(value) for value in row]
