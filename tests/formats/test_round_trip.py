"""Whatever is written reads back as the same facts, in every format and for every type.

What this cannot see: an error that writing and reading make alike.  test_reading.py has the files of others.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from holdfast.errors import DataError
from holdfast.formats.facts_files import read_relation, write_relation
from holdfast.formats.parquet import to_arrow
from holdfast.formats.python_data import encode_facts
from holdfast.program.model import Relation
from holdfast.values import Iri, Literal, Row, Type
from holdfast.values.dictionary import Dictionary
from holdfast.values.term_text import parse_term, term_text
from tests.formats.relations import relation
from tests.formats.strategies import PLAIN_VALUES, any_values, facts, odd_terms

_quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _there_and_back(name: str, relation: Relation, rows: list[Row], parameters: dict[str, str]) -> None:
    writing, reading = Dictionary(), Dictionary()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_relation(path, relation, writing.encode_rows(rows, relation.types), writing, parameters)
        codes = read_relation(path, relation, reading, parameters)
        assert [file.name for file in Path(folder).iterdir()] == [name]
    assert codes.shape == (len(rows), relation.arity)
    again = reading.decode_rows(codes, relation.types)
    assert Counter(map(repr, again)) == Counter(map(repr, _normal(rows, relation)))


def _normal(rows: list[Row], relation: Relation) -> list[Row]:
    """The rows with floats as the encoding has them: no -0.0."""
    return [tuple(value + 0.0 if isinstance(value, float) else value for value in row) for row in rows]


@_quick
@given(facts(PLAIN_VALUES))
def test_raw_lines_hold_all_but_tabs_and_line_ends(given: tuple[Relation, list[Row]]) -> None:
    _there_and_back("r.facts", *given, {})


@_quick
@given(facts())
def test_escaped_lines_hold_everything(given: tuple[Relation, list[Row]]) -> None:
    _there_and_back("r.tsv", *given, {"escape": "true"})


@_quick
@given(facts())
def test_quoted_lines_hold_everything(given: tuple[Relation, list[Row]]) -> None:
    _there_and_back("r.csv.gz", *given, {"rfc4180": "true", "delimiter": ",", "headers": "true"})


@_quick
@given(facts())
def test_quoted_lines_with_a_long_delimiter_hold_everything(given: tuple[Relation, list[Row]]) -> None:
    _there_and_back("r.csv", *given, {"rfc4180": "true", "delimiter": "||"})


@_quick
@given(facts())
def test_json_lines_hold_everything(given: tuple[Relation, list[Row]]) -> None:
    _there_and_back("r.jsonl", *given, {})
    _there_and_back("r.jsonl.gz", *given, {"headers": "true"})


@_quick
@given(facts())
def test_parquet_holds_everything(given: tuple[Relation, list[Row]]) -> None:
    _there_and_back("r.parquet", *given, {})


@_quick
@given(facts())
def test_arrow_tables_hold_everything(given: tuple[Relation, list[Row]]) -> None:
    relation, rows = given
    writing, reading = Dictionary(), Dictionary()
    table = to_arrow(relation, writing.encode_rows(rows, relation.types), writing)
    again = reading.decode_rows(encode_facts(table, relation, reading), relation.types)
    assert list(map(repr, again)) == list(map(repr, _normal(rows, relation)))


@given(any_values | odd_terms)
def test_the_text_of_any_value_reads_back(value: object) -> None:
    again = parse_term(term_text(value))
    assert repr(again) == repr(value)


@pytest.mark.parametrize("value", ["a|", "|", "a||b", "|||"])
def test_a_string_that_blurs_a_long_delimiter_is_quoted_or_refused(tmp_path: Path, value: str) -> None:
    dictionary, pairs = Dictionary(), relation(Type.SYMBOL, Type.SYMBOL)
    codes = dictionary.encode_rows([(value, "x")], pairs.types)
    with pytest.raises(DataError, match="E0612"):
        write_relation(tmp_path / "r.csv", pairs, codes, dictionary, {"delimiter": "||"})
    _there_and_back("r.csv", pairs, [(value, "x")], {"delimiter": "||", "rfc4180": "true"})


@pytest.mark.parametrize("value", ["a\tb", "a\nb", "a\r"])
def test_a_string_that_lines_cannot_hold_is_refused(tmp_path: Path, value: str) -> None:
    dictionary, symbols = Dictionary(), relation(Type.SYMBOL)
    codes = dictionary.encode_rows([("fine",), (value,)], symbols.types)
    with pytest.raises(DataError, match=r"E0612.*cannot hold"):
        write_relation(tmp_path / "r.csv", symbols, codes, dictionary)
    assert list(tmp_path.iterdir()) == []


def test_facts_are_sorted_numbers_by_size_and_strings_by_bytes(tmp_path: Path) -> None:
    dictionary, pairs = Dictionary(), relation(Type.NUMBER, Type.SYMBOL, Type.FLOAT, Type.UNSIGNED)
    rows = [
        (10, "b", 1.0, 2**64 - 1),
        (9, "é", 2.0, 1),
        (9, "z", -2.5, 1),
        (-1, "Z", 0.0, 1),
        (9, "z", -3.0, 1),
        (9, "z", -3.0, 0),
        (9, "😀", 0.1, 1),
        (9, "\uffee", 0.1, 1),
    ]
    write_relation(tmp_path / "r.csv", pairs, dictionary.encode_rows(rows, pairs.types), dictionary)
    assert (tmp_path / "r.csv").read_text(encoding="utf-8") == (
        "-1\tZ\t0\t1\n9\tz\t-3\t0\n9\tz\t-3\t1\n9\tz\t-2.5\t1\n9\té\t2\t1\n9\t\uffee\t0.1\t1\n9\t😀\t0.1\t1\n"
        "10\tb\t1\t18446744073709551615\n"
    )


def test_a_column_of_any_kind_tells_kinds_apart(tmp_path: Path) -> None:
    dictionary, one = Dictionary(), relation(Type.ANY)
    rows = [(1,), ("1",), (1.0,), (Iri("a:b"),), ("<a:b>",), ("word",), (Literal("x", None, "en"),)]
    write_relation(tmp_path / "r.csv", one, dictionary.encode_rows(rows, one.types), dictionary)
    assert (tmp_path / "r.csv").read_text() == '1\n1.0\n"1"\n"<a:b>"\nword\n<a:b>\n"x"@en\n'


def test_writing_leaves_nothing_when_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.formats.writing._lines", interrupted)
    (tmp_path / "r.csv").write_text("before\n")
    with pytest.raises(KeyboardInterrupt):
        write_relation(tmp_path / "r.csv", relation(Type.NUMBER), np.zeros((1, 1), np.int64), Dictionary())
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]
    assert (tmp_path / "r.csv").read_text() == "before\n"


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="E0611"):
        write_relation(tmp_path / "no" / "r.csv", relation(), np.zeros((1, 0), np.int64), Dictionary())
