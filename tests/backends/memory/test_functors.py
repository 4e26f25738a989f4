"""Terms, conditions and ranges over batches of bindings against Python, one value at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.memory.arithmetic import Undefined
from holdfast.backends.memory.functors import Bindings, evaluate, holds, spread
from holdfast.program.model import Apply, Compare, Const, Range, Term, Var
from holdfast.program.model import Test as Condition
from holdfast.values import BlankNode, Iri, Literal, Type
from holdfast.values.dictionary import Dictionary

from ...oracle.functors import span
from .test_arithmetic import FLOATS, SIGNED, UNSIGNED

TEXT = st.text("aàbé\U0001f600 1", max_size=4)
ANY = st.one_of(SIGNED, st.floats(allow_nan=False), TEXT, st.builds(Iri, TEXT), st.builds(BlankNode, TEXT))
VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.NUMBER: SIGNED,
    Type.UNSIGNED: UNSIGNED,
    Type.FLOAT: FLOATS.filter(lambda f: f == f),
    Type.SYMBOL: TEXT,
    Type.ANY: ANY,
}
XSD = "http://www.w3.org/2001/XMLSchema#"


def bindings(columns: list[list[Any]], types: list[Type], dictionary: Dictionary) -> tuple[list[Var], Bindings]:
    variables = [Var(f"v{i}", type) for i, type in enumerate(types)]
    codes = dictionary.encode_rows(list(zip(*columns, strict=True)), types)
    return variables, Bindings.of(codes, variables, dictionary)


def values(term: Term, columns: list[list[Any]], types: list[Type]) -> list[Any]:
    """The values of a term over columns of its variables v0, v1 …"""
    dictionary = Dictionary()
    _, given_bindings = bindings(columns, types, dictionary)
    return dictionary.decode_values(evaluate(term, given_bindings), term.type)


def applied(function: str, columns: list[list[Any]], types: list[Type], result: Type) -> list[Any]:
    variables = tuple(Var(f"v{i}", type) for i, type in enumerate(types))
    return values(Apply(function, variables, result), columns, types)


@pytest.mark.parametrize("type", [Type.NUMBER, Type.UNSIGNED, Type.FLOAT, Type.SYMBOL])
@pytest.mark.parametrize("sign", ["=", "!=", "<", "<=", ">", ">="])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_comparisons(type: Type, sign: str, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(VALUES[type], VALUES[type]), max_size=8))
    pairs += [(a, a) for a, _ in pairs]
    dictionary = Dictionary()
    columns = [[a for a, _ in pairs], [b for _, b in pairs]]
    (left, right), given_bindings = bindings(columns, [type, type], dictionary)
    plain = {"=": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[sign]
    found = holds(Compare(sign, left, right), given_bindings).tolist()
    assert found == [getattr(a, plain)(b) for a, b in pairs]


@pytest.mark.parametrize("type", [Type.NUMBER, Type.UNSIGNED, Type.FLOAT, Type.SYMBOL])
@pytest.mark.parametrize(("function", "plain"), [("min", min), ("max", max)])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_extremes_of_several(type: Type, function: str, plain: Callable[..., Any], data: st.DataObject) -> None:
    triples = data.draw(st.lists(st.tuples(*[VALUES[type]] * 3), max_size=8))
    columns = [[triple[i] for triple in triples] for i in range(3)]
    assert applied(function, columns, [type] * 3, type) == [plain(triple) for triple in triples]


BITS = {
    "band": lambda a, b: a & b,
    "bor": lambda a, b: a | b,
    "bxor": lambda a, b: a ^ b,
    "land": lambda a, b: int(bool(a) and bool(b)),
    "lor": lambda a, b: int(bool(a) or bool(b)),
    "lxor": lambda a, b: int(bool(a) != bool(b)),
}


@pytest.mark.parametrize("type", [Type.NUMBER, Type.UNSIGNED])
@pytest.mark.parametrize("function", BITS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_bits_and_truth(type: Type, function: str, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(VALUES[type], VALUES[type]), max_size=8))
    columns = [[a for a, _ in pairs], [b for _, b in pairs]]
    assert applied(function, columns, [type, type], type) == [BITS[function](a, b) for a, b in pairs]


@given(st.lists(SIGNED, max_size=8))
def test_complements(numbers: list[int]) -> None:
    assert applied("bnot", [numbers], [Type.NUMBER], Type.NUMBER) == [~n for n in numbers]
    assert applied("lnot", [numbers], [Type.NUMBER], Type.NUMBER) == [int(not n) for n in numbers]
    naturals = [n & (2**64 - 1) for n in numbers]
    assert applied("bnot", [naturals], [Type.UNSIGNED], Type.UNSIGNED) == [2**64 - 1 - n for n in naturals]


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6))
def test_strings(triples: list[tuple[str, str, str]]) -> None:
    columns = [[triple[i] for triple in triples] for i in range(3)]
    assert applied("cat", columns, [Type.SYMBOL] * 3, Type.SYMBOL) == ["".join(triple) for triple in triples]
    assert applied("strlen", columns[:1], [Type.SYMBOL], Type.NUMBER) == [len(text) for text in columns[0]]
    found = applied(
        "substr",
        [columns[0], [1] * len(triples), [2] * len(triples)],
        [Type.SYMBOL, Type.NUMBER, Type.NUMBER],
        Type.SYMBOL,
    )
    assert found == [text[1:3] for text in columns[0]]


@pytest.mark.parametrize(("start", "length"), [(-1, 1), (0, -1)])
def test_a_negative_place_in_a_string(start: int, length: int) -> None:
    with pytest.raises(Undefined, match="must not be negative"):
        applied("substr", [["abc"], [start], [length]], [Type.SYMBOL, Type.NUMBER, Type.NUMBER], Type.SYMBOL)


@given(
    st.lists(SIGNED, max_size=6),
    st.lists(UNSIGNED, max_size=6),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6),
)
def test_numbers_to_text_and_back(numbers: list[int], naturals: list[int], floats: list[float]) -> None:
    columns = (
        (numbers, Type.NUMBER, "to_number"),
        (naturals, Type.UNSIGNED, "to_unsigned"),
        (floats, Type.FLOAT, "to_float"),
    )
    for column, type, back in columns:
        texts = applied("to_string", [column], [type], Type.SYMBOL)
        assert applied(back, [texts], [Type.SYMBOL], type) == column


@pytest.mark.parametrize(
    ("function", "type", "value"),
    [
        ("to_number", Type.NUMBER, "12x"),
        ("to_number", Type.NUMBER, "9223372036854775808"),
        ("to_number", Type.NUMBER, ""),
        ("to_unsigned", Type.UNSIGNED, "-1"),
        ("to_unsigned", Type.UNSIGNED, "18446744073709551616"),
        ("to_float", Type.FLOAT, "one"),
    ],
)
def test_text_that_is_no_number(function: str, type: Type, value: str) -> None:
    with pytest.raises(Undefined):
        applied(function, [[value]], [Type.SYMBOL], type)


@pytest.mark.parametrize(
    ("value", "text", "language", "datatype"),
    [
        (5, "5", "", Iri(XSD + "integer")),
        (2.5, "2.5", "", Iri(XSD + "double")),
        ("x", "x", "", Iri(XSD + "string")),
        (Literal("da", None, "de"), "da", "de", Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString")),
        (Literal("2020-01-01", XSD + "date"), "2020-01-01", "", Iri(XSD + "date")),
        (Iri("http://e/a"), "http://e/a", "", None),
        (BlankNode("b"), "b", "", None),
    ],
)
def test_terms(value: Any, text: str, language: str, datatype: Iri | None) -> None:
    assert applied("str", [[value]], [Type.ANY], Type.SYMBOL) == [text]
    assert applied("lang", [[value]], [Type.ANY], Type.SYMBOL) == [language]
    if datatype is None:
        with pytest.raises(Undefined, match="has no datatype"):
            applied("datatype", [[value]], [Type.ANY], Type.ANY)
    else:
        assert applied("datatype", [[value]], [Type.ANY], Type.ANY) == [datatype]


@given(st.lists(ANY, max_size=8), st.booleans())
def test_kinds_of_terms(terms: list[Any], negated: bool) -> None:
    dictionary = Dictionary()
    (term,), given_bindings = bindings([terms], [Type.ANY], dictionary)
    for function, kinds in (("is_iri", Iri), ("is_blank", BlankNode), ("is_literal", (int, float, str, Literal))):
        found = holds(Condition(function, (term,), negated), given_bindings).tolist()
        assert found == [isinstance(value, kinds) != negated for value in terms]


@given(
    st.lists(st.tuples(st.sampled_from(["a", "a*", "[ab]+", ".", "", "a|b", "é.*"]), TEXT), max_size=8), st.booleans()
)
def test_patterns_match_the_whole_text(pairs: list[tuple[str, str]], negated: bool) -> None:
    dictionary = Dictionary()
    columns = [[a for a, _ in pairs], [b for _, b in pairs]]
    both, given_bindings = bindings(columns, [Type.SYMBOL, Type.SYMBOL], dictionary)
    found = holds(Condition("match", tuple(both), negated), given_bindings).tolist()
    assert found == [(re.fullmatch(a, b) is not None) != negated for a, b in pairs]
    found = holds(Condition("contains", tuple(both), negated), given_bindings).tolist()
    assert found == [(a in b) != negated for a, b in pairs]


def test_a_pattern_that_is_none() -> None:
    _, given_bindings = bindings([["x"]], [Type.SYMBOL], Dictionary())
    with pytest.raises(Undefined, match="is not a regular expression"):
        holds(Condition("match", (Const("(", Type.SYMBOL), Var("v0", Type.SYMBOL))), given_bindings)


def test_nested_terms_and_constants() -> None:
    v0, one = Var("v0", Type.NUMBER), Const(1, Type.NUMBER)
    term = Apply("*", (Apply("+", (v0, one), Type.NUMBER), Apply("neg", (v0,), Type.NUMBER)), Type.NUMBER)
    assert values(term, [[0, 1, 5]], [Type.NUMBER]) == [0, -2, -30]
    assert values(Const("k", Type.SYMBOL), [[1, 2]], [Type.NUMBER]) == ["k", "k"]


# --- ranges ------------------------------------------------------------------------------------------


BOUND = st.floats(-9, 9)


def ranged(type: Type, bounds: list[Any], most: int, known: list[Any] | None = None) -> list[list[Any]]:
    """The batches of values that a range over one binding gives, to start with at most 50 of them."""
    terms = [Const(value, type) for value in bounds]
    variable = Var("v0", type)
    dictionary = Dictionary()
    columns, types = ([known], [type]) if known is not None else ([[0]], [Type.NUMBER])
    _, given_bindings = bindings(columns, types, dictionary)
    if known is None:
        variable = Var("free", type)
    batches = spread(Range(variable, *terms), given_bindings, most)
    return [dictionary.decode_values(batch.columns[variable], type) for batch in islice(batches, 50)]


def plain_range(start: int, stop: int, step: int | None, type: Type) -> range:
    if step is None:
        step = -1 if start > stop and type is Type.NUMBER else 1
    return range(start, stop, step)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from([Type.NUMBER, Type.UNSIGNED]), st.integers(1, 9))
def test_ranges_are_pythons(data: st.DataObject, type: Type, most: int) -> None:
    start, stop = data.draw(VALUES[type]), data.draw(VALUES[type])
    step = data.draw(st.one_of(st.none(), VALUES[type].filter(bool)))
    if data.draw(st.booleans()):
        stop = min(max(start + data.draw(st.integers(-30, 30)), 0 if type is Type.UNSIGNED else -(2**63)), 2**63 - 1)
    found = ranged(type, [start, stop] if step is None else [start, stop, step], most)
    wanted = list(plain_range(start, stop, step, type)[: 50 * most])
    assert [value for batch in found for value in batch] == wanted
    assert all(len(batch) == most for batch in found[:-1])


def test_a_bound_variable_is_compared() -> None:
    assert ranged(Type.NUMBER, [0, 10, 2], 3, known=[4]) == [[4]]
    assert ranged(Type.NUMBER, [0, 10, 2], 3, known=[5]) == []
    assert ranged(Type.NUMBER, [0, 10], 100, known=[9, 10, 0, -1]) == [[9], [0]]


def test_ranges_of_floats() -> None:
    assert ranged(Type.FLOAT, [0.0, 1.0, 0.25], 3) == [[0.0, 0.25, 0.5], [0.75]]
    assert ranged(Type.FLOAT, [1.0, -1.0], 3) == [[1.0, 0.0]]
    assert ranged(Type.FLOAT, [1.0, 1.3, 0.1], 9) == [[1.0, 1.1, 1.2000000000000002]]  # 1.3 is not among them
    assert ranged(Type.FLOAT, [-1e308, 1e308, 1e308], 9) == [[-1e308, 0.0]]


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-9, 9), st.floats(-9, 9), st.one_of(st.none(), st.floats(0.1, 3), st.floats(-3, -0.1)), st.integers(1, 9)
)
def test_ranges_of_floats_are_the_oracles(start: float, stop: float, step: float | None, most: int) -> None:
    found = ranged(Type.FLOAT, [start, stop] if step is None else [start, stop, step], most)
    assert [value for batch in found for value in batch] == [n + 0.0 for n in span(start, stop, step)[: 50 * most]]


@pytest.mark.parametrize(
    ("type", "bounds"),
    [
        (Type.NUMBER, [0, 5, 0]),
        (Type.FLOAT, [0.0, 1.0, 0.0]),
        (Type.FLOAT, [0.0, math.inf]),
        (Type.FLOAT, [0.0, 1.0, math.nan]),
        (Type.FLOAT, [1e16, 1e16 + 4, 0.1]),
    ],
)
def test_a_range_without_end(type: Type, bounds: list[Any]) -> None:
    with pytest.raises(Undefined, match="has no end"):
        ranged(type, bounds, 10)


def test_no_bindings_no_values() -> None:
    dictionary = Dictionary()
    given_bindings = Bindings({Var("x", Type.NUMBER): np.empty(0, np.int64)}, 0, dictionary)
    x, one = Var("x", Type.NUMBER), Const(1, Type.NUMBER)
    assert len(evaluate(Apply("/", (x, x), Type.NUMBER), given_bindings)) == 0
    assert len(evaluate(Apply("^", (x, one), Type.NUMBER), given_bindings)) == 0
    assert not len(holds(Compare("<", x, one), given_bindings))
