"""Write facts as RDF, the inverse of `holdfast.formats.rdf`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn

import pyoxigraph as ox

from holdfast.formats.order import in_order
from holdfast.formats.places import refuse
from holdfast.formats.rdf import RDF_TYPE, rdf_format
from holdfast.formats.rdf_terms import TermError, to_term
from holdfast.formats.staging import Replacing, replacing, writing
from holdfast.formats.writing import pieces
from holdfast.program.model import Relation
from holdfast.values import Row, Value, quote
from holdfast.values.dictionary import Codes, Dictionary

_NO_PREFIXES: Final[Mapping[str, str]] = MappingProxyType({})
_TOGETHER = 20_000  # rows decoded at a time
_TYPE = ox.NamedNode(RDF_TYPE[1:-1])


def write_rdf(
    path: Path,
    facts: Iterable[tuple[Relation, Codes]],
    dictionary: Dictionary,
    prefixes: Mapping[str, str] = _NO_PREFIXES,
    replacing: Replacing = replacing,
) -> None:
    """Write facts as RDF, atomically, in the format that the name implies.

    Unary relations are classes, binary ones are properties, and `triple` holds triples; no other relation can be
    written.
    """
    format = rdf_format(path)
    if format is None:
        refuse(
            "E0618",
            f"{path.as_posix()} does not have the name of an RDF file",
            help="RDF file names end in .nt or .ttl",
        )
    triples = (triple for relation, codes in facts for triple in _triples(relation, codes, dictionary))
    shown = None if format in (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS) else dict(prefixes)
    with writing(path, replacing=replacing) as file:
        ox.serialize(triples, file, format=format, prefixes=shown)


def _triples(relation: Relation, codes: Codes, dictionary: Dictionary) -> Iterator[ox.Triple]:
    make = _maker(relation)
    parts = pieces(relation, in_order(relation, codes, dictionary), dictionary, _TOGETHER)
    for row in (row for part in parts for row in dictionary.decode_rows(part, relation.types)):
        try:
            yield make(row)
        except TermError as error:
            _refuse_fact(relation, row, str(error))


def _maker(relation: Relation) -> Callable[[Row], ox.Triple]:
    """A function that converts a row of this relation to a triple."""
    if relation.name == "triple" and relation.arity == 3:
        return lambda row: ox.Triple(_subject(row[0]), _property(row[1]), to_term(row[2]))
    if relation.arity not in (1, 2) or not relation.name.startswith("<"):
        refuse(
            "E0623",
            f"relation {relation.display} cannot be written as RDF",
            relation.span,
            notes=("RDF has unary and binary relations named by IRIs, and triple(s, p, o)",),
        )
    name = _name(relation)
    if relation.arity == 1:
        return lambda row: ox.Triple(_subject(row[0]), _TYPE, name)
    return lambda row: ox.Triple(_subject(row[0]), name, to_term(row[1]))


def _name(relation: Relation) -> ox.NamedNode:
    try:
        return ox.NamedNode(relation.name[1:-1])
    except ValueError:
        refuse("E0623", f"{relation.name} is not a valid IRI", relation.span)


def _subject(value: Value) -> ox.NamedNode | ox.BlankNode:
    term = to_term(value)
    if isinstance(term, ox.Literal):
        raise TermError("a subject is an IRI or a blank node")
    return term


def _property(value: Value) -> ox.NamedNode:
    term = to_term(value)
    if not isinstance(term, ox.NamedNode):
        raise TermError("a property is an IRI")
    return term


def _refuse_fact(relation: Relation, row: Row, reason: str) -> NoReturn:
    shown = ", ".join(quote(value) if isinstance(value, str) else str(value) for value in row)
    refuse("E0623", f"the fact {relation.display}({shown}) cannot be written as RDF: {reason}")
