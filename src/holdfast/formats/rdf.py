"""Facts from RDF: a property is a binary relation, a class a unary one.

`ex:a ex:knows ex:b` is the fact `ex:knows(ex:a, ex:b)`, and `ex:a rdf:type ex:Person` is `ex:Person(ex:a)` (and
`rdf:type(ex:a, ex:Person)`, for rules that use it).  Rules that need the property as a variable read
`triple(s, p, o)`.  Named graphs are merged: N-Quads and TriG give the same facts as their triples without graph names.
Blank nodes get labels from the file's contents and their order in it: they differ between files, and stay the same
from run to run.

pyoxigraph parses the file.  pyarrow splits the triples, passed as N-Triples text, because touching each term from
Python would take longer than parsing it.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, NoReturn, TypeAlias, cast
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyoxigraph as ox

from holdfast.formats.files import BOM, as_text, reading, reading_of
from holdfast.formats.parameters import RDF_FORMATS, rdf_format_name
from holdfast.formats.places import file_span, refuse
from holdfast.formats.rdf_terms import TermReader
from holdfast.formats.rdf_types import fit_columns
from holdfast.program.model import Relation
from holdfast.settings import Memory
from holdfast.values.dictionary import Codes, Dictionary

RDF_TYPE: Final = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
Triples: TypeAlias = tuple[pa.Array, pa.Array, pa.Array]
"""Subjects, properties and objects as dictionary-encoded texts."""
_TEXT = pa.dictionary(pa.int32(), pa.string())
_PIECE = 20_000  # statements serialized at a time
_GRAPH = r" (?:<[^<>\" ]*>|_:[^ \"<>]+)$"


@dataclass(frozen=True)
class RdfFacts:
    """The facts in a file: by property, by class (both under `<iri>`), and as triples if requested."""

    properties: Mapping[str, Codes] = field(default_factory=dict)
    classes: Mapping[str, Codes] = field(default_factory=dict)
    triples: Codes | None = None

    def facts_of(self, name: str, arity: int) -> Codes | None:
        """The facts of relation `<iri>` or `triple`; None if the file has none."""
        if name == "triple" and arity == 3:
            return self.triples
        return {1: self.classes, 2: self.properties}.get(arity, {}).get(name)


def rdf_format(path: Path) -> ox.RdfFormat | None:
    """The RDF format that a file's name implies; None for other files."""
    name = rdf_format_name(path)
    return None if name is None else getattr(ox.RdfFormat, name)


def read_rdf(path: Path, relations: Mapping[str, Relation], dictionary: Dictionary) -> dict[str, Codes]:
    """The facts in an RDF file for the relations of a program, as codes of their types."""
    triple = relations.get("triple")
    want_triples = triple is not None and triple.arity == 3
    facts = rdf_facts(path, dictionary, want_triples=want_triples, predicates=relations)
    found = {}
    for name, relation in relations.items():
        codes = facts.facts_of(name, relation.arity)
        if codes is not None:
            found[name] = fit_columns(path, codes, relation, dictionary)
    return found


def rdf_facts(
    path: Path,
    dictionary: Dictionary,
    *,
    want_triples: bool = False,
    predicates: Collection[str] | None = None,
    base: str | None = None,
) -> RdfFacts:
    """The facts in an RDF file, with all columns of type `any`.

    `predicates` lists the relations wanted, each as `<iri>`; None means all.  Relative IRIs are resolved against
    `base`, by default `file:///` and the file's name, which is the same on every machine.
    """
    format = rdf_format(path)
    if format is None:
        refuse(
            "E0618",
            f"{path.as_posix()} does not have the name of an RDF file",
            help=f"RDF file names end in {', '.join(RDF_FORMATS)}, with .gz after it if compressed",
        )
    with ExitStack() as held, reading(path, dictionary.memory) as content:
        data = content.removeprefix(BOM)
        if format == ox.RdfFormat.RDF_XML:
            with dictionary.memory.holding(reading_of(path), len(data)):
                _refuse_entities(path, data)
        base = base or f"file:///{quote(path.name)}"
        triples = _columns(_statements(path, data, format, base, held, dictionary.memory))
        scope = hashlib.sha1(data, usedforsecurity=False).hexdigest()[:8]
        return _sort(triples, TermReader(path, dictionary, scope), want_triples, predicates)


# --- parsing -----------------------------------------------------------------------------------------


def _statements(path: Path, data: bytes, format: ox.RdfFormat, base: str, held: ExitStack, memory: Memory) -> bytes:
    """The statements of a file as N-Quads, one per line, without unnecessary escapes."""
    content, what = io.BytesIO(), reading_of(path)
    try:
        quads = ox.parse(data, format=format, base_iri=base)
        while piece := ox.serialize(islice(quads, _PIECE), format=ox.RdfFormat.N_QUADS):
            held.enter_context(memory.holding(what, 5 * len(piece)))  # text, Arrow's lines, split, and encoded
            content.write(piece)
        return content.getvalue()
    except MemoryError as error:
        if "maximal size" not in str(error):
            raise
        refuse("E0620", "a term is longer than 16 MB, the longest that is read", file_span(path))
    except SyntaxError as error:
        _refuse_syntax(path, data, error)


