"""Positions in a line of JSON, and readable messages for malformed lines."""

from __future__ import annotations

import json
from typing import Final

_DECODER: Final = json.JSONDecoder()
_WORDS: Final = {
    "Expecting value": "a value is missing here",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing here",
    "Expecting ':' delimiter": "a colon is missing here",
    "Expecting property name enclosed in double quotes": "a name in double quotes is missing here",
    "Illegal trailing comma before end of object": "a name in double quotes is missing here",
    "Illegal trailing comma before end of array": "a value is missing here",
    "Unterminated string starting at": "this string is not closed",
    "Extra data": "the line continues after its end",
    "Invalid control character at": "a string has a control character; write it as \\u00XX",
    "Invalid \\escape": "a backslash has no meaning before this; a backslash itself is written \\\\",
    "Invalid \\uXXXX escape": "four hexadecimal digits follow \\u",
}


def not_json(error: json.JSONDecodeError) -> str:
    """The message for a malformed line, placed at the error's column."""
    reason = next((words for theirs, words in _WORDS.items() if error.msg.startswith(theirs)), "it is malformed")
    return f"the line is not JSON: {reason}"


def value_places(line: str) -> dict[int | str, tuple[int, int]]:
    """The columns (from 1) and widths of the values in a valid line of JSON, by position or name."""
    found: dict[int | str, tuple[int, int]] = {}
    in_object = line.lstrip().startswith("{")
    end = line.index("{" if in_object else "[") + 1
    while True:
        start = _past_separators(line, end)
        if line[start] in "]}":
            return found
        key: int | str = len(found)
        if in_object:
            key, end = _DECODER.raw_decode(line, start)
            start = _past_separators(line, end)
        end = _DECODER.raw_decode(line, start)[1]
        found[key] = (start + 1, end - start)


def _past_separators(line: str, place: int) -> int:
    return len(line) - len(line[place:].lstrip(" \t\r,:"))
