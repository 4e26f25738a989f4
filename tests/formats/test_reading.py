"""Facts files as others write them, and what is made of their oddities."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import DataError
from holdfast.formats import delimited, exact
from holdfast.formats.facts_files import read_relation, sniff_types
from holdfast.formats.parameters import Layout
from holdfast.formats.paths import find_facts, input_path, output_path
from holdfast.program.model import Relation
from holdfast.values import Iri, Row, Type
from holdfast.values.dictionary import Dictionary
from tests.formats.relations import relation

N, U, F, S, A = Type.NUMBER, Type.UNSIGNED, Type.FLOAT, Type.SYMBOL, Type.ANY


def _read(path: Path, content: str | bytes, types: tuple[Type, ...], **parameters: str) -> list[Row]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    dictionary = Dictionary()
    return dictionary.decode_rows(read_relation(path, relation(*types), dictionary, parameters), types)


@pytest.mark.parametrize(
    ("content", "types", "expected"),
    [
        ("", (N, N), []),
        ("1\t2", (N, N), [(1, 2)]),
        ("1\t2\r\n3\t4\r\n", (N, N), [(1, 2), (3, 4)]),
        ("1\t2\n1\t2\n", (N, N), [(1, 2), (1, 2)]),
        ("-0x1F\n0b101\n+7\n007\n", (N,), [(-31,), (5,), (7,), (7,)]),
        ("0x7fffffffffffffff\n-0x8000000000000000\n", (N,), [(2**63 - 1,), (-(2**63),)]),
        ("0xFFFFFFFFFFFFFFFF\n", (U,), [(2**64 - 1,)]),
        ("1\n.5\n5.\n-1e3\n", (F,), [(1.0,), (0.5,), (5.0,), (-1000.0,)]),
        ("a b\t\n\t \n", (S, S), [("a b", ""), ("", " ")]),
        ("\n\n", (S,), [("",), ("",)]),
        ("\"quoted\"\t'x'\n", (S, S), [('"quoted"', "'x'")]),
        ("a\0b\n", (S,), [("a\0b",)]),
        ("a\rb\tc\r\n", (S, S), [("a\rb", "c")]),
        ("\ufeffa\n", (S,), [("a",)]),
        ("null\nNA\n\\N\n", (S,), [("null",), ("NA",), ("\\N",)]),
        ("0x10\t0x10\n", (S, N), [("0x10", 16)]),
        ("()\n", (), [()]),
        ("", (), []),
        ('1\n1.5\nword\n<a:b>\n"1"\n', (A,), [(1,), (1.5,), ("word",), (Iri("a:b"),), ("1",)]),
    ],
)
def test_facts_files(tmp_path: Path, content: str, types: tuple[Type, ...], expected: list[Row]) -> None:
    assert _read(tmp_path / "r.facts", content, types) == expected
    assert _read(tmp_path / "r.facts.gz", gzip.compress(content.encode()), types) == expected
    assert _read(tmp_path / "packed", gzip.compress(content.encode()), types, compress="true") == expected


def test_hexadecimal_is_not_twos_complement(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"E0606.*0xFFFFFFFFFFFFFFFF.* out of range"):
        _read(tmp_path / "r.facts", "0xFFFFFFFFFFFFFFFF\n", (N,))


def test_parameters_of_souffle(tmp_path: Path) -> None:
    file = tmp_path / "r.facts"
    assert _read(file, "x\ty\n1, 2\n", (N, N), headers="true", delimiter=", ") == [(1, 2)]
    assert _read(file, "x\n", (N, N), headers="true") == []
    assert _read(file, "1delim2\n", (N, N), delimiter="delim") == [(1, 2)]
    assert _read(file, "1;2\n", (N, N), IO="file", delimiter=";") == [(1, 2)]
    assert _read(file, '"a;b";"c ""d"""\n"e\nf";g\n', (S, S), delimiter=";", rfc4180="true") == [
        ("a;b", 'c "d"'),
        ("e\nf", "g"),
    ]
    assert _read(file, "1\tx\t2\n3\ty\t4\n", (N, N), columns="2:0") == [(2, 1), (4, 3)]
    assert _read(file, "a\\tb\\\\n\\x\n", (S,), escape="true") == [("a\tb\\n\\x",)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("columns", "0:0"),
        ("columns", "0"),
        ("columns", "a:b"),
        ("delimiter", ""),
        ("delimiter", "\n"),
        ("rfc4180", "1"),
        ("IO", "stdin"),
    ],
)
def test_parameters_with_values_they_cannot_have(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(DataError, match="E0610"):
        _read(tmp_path / "r.facts", "1\t2\n", (N, N), **{name: value})


def test_a_csv_file_has_commas_and_quotes_unless_its_first_line_has_tabs(tmp_path: Path) -> None:
    assert _read(tmp_path / "r.csv", '"a,b",2\n', (S, N)) == [("a,b", 2)]
    assert _read(tmp_path / "r.csv", '"a,b"\t2\n', (S, N)) == [('"a,b"', 2)]


def test_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    assert _read(file, '[1, "a"]\r\n\n{"c1": "b", "c0": 2}\n', (N, S)) == [(1, "a"), (2, "b")]
    assert _read(file, "[1, 2]\n[1.5, 1e3]\n", (F, F)) == [(1.0, 2.0), (1.5, 1000.0)]
    assert _read(file, '["1"]\n[1]\n[1.0]\n[{"@id": "a:b"}]\n', (A,)) == [("1",), (1,), (1.0,), (Iri("a:b"),)]


_texts = st.lists(st.text(st.sampled_from('ab"\\,\t\n\r |x019-+.e '), max_size=12), max_size=4).map("\n".join)


@settings(max_examples=400, deadline=None)
@given(_texts, st.sampled_from([(S,), (S, S), (N,), (N, S), (F, N), (U,), (A, S)]), st.booleans(), st.booleans())
def test_the_fast_way_reads_what_the_exact_way_reads(
    text: str, types: tuple[Type, ...], commas: bool, headers: bool
) -> None:
    layout = Layout(".facts", "," if commas else "\t", headers)
    assert _outcome(delimited.read_delimited, text, layout, types) == _outcome(exact.read_exactly, text, layout, types)


@settings(max_examples=400, deadline=None)
@given(_texts, st.sampled_from([(S,), (S, S), (N, S)]))
def test_the_fast_way_reads_quotes_as_the_exact_way_does(text: str, types: tuple[Type, ...]) -> None:
    layout = Layout(".csv", ",", False, True)
    assert _outcome(delimited.read_delimited, text, layout, types) == _outcome(exact.read_exactly, text, layout, types)


def _outcome(read: object, text: str, layout: Layout, types: tuple[Type, ...]) -> object:
    dictionary = Dictionary()
    try:
        codes = read(Path("r"), text.encode(), layout, relation(*types), dictionary)  # type: ignore[operator]
    except DataError as error:
        return str(error)
    return dictionary.decode_rows(codes, types)


@pytest.mark.parametrize(
    ("content", "types"),
    [
        ("1\t2\n", (N, N)),
        ("1\t2.5\n3\t4\n", (N, F)),
        ("1\ta\n", (N, S)),
        ("", ()),
        ("nan\ninf\n", (S,)),
        ("9223372036854775808\n", (U,)),
        ("007\n", (S,)),
        ("1\t\n", (N, S)),
        ("1 2\n", (S,)),
        ("18446744073709551616\t1\n18446744073709551617\t2\n", (S, N)),
        ("-1\n9223372036854775808\n", (S,)),
        ("1\t10\n2\t01\n", (N, S)),
        ("0\t100\n-0\t+0\n", (N, S)),
        ("1.5\n-07\n", (S,)),
        ("0.5\n00.5\n", (F,)),
        ("1e400\t1e300\n1\t1\n", (S, F)),
        ("1.5\n18446744073709551616\n", (S,)),
        ("1.5\n9007199254740991\n", (F,)),
        ("1.5\n-9007199254740993\n", (S,)),
    ],
)
def test_types_are_sniffed_from_all_rows(tmp_path: Path, content: str, types: tuple[Type, ...]) -> None:
    (tmp_path / "r.facts").write_text(content)
    assert sniff_types(tmp_path / "r.facts") == types


def test_types_of_the_last_row_count(tmp_path: Path) -> None:
    (tmp_path / "r.facts").write_text("1\t1\n" * 300_000 + "1\tx\n")
    assert sniff_types(tmp_path / "r.facts", "xy") == (N, S)


@pytest.mark.parametrize(
    "name", ["edge.facts", "edge.facts.gz", "edge.tsv", "edge.csv.gz", "edge.parquet", "edge.jsonl"]
)
def test_a_relation_finds_its_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    (tmp_path / "edges.facts").touch()
    assert find_facts(tmp_path, relation(N, name="edge")) == tmp_path / name
    assert find_facts(tmp_path, relation(N, name="edg")) is None


@pytest.mark.parametrize("name", ["ex_knows.facts", "ex%3Aknows.facts"])
def test_a_prefixed_name_has_two_spellings_as_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert find_facts(tmp_path, Relation("<http://e/knows>", "ex:knows", ())) == tmp_path / name


@pytest.mark.parametrize("name", ["../x.facts", "/etc/passwd", "a/../../x", "link/x.facts", "", "a\0b"])
def test_file_names_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "facts"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    for resolve in (input_path, output_path):
        with pytest.raises(DataError, match="E0607"):
            resolve(folder, relation(N), {"filename": name})


def test_file_names_may_lead_into_folders_inside(tmp_path: Path) -> None:
    assert input_path(tmp_path, relation(N), {"filename": "a/../b/x.facts"}) == tmp_path / "a/../b/x.facts"
    assert output_path(tmp_path, relation(N), {}) == tmp_path / "r.csv"
