"""Refuse clauses that nest too deeply, before they are parsed.

The parser has its own stack, but everything that walks the tree later is recursive.  So that no text can overflow the
stack, clauses that nest deeper than anyone would write are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.errors import Diagnostics, SourceText
from holdfast.language.failure import span_of
from holdfast.language.recovery import BEGINS_ITEM
from holdfast.language.token import Token
from holdfast.quick_dataclass import dataclass

DEEPEST: Final = 100
_OPENS: Final = frozenset({"LPAR", "LBRACE", "LSQB"})
_CLOSES: Final = frozenset({"RPAR", "RBRACE", "RSQB"})
_SPLITS: Final = frozenset({"COMMA", "SEMICOLON", "IF", "EQUALS", "COMPARE", "COLON"})
_OPERATES: Final = frozenset({"OPERATOR", "MINUS", "BITS_NOT", "NOT"})


def without_deep_clauses(tokens: list[Token], source: SourceText, diagnostics: Diagnostics) -> list[Token]:
    """The tokens, with a `BAD` token in place of each clause that nests too deeply; each is reported."""
    kept: list[Token] = []
    for clause in _clauses(tokens):
        culprit = _too_deep(clause) if len(clause) > DEEPEST else None
        if culprit is None:
            kept += clause
            continue
        help = "split it into several rules or relations"
        message = f"this is nested too deeply: more than {DEEPEST} operators and brackets around one value"
        diagnostics.error("E0117", message, span_of(source, culprit), help=help)
        kept += [culprit.of_type("BAD"), *clause[-1:]]
    return kept


def _clauses(tokens: list[Token]) -> Iterator[list[Token]]:
    """Split the tokens after each dot, and before each item that needs none."""
    start = 0
    for i, token in enumerate(tokens):
        if token.type == "DOT" or token.type in BEGINS_ITEM:
            yield tokens[start : i + 1]
            start = i + 1
    yield tokens[start:]


@dataclass
class _Level:
    """The content of a bracket: operators since the last comma, and the deepest bracket among them."""

    operators: int = 0
    inside: int = 0
    deepest: int = 0

    @property
    def depth(self) -> int:
        return max(self.deepest, self.operators + self.inside)

    def split(self) -> None:
        self.deepest, self.operators, self.inside = self.depth, 0, 0


def _too_deep(clause: list[Token]) -> Token | None:
    """The token at which a clause becomes too deep."""
    levels = [_Level()]
    for token in clause:
        here = levels[-1]
        if token.type in _OPENS:
            levels.append(_Level())
        elif token.type in _CLOSES and len(levels) > 1:
            levels.pop()
            levels[-1].inside = max(levels[-1].inside, here.depth + 1)
        elif token.type in _SPLITS:
            here.split()
        elif token.type in _OPERATES:
            here.operators += 1
        if len(levels) > DEEPEST + 1 or levels[-1].depth > DEEPEST:
            return token
    return None
