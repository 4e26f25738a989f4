"""Values as codes: what goes in comes out, equal values have equal codes and no others."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.values import BlankNode, Iri, Literal, Row, Type, Value
from holdfast.values.dictionary import Dictionary, EncodingError
from tests.formats.relations import relation
from tests.formats.strategies import XSD, any_values, facts, floats, numbers, strings, unsigned

pa.array([0])  # imports pandas where it is installed, which takes longer than Hypothesis allows a test


def test_values_that_python_holds_for_equal_are_different() -> None:
    dictionary = Dictionary()
    values: list[Value] = [1, "1", 1.0, Iri("1"), BlankNode("1"), Literal("1", "a:b"), Literal("1", None, "en")]
    assert [dictionary.id_of(value) for value in values] == list(range(7))
    assert [dictionary.find(value) for value in values] == list(range(7))
    assert list(map(repr, map(dictionary.value_of, range(7)))) == list(map(repr, values))
    assert len(dictionary) == 7


def test_values_that_are_the_same_have_one_id() -> None:
    dictionary = Dictionary()
    assert dictionary.id_of(0.0) == dictionary.id_of(-0.0)
    assert dictionary.id_of(math.nan) == dictionary.id_of(-math.nan)
    assert dictionary.id_of(Literal("5", XSD + "integer")) == dictionary.id_of(5)
    assert dictionary.id_of(Literal("x", XSD + "string")) == dictionary.id_of("x")
    assert dictionary.id_of(Literal("1.5E0", XSD + "double")) == dictionary.id_of(1.5)
    assert dictionary.id_of(Literal("1.50", XSD + "double")) != dictionary.id_of(1.5)


def test_finding_adds_nothing() -> None:
    dictionary = Dictionary()
    assert dictionary.find("x") is None
    assert len(dictionary) == 0


@given(facts())
def test_rows_come_out_as_they_went_in(given: tuple[object, list[Row]]) -> None:
    relation, rows = given
    dictionary = Dictionary()
    codes = dictionary.encode_rows(iter(rows), relation.types)
    assert codes.dtype == np.int64
    assert codes.shape == (len(rows), len(relation.types))
    assert codes.flags.c_contiguous
    normal = [tuple(value + 0.0 if isinstance(value, float) else value for value in row) for row in rows]
    assert list(map(repr, dictionary.decode_rows(codes, relation.types))) == list(map(repr, normal))


@given(st.lists(strings), st.lists(strings))
def test_columns_of_strings_agree_with_single_values(first: list[str], second: list[str]) -> None:
    dictionary = Dictionary()
    for values in (first, second):
        codes = dictionary.encode_column(pa.array(values, pa.string()), Type.SYMBOL)
        assert codes.tolist() == [dictionary.find(value) for value in values]
        assert dictionary.decode_column(codes, Type.SYMBOL).to_pylist() == values
        assert dictionary.encode_values(list(values), Type.ANY).tolist() == codes.tolist()
    assert len(dictionary) == len({*first, *second})


@given(
    st.sampled_from(
        [(Type.NUMBER, numbers), (Type.UNSIGNED, unsigned), (Type.FLOAT, floats), (Type.SYMBOL, strings)]
    ).flatmap(lambda pair: st.tuples(st.just(pair[0]), st.lists(pair[1])))
)
def test_order_keys_order_as_the_values(given: tuple[Type, list[Value]]) -> None:
    type, values = given
    values = [value for value in values if value == value]
    dictionary = Dictionary()
    codes = dictionary.encode_values(values, type)
    keys = dictionary.order_keys(codes, type)
    by_key = [values[place] for place in np.argsort(keys, kind="stable")]
    expected = sorted(values, key=str.encode) if type is Type.SYMBOL else sorted(values)
    assert by_key == expected
    assert len(set(keys.tolist())) == len(set(codes.tolist()))


@given(st.lists(any_values))
def test_order_keys_of_any_values_tell_them_apart(values: list[Value]) -> None:
    dictionary = Dictionary()
    codes = dictionary.encode_values(values, Type.ANY)
    assert len(set(dictionary.order_keys(codes, Type.ANY).tolist())) == len(set(codes.tolist()))


@pytest.mark.parametrize(
    ("value", "type"),
    [
        ("1", Type.NUMBER),
        (1.0, Type.NUMBER),
        (True, Type.FLOAT),
        (Decimal("1.5"), Type.NUMBER),
        (Decimal("0.12345678901234567890"), Type.FLOAT),
        (date(2024, 2, 29), Type.FLOAT),
        (date(1969, 12, 31), Type.UNSIGNED),
        (None, Type.NUMBER),
        (2**63, Type.NUMBER),
        (-1, Type.UNSIGNED),
        (2**64, Type.UNSIGNED),
        ("x", Type.FLOAT),
        (2**53 + 1, Type.FLOAT),
        (10**400, Type.FLOAT),
        (1, Type.SYMBOL),
        (Iri("a:b"), Type.SYMBOL),
        (None, Type.ANY),
        (2**63, Type.ANY),
        ([], Type.ANY),
        ("\ud800", Type.SYMBOL),
        (b"x", Type.ANY),
        (Iri("\udfff"), Type.ANY),
    ],
)
def test_what_does_not_fit_is_refused_and_not_kept(value: Value, type: Type) -> None:
    dictionary = Dictionary()
    with pytest.raises(EncodingError):
        dictionary.encode_value(value, type)
    with pytest.raises(EncodingError) as refused:
        dictionary.encode_rows([(1, value)], (Type.NUMBER, type))
    assert (refused.value.row, refused.value.column) == (0, 1)
    assert len(dictionary) == 0


def test_numpy_scalars_are_values() -> None:
    dictionary = Dictionary()
    row = (np.int32(1), np.float32(0.5), np.str_("x"), np.int64(2))
    types = relation(Type.NUMBER, Type.FLOAT, Type.SYMBOL, Type.ANY).types
    (again,) = dictionary.decode_rows(dictionary.encode_rows([row], types), types)
    assert [(value, value.__class__) for value in again] == [(1, int), (0.5, float), ("x", str), (2, int)]


def test_a_row_of_the_wrong_length_is_reported() -> None:
    with pytest.raises(EncodingError) as refused:
        Dictionary().encode_rows([(1,), (1, 2)], (Type.NUMBER,))
    assert refused.value.row == 1
