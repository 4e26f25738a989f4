"""Where to resume after a syntax error, to find the next error without false ones."""

from __future__ import annotations

from typing import Final

from holdfast.language.token import Token
from holdfast.language.vocabulary import ASKS_FOR_NAME

BEGINS_ITEM: Final = frozenset(
    {
        "DECL",
        "TYPE",
        "PRAGMA",
        "DIRECTIVE",
        "BASE_TYPE",
        "COMPONENT",
        "INIT",
        "OVERRIDE",
        "PLAN",
        "FUNCTOR",
        "REFUSED",
        "PREFIX",
        "ATTRIBUTE",
        "PREPROCESSOR",
    }
)
BEGINS_CLAUSE: Final = frozenset({"IDENT", "PREFIXED", "IRI", "QUOTED"})
_GOES_ON: Final = frozenset(
    {
        "COMMA",
        "SEMICOLON",
        "IF",
        "LPAR",
        "LBRACE",
        "NOT",
        "COLON",
        "EQUALS",
        "COMPARE",
        "OPERATOR",
        "MINUS",
    }
)


def recover(tokens: list[Token], start: int, failed: int) -> int:
    """The index of the first token of the item after the failed one."""
    first = tokens[min(item_start(tokens, start, failed), len(tokens) - 1)]
    for i in range(failed, len(tokens)):
        token = tokens[i]
        if token.type == "DOT":
            return i + 1
        if i > failed and (token.type in BEGINS_ITEM or _begins_clause(tokens, i, first)):
            return i
    return len(tokens)


def item_start(tokens: list[Token], start: int, index: int) -> int:
    """The beginning of the item that contains the token at `index`."""
    for i in range(index - 1, start - 1, -1):
        if tokens[i].type == "DOT":
            return i + 1
        if tokens[i].type in BEGINS_ITEM:
            return _behind_directive(tokens, i, index)
    return start


def _behind_directive(tokens: list[Token], directive: int, index: int) -> int:
    """Where a directive ends, which has no terminator: before a name on a later line that it does not expect."""
    if tokens[directive].type in ("PREFIX", "ATTRIBUTE"):
        return directive
    for i in range(directive + 1, index):
        if tokens[i].type in BEGINS_CLAUSE and first_on_line(tokens, i) and tokens[i - 1].type not in ASKS_FOR_NAME:
            return i
    return directive


def first_on_line(tokens: list[Token], i: int) -> bool:
    """Whether this is the first token on its line."""
    return i == 0 or tokens[i - 1].end_line != tokens[i].line


def _begins_clause(tokens: list[Token], i: int, first: Token) -> bool:
    """Whether a token begins a clause: it is indented no deeper than the failed item."""
    token = tokens[i]
    return (
        token.type in BEGINS_CLAUSE
        and first_on_line(tokens, i)
        and (token.column or 0) <= (first.column or 0)
        and tokens[i - 1].type not in _GOES_ON
    )
