"""The W3C's parsing tests for N-Triples and Turtle, read as facts.

Cannot see: an error that pyoxigraph's readers of Turtle and of N-Triples, which reads the expected graphs, make alike.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from holdfast.errors import DataError
from holdfast.formats.rdf import rdf_facts
from holdfast.formats.rdf_terms import to_term
from holdfast.values import BlankNode, Row, Type
from holdfast.values.dictionary import Dictionary
from tests.suites.shared_data import DATA, needs_shared_data, table

BASE = "https://w3c.github.io/rdf-tests/rdf/rdf11/"
CASES = [(suite, row) for suite in ("rdf-n-triples", "rdf-turtle") for row in table(f"ext/w3c/{suite}/tests.tsv")]

_NO_STATEMENT = ("#", "@prefix", "prefix", "@base", "base")

pytestmark = needs_shared_data


def _cases(kind: str) -> list[object]:
    return [
        pytest.param(suite, row["action"], row["result"], id=f"{suite}/{row['name']}")
        for suite, row in CASES
        if row["type"].endswith(kind)
    ]


def _triples(suite: str, file: str) -> set[Row]:
    path, dictionary = DATA / "ext/w3c" / suite / file, Dictionary()
    codes = rdf_facts(path, dictionary, want_triples=True, base=f"{BASE}{suite}/{file}").triples
    assert codes is not None
    return set(dictionary.decode_rows(codes, (Type.ANY,) * 3))


@pytest.mark.parametrize(("suite", "file", "result"), _cases("Eval"))
def test_the_triples_are_those_of_the_result(suite: str, file: str, result: str) -> None:
    assert _equal_up_to_blank_nodes(_triples(suite, file), _triples(suite, result))


@pytest.mark.parametrize(("suite", "file", "result"), _cases("PositiveSyntax"))
def test_good_files_are_read(suite: str, file: str, result: str) -> None:
    lines = (DATA / "ext/w3c" / suite / file).read_text(encoding="utf-8").split("\n")
    statements = {line for line in lines if line.strip() and not line.lower().startswith(_NO_STATEMENT)}
    triples = _triples(suite, file)
    if suite == "rdf-n-triples":
        assert len(triples) == len(statements)
    else:
        assert bool(triples) == bool(statements)


@pytest.mark.parametrize(("suite", "file", "result"), _cases("NegativeSyntax"))
def test_bad_files_are_refused_with_the_line(suite: str, file: str, result: str) -> None:
    with pytest.raises(DataError) as refused:
        _triples(suite, file)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "E0620"
    lines = (DATA / "ext/w3c" / suite / file).read_text(encoding="utf-8").split("\n")
    assert diagnostic.span is not None
    assert 1 <= diagnostic.span.line <= len(lines)
    assert Path(diagnostic.span.source.name).name == file


def test_none_is_missing() -> None:
    assert len(CASES) == 28 + 154


def _equal_up_to_blank_nodes(left: set[Row], right: set[Row]) -> bool:
    """Whether some renaming of blank nodes makes the graphs equal; tries all, the graphs are small."""
    ours, theirs = _blank_nodes(left), _blank_nodes(right)
    if len(left) != len(right) or len(ours) != len(theirs):
        return False
    return any(_renamed(left, renaming) == right for renaming in _renamings(left, right, ours, theirs, {}))


def _renamings(
    left: set[Row], right: set[Row], ours: list[BlankNode], theirs: list[BlankNode], chosen: dict[BlankNode, BlankNode]
) -> Iterator[dict[BlankNode, BlankNode]]:
    if not ours:
        yield chosen
        return
    for other in theirs:
        if _surroundings(left, ours[0]) == _surroundings(right, other):
            rest = [node for node in theirs if node != other]
            yield from _renamings(left, right, ours[1:], rest, {**chosen, ours[0]: other})


def _surroundings(triples: set[Row], node: BlankNode) -> list[str]:
    """The triples around a node, with every blank node's name taken away."""
    return sorted(
        str(["this" if value == node else "other" if isinstance(value, BlankNode) else repr(value) for value in row])
        for row in triples
        if node in row
    )


def _blank_nodes(triples: set[Row]) -> list[BlankNode]:
    return sorted({value for row in triples for value in row if isinstance(value, BlankNode)}, key=str)


def _renamed(triples: set[Row], renaming: dict[BlankNode, BlankNode]) -> set[Row]:
    return {
        tuple(renaming.get(value, value) if isinstance(value, BlankNode) else value for value in row) for row in triples
    }


@pytest.mark.parametrize("name", ["lubm/lubm1.nt.gz", "brick/STOR_v1.1_.ttl.gz", "brick/Brick.n3.gz"])
def test_real_files_give_the_triples_that_pyoxigraph_iterates(name: str) -> None:
    path, dictionary = DATA / "ext" / name, Dictionary()
    codes = rdf_facts(path, dictionary, want_triples=True, base=BASE).triples
    assert codes is not None
    ours = {
        tuple("_" if isinstance(value, BlankNode) else str(to_term(value)) for value in row)
        for row in dictionary.decode_rows(codes, (Type.ANY,) * 3)
    }
    format = ox.RdfFormat.N_TRIPLES if ".nt" in name else ox.RdfFormat.TURTLE
    quads = list(ox.parse(gzip.decompress(path.read_bytes()), format=format, base_iri=BASE))
    theirs = {
        tuple(
            "_" if isinstance(term, ox.BlankNode) else str(term) for term in (quad.subject, quad.predicate, quad.object)
        )
        for quad in quads
    }
    assert ours == theirs
    assert len(codes) == len(quads)
