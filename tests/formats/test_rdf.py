"""RDF as facts and back."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import DataError
from holdfast.formats.parameters import is_rdf
from holdfast.formats.rdf import RDF_TYPE, rdf_facts, read_rdf
from holdfast.formats.rdf_terms import parse_rdf_term, to_term
from holdfast.formats.rdf_writing import write_rdf
from holdfast.program.model import Relation
from holdfast.values import BlankNode, Iri, Literal, Row, Type, Value
from holdfast.values.dictionary import Dictionary
from tests.formats.relations import relation
from tests.formats.strategies import XSD, any_values, blank_nodes, iris

A, N, F, S = Type.ANY, Type.NUMBER, Type.FLOAT, Type.SYMBOL
EX = "http://example.org/"
KNOWS, AGE, PERSON = f"<{EX}knows>", f"<{EX}age>", f"<{EX}Person>"
TURTLE = f"""@prefix ex: <{EX}> .
ex:a a ex:Person ; ex:knows ex:b, _:x ; ex:age 42 .
_:x a ex:Person ; ex:age "7"^^<{XSD}int>, 1.5 .
"""


def _read(path: Path, content: str, *relations: Relation) -> dict[str, list[Row]]:
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    dictionary = Dictionary()
    found = read_rdf(path, {r.name: r for r in relations}, dictionary)
    types = {r.name: r.types for r in relations}
    return {name: sorted(dictionary.decode_rows(codes, types[name]), key=str) for name, codes in found.items()}


def test_properties_are_binary_and_classes_unary(tmp_path: Path) -> None:
    facts = _read(tmp_path / "f.ttl", TURTLE, relation(A, A, name=KNOWS), relation(A, name=PERSON))
    (blank,) = facts[PERSON][0]
    assert isinstance(blank, BlankNode)
    assert facts == {
        KNOWS: [(Iri(EX + "a"), blank), (Iri(EX + "a"), Iri(EX + "b"))],
        PERSON: [(blank,), (Iri(EX + "a"),)],
    }


def test_literals_are_values(tmp_path: Path) -> None:
    ages = _read(tmp_path / "f.ttl.gz", TURTLE, relation(A, A, name=AGE))[AGE]
    assert {row[1] for row in ages} == {42, Literal("7", XSD + "int"), Literal("1.5", XSD + "decimal")}


def test_literals_follow_the_types_of_columns(tmp_path: Path) -> None:
    ages = _read(tmp_path / "f.ttl", TURTLE, relation(A, F, name=AGE))[AGE]
    assert {repr(row[1]) for row in ages} == {"42.0", "7.0", "1.5"}
    ages = _read(tmp_path / "f.ttl", TURTLE, relation(S, S, name=AGE))[AGE]
    assert {row[1] for row in ages} == {"42", "7", "1.5"}
    with pytest.raises(DataError, match=r"E0622.*1\.5.*number"):
        _read(tmp_path / "f.ttl", TURTLE, relation(A, N, name=AGE))


def test_triple_and_rdf_type_are_there_for_rules_that_ask(tmp_path: Path) -> None:
    facts = _read(tmp_path / "f.ttl", TURTLE, relation(A, A, A, name="triple"), relation(A, A, name=RDF_TYPE))
    assert len(facts["triple"]) == 7
    assert len(facts[RDF_TYPE]) == 2
    assert (Iri(EX + "a"), Iri(EX + "age"), 42) in facts["triple"]


def test_only_wanted_terms_enter_the_dictionary(tmp_path: Path) -> None:
    (tmp_path / "f.ttl").write_text(TURTLE)
    dictionary = Dictionary()
    facts = rdf_facts(tmp_path / "f.ttl", dictionary, predicates={PERSON})
    assert set(facts.classes) == {PERSON}
    assert facts.properties == {}
    assert dictionary.find(Iri(EX + "b")) is None


def test_named_graphs_are_merged(tmp_path: Path) -> None:
    line = f"<{EX}a> <{EX}age> "
    text = (
        f'{line}"x <{EX}y>" .\n{line}"x <{EX}y>" <{EX}g> .\n{line}"1"^^<{XSD}integer> _:g .\n{line}<{EX}o> <{EX}g> .\n'
    )
    assert {row[1] for row in _read(tmp_path / "f.nq", text, relation(A, A, name=AGE))[AGE]} == {
        f"x <{EX}y>",
        1,
        Iri(EX + "o"),
    }


def test_blank_nodes_of_different_files_differ_and_of_the_same_do_not(tmp_path: Path) -> None:
    one = _read(tmp_path / "1.ttl", "_:x a <a:C> . [] a <a:C> .", relation(A, name="<a:C>"))
    again = _read(tmp_path / "2.ttl", "_:x a <a:C> . [] a <a:C> .", relation(A, name="<a:C>"))
    other = _read(tmp_path / "3.ttl", "_:x a <a:C> . [] a <a:C> . ", relation(A, name="<a:C>"))
    assert one == again
    assert len({*one["<a:C>"], *other["<a:C>"]}) == 4


def test_rdf_xml(tmp_path: Path) -> None:
    text = (
        f'<rdf:RDF xmlns:rdf="{RDF_TYPE[1:-5]}" xmlns:ex="{EX}"><!-- <!DOCTYPE none> -->'
        f'<ex:Person rdf:about="{EX}a"><ex:age>5</ex:age></ex:Person></rdf:RDF>'
    )
    assert _read(tmp_path / "f.rdf", text, relation(A, A, name=AGE)) == {AGE: [(Iri(EX + "a"), "5")]}


@pytest.mark.parametrize("declared", ["<!DOCTYPE x>", '<!DOCTYPE x [<!ENTITY a "b">]>', "<!doctype x>"])
def test_rdf_xml_with_a_document_type_is_refused(tmp_path: Path, declared: str) -> None:
    with pytest.raises(DataError, match="E0621"):
        _read(tmp_path / "f.owl", f'<?xml version="1.0"?>\n{declared}<x/>')


@pytest.mark.parametrize("name", ["a.nt", "a.ttl.gz", "a.NQ", "a.rdf", "a.owl", "a.trig"])
def test_rdf_files_are_known_by_name(name: str) -> None:
    assert is_rdf(Path(name))
    assert not is_rdf(Path(name + ".facts"))


@given(any_values)
def test_terms_read_back(value: Value) -> None:
    if value != value or value == 0.0:
        return  # NaN is not equal to itself; -0.0 is read as 0.0
    assert repr(parse_rdf_term(str(to_term(value)))) == repr(value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.one_of(iris, blank_nodes), any_values)), st.sampled_from(["f.nt", "f.ttl.gz", "f.nq"]))
def test_facts_written_as_rdf_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[Row], name: str) -> None:
    path, knows, dictionary = tmp_path_factory.mktemp("rdf") / name, relation(A, A, name=KNOWS), Dictionary()
    write_rdf(path, [(knows, dictionary.encode_rows(rows, knows.types))], dictionary, {"ex": EX})
    found = read_rdf(path, {KNOWS: knows}, dictionary).get(KNOWS, dictionary.encode_rows([], knows.types))
    again = dictionary.decode_rows(found, knows.types)
    rows = dictionary.decode_rows(dictionary.encode_rows(rows, knows.types), knows.types)
    assert {tuple(map(_shape, row)) for row in again} == {tuple(map(_shape, row)) for row in rows}


def _shape(value: Value) -> str:
    return "_:" if isinstance(value, BlankNode) else repr(value)


def test_classes_and_typed_columns_are_written(tmp_path: Path) -> None:
    dictionary = Dictionary()
    person, age = relation(A, name=PERSON), relation(A, N, name=AGE)
    write_rdf(
        tmp_path / "f.nt",
        [
            (person, dictionary.encode_rows([(Iri(EX + "a"),)], person.types)),
            (age, dictionary.encode_rows([(Iri(EX + "a"), 5)], age.types)),
        ],
        dictionary,
    )
    assert (tmp_path / "f.nt").read_text() == (f'<{EX}a> {RDF_TYPE} {PERSON} .\n<{EX}a> {AGE} "5"^^<{XSD}integer> .\n')


@pytest.mark.parametrize(
    ("relation", "row", "reason"),
    [
        (relation(S, A, name=KNOWS), ("a", 1), "a subject is an IRI or a blank node"),
        (relation(A, A, A, name="triple"), (Iri("a:b"), "p", 1), "a property is an IRI"),
        (relation(A, A, name="knows"), (Iri("a:b"), 1), "unary and binary relations named by IRIs"),
        (relation(A, A, name=KNOWS), (Iri("a b"), 1), "not valid RDF"),
    ],
)
def test_facts_that_are_no_triples_are_refused(tmp_path: Path, relation: Relation, row: Row, reason: str) -> None:
    dictionary = Dictionary()
    with pytest.raises(DataError, match=f"(?s)E0623.*{reason}"):
        write_rdf(tmp_path / "f.nt", [(relation, dictionary.encode_rows([row], relation.types))], dictionary)
    assert list(tmp_path.iterdir()) == []
