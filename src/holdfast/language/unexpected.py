"""The messages for unexpected tokens."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from holdfast.errors import Diagnostics, Label
from holdfast.language import refused
from holdfast.language.failure import Failure, between, span_of
from holdfast.language.hints import hint
from holdfast.language.mistakes import Mistake
from holdfast.language.recovery import BEGINS_CLAUSE, BEGINS_ITEM, first_on_line
from holdfast.language.vocabulary import DIRECTIVES


def report(failure: Failure, diagnostics: Diagnostics) -> int | None:
    """Report the error; returns where to resume, or None if the next item must be searched for."""
    if failure.type == "BAD":
        return None  # already reported
    refusal = _refusal(failure)
    if refusal:
        refusal.report(diagnostics, failure.span)
        return None
    for attempt in (_unknown_directive, _missing_dot, _open_bracket):
        resume = attempt(failure, diagnostics)
        if resume is not None:
            return resume if resume >= 0 else None
    message = f"expected {failure.expected()}, but {failure.found()}"
    diagnostics.error("E0101", message, failure.span, help=hint(failure))
    return failure.index if failure.directive_ends else None


# --- errors with their own message --------------------------------------------------------------------

_REFUSED_TOKENS: Final = {
    "PREPROCESSOR": refused.PREPROCESSOR,
}


def _refusal(failure: Failure) -> Mistake | None:
    """The unsupported Soufflé construct that begins here, if any."""
    if failure.type == "REFUSED":
        return refused.DIRECTIVES[failure.text]
    if failure.type == "COLON" and failure.before is not None and failure.before.type == "WILDCARD":
        return refused.BLANK_NODE
    return _REFUSED_TOKENS.get(failure.type)


def _unknown_directive(failure: Failure, diagnostics: Diagnostics) -> int | None:
    """`.outptu a`: a dot at the start of a line, directly followed by a word."""
    i, tokens = failure.index, failure.tokens
    if failure.type != "DOT" or i + 1 >= len(tokens) or not first_on_line(tokens, i):
        return None
    dot, word = tokens[i], tokens[i + 1]
    if word.type != "IDENT" or word.start_pos != dot.end_pos:
        return None
    known = [name[1:] for name in DIRECTIVES]
    similar = get_close_matches(word, known, n=1)
    span = between(failure.source, dot, word)
    help = f"did you mean .{similar[0]}?" if similar else f"the directives are {', '.join(DIRECTIVES)}"
    diagnostics.error("E0115", f"unknown directive .{word}", span, help=help)
    return next((j for j in range(i + 1, len(tokens)) if tokens[j].line != dot.line), len(tokens))


def _missing_dot(failure: Failure, diagnostics: Diagnostics) -> int | None:
    """A new item begins, or the text ends, where the clause before could have ended."""
    if "DOT" not in failure.accepts or failure.before is None or not _new_item_begins(failure):
        return None
    diagnostics.error(
        "E0114",
        "`.` is missing at the end",
        failure.behind(failure.before),
        help="every fact, every rule and every @prefix ends with `.`",
    )
    return failure.index


def _new_item_begins(failure: Failure) -> bool:
    if failure.at_end or failure.type in BEGINS_ITEM:
        return True
    first, token = failure.tokens[failure.item], failure.tokens[failure.index]
    return (
        failure.type in BEGINS_CLAUSE
        and first_on_line(failure.tokens, failure.index)
        and (token.column or 0) <= (first.column or 0)
    )


def _open_bracket(failure: Failure, diagnostics: Diagnostics) -> int | None:
    """The clause ends, or its body begins, while a bracket is open; or a bracket is closed that was never opened."""
    opened = failure.open_parenthesis()
    if opened is None and failure.type in ("RPAR", "RBRACE"):
        diagnostics.error(
            "E0116",
            f"this `{failure.text}` closes nothing",
            failure.span,
            help="remove it, or add the opening one",
        )
        return -1
    if opened is None or not failure.accepts & {"RPAR", "RBRACE"} or not _ends_clause(failure):
        return None
    closing = ")" if opened == "(" else "}"
    diagnostics.error(
        "E0116",
        f"`{closing}` is missing before {'the end' if failure.at_end else f'`{failure.text}`'}",
        failure.span,
        labels=[Label(span_of(failure.source, opened), "opened here")],
    )
    return -1


def _ends_clause(failure: Failure) -> bool:
    return failure.type in ("END", "DOT", "IF") or failure.type in BEGINS_ITEM
