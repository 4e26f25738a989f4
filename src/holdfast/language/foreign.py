"""What users of other languages write, and how it is written here."""

from __future__ import annotations

from typing import Final

from holdfast.language.failure import Failure
from holdfast.language.mistakes import Mistake
from holdfast.language.vocabulary import AGGREGATES

QUESTION: Final = Mistake(
    "E0104",
    "`?-` is not allowed here: a program has no queries",
    "ask with `holdfast query PROGRAM 'edge(1, x)'`, or in Python with kb.query(\"edge(1, x)\")",
)
HEAD_WILDCARD: Final = "in a head write a variable of the body, or remove the column"
NO_BOOLEANS: Final = 'there are no booleans: write 1 and 0, or "true" and "false"'
NO_NULLS: Final = "there are no nulls: omit the fact, or keep this column in a separate relation"
_NO_VALUES: Final = {
    **dict.fromkeys(("true", "false"), NO_BOOLEANS),
    **dict.fromkeys(("null", "none", "nil", "undefined"), NO_NULLS),
}
_TYPES: Final = {
    **dict.fromkeys(("int", "integer", "long", "bigint", "int32", "int64", "i32", "i64"), "did you mean number?"),
    **dict.fromkeys(("string", "str", "text", "char", "varchar"), "did you mean symbol?"),
    **dict.fromkeys(("double", "real", "float32", "float64", "f64", "decimal"), "did you mean float?"),
    **dict.fromkeys(("uint", "uint32", "uint64", "u32", "u64", "nat"), "did you mean unsigned?"),
    **dict.fromkeys(("bool", "boolean"), "there are no booleans: use number for 1 and 0, or symbol"),
    **dict.fromkeys(
        ("date", "datetime", "time", "timestamp"),
        'there are no dates: symbols such as "2020-01-31" sort by time',
    ),
}
_SQL: Final = frozenset({"select", "insert", "delete", "update", "create"})


def value_help(name: str) -> str | None:
    """The hint for a word that is a value in other languages: `True`, `null`."""
    return _NO_VALUES.get(name.lower())


def type_help(name: str) -> str | None:
    """The type that other languages call by this name."""
    return _TYPES.get(name.lower())


def foreign_hint(failure: Failure) -> str | None:
    """The hint for a construct of another language."""
    before, text = failure.before, failure.text
    if before is None or failure.in_directive:
        return None
    if failure.tokens[failure.item].lower() in _SQL and failure.index == failure.item + 1:
        return "this looks like SQL; a query is a rule body: `holdfast query PROGRAM 'edge(x, y), y > 3'`"
    if text == "is" and before.type == "IDENT":
        return f"`is` is Prolog; write an equation as `{before} = …`"
    if failure.type == "SEMICOLON" and {"DOT", "IF"} <= failure.accepts:
        return "a fact ends with `.`"
    in_head = all(token.type != "IF" for token in failure.tokens[failure.item : failure.index])
    if before in AGGREGATES and failure.type == "IDENT" and in_head and failure.open_parenthesis() is not None:
        return f"in a head write {before}({text})"
    return None
