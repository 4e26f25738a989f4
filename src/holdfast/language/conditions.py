"""The conditions of `#if`: integers, `defined(X)` and C's operators; other names are 0."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Final

from holdfast.language.macros import Macros, PpToken, expanded

_TOKEN: Final = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)[uUlL]*|(\w+)|(&&|\|\||[=!<>]=|<<|>>|\S))")
_LEVELS: Final = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))
_OPERATIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
}


class ConditionError(Exception):
    """A malformed condition; the message is the reason."""


def condition(tokens: list[PpToken], macros: Macros) -> int:
    """Evaluate a condition."""
    text = re.sub(
        r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))",
        lambda found: str(int((found[1] or found[2]) in macros)),
        "".join(" " if token.kind == "COMMENT" else token.text for token in tokens),
    )
    first = tokens[0] if tokens else None
    if first is not None:
        words = [PpToken(*_as_token(piece), first.source, first.line, first.column, 1) for piece in _words(text)]
        text = " ".join(token.text for token in expanded(words, macros))
    reader = _Reader(list(_words(text)))
    value = reader.level(0)
    if reader.rest:
        raise ConditionError(f"`{reader.rest[-1]}` is used where an operator is needed")
    return value


def _as_token(text: str) -> tuple[str, str]:
    return ("WORD" if text[0].isalpha() or text[0] == "_" else "OTHER"), text


def _words(text: str) -> Iterator[str]:
    for found in _TOKEN.finditer(text):
        yield next(part for part in found.groups() if part is not None)


class _Reader:
    """Parses a condition, loosest operators first."""

    def __init__(self, words: list[str]) -> None:
        self.rest = words[::-1]

    def level(self, number: int) -> int:
        """The value of an expression whose operators bind at least this tightly."""
        if number == len(_LEVELS):
            return self._primary()
        value = self.level(number + 1)
        while self.rest and self.rest[-1] in _LEVELS[number]:
            sign = self.rest.pop()
            right = self.level(number + 1)
            if sign in ("/", "%") and right == 0:
                raise ConditionError("division by zero")
            value = int(_OPERATIONS[sign](value, right))
        return value

    def _primary(self) -> int:
        if not self.rest:
            raise ConditionError("it ends too early")
        word = self.rest.pop()
        if word == "!":
            return int(not self._primary())
        if word == "-":
            return -self._primary()
        if word == "(":
            value = self.level(0)
            if not self.rest or self.rest.pop() != ")":
                raise ConditionError("a `)` is missing")
            return value
        if word[0].isdigit():
            return int(word, 16) if word[:2].lower() == "0x" else int(word)
        if word[0].isalpha() or word[0] == "_":
            return 0
        raise ConditionError(f"`{word}` is used where a value is needed")
