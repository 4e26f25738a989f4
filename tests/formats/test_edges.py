"""Values and files at the edge: too large floats, NaN, links that lead elsewhere, marks and blank lines."""

from __future__ import annotations

import gzip
import io
import math
from pathlib import Path

import numpy as np
import pytest

import holdfast
from holdfast.errors import DataError, HoldfastError
from holdfast.streaming.sources import watched_folder
from holdfast.update_lines import update_lines

FLOATS = ".decl a(x: float{more})\n.decl b(x: float)\nb(x) :- a(x{rest}).\n.input a({parameters})\n"


def read(folder: Path, name: str, text: str, more: str = "", parameters: str = "") -> list[tuple[object, ...]]:
    (folder / name).write_text(text, encoding="utf-8")
    given = ", ".join(filter(None, (f'filename="{name}"', parameters)))
    rest = ", _" if more else ""
    return sorted(holdfast.from_text(FLOATS.format(more=more, rest=rest, parameters=given), folder)["b"])


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1E+999", "9" * 400, "-9" * 1 + "9" * 400 + ".5"])
@pytest.mark.parametrize(
    ("name", "parameters", "line"),
    [
        ("a.facts", "", "{}"),
        ("a.csv", "rfc4180=true", "{}"),
        ("a.csv", "rfc4180=true", '"{}"'),
        ("a.facts", "", "1.5\n{}\ninf"),
        ("a.csv", 'delimiter="::"', "{}"),
        ("a.jsonl", "", "[{}]"),
        ("a.jsonl", "", '{{"x": {}}}'),
        ("a.jsonl", "", '[1.5]\n[{}]\n[{{"@value": "INF", "@type": "http://www.w3.org/2001/XMLSchema#double"}}]'),
    ],
)
def test_a_number_that_no_float_holds_is_refused(
    tmp_path: Path, name: str, parameters: str, line: str, number: str
) -> None:
    with pytest.raises(DataError):
        read(tmp_path, name, line.format(number) + "\n", parameters=parameters)


def test_the_words_for_infinity_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, "a.facts", "inf\n-Infinity\n+INF\n1e308\n") == [(-math.inf,), (1e308,), (math.inf,)]
    mixed = read(tmp_path, "a.facts", "inf\t0x1\n1.5\tx\n", ", y: symbol")
    assert mixed == [(1.5,), (math.inf,)]


@pytest.mark.parametrize("datatype", ["double", "float", "decimal"])
def test_rdf_numbers_that_no_float_holds_are_refused(tmp_path: Path, datatype: str) -> None:
    literal = "1e400" if datatype != "decimal" else "9" * 400
    triple = f'<http://e/s> <http://e/p> "{literal}"^^<http://www.w3.org/2001/XMLSchema#{datatype}> .\n'
    (tmp_path / "a.nt").write_text(triple, encoding="utf-8")
    with pytest.raises(DataError, match="E0622"):
        holdfast.from_text(".decl <http://e/p>(s: any, o: float)\n", tmp_path / "a.nt")


def test_the_functor_refuses_them_too() -> None:
    with pytest.raises(HoldfastError, match="too large for a float"):
        holdfast.from_text('a("1e400"). b(y) :- a(x), y = to_float(x).')


# --- NaN and zero ------------------------------------------------------------------------------------

NANS = (math.nan, float("nan"), -math.nan, np.float64("nan"), np.int64(-1).view(np.float64))


@pytest.mark.parametrize("type", ["float", "any"])
def test_nan_is_one_value_in_results(type: str) -> None:
    text = f".decl a(n: number, x: {type})\n.decl b(n: number, x: {type})\nb(n, x) :- a(n, x).\n"
    rows = [(number, nan) for number, nan in enumerate(NANS)] + [(0, nan) for nan in NANS] + [(9, 1.5)]
    kb = holdfast.from_text(text, {"a": rows})
    expected = {*((number, math.nan) for number in range(len(NANS))), (9, 1.5)}
    assert set(kb["a"]) == set(kb["b"]) == set(kb["b"].sorted_rows()) == expected and len(kb["a"]) == len(expected)
    assert set(kb.query("a(n, x)")) == expected
    assert kb.counters("b").keys() == expected
    assert set(kb.query("a(_, x), b(_, x)")) == {(math.nan,), (1.5,)}
    change = kb.apply(holdfast.Update(delete={"a": [(0, float("nan"))]}))
    assert set(change.removed["a"]) == set(change.removed["b"]) == {(0, math.nan)}
    assert dict.fromkeys(kb["b"]).keys() == expected - {(0, math.nan)}


