"""A value as the command line shows it: as text in a table, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence

from holdfast.term_text import term_text
from holdfast.values import NIL, BlankNode, Iri, Literal, Record, Row, Type, Value

_CONTROLS = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


def row_as_text(row: Row, types: Sequence[Type]) -> list[str]:
    """The cells of a row, as in facts files: a string is itself, unless a column of type `any` would make it
    look like another value; a cell stays on its line."""
    return [
        term_text(value) if type is Type.ANY else str(value).translate(_CONTROLS)
        for value, type in zip(row, types, strict=True)
    ]


def row_as_json(row: Row) -> list[object]:
    """A row for `--json`."""
    return [as_json(value) for value in row]


def as_json(value: Value) -> object:
    """A value for `--json`: what JSON lacks (RDF terms, infinities) becomes an object that names its kind."""
    match value:
        case Iri(iri):
            return {"iri": iri}
        case BlankNode(label):
            return {"blank": label}
        case Literal(lexical, _, str(language)):
            return {"literal": lexical, "language": language}
        case Literal(lexical, datatype, _):
            return {"literal": lexical, "datatype": datatype}
        case Record(fields=fields, branch=branch):
            inside = [as_json(field) for field in fields]
            return None if value == NIL else {branch: inside} if branch else inside
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case _:
            return value
