"""The places of keys in a TOML text, which `tomllib` does not report.

Only headers and beginnings of lines are parsed; a position inside a value is that of its key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.errors import SourceText, Span

_PART = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_HEADER = re.compile(rf"\s*\[\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]")
_KEY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=(.*)")


class TomlPlaces:
    """The places of keys, by path from the top."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._found: dict[tuple[str, ...], Span] = {}
        table: tuple[str, ...] = ()
        closes: str | None = None  # the end of the current multi-line value
        for number, line in enumerate(source.text.split("\n"), 1):
            if closes is not None:
                closes = None if closes in line else closes
            elif header := _HEADER.match(line):
                table = _path(header.group(1))
                self._add(table, number, header)
            elif key := _KEY.match(line):
                self._add((*table, *_path(key.group(1))), number, key)
                closes = _left_open(key.group(2))

    def _add(self, path: tuple[str, ...], line: int, found: re.Match[str]) -> None:
        for length in range(1, len(path)):  # `[sources.a]` also places `sources`, unless it has its own place
            self._found.setdefault(path[:length], Span(self._source, line, found.start(1) + 1, line, found.end(1) + 1))
        self._found[path] = Span(self._source, line, found.start(1) + 1, line, found.end(1) + 1)

    def span(self, path: Sequence[str]) -> Span:
        """The place of a key, or of the nearest enclosing table."""
        for length in range(len(path), 0, -1):
            if (found := self._found.get(tuple(path[:length]))) is not None:
                return found
        return Span(self._source, 1, 1, 1, 1)


def _path(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, text))


def _left_open(value: str) -> str | None:
    """The delimiter that ends a value which continues on later lines."""
    value = value.strip()
    for quotes in ('"""', "'''"):
        if value.startswith(quotes) and value.count(quotes) == 1:
            return quotes
    return "]" if value.startswith("[") and value.count("[") > value.count("]") else None
