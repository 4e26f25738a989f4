"""Facts given from Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import holdfast
from holdfast.errors import DataError, UsageError
from holdfast.formats.python_data import encode_facts, sniff_python
from holdfast.values import Iri, Literal, Type
from holdfast.values.dictionary import Dictionary
from tests.formats.relations import relation
from tests.formats.strategies import XSD

N, U, F, S, A = Type.NUMBER, Type.UNSIGNED, Type.FLOAT, Type.SYMBOL, Type.ANY
ROWS = [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        tuple(ROWS),
        iter(ROWS),
        [list(row) for row in ROWS],
        {(1, "a"): None, (2, "b"): None}.keys(),
        [{"c0": 1, "c1": "a"}, {"c1": "b", "c0": 2}],
        {"c1": ["a", "b"], "c0": [1, 2]},
        {"c0": np.array([1, 2]), "c1": pd.Series(["a", "b"])},
        pd.DataFrame({"c1": ["a", "b"], "c0": [1, 2]}),
        pd.DataFrame({"c0": [1, 2], "c1": ["a", "b"]}, index=[7, 8]),
        pd.DataFrame(ROWS),
        {0: [1, 2], 1: ["a", "b"]},
        pd.DataFrame({"c0": [1, 2], "c1": pd.Categorical(["a", "b"])}),
        pa.table({"c0": [1, 2], "c1": ["a", "b"]}),
        pa.record_batch({"c0": [1, 2], "c1": ["a", "b"]}),
        pa.table({"c0": pa.array([1, 2], pa.uint8()), "c1": pa.array(["a", "b"]).dictionary_encode()}),
        pa.table(
            {
                "c0": [1, 2],
                "c1": pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]),
            }
        ),
    ],
    ids=lambda data: type(data).__name__,
)
def test_shapes(data: Any) -> None:
    dictionary = Dictionary()
    codes = encode_facts(data, relation(N, S), dictionary)
    assert dictionary.decode_rows(codes, (N, S)) == ROWS
    assert codes.flags.c_contiguous


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"c0": [], "c1": []},
        pd.DataFrame(),
        pd.DataFrame({"c0": [], "c1": []}),
        pa.table({"c0": pa.array([], pa.null()), "c1": pa.array([], pa.null())}),
    ],
    ids=["list", "dict", "columns", "frame", "frame with columns", "table"],
)
def test_no_facts(data: Any) -> None:
    assert encode_facts(data, relation(N, S), Dictionary()).shape == (0, 2)


def test_values_of_type_any_stay_what_they_are() -> None:
    dictionary = Dictionary()
    rows = [(1,), ("1",), (1.0,), (Iri("a:b"),), ("<a:b>",)]
    again = dictionary.decode_rows(encode_facts(rows, relation(A), dictionary), (A,))
    assert list(map(repr, again)) == list(map(repr, rows))


@pytest.mark.parametrize(
    ("data", "types", "code", "reported"),
    [
        (
            pd.DataFrame({"x": [1], "y": ["a"]}),
            (N, S),
            "E0615",
            "lacks columns c0, c1 and has the extra columns x, y",
        ),
        (pa.table({"x": [1], "y": ["a"]}), (N, S), "E0615", "lacks columns c0, c1"),
        ({"x": [1], "y": ["a"]}, (N, S), "E0615", "lacks columns c0, c1"),
        ({"1": ["a"], "0": [1]}, (S, N), "E0615", "lacks columns c0, c1"),
        (pd.DataFrame({"c0": [2**70]}), (N,), "E0630", "an integer of more than 64 bits"),
        ([(1, "a"), (2,)], (N, S), "E0605", r"row 2: \(2,\) has 1 value, but the relation has 2 columns"),
        ([(1, "a"), ("x", "b")], (N, S), "E0606", 'row 2, column c0: "x" is not a number'),
        ([(True, "a")], (F, S), "E0606", "row 1, column c0: true is not a float"),
        ([(None, "a")], (N, S), "E0606", "row 1, column c0: None is not a number"),
        ([(1.0, "a")], (N, S), "E0606", "1.0 is not an integer"),
        ([(2**63, "a")], (N, S), "E0606", "9223372036854775808 is not between"),
        ([(-1, "a")], (U, S), "E0606", "-1 is not between 0"),
        ([(2**53 + 1, "a")], (F, S), "E0606", "9007199254740993 is not exactly a float"),
        ([(1, "\ud800")], (N, S), "E0606", r"column c1: '\\ud800' is not Unicode text"),
        (["ab"], (N, S), "E0630", "row 1 .* is 'ab', not a tuple"),
        ("ab", (N, S), "E0630", "facts are a list of tuples.*, not str"),
        (7, (N, S), "E0630", "not int"),
        ([{"c0": 1}], (N, S), "E0615", "row 1 of the facts for r lacks column c1"),
        ({"c0": [1], "x": ["a"]}, (N, S), "E0615", "lacks column c1 and has the extra column x"),
        ({"c0": [1], "c1": []}, (N, S), "E0615", "differ in length: c0 has 1, c1 has 0"),
        (pd.DataFrame({"c0": [1, None], "c1": ["a", "b"]}), (N, S), "E0606", "row 2, column c0: a value is missing"),
        (pd.DataFrame({"c0": ["x"], "c1": ["a"]}), (N, S), "E0606", "column c0: values of Arrow type"),
        (pd.DataFrame({"c0": [1, "x"], "c1": ["a", "b"]}), (N, S), "E0630", "mixes kinds of values"),
        (pa.table({"c0": pa.array([2**64 - 1], pa.uint64()), "c1": ["a"]}), (N, S), "E0606", "row 1, column c0"),
        (pa.table({"a": [1], "b": [2], "c": [3]}), (N, S), "E0615", "lacks columns c0, c1"),
    ],
)
def test_what_does_not_fit_is_reported(data: Any, types: tuple[Type, ...], code: str, reported: str) -> None:
    with pytest.raises(DataError, match=f"(?s){code}.*{reported}"):
        encode_facts(data, relation(*types), Dictionary())


@pytest.mark.parametrize(
    ("data", "types"),
    [
        (ROWS, (N, S)),
        ([(1, 1.5), (2, 1)], (N, F)),
        ([(2**64 - 1,)], (U,)),
        ([(1,), ("a",)], (A,)),
        ([(Iri("a"),)], (A,)),
        ({"x": [1], "y": ["a"]}, (N, S)),
        (pd.DataFrame(ROWS), (N, S)),
        ([{"x": 1}], (N,)),
        ([], ()),
        ([(1,), (1, 2)], ()),
        ([(1.5,), (2**53,)], (F,)),
        ([(1.5,), (2**53 + 1,)], (A,)),
        ([(1.5,), (2**64 - 1,)], (F,)),
        ([(np.int64(1), np.float64(2.5))], (N, F)),
    ],
)
def test_types_are_sniffed(data: Any, types: tuple[Type, ...]) -> None:
    assert sniff_python(data) == types
    assert sniff_python(data, "abcde") == ()


@pytest.mark.parametrize(
    "given",
    [
        lambda: ((i, i + 1) for i in range(3)),
        lambda: {"x": iter(range(3)), "y": (i + 1 for i in range(3))},
    ],
    ids=["rows", "columns"],
)
def test_iterators_are_not_used_up_by_sniffing(given: Callable[[], Any]) -> None:
    base = holdfast.from_text("path(x, y) :- edge(x, y).", facts={"edge": given()})
    assert set(base["path"]) == {(0, 1), (1, 2), (2, 3)}


def test_frames_without_pandas_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pandas, which is not installed") as raised:
        holdfast.from_text("p(1).")["p"].to_pandas()
    assert raised.value.diagnostics[0].help == "pip install 'holdfast[pandas]'"


def test_a_series_is_a_sequence_of_rows_and_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pd.Series, "__arrow_c_stream__", None, raising=False)  # later versions of pandas have it
    with pytest.raises(DataError, match=r"E0630.*row 1 .* is 1, not a tuple"):
        holdfast.from_text("path(x) :- edge(x).", facts={"edge": pd.Series([1, 2])})
    assert set(holdfast.from_text("p(x, y) :- e(x, y).", facts={"e": pd.Series(ROWS)})["p"]) == set(ROWS)


def test_a_column_too_many_is_named_even_if_its_values_are_of_no_kind() -> None:
    import pandas

    import holdfast
    from holdfast.errors import DataError

    frame = pandas.DataFrame({"x": [1, 2], "y": [2, 3], "note": ["a", object()]})
    for program in (".decl edge(x: number, y: number)", ".decl edge(x: any, y: any)", "p(x) :- edge(x, y)."):
        with pytest.raises(DataError) as refused:
            holdfast.from_text(program, {"edge": frame})
        assert [(found.code, "note" in found.message) for found in refused.value.diagnostics] == [("E0615", True)]
    with pytest.raises(DataError, match=r"E0630.*note"):
        holdfast.from_text("p(x) :- edge(x, y, z).", {"edge": frame})


_KINDS = {
    "booleans": [True, False],
    "decimals": [Decimal("1.10"), Decimal("-2.00"), Decimal("12345678901234567890.50")],
    "whole decimals": [Decimal("1"), Decimal("-2")],
    "dates": [date(2024, 2, 29), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31)],
    "times": [datetime(2024, 2, 29, 12, 30, 0, 5, UTC), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)],
}
_READ: dict[tuple[str, Type], list[object]] = {
    ("booleans", S): ["true", "false"],
    ("booleans", N): [1, 0],
    ("booleans", A): [Literal("true", f"{XSD}boolean"), Literal("false", f"{XSD}boolean")],
    ("decimals", S): ["1.10", "-2.00", "12345678901234567890.50"],
    ("decimals", A): [Literal(text, f"{XSD}decimal") for text in ("1.10", "-2.00", "12345678901234567890.50")],
    ("whole decimals", N): [1, -2],
    ("whole decimals", F): [1.0, -2.0],
    ("dates", S): ["2024-02-29", "1969-12-31", "0001-01-01", "9999-12-31"],
    ("dates", N): [19782, -1, -719162, 2932896],
    ("times", S): ["2024-02-29T12:30:00.000005Z", "1969-12-31T23:59:59Z"],
    ("times", N): [1709209800000005, -1000000],
}


@pytest.mark.parametrize(("kind", "type"), _READ)
def test_kinds_that_the_language_does_not_have(kind: str, type: Type, tmp_path: Path) -> None:
    """As rows, as an Arrow table and as a Parquet file they are the same values."""
    values, wanted = _KINDS[kind], [(value,) for value in _READ[kind, type]]
    table = pa.table({"c0": pa.array(values)})
    program = f".decl p(c0: {type.value})\n.input p\n"
    assert set(holdfast.from_text(program.splitlines()[0], {"p": [(v,) for v in values]})["p"]) == set(wanted)
    assert set(holdfast.from_text(program.splitlines()[0], {"p": table})["p"]) == set(wanted)
    pq.write_table(table, tmp_path / "p.parquet")
    assert set(holdfast.from_text(program, tmp_path)["p"]) == set(wanted)


@pytest.mark.parametrize("kind", _KINDS)
def test_without_a_type_they_are_text(kind: str) -> None:
    values = _KINDS[kind]
    kb = holdfast.from_text("q(x) :- p(x).", {"p": [(value,) for value in values]})
    assert all(isinstance(value, str) for (value,) in kb["q"]), set(kb["q"])


def test_a_json_file_may_have_booleans(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('["a", true]\n["b", false]\n')
    assert set(holdfast.from_text("q(x, y) :- p(x, y).", tmp_path)["q"]) == {("a", "true"), ("b", "false")}
    assert set(holdfast.from_text("q(x) :- p(x, 1).", tmp_path)["q"]) == {("a",)}


def test_decimals_of_a_csv_file_stay_different(tmp_path: Path) -> None:
    for texts, kind in ((["0.1", "0.30000000000000004"], float), (["0.12345678901234567", "0.12345678901234568"], str)):
        (tmp_path / "p.csv").write_text("\n".join(f"{text},x" for text in texts))
        found = [value for value, _ in holdfast.from_text("q(x, y) :- p(x, y).", tmp_path)["q"]]
        assert [type(value) for value in found] == [kind, kind]
        assert sorted(map(str, found)) == texts
