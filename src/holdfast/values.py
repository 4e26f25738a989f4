"""The values that facts hold, as a Python user sees them.

A value is an `int`, a `float`, a `str` or an RDF term that is none of these: an `Iri`, a `BlankNode`, or
a `Literal` whose datatype or language has no Python counterpart.  Values of different kinds are never
equal: the integer 1, the string "1" and the IRI <1> are three values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Type(Enum):
    """The type of a column.  The first three are stored as themselves, the others through the dictionary."""

    NUMBER = "number"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    SYMBOL = "symbol"
    ANY = "any"

    __hash__ = object.__hash__  # Enum's own is slow, and every variable of every plan is hashed by its type

    @property
    def in_dictionary(self) -> bool:
        """Whether a column of this type holds dictionary ids; `symbol` and `any` share their ids."""
        return self in (Type.SYMBOL, Type.ANY)

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic has a meaning for this type."""
        return not self.in_dictionary

    @property
    def a_value(self) -> str:
        """What a value of this type is called in messages, with its article."""
        return {Type.UNSIGNED: "an unsigned number", Type.ANY: "any term"}.get(self, f"a {self.value}")


@dataclass(frozen=True, slots=True)
class Iri:
    """An IRI, absolute, without the angle brackets."""

    value: str

    def __str__(self) -> str:
        return f"<{self.value}>"


@dataclass(frozen=True, slots=True)
class BlankNode:
    """A blank node, by the label that its file gave it."""

    label: str

    def __str__(self) -> str:
        return f"_:{self.label}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal with a datatype or a language.

    Plain strings are `str`, canonical xsd:integer within 64 bits `int`, canonical xsd:double `float`;
    everything else keeps its lexical form here, so that what was read can be written again unchanged.
    """

    lexical: str
    datatype: str | None = None
    language: str | None = None

    def __str__(self) -> str:
        text = quote(self.lexical)
        return f"{text}@{self.language}" if self.language else f"{text}^^<{self.datatype}>"


Value: TypeAlias = int | float | str | Iri | BlankNode | Literal
Row: TypeAlias = tuple[Value, ...]


def quote(text: str) -> str:
    """A string as the language writes it: in double quotes, with escapes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'