def test_nan_that_arithmetic_makes_is_the_same_value() -> None:
    kb = holdfast.from_text(
        ".decl a(x: float)\n.decl b(y: float)\n.decl c(y: float)\n"
        "b(y) :- a(x), y = x - x.\nc(y) :- a(x), y = x * 0.0.\n",
        {"a": [(math.inf,), (-math.inf,), (math.nan,)]},
    )
    assert set(kb["b"]) == set(kb["c"]) == {(math.nan,)}


def test_minus_zero_is_zero() -> None:
    kb = holdfast.from_text(
        ".decl a(x: float)\n.decl b(y: float)\nb(y) :- a(x), y = x * -1.0.\n", {"a": [(0.0,), (-0.0,), (1e-320,)]}
    )
    assert [math.copysign(1, x) for rows in (kb["a"], kb["b"]) for (x,) in rows if x == 0] == [1, 1]
    other = holdfast.from_text("b(x) :- a(x).", {"a": [(-0.0,), ("s",)]})
    assert [math.copysign(1, x) for (x,) in other["b"] if x == 0.0] == [1]


# --- links -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["e.facts", "e.csv", "e.jsonl", "e.parquet", "e.facts.gz", "x.nt", "x.ttl"])
def test_a_facts_file_that_is_a_link_out_of_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "secret").write_text("secret\n", encoding="utf-8")
    (tmp_path / "facts" / name).symlink_to("../secret")
    with pytest.raises(DataError, match="E0607") as caught:
        holdfast.from_text("d(x) :- e(x).", tmp_path / "facts")
    assert "secret" not in str(caught.value)


def test_links_within_the_folder_and_to_the_folder_are_fine(tmp_path: Path) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts/other").write_text("1\n", encoding="utf-8")
    (tmp_path / "facts/e.facts").symlink_to("other")
    (tmp_path / "link").symlink_to("facts")
    for folder in ("facts", "link"):
        assert set(holdfast.from_text("d(x) :- e(x).", tmp_path / folder)["d"]) == {(1,)}


def test_a_file_of_updates_that_is_a_link_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "updates").mkdir()
    (tmp_path / "secret").write_text("secret\n", encoding="utf-8")
    (tmp_path / "updates/1.jsonl").symlink_to("../secret")
    (tmp_path / "updates/END").touch()
    [line] = watched_folder(tmp_path / "updates")
    with pytest.raises(HoldfastError, match="E0607"):
        line.update()


# --- marks and blank lines ---------------------------------------------------------------------------

BLANK = "\ufeff\n\r\n   \n\u00a0\n\t\n"
UPDATES = f'{BLANK}{{"insert": {{"e": [[1]]}}}}\n\n  {{"insert": {{"e": [["\u2028"]]}}}}\r\n\n'


@pytest.mark.parametrize("start", ["", "\ufeff", BLANK])
def test_marks_and_blank_lines_in_updates(tmp_path: Path, start: str) -> None:
    content = (start + UPDATES.removeprefix("\ufeff")).encode()
    first = content.split(b'{"insert"')[0].count(b"\n") + 1
    found = list(update_lines(io.BytesIO(content), "u"))
    assert [(line.line, line.number) for line in found] == [(first, 1), (first + 2, 2)]
    assert [line.update().insert["e"] for line in found] == [[[1]], [["\u2028"]]]
    (tmp_path / "1.jsonl.gz").write_bytes(gzip.compress(content))
    (tmp_path / "2.jsonl").write_bytes(content)
    (tmp_path / "END").touch()
    assert [line.number for line in watched_folder(tmp_path)] == [1, 2, 3, 4]
