"""Where the parser stopped, what it found there and what it expected."""

from __future__ import annotations

from typing import Final

from holdfast.errors import SourceText, Span
from holdfast.language.recovery import BEGINS_ITEM, item_start
from holdfast.language.token import Token
from holdfast.quick_dataclass import dataclass

SIGNS: Final = {
    "COMMA": ",",
    "SEMICOLON": ";",
    "DOT": ".",
    "IF": ":-",
    "LPAR": "(",
    "RPAR": ")",
    "LBRACE": "{",
    "RBRACE": "}",
    "RSQB": "]",
    "COLON": ":",
    "EQUALS": "=",
    "SUBTYPE": "<:",
    "PIPE": "|",
}
OPERATORS: Final = frozenset({"OPERATOR", "COMPARE"})
_VALUE: Final = frozenset({"IDENT", "NUMBER", "STRING"})


@dataclass(frozen=True)
class Failure:
    """Where the parser stopped: its tokens from `start` on, and what it would have accepted."""

    source: SourceText
    tokens: list[Token]
    start: int
    index: int
    accepts: frozenset[str]

    @property
    def at_end(self) -> bool:
        """Whether the text ended too early."""
        return self.index >= len(self.tokens)

    @property
    def type(self) -> str:
        """The type of the unexpected token."""
        return "END" if self.at_end else self.tokens[self.index].type

    @property
    def text(self) -> str:
        """The text of the unexpected token."""
        return "" if self.at_end else str(self.tokens[self.index])

    @property
    def before(self) -> Token | None:
        """The token before it, in the same item."""
        return self.tokens[self.index - 1] if self.index > self.item else None

    @property
    def item(self) -> int:
        """The beginning of the item."""
        return item_start(self.tokens, self.start, self.index)

    @property
    def in_directive(self) -> bool:
        """Whether the item is a directive."""
        return self.item < len(self.tokens) and self.tokens[self.item].type in ("DECL", "TYPE", "PRAGMA", "DIRECTIVE")

    @property
    def span(self) -> Span:
        """The place of the token; at the end of the text, the place after the last token."""
        if self.directive_ends:
            return self.behind(self.tokens[self.index - 1])
        if not self.at_end:
            return span_of(self.source, self.tokens[self.index])
        if not self.tokens:
            return Span(self.source, 1, 1, 1, 2)
        return self.behind(self.tokens[-1])

    def behind(self, token: Token) -> Span:
        """The place after a token."""
        end = span_of(self.source, token)
        return Span(self.source, end.end_line, end.end_column, end.end_line, end.end_column + 1)

    def expected(self) -> str:
        """What is expected here, in the user's words."""
        words = list(_expected_words(self.accepts))
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "the end"

    def found(self) -> str:
        """What was found here, in the user's words."""
        if self.at_end:
            return "the text ends"
        return "the directive ends" if self.directive_ends else f"found `{self.text}`"

    @property
    def directive_ends(self) -> bool:
        """Whether another item begins while a directive is incomplete."""
        return self.in_directive and self.type in BEGINS_ITEM and self.before is not None

    def open_parenthesis(self) -> Token | None:
        """The innermost bracket of the item that is open here."""
        stack: list[Token] = []
        for token in self.tokens[self.item : self.index]:
            if token.type in ("LPAR", "LBRACE"):
                stack.append(token)
            elif token.type in ("RPAR", "RBRACE") and stack:
                stack.pop()
        return stack[-1] if stack else None


def _expected_words(accepts: frozenset[str]) -> list[str]:
    if "DECL" in accepts:
        return ["a directive", "a fact", "a rule"]
    words = [f"`{SIGNS[type]}`" for type in SIGNS if type in accepts and not _said_otherwise(type, accepts)]
    if accepts >= _VALUE:
        words.append("a condition" if "NOT" in accepts else "a value")
    elif accepts >= {"IDENT", "QUOTED"}:
        words.append("the name of a relation")
    elif "IDENT" in accepts:
        words.append("a name")
    elif "STRING" in accepts:
        words.append("a string")
    elif "IRI" in accepts:
        words.append("an IRI")
    if accepts & OPERATORS:
        words.append("an operator")
    if "QUALIFIER" in accepts:
        words.append("a qualifier")
    return words


def _said_otherwise(type: str, accepts: frozenset[str]) -> bool:
    """Whether a more general expectation already covers this one."""
    return (type == "EQUALS" and "COMPARE" in accepts) or (
        type == "LPAR" and bool(accepts >= _VALUE or accepts & OPERATORS)
    )


def span_of(source: SourceText, token: Token) -> Span:
    """The place of a token."""
    return between(source, token, token)


def between(source: SourceText, first: Token, last: Token) -> Span:
    """The place from one token to another."""
    return Span(source, first.line or 1, first.column or 1, last.end_line or 1, last.end_column or 1)
