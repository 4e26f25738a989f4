"""Read updates as JSON lines, and write changes as JSON lines.

A line is read only when needed, so that each line of a stream can be answered before the next arrives.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from holdfast.errors import Diagnostic, HoldfastError, Label, LimitReached, Span, UsageError
from holdfast.formats.files import BOM
from holdfast.formats.json_lines import NotFiniteError, load_json, to_json
from holdfast.formats.json_places import not_json
from holdfast.formats.places import file_span, refuse
from holdfast.updates import Change, Update


@dataclass(frozen=True)
class UpdateLine:
    """One line of an update stream: its file and line, and its number in the stream."""

    file: str
    line: int
    number: int
    content: bytes
    unread: HoldfastError | None = None  # why the file cannot be read from here on

    def update(self) -> Update:
        """Parse the update; errors carry no place."""
        if self.unread is not None:
            raise self.unread
        return Update.from_json(self._decoded())

    def placed(self, error: HoldfastError) -> HoldfastError:
        """An error of this update, placed at the line; its own place follows."""
        if error is self.unread:
            return error
        return type(error)(_at(found, self._span()) for found in error.diagnostics)

    def _decoded(self) -> Any:
        try:
            return load_json(self.content.decode(), _object)
        except NotFiniteError as error:
            text = self.content.decode().rstrip()
            refuse("E0613", str(error), self._span(error.column(text), text))
        except json.JSONDecodeError as error:
            refuse("E0613", not_json(error), self._span(error.colno, self.content.decode().rstrip()))
        except UnicodeDecodeError as error:
            refuse("E0604", f"byte 0x{self.content[error.start]:02x} is not UTF-8 text", self._span(error.start + 1))
        except (ValueError, RecursionError):
            refuse("E0613", "the line has a number or a nesting that is too long to be an update", self._span())

    def _span(self, column: int = 1, text: str = "") -> Span:
        return file_span(self.file, self.line, column, text=text)


def update_lines(file: BinaryIO, name: str, longest: int | None = None) -> Iterator[UpdateLine]:
    """The updates in an open file, which may be compressed; blank lines and a byte order mark are skipped.

    A line of more than `longest` bytes exceeds the memory limit.
    """
    line = number = 0
    while content := _next_line(file, name, line + 1, longest):
        line += 1
        content = content.removeprefix(BOM) if line == 1 else content
        if not _is_blank(content):
            number += 1
            yield UpdateLine(name, line, number, content)


def _is_blank(content: bytes) -> bool:
    return content[:1] != b"{" and not content.decode(errors="replace").strip()


def change_line(number: int, change: Change, merged: Sequence[int] = (), why: list[Any] | None = None) -> str:
    """The JSON line for the change of one update, or for the net change of several; with causes if they are given."""
    added, removed = (
        {name: list(view.sorted_rows()) for name, view in part.items()} for part in (change.added, change.removed)
    )
    return to_json(
        {
            "update": number,
            **({"merged": list(merged)} if merged else {}),
            "added": added,
            "removed": removed,
            **({} if why is None else {"why": why}),
        }
    )


def passed_over_line(number: int, into: int | None) -> str:
    """The JSON line for an update that was merged into a later one."""
    return to_json({"update": number, "merged_into": into})


def error_line(number: int, error: HoldfastError) -> str:
    """The JSON line for a skipped update."""
    return to_json({"update": number, "error": [found.to_json() for found in error.diagnostics]})


def _next_line(file: BinaryIO, name: str, line: int, longest: int | None) -> bytes:
    try:
        content = file.readline(-1 if longest is None else longest + 1)
        if longest is not None and len(content) > longest:
            message = f"limit reached: an update has more than {longest:,} bytes, an eighth of the limit on memory"
            raise LimitReached(Diagnostic("E0804", message, file_span(name, line), help="raise the limit"))
        return content
    except EOFError:
        refuse("E0603", f"{name} is truncated: the gzip data ends too early", file_span(name, line))
    except (gzip.BadGzipFile, zlib.error):
        refuse("E0603", f"{name} is not gzip, or is damaged", file_span(name, line))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(Diagnostic("E0907", f"malformed update: {twice!r} occurs twice in one object"))
    return found


def _at(found: Diagnostic, place: Span) -> Diagnostic:
    if found.span is None:
        return replace(found, span=place)
    if found.span.source.name == place.source.name:
        return found
    return replace(found, span=place, labels=(Label(found.span, ""), *found.labels))
