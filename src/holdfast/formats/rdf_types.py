"""Convert RDF literals to the declared column types: numbers, floats, symbols."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np

from holdfast.errors import Span
from holdfast.formats.files import reading
from holdfast.formats.places import file_span, refuse
from holdfast.program.model import Column, Relation
from holdfast.values import BlankNode, Iri, Literal, Row, Type, Value, quote
from holdfast.values.dictionary import Codes, Dictionary, EncodingError, distinct
from holdfast.values.number_text import NumberError, parse_float, parse_integer
from holdfast.values.term_text import XSD

_INTEGERS = frozenset(
    XSD + name
    for name in (
        "integer",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    )
)
_FLOATS = frozenset(XSD + name for name in ("double", "float", "decimal")) | _INTEGERS


def fit_columns(path: Path, codes: Codes, relation: Relation, dictionary: Dictionary) -> Codes:
    """Convert facts in columns of type `any` to the types of the relation."""
    fitted = codes.copy()
    for number, column in enumerate(relation.columns):
        if column.type is not Type.ANY:
            try:
                fitted[:, number] = _fit(codes[:, number], column.type, dictionary)
            except EncodingError as error:
                row = dictionary.decode_rows(codes[error.row :][:1], (Type.ANY,) * relation.arity)[0]
                _refuse(path, row, column, relation)
    return fitted


def _fit(codes: Codes, type: Type, dictionary: Dictionary) -> Codes:
    ids, positions = distinct(codes, len(dictionary))
    converted = np.empty(len(ids), np.int64)
    for place, id in enumerate(ids.tolist()):
        value = dictionary.value_of(id)
        try:
            converted[place] = dictionary.encode_value(_convert(value, type), type)
        except (NumberError, EncodingError) as error:
            raise EncodingError(str(error), value, int(np.flatnonzero(codes == id)[0])) from None
    return converted[positions]


def _convert(value: Value, type: Type) -> Value:
    """The value converted to the column's type; unchanged if that is impossible."""
    match value, type:
        case Literal(lexical, datatype, None), Type.NUMBER | Type.UNSIGNED if datatype in _INTEGERS:
            return parse_integer(lexical, type)
        case Literal(lexical, datatype, None), Type.FLOAT if datatype in _FLOATS:
            return parse_float(lexical)
        case Literal(lexical, _, _), Type.SYMBOL:
            return lexical
        case ((Iri() | BlankNode() | int() | float()), Type.SYMBOL):
            return _text(value)
    return value


def _text(value: Iri | BlankNode | float) -> str:
    match value:
        case Iri():
            return value.value
        case _:
            return str(value)


def _refuse(path: Path, row: Row, column: Column, relation: Relation) -> NoReturn:
    shown = ", ".join(quote(value) if isinstance(value, str) else str(value) for value in row)
    span = _find_line(path, row)
    place = "" if span else f" of {path.as_posix()}"
    refuse(
        "E0622",
        f"the fact {relation.display}({shown}){place} does not fit: column {column.name} has type {column.type.value}",
        span,
    )


def _find_line(path: Path, row: Row) -> Span | None:
    """The line with the terms of a row, in formats with one statement per line."""
    if not path.name.removesuffix(".gz").endswith((".nt", ".nq")):
        return None
    wanted = [
        value.value if isinstance(value, Iri) else value.lexical if isinstance(value, Literal) else str(value)
        for value in row
        if not isinstance(value, BlankNode)
    ]
    with reading(path) as data:
        lines = data.decode(errors="replace").split("\n")
    for number, line in enumerate(lines, 1):
        if all(text in line for text in wanted):
            return file_span(path, number, 1, len(line), line)
    return None
