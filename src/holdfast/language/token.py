"""A token with its position."""

from __future__ import annotations


class Token(str):
    """A token's text, as a string, with its type and place; lines and columns count from 1."""

    __slots__ = ("column", "end_column", "end_line", "end_pos", "line", "start_pos", "type", "value")
    type: str
    value: str  # its text, or what it should have been
    start_pos: int
    end_pos: int
    line: int
    column: int
    end_line: int
    end_column: int

    def __new__(cls, type: str, text: str, start_pos: int, line: int, column: int) -> Token:
        """Create a token, which lies on one line."""
        self = super().__new__(cls, text)
        self.type, self.start_pos, self.line, self.column = type, start_pos, line, column
        self.end_pos, self.end_line, self.end_column = start_pos + len(text), line, column + len(text)
        self.value = text
        return self

    def of_type(self, type: str) -> Token:
        """The same text at the same place, as another type of token."""
        return Token(type, str(self), self.start_pos, self.line, self.column)
