"""What to say about a token that cannot stand where it stands."""

from __future__ import annotations

from lark import Token, UnexpectedToken

from holdfast.errors import Diagnostics, Source, Span


def report(source: Source, tokens: list[Token], failed: int, error: UnexpectedToken, diagnostics: Diagnostics) -> bool:
    """Collect the error; the answer is whether the token begins a clause whose predecessor lacks its dot."""
    if failed < len(tokens) and tokens[failed].type == "BAD":
        return False
    token = tokens[min(failed, len(tokens) - 1)]
    diagnostics.error("E0101", f"unexpected {token}", Span(source, token.line or 1, token.column or 1, token.end_line or 1, token.end_column or 1))
    return False
