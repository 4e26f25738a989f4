"""A value as the command line shows it: as text in a table, and as JSON."""

from __future__ import annotations

import math

from holdfast.values import BlankNode, Iri, Literal, Row, Value


def cell(value: Value) -> str:
    """A value as text: strings without quotes, as in facts files; RDF terms as Turtle writes them."""
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return str(value)


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
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case _:
            return value
