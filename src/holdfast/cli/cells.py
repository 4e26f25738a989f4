"""Values as the command line prints them: text in tables, and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.formats.json_lines import refusing_deep_records
from holdfast.values import Row, Type
from holdfast.values.term_text import as_json, term_text

_CONTROLS = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


def row_as_text(row: Row, types: Sequence[Type]) -> list[str]:
    """The cells of a row, as in facts files.

    A string is printed as it is, unless a column of type `any` would make it look like another value.  Line ends are
    escaped.
    """
    return [
        term_text(value) if type is Type.ANY else str(value).translate(_CONTROLS)
        for value, type in zip(row, types, strict=True)
    ]


def row_as_json(row: Row) -> list[object]:
    """A row for `--json`, in the form that updates accept."""
    with refusing_deep_records():
        return [as_json(value) for value in row]
