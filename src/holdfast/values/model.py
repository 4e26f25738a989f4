"""The values of facts, as a Python user sees them.

A value is an `int`, a `float`, a `str` or another RDF term: an `Iri`, a `BlankNode`, or a `Literal` whose datatype or
language has no Python counterpart.  Values of different kinds are never equal: the integer 1, the string "1" and the
IRI <1> are three values.  A `Record` holds other values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias


class Type(Enum):
    """The type of a column.  The first three are stored as they are, the others through the dictionary."""

    NUMBER = "number"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    SYMBOL = "symbol"
    ANY = "any"
    RECORD = "record"

    __hash__ = object.__hash__  # Enum's own is slow, and every variable of every plan is hashed by its type

    @property
    def in_dictionary(self) -> bool:
        """Whether a column of this type holds dictionary ids; `symbol` and `any` share their ids."""
        return self in (Type.SYMBOL, Type.ANY, Type.RECORD)

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined for this type."""
        return not self.in_dictionary

    @property
    def a_value(self) -> str:
        """The name of a value of this type in messages, with its article."""
        return {Type.UNSIGNED: "an unsigned number", Type.ANY: "any term"}.get(self, f"a {self.value}")


@dataclass(frozen=True, slots=True)
class Iri:
    """An absolute IRI, without angle brackets."""

    value: str

    def __str__(self) -> str:
        return f"<{self.value}>"


@dataclass(frozen=True, slots=True)
class BlankNode:
    """A blank node, with its label in the file."""

    label: str

    def __str__(self) -> str:
        return f"_:{self.label}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal with a datatype or a language.

    Plain strings are `str`, canonical xsd:integer within 64 bits `int`, canonical xsd:double `float`;
    other literals keep their lexical form here, so that they can be written unchanged.
    """

    lexical: str
    datatype: str | None = None
    language: str | None = None

    def __str__(self) -> str:
        text = quote(self.lexical)
        return f"{text}@{self.language}" if self.language else f"{text}^^<{self.datatype}>"


class Record:
    """A record `[x, y]`, a value `$Branch(x, y)` of an algebraic data type, or `NIL`.

    Records may be nested as deeply as lists are long, so no method is recursive, and the hash is stored.
    """

    __slots__ = ("_hash", "branch", "fields")
    __match_args__ = ("fields", "branch")

    def __init__(self, fields: tuple[Value, ...] = (), branch: str = "") -> None:
        self.fields, self.branch = fields, branch
        self._hash = hash((branch, fields))

    @property
    def is_nil(self) -> bool:
        """Whether this is `nil`, the empty record."""
        return self.branch == "nil" and not self.fields

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        pairs: list[tuple[Value, Value]] = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if one is two:
                continue
            if isinstance(one, Record) and isinstance(two, Record):
                if one._hash != two._hash or one.branch != two.branch or len(one.fields) != len(two.fields):
                    return False
                pairs += zip(one.fields, two.fields, strict=True)
            elif one != two:
                return False
        return True

    def __str__(self) -> str:
        """As Soufflé writes it; ambiguous strings inside are quoted."""
        return self.written(field_text)

    def written(self, text: Callable[[Any], str]) -> str:
        """The record with the text of each value in it."""
        parts: list[str] = []
        left: list[Value | _Text] = [self]
        while left:
            item = left.pop()
            if isinstance(item, _Text):
                parts.append(item.text)
            elif not isinstance(item, Record):
                parts.append(text(item))
            elif item.is_nil:
                parts.append("nil")
            elif item.branch and not item.fields:
                parts.append(f"${item.branch}")
            else:
                parts.append(f"${item.branch}(" if item.branch else "[")
                inside = [part for field in item.fields for part in (_Text(", "), field)][1:]
                left += [_Text(")" if item.branch else "]"), *reversed(inside)]
        return "".join(parts)

    def __repr__(self) -> str:
        return f"Record({self})"

    def __reduce__(self) -> tuple[object, ...]:
        return Record, (self.fields, self.branch)


@dataclass(frozen=True, slots=True)
class _Text:
    """A separator between the fields of a record that is being written."""

    text: str


def field_text(value: Value) -> str:
    """The text of a value in a record; a string is quoted if it would end the field."""
    text = str(value)
    if not isinstance(value, str):
        return text
    return quote(text) if not text or text != text.strip() or set(text) & _ENDS_FIELD else text


_ENDS_FIELD: Final = frozenset(',[]()"\n\t\r')
NIL: Final = Record((), "nil")
Value: TypeAlias = "int | float | str | Iri | BlankNode | Literal | Record"
Row: TypeAlias = tuple[Value, ...]


def quote(text: str) -> str:
    """A string as the language writes it: in double quotes, with escapes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'
