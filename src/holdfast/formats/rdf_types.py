"""RDF literals in columns that a program has declared as numbers, floats or symbols."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np

from holdfast.encoding import Codes, Dictionary, EncodingError, distinct
from holdfast.formats.numbers import NumberError, parse_float, parse_integer
from holdfast.formats.places import file_span, refuse
from holdfast.program.model import Column, Relation
from holdfast.term_text import XSD
from holdfast.values import BlankNode, Iri, Literal, Type, Value

_INTEGERS = frozenset(XSD + name for name in (
    "integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger",
    "negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"))
_FLOATS = frozenset(XSD + name for name in ("double", "float", "decimal")) | _INTEGERS


def fit_columns(path: Path, codes: Codes, relation: Relation, dictionary: Dictionary) -> Codes:
    """Facts in columns of type `any`, converted to the types of the relation."""
    fitted = codes.copy()
    for number, column in enumerate(relation.columns):
        if column.type is not Type.ANY:
            fitted[:, number] = _fit(path, codes[:, number], column, relation, dictionary)
    return fitted


def _fit(path: Path, codes: Codes, column: Column, relation: Relation, dictionary: Dictionary) -> Codes:
    ids, positions = distinct(codes, len(dictionary))
    converted = np.empty(len(ids), np.int64)
    for place, id in enumerate(ids.tolist()):
        value = dictionary.value_of(id)
        try:
            converted[place] = dictionary.encode_value(_convert(value, column.type), column.type)
        except (NumberError, EncodingError):
            _refuse(path, value, column, relation)
    return converted[positions]


def _convert(value: Value, type: Type) -> Value:
    """The value as one of the column's type, left as it is where it has no such reading."""
    match value, type:
        case Literal(lexical, datatype, None), Type.NUMBER | Type.UNSIGNED if datatype in _INTEGERS:
            return parse_integer(lexical, type)
        case Literal(lexical, datatype, None), Type.FLOAT if datatype in _FLOATS:
            return parse_float(lexical)
        case Literal(lexical, _, _), Type.SYMBOL:
            return lexical
        case (Iri() | BlankNode() | int() | float()), Type.SYMBOL:
            return _text(value)
    return value


def _text(value: Iri | BlankNode | float) -> str:
    match value:
        case Iri():
            return value.value
        case _:
            return str(value)


def _refuse(path: Path, value: Value, column: Column, relation: Relation) -> NoReturn:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    refuse("E0622", f"{shown} does not fit column {column.name} of relation {relation.display}, which has type "
                    f"{column.type.value}", file_span(path))
