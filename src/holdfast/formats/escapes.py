r"""The escapes of `escape=true`: `\t`, `\n`, `\r` and `\\`, so that any string fits in a line."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

_ESCAPE = re.compile(r"\\([tnr\\])")
_MEANING = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def unescape(text: str) -> str:
    """The string that an escaped text denotes; a backslash before any other character stands for itself."""
    return _ESCAPE.sub(lambda found: _MEANING[found[1]], text) if "\\" in text else text


def escape_column(column: pa.Array) -> pa.Array:
    """Escape a column of strings."""
    for letter, character in (("\\", "\\"), ("t", "\t"), ("n", "\n"), ("r", "\r")):
        column = pc.replace_substring(column, character, "\\" + letter)
    return column
