r"""The escapes of `escape=true`: `\t`, `\n`, `\r` and `\\`, so that any string fits in a line."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

_ESCAPE = re.compile(r"\\([tnr\\])")
_MEANING = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}


def unescape(text: str) -> str:
    """The string that an escaped text stands for; a backslash before anything else is itself."""
    return _ESCAPE.sub(lambda found: _MEANING[found[1]], text) if "\\" in text else text


def escape_column(column: pa.Array) -> pa.Array:
    """A column of strings with escapes."""
    for letter, character in (("\\", "\\"), ("t", "\t"), ("n", "\n"), ("r", "\r")):
        column = pc.replace_substring(column, character, "\\" + letter)
    return column
