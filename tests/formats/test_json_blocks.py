"""JSON lines in bulk: whatever Arrow's reader takes, the careful reader of single lines reads to the same facts.

These tests cannot see files of several blocks; tests/formats/test_reading.py reads none so long either.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.errors import HoldfastError
from holdfast.formats import json_blocks, json_lines
from holdfast.formats.json_blocks import plain_columns, plain_types
from holdfast.program.model import Column, Relation
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

N, U, F, S = Type.NUMBER, Type.UNSIGNED, Type.FLOAT, Type.SYMBOL
FILE = Path("r.jsonl")


def relation(types: tuple[Type, ...]) -> Relation:
    return Relation("r", "r", tuple(Column(name, type, type.value) for name, type in zip("xyz", types, strict=False)))


def read(data: bytes, types: tuple[Type, ...]) -> object:
    """The facts, or what is said about them."""
    dictionary = Dictionary()
    try:
        return repr(dictionary.decode_rows(json_lines.read_json_lines(FILE, data, relation(types), dictionary), types))
    except HoldfastError as error:
        return str(error)


def carefully(data: bytes, types: tuple[Type, ...]) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_blocks, "plain_columns", lambda *_: None)
        return read(data, types)


PLAIN = [
    (b'{"x": 1, "y": "a"}\n{"y": "b", "x": -2}\n', (N, S)),
    (b'{"x": 1, "y": "\\u00e9\\n\\ud83d\\ude00"}', (N, S)),
    (b"[1, 2]\n[3, 4]", (N, N)),
    (b'["a", "b"]\r\n["c", ""]\r\n', (S, S)),
    (b"[18446744073709551615]\n", (U,)),
    (b"[1, 0.1]\n[-0.0, 1e3]\n", (F, F)),
]
UNUSUAL = [
    b"",
    b"\n",
    b'{"x": 1}{"x": 2}\n',
    b'{"x": 1}{"x": 2}\n\n',
    b'{"x": 1, "x": 2}\n',
    b'{"x": 1.0}\n',
    b'{"x": true}\n',
    b'{"x": null}\n',
    b"{}\n",
    b'{"x": 1, "z": 2}\n',
    b'{"x": "1"}\n',
    b'{"x": 1e3}\n',
    b'{"x": 9223372036854775808}\n',
    b'{"x": 1},\n',
    b'{"x": 1} z\n',
    b'{"x": 01}\n',
    b' {"x": 1}\n',
    b'{"x":\n1}\n',
    b'{"x": 1}\n\n{"x": 2}\n',
    b'[1]\n{"x": 2}\n',
    b"[1, 2]\n",
    b"[]\n",
    b"[null]\n",
    b"[[1]]\n",
    b'[1]}{"row":[2]\n[3]\n',
    b"[1], [2]\n",
    b"[1\n[2]\n",
    b'["a"]\n',
    b"[1]\x00\n",
    b'{"x": {"@id": "a"}}\n',
    b"[1e400]\n",
    b"[NaN]\n",
    b'["\\ud800"]\n',
    b'["a\tb"]\n',
    b'{"x": 1}\n{"x": 2',
    b"\xff\n",
    b"[1]\n[2]\n[x]\n",
    b"[9007199254740993]\n",
    b"[123456789012345678901234567890]\n",
    b'{"row": [1]}\n',
    b"[1]\n \n",
]


@pytest.mark.parametrize(("data", "types"), PLAIN)
def test_plain_files_are_read_in_bulk(data: bytes, types: tuple[Type, ...]) -> None:
    assert plain_columns(data, "xyz"[: len(types)], types) is not None
    assert read(data, types) == carefully(data, types)


@pytest.mark.parametrize("type", [N, U, F, S])
@pytest.mark.parametrize("data", UNUSUAL)
def test_unusual_files_are_read_or_refused_as_line_by_line(data: bytes, type: Type) -> None:
    assert read(data, (type,)) == carefully(data, (type,))


values = st.one_of(st.integers(-(2**64), 2**64), st.floats(), st.text(), st.booleans(), st.none())
rows = st.one_of(st.lists(values, max_size=3), st.fixed_dictionaries({"x": values, "y": values}))


@settings(deadline=None)
@given(st.lists(rows, max_size=4), st.tuples(*[st.sampled_from([N, U, F, S])] * 2))
def test_any_rows(given: list[object], types: tuple[Type, ...]) -> None:
    data = "".join(json.dumps(row) + "\n" for row in given).encode()
    assert read(data, types) == carefully(data, types)


@settings(deadline=None)
@given(st.lists(rows, max_size=4))
def test_types_are_those_that_the_careful_look_finds(given: list[object]) -> None:
    data = "".join(json.dumps(row) + "\n" for row in given).encode()
    types = plain_types(data, "xy")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_blocks, "plain_types", lambda *_: None)
        assert types in (None, json_lines.sniff_json_lines(FILE, data, "xy"))


def test_facts_without_columns_are_left_to_the_careful_reader() -> None:
    assert plain_types(b"[]\n", "") is None and plain_columns(b"[]\n", "", ()) is None
    assert read(b"[]\n", ()) == "[()]"


def test_dates_are_strings() -> None:
    assert plain_types(b'{"x": "2020-01-01"}\n{"x": "2021-01-01 00:00:00"}\n', "x") == (S,)
    assert plain_types(b'["2020-01-01"]\n', "x") == (S,)


def test_columns_of_objects_go_by_name(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"y": "a", "x": 1}\n')
    rule = "p(x, y) :- e(x, y)."
    assert list(holdfast.from_text(rule, facts=tmp_path)["p"]) == [(1, "a")]
    assert list(holdfast.from_text(rule, facts={"e": [{"y": "a", "x": 1}]})["p"]) == [(1, "a")]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("type", [F, Type.ANY])
def test_numbers_that_json_does_not_have_are_refused(number: str, type: Type) -> None:
    assert "E0613" in str(read(f"[1.5]\n[{number}]\n".encode(), (type,)))
    assert "r.jsonl:2:2" in str(read(f"[1.5]\n[{number}]\n".encode(), (type,)))


@pytest.mark.parametrize("headers", [False, True])
@pytest.mark.parametrize("type", [F, Type.ANY])
def test_infinities_and_nan_are_written_as_literals_and_read_again(type: Type, headers: bool) -> None:
    rows = [(float("inf"),), (float("-inf"),), (float("nan"),), (1.5,)]
    data = b"".join(json_lines.json_lines(relation((type,)), [rows], headers))
    assert b"Infinity" not in data and data.count(b"XMLSchema#double") == 3
    assert read(data, (type,)) == repr(rows)
    assert json_lines.sniff_json_lines(FILE, data, "x") == (F,)