def _refuse_syntax(path: Path, data: bytes, error: SyntaxError) -> NoReturn:
    as_text(path, data)  # if the encoding is wrong, reports that instead
    message = re.sub(r"^Parser error at line .*?: |^Parser error: ", "", error.msg)
    message = message[:1].lower() + message[1:]
    if error.lineno is None:
        refuse("E0620", message, file_span(path))
    lines = data.split(b"\n", error.lineno)
    text = lines[error.lineno - 1].decode(errors="replace").rstrip("\r")
    column = error.offset or 1
    ends_here = error.end_lineno in (None, error.lineno)
    width = (error.end_offset or column + 1) - column if ends_here else len(text) + 1 - column
    refuse("E0620", message, file_span(path, error.lineno, column, width, text))


def _refuse_entities(path: Path, data: bytes) -> None:
    """Refuse document types: entities can make a small file enormous or read other files."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
        refuse("E0604", f"{path.as_posix()} is not UTF-8 text", file_span(path))
    bare = re.sub(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>", lambda found: b" " * len(found[0]), data, flags=re.DOTALL)
    found = re.search(rb"<!(?:DOCTYPE|ENTITY)", bare, re.IGNORECASE)
    if found:
        line = data.count(b"\n", 0, found.start()) + 1
        column = found.start() - (data.rfind(b"\n", 0, found.start()) + 1) + 1
        refuse(
            "E0621",
            "RDF/XML with a document type or entities is not read",
            file_span(path, line, column),
            help="write the entities out, or convert the file to Turtle",
        )


def _columns(statements: bytes) -> Triples:
    if not statements:
        empty = pa.array([], _TEXT)
        return empty, empty, empty
    lines = pa.csv.read_csv(
        pa.BufferReader(statements),
        read_options=pa.csv.ReadOptions(column_names=["line"], block_size=1 << 24),
        parse_options=pa.csv.ParseOptions(delimiter="\x01", quote_char=False),
        convert_options=pa.csv.ConvertOptions(column_types={"line": pa.large_string()}, null_values=[]),
    ).column(0)
    parts = [_take_apart(chunk) for chunk in lines.chunks if len(chunk)]
    columns = (pa.chunked_array(column).unify_dictionaries().combine_chunks() for column in zip(*parts, strict=True))
    subjects, names, objects = columns
    return subjects, names, objects


def _take_apart(lines: pa.Array) -> Triples:
    fields = pc.split_pattern(lines, " ", max_splits=2).flatten()
    places = np.arange(0, len(fields), 3)
    subjects, names, rest = (fields.take(pa.array(places + place)) for place in range(3))
    objects = pc.utf8_slice_codeunits(rest, 0, -2)
    if pc.any(pc.match_substring_regex(objects, _GRAPH)).as_py():
        objects = pc.replace_substring_regex(objects, _GRAPH, "")
    return _encoded(subjects), _encoded(names), _encoded(objects)


def _encoded(column: pa.Array) -> pa.Array:
    return pc.dictionary_encode(column.cast(pa.string()))


# --- grouping by relation ----------------------------------------------------------------------------


def _sort(triples: Triples, terms: TermReader, want_triples: bool, predicates: Collection[str] | None) -> RdfFacts:
    """Group the triples by property, and those of rdf:type also by class; unused terms are not decoded."""
    if predicates is not None and not want_triples:
        triples = _wanted(triples, predicates)
    pairs = np.stack([terms.encode(triples[0]), terms.encode(triples[2])], axis=1)
    properties, classes = {}, {}
    for name, rows in _groups(triples[1]):
        if predicates is None or name in predicates:
            properties[name] = pairs[rows]
        if name == RDF_TYPE:
            classes = {
                name: pairs[rows[members], :1]
                for name, members in _groups(triples[2].take(pa.array(rows)))
                if name[0] == "<" and (predicates is None or name in predicates)
            }
    whole = np.insert(pairs, 1, terms.encode(triples[1]), axis=1) if want_triples else None
    return RdfFacts(properties, classes, whole)


def _wanted(triples: Triples, predicates: Collection[str]) -> Triples:
    subjects, names, objects = triples
    chosen = _among(names, predicates)
    if RDF_TYPE not in predicates:
        chosen |= _among(names, (RDF_TYPE,)) & _among(objects, predicates)
    places = pa.array(np.flatnonzero(chosen))
    return subjects.take(places), names.take(places), objects.take(places)


def _among(column: pa.Array, texts: Collection[str]) -> npt.NDArray[np.bool_]:
    """Which entries of a dictionary-encoded column are among the texts."""
    among = pc.is_in(column.dictionary, pa.array(list(texts), pa.string())).to_numpy(zero_copy_only=False)
    return cast("npt.NDArray[np.bool_]", among[column.indices.to_numpy(zero_copy_only=False)])


def _groups(column: pa.Array) -> Iterator[tuple[str, Codes]]:
    """Each distinct text of a dictionary-encoded column, with its rows."""
    indices = column.indices.to_numpy(zero_copy_only=False)
    if not len(indices):
        return
    order = np.argsort(indices, kind="stable")
    values, starts = np.unique(indices[order], return_index=True)
    texts = column.dictionary.take(pa.array(values)).to_pylist()
    yield from zip(texts, np.split(order, starts[1:]), strict=True)
