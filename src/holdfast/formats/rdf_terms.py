"""Convert RDF terms from N-Triples text to values, and values to pyoxigraph's terms."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from holdfast.formats.places import file_span, refuse
from holdfast.values import BlankNode, Iri, Literal, Value
from holdfast.values.dictionary import Codes, Dictionary
from holdfast.values.term_text import XSD_DOUBLE, XSD_INTEGER, XSD_STRING, double_text, literal_value

RdfTerm: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


class TermError(ValueError):
    """A value that RDF cannot represent, or a term that we cannot."""


class TermReader:
    """Reads the terms of one file into a dictionary; blank nodes get their own labels, in order of appearance."""

    def __init__(self, path: Path, dictionary: Dictionary, scope: str) -> None:
        self._path = path
        self._dictionary = dictionary
        self._scope = scope
        self._labels: dict[str, BlankNode] = {}

    def encode(self, column: pa.Array) -> Codes:
        """The codes of a dictionary-encoded column of terms."""
        indices = column.indices.to_numpy(zero_copy_only=False)
        used = np.zeros(len(column.dictionary), np.bool_)
        used[indices] = True
        codes = np.empty(len(used), np.int64)
        codes[used] = self._encode_distinct(column.dictionary.filter(pa.array(used)))
        return cast("Codes", codes[indices])

    def _encode_distinct(self, texts: pa.Array) -> Codes:
        """Encode IRIs and strings without escapes, the bulk of all terms, together, and the others one by one."""
        plain = pc.invert(pc.match_substring(texts, "\\"))
        iris = pc.and_(plain, pc.match_substring_regex(texts, "^<[^<]"))
        strings = pc.and_(plain, pc.match_substring_regex(texts, '^".*"$'))
        codes = np.empty(len(texts), np.int64)
        codes[_places(iris)] = self._dictionary.encode_distinct_iris(_inner(texts.filter(iris)))
        codes[_places(strings)] = self._dictionary.encode_distinct_strings(_inner(texts.filter(strings)))
        others = pc.invert(pc.or_(iris, strings))
        values = map(self._value, texts.filter(others).to_pylist())
        codes[_places(others)] = list(map(self._dictionary.id_of, values))
        return codes

    def _value(self, text: str) -> Value:
        try:
            value = parse_rdf_term(text)
        except TermError as error:
            refuse("E0622", str(error), file_span(self._path))
        if isinstance(value, BlankNode):
            return self._labels.setdefault(value.label, BlankNode(f"b{self._scope}x{len(self._labels)}"))
        return value


def _places(mask: pa.Array) -> npt.NDArray[np.bool_]:
    return cast("npt.NDArray[np.bool_]", mask.to_numpy(zero_copy_only=False))


def _inner(texts: pa.Array) -> list[str]:
    """Strip the first and last character of each text."""
    return cast("list[str]", pc.utf8_slice_codeunits(texts, 1, -1).to_numpy(zero_copy_only=False).tolist())


def parse_rdf_term(text: str) -> Value:
    """The value of a term as pyoxigraph writes it in N-Triples."""
    match text[0]:
        case "<" if not text.startswith("<<"):
            return Iri(_unescape(text[1:-1]))
        case "_":
            return BlankNode(text[2:])
    found = _LITERAL.fullmatch(text)
    if found is None:
        raise TermError(f"{text} is a triple used as a term, which facts cannot hold")
    return literal_value(_unescape(found[1]), found[3], found[2])


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if code[0] in "uU" else _ESCAPED[code]


def to_term(value: Value) -> RdfTerm:
    """The RDF term of a value; reading it gives the value back."""
    try:
        match value:
            case str():
                return ox.Literal(value)
            case int():
                return ox.Literal(str(value), datatype=ox.NamedNode(XSD_INTEGER))
            case float():
                return ox.Literal(double_text(value), datatype=ox.NamedNode(XSD_DOUBLE))
            case Iri():
                return ox.NamedNode(value.value)
            case BlankNode():
                return ox.BlankNode(value.label)
            case Literal() if value.language is not None:
                return ox.Literal(value.lexical, language=value.language)
            case Literal():
                return ox.Literal(value.lexical, datatype=ox.NamedNode(value.datatype or XSD_STRING))
    except ValueError as error:
        raise TermError(f"{value} is not valid RDF: {error}") from None
    raise TermError(f"{value} is a record, which RDF does not support")
