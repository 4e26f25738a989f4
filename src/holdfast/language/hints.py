"""What was probably meant where the parser stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from holdfast.language.failure import OPERATORS, SIGNS, Failure
from holdfast.language.foreign import foreign_hint
from holdfast.language.recovery import BEGINS_CLAUSE
from holdfast.language.vocabulary import AGGREGATES, KEYWORDS


def aggregate_help(function: str) -> str:
    """The hint for an aggregate that lacks a variable."""
    return f"in a head write {function}(y) with a variable of the body; in a body, {function} : {{ … }}"


def hint(failure: Failure) -> str | None:
    """What was probably meant."""
    return next((hint for hint in (ask(failure) for ask in _HINTS) if hint), None)


def _modulo_hint(failure: Failure) -> str | None:
    if failure.before is not None and failure.before == "%":
        return "behind a term `%` is modulo; there a comment begins with `//`"
    return None


def _word_hint(failure: Failure) -> str | None:
    if failure.text in KEYWORDS and failure.text.isalpha() and "IDENT" in failure.accepts:
        return f"`{failure.text}` is a reserved word"
    meant = {"and": "“and” is written `,`", "or": "“or” is written `;`", "if": "“if” is written `:-`"}
    if failure.type == "IDENT" and failure.text.lower() in meant:
        return meant[failure.text.lower()]
    starts_literal = failure.type in BEGINS_CLAUSE or failure.type in ("NOT", "AGGREGATE")
    if starts_literal and {"COMMA", "DOT"} <= failure.accepts:
        return f"is a `,` missing before `{failure.text}`, or a `.`?"
    if failure.type in ("IDENT", "NUMBER", "STRING", "WILDCARD") and {"COMMA", "RPAR"} <= failure.accepts:
        return f"is a `,` missing before `{failure.text}`?"
    return None


def _colon_hint(failure: Failure) -> str | None:
    if failure.type == "COLON" and "IF" in failure.accepts:
        return "“if” is written `:-`"
    if failure.type == "COLON" and failure.accepts & OPERATORS:
        return "a `:` belongs to an aggregate, as in `count : { … }`"
    return None


def _declaration_hint(failure: Failure) -> str | None:
    if not failure.in_directive:
        return None
    if failure.type == "DOT":
        return "a directive ends with its line, without `.`"
    if failure.accepts == {"COLON"} and failure.type in ("COMMA", "RPAR") and failure.before is not None:
        return f"every attribute has a type, as in {failure.before}: number"
    if failure.accepts == {"LPAR", "COMMA"} or failure.accepts == {"LPAR"}:
        return "the attributes follow in parentheses, as in .decl edge(x: number, y: number)"
    return None


def _comparison_hint(failure: Failure) -> str | None:
    if failure.type not in ("COMPARE", "EQUALS") or failure.in_directive:
        return None
    opened = failure.open_parenthesis()
    if failure.text == "<" and "IRI" in failure.accepts:
        return "write an IRI between `<` and `>`, without spaces"
    if opened is not None and "RPAR" in failure.accepts:
        return "write a comparison beside the atom, not among its arguments"
    if "COMMA" in failure.accepts:
        return "compare two values at a time: `x < y, y < z`"
    return None


def _body_hint(failure: Failure) -> str | None:
    before = failure.before.type if failure.before is not None else ""
    if failure.type == "DOT" and before == "IF":
        return "a fact is written without `:-`; a rule needs a body"
    if failure.type in ("DOT", "END", "RPAR", "RBRACE") and before in ("COMMA", "SEMICOLON"):
        return f"remove the last `{SIGNS[before]}`, or complete it"
    if failure.type == "IF" and not before:
        return "a rule has a head before `:-`"
    if failure.type == "IF" and _has(failure, "IF"):
        return "a clause has one `:-`; is a `.` missing before this head?"
    if failure.type == "IF" and {"COMMA", "DOT"} <= failure.accepts:
        return "a query is a rule body, without a head and `:-`"
    return None


def _aggregate_hint(failure: Failure) -> str | None:
    colon = failure.tokens[max(failure.item, failure.index - 2) : failure.index]
    if failure.accepts & {"LBRACE", "LPAR"} and any(token.type == "COLON" for token in colon):
        return "the body of an aggregate is an atom, or is in braces: `count : { p(x), q(x) }`"
    called = failure.tokens[max(failure.item, failure.index - 2) : failure.index]
    if failure.text == "*" and len(called) == 2 and called[0] in AGGREGATES and called[1].type == "LPAR":
        return aggregate_help(called[0])
    return None


_HINTS: Final[tuple[Callable[[Failure], str | None], ...]] = (
    _modulo_hint,
    foreign_hint,
    _word_hint,
    _colon_hint,
    _declaration_hint,
    _comparison_hint,
    _body_hint,
    _aggregate_hint,
)


def _has(failure: Failure, type: str) -> bool:
    return any(token.type == type for token in failure.tokens[failure.item : failure.index])
