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
        'a date is a number of days: declare it as number, and write to_date("2020-01-31")',
    ),
}
_SQL: Final = frozenset({"select", "insert", "delete", "update", "create", "with"})
_SETS: Final = "a relation is a set; sort and cut its rows where you read them: in Python, `head(5)`"
_WORDS: Final = {  # where a comma or an operator would go on
    "in": "write `(x = 1 ; x = 2)`, or `x = range(1, 5)` for the numbers 1 to 4",
    "like": 'write `match("a.*", x)`, or `starts_with("a", x)`',
    "between": "write two comparisons: `1 <= x, x <= 9`",
    "mod": "modulo is written `%`",
    "div": "division is written `/`",
    **dict.fromkeys(("order", "limit"), _SETS),
}
_WORDS_BEFORE: Final = {  # what goes on is not expected behind these
    "avg": "the average is `mean x : { … }`",
    **dict.fromkeys(("exists", "some"), "leave it out: a variable that is only in the body, or `_`, is any value"),
    "prefix": "write `@prefix ex: <http://example.org/> .`",
    "import": 'write `#include "file.dl"`',
    "def": "functions are written in Python: `@holdfast.functor`",
    "lambda": "functions are written in Python: `@holdfast.functor`",
}
_SIGNS: Final = {  # the token before, and the unexpected one
    ("-", ">"): "a rule is written `head :- body`; “or” is written `;`",
    ("!", "."): "there is no cut: all facts that follow are derived",
    ("*", "*"): "a power is written `x ^ 2`",
}
_LISTS: Final = "a list is a record: .type List = [head: number, tail: List], written [1, [2, nil]]"


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
    words = {token.lower() for token in failure.tokens[failure.item + 1 : failure.index]}
    if failure.tokens[failure.item].lower() in _SQL and words <= {"*", "from"}:
        return "this looks like SQL; a query is a rule body: `holdfast query PROGRAM 'edge(x, y), y > 3'`"
    if failure.type == "IDENT" and before.lower() in _WORDS_BEFORE:
        return _WORDS_BEFORE[before.lower()]
    if (str(before), text) in _SIGNS:
        return _SIGNS[str(before), text]
    if failure.type == "IDENT" and "COMMA" in failure.accepts and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text == "|":
        return _LISTS
    if before.type in ("IRI", "PREFIXED") and "IF" in failure.accepts and failure.type in ("IRI", "PREFIXED", "IDENT"):
        return "RDF data is read from files by -F; a fact is written `ex:knows(ex:ann, ex:bob).`"
    if text == "is" and before.type == "IDENT":
        return f"`is` is Prolog; write an equation as `{before} = …`"
    if failure.type == "SEMICOLON" and {"DOT", "IF"} <= failure.accepts:
        return "a fact ends with `.`"
    in_head = all(token.type != "IF" for token in failure.tokens[failure.item : failure.index])
    if before in AGGREGATES and failure.type == "IDENT" and in_head and failure.open_parenthesis() is not None:
        return f"in a head write {before}({text})"
    return None
