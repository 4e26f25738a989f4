"""A text composed of several: included files and macro expansions; each stretch knows its origin."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from functools import cached_property
from itertools import accumulate

from holdfast.errors import SourceText, Span
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Piece:
    """A stretch of text, and the place of its first character.

    If it is as written, the characters that follow are the next ones of the source; a macro's expansion is placed as a
    whole at the macro's use, `length` characters long.
    """

    text: str
    source: SourceText
    line: int
    column: int
    length: int = 0
    macro: str = ""


@dataclass(frozen=True)
class Composed(SourceText):
    """The preprocessor's output; `name` is the main file."""

    pieces: tuple[Piece, ...] = field(default=(), compare=False, repr=False)
    read: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def files(self) -> tuple[str, ...]:
        """The main file and all included files, even those that only define macros."""
        return self.read

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(piece.text) for piece in self.pieces)]

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(place + 1 for place, character in enumerate(self.text) if character == "\n")]

    def origin(self, span: Span) -> tuple[Span, str]:
        """Where a stretch was written, and in which macro's body."""
        first = self._offset(span.line, span.column)
        piece, line, column = self._place(first)
        last = max(first, self._offset(span.end_line, span.end_column) - 1)
        end_piece, end_line, end_column = self._place(last)
        end_column += end_piece.length or 1
        if end_piece.source is not piece.source or (end_line, end_column) <= (line, column):
            end_line, end_column = line, column + (piece.length or 1)
        return Span(piece.source, line, column, end_line, end_column), piece.macro

    def _offset(self, line: int, column: int) -> int:
        return self._lines[min(line, len(self._lines)) - 1] + column - 1

    def _place(self, offset: int) -> tuple[Piece, int, int]:
        number = min(bisect_right(self._starts, offset), len(self.pieces)) - 1
        piece = self.pieces[number]
        before = piece.text[: offset - self._starts[number]]
        if piece.length:
            return piece, piece.line, piece.column
        lines = before.count("\n")
        if lines:
            return piece, piece.line + lines, len(before) - before.rindex("\n")
        return piece, piece.line, piece.column + len(before)
