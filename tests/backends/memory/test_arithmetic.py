"""Arithmetic on columns against Python's integers: exact, or refused, and refused exactly where 64 bits do not do."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.memory import arithmetic
from holdfast.backends.memory.arithmetic import Undefined, ValueColumn, codes_of, typed
from holdfast.values import Type

SMALLEST, LARGEST = -(2**63), 2**63 - 1
EDGES = [0, 1, 2, 3, 7, 63, 64, 2**31, 2**32, 3037000499, 3037000500, 2**53 + 1, 2**62 - 1, 2**62, 2**62 + 1, LARGEST]
SIGNED_EDGES = [*EDGES, *(-edge for edge in EDGES), SMALLEST]
UNSIGNED_EDGES = [*EDGES, 2**63, 2**64 - 1, 2**64 - 2, 2**32 - 1]
SIGNED = st.one_of(st.integers(-9, 9), st.integers(SMALLEST, LARGEST), st.sampled_from(SIGNED_EDGES))
UNSIGNED = st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1), st.sampled_from(UNSIGNED_EDGES))
KINDS = {Type.NUMBER: (SIGNED, np.int64), Type.UNSIGNED: (UNSIGNED, np.uint64)}
FLOATS = st.floats(allow_subnormal=True)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b)


def power(a: int, b: int) -> int:
    if b >= 0:
        return a**b if abs(a) <= 1 or b <= 64 else 2**200
    if abs(a) == 1:
        return a if b % 2 else 1
    return quotient(1, a)


EXACT = [
    ("+", arithmetic.add, operator.add),
    ("-", arithmetic.subtract, operator.sub),
    ("*", arithmetic.multiply, operator.mul),
    ("/", arithmetic.divide, quotient),
    ("%", arithmetic.remainder, remainder),
    ("^", arithmetic.power, power),
]


def fits(value: int, type: Type) -> bool:
    return SMALLEST <= value <= LARGEST if type is Type.NUMBER else 0 <= value < 2**64


def exact(function: Callable[[int, int], int], a: int, b: int, type: Type) -> int | None:
    try:
        value = function(a, b)
    except ZeroDivisionError:
        return None
    return value if fits(value, type) else None


@pytest.mark.parametrize("type", KINDS)
@pytest.mark.parametrize(("sign", "columnwise", "plain"), EXACT, ids=[name for name, _, _ in EXACT])
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_integers_are_exact_or_refused(
    sign: str, columnwise: Callable[..., ValueColumn], plain: Callable[[int, int], int], type: Type, data: st.DataObject
) -> None:
    values, dtype = KINDS[type]
    pairs = data.draw(st.lists(st.tuples(values, values), max_size=6))
    left, right = (np.array([pair[side] for pair in pairs], dtype) for side in (0, 1))
    expected = [exact(plain, a, b, type) for a, b in pairs]
    if None in expected:
        with pytest.raises(Undefined):
            columnwise(left, right)
        defined = np.array([value is not None for value in expected], np.bool_)
        left, right = left[defined], right[defined]
    result = columnwise(left, right)
    assert result.dtype == dtype
    assert result.tolist() == [value for value in expected if value is not None]


@pytest.mark.parametrize(
    ("type", "dtype", "edges"), [(Type.NUMBER, np.int64, SIGNED_EDGES), (Type.UNSIGNED, np.uint64, UNSIGNED_EDGES)]
)
@pytest.mark.parametrize(("sign", "columnwise", "plain"), EXACT, ids=[name for name, _, _ in EXACT])
def test_each_pair_of_edges_alone(
    sign: str,
    columnwise: Callable[..., ValueColumn],
    plain: Callable[[int, int], int],
    type: Type,
    dtype: type[np.integer],
    edges: list[int],
) -> None:
    """Alone, because a column is looked at as a whole first."""
    for a, b in product(edges, repeat=2):
        try:
            found = columnwise(np.array([a], dtype), np.array([b], dtype)).tolist()
        except Undefined:
            found = [None]
        assert (a, sign, b, found) == (a, sign, b, [exact(plain, a, b, type)])


@pytest.mark.parametrize(
    ("columnwise", "left", "right", "said"),
    [
        (arithmetic.add, LARGEST, 1, "9223372036854775807 + 1: the result does not fit 64 bits"),
        (arithmetic.multiply, 2**32, 2**31, "4294967296 * 2147483648: the result does not fit 64 bits"),
        (arithmetic.divide, 5, 0, "5 / 0: division by zero"),
        (arithmetic.remainder, 5, 0, "5 % 0: division by zero"),
        (arithmetic.divide, SMALLEST, -1, "-9223372036854775808 / -1: the result does not fit 64 bits"),
        (arithmetic.power, 0, -1, "0 ^ a negative number has no value"),
    ],
)
def test_the_pair_that_has_no_value_is_named(
    columnwise: Callable[..., ValueColumn], left: int, right: int, said: str
) -> None:
    with pytest.raises(Undefined) as caught:
        columnwise(np.array([1, left]), np.array([1, right]))
    assert str(caught.value) == said


@given(st.lists(SIGNED, max_size=8))
def test_negation_and_absolute_value(values: list[int]) -> None:
    column = np.array(values, np.int64)
    if SMALLEST in values:
        for function in (arithmetic.negate, arithmetic.absolute):
            with pytest.raises(Undefined):
                function(column)
        column = column[column != SMALLEST]
    assert arithmetic.negate(column).tolist() == [-v for v in column.tolist()]
    assert arithmetic.absolute(column).tolist() == [abs(v) for v in column.tolist()]


@given(st.lists(FLOATS.filter(lambda f: f == f), max_size=8))
def test_absolute_value_of_floats(values: list[float]) -> None:
    assert arithmetic.absolute(np.array(values, np.float64)).tolist() == [abs(v) for v in values]


def wrapped(value: int, type: Type) -> int:
    value &= 2**64 - 1
    return value - 2**64 if type is Type.NUMBER and value > LARGEST else value


SHIFTS = [
    (arithmetic.shift_left, lambda a, b: a << b),
    (arithmetic.shift_right, lambda a, b: a >> b),
    (arithmetic.shift_right_unsigned, lambda a, b: (a & (2**64 - 1)) >> b),
]


@pytest.mark.parametrize("type", KINDS)
@pytest.mark.parametrize(("columnwise", "plain"), SHIFTS, ids=["left", "right", "right unsigned"])
@given(data=st.data())
def test_shifts_are_exact_or_refused(
    columnwise: Callable[..., ValueColumn], plain: Callable[[int, int], int], type: Type, data: st.DataObject
) -> None:
    values, dtype = KINDS[type]
    few = st.tuples(values, st.integers(0, 5)), st.tuples(st.integers(0, 9), st.integers(0, 63))
    pairs = data.draw(st.lists(st.one_of(*few, st.tuples(values, st.integers(0, 70)), st.tuples(values, values))))
    left, right = (np.array([pair[side] for pair in pairs], dtype) for side in (0, 1))
    loses = columnwise is arithmetic.shift_left
    if any(not 0 <= b < 64 or (loses and wrapped(a << b, type) != a << b) for a, b in pairs):
        with pytest.raises(arithmetic.Undefined):
            columnwise(left, right)
    else:
        result = columnwise(left, right)
        assert result.dtype == dtype
        assert result.tolist() == [wrapped(plain(a, b), type) for a, b in pairs]


@given(st.lists(st.tuples(SIGNED, SIGNED), max_size=8))
def test_truth_is_one_or_zero(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    assert arithmetic.as_truth(np.logical_xor)(left, right).tolist() == [int(bool(a) != bool(b)) for a, b in pairs]
    assert arithmetic.as_truth(np.logical_not)(left).tolist() == [int(not a) for a, _ in pairs]


# --- from one type to another ------------------------------------------------------------------------

NEAR_EDGES = st.sampled_from(
    [
        2.0**63,
        -(2.0**63),
        2.0**64,
        math.nextafter(2.0**63, 0),
        math.nextafter(2.0**64, 0),
        -0.5,
        -0.999,
        -1.0,
        math.nextafter(-(2.0**63), -math.inf),
        math.inf,
        -math.inf,
        math.nan,
    ]
)


def cut(value: float | int, type: Type) -> int | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    whole = math.trunc(value)
    return whole if fits(whole, type) else None


@pytest.mark.parametrize(
    ("columnwise", "type"), [(arithmetic.to_integer, Type.NUMBER), (arithmetic.to_natural, Type.UNSIGNED)]
)
@given(data=st.data())
def test_conversions_cut_towards_zero_or_refuse(
    columnwise: Callable[[ValueColumn], ValueColumn], type: Type, data: st.DataObject
) -> None:
    other, dtype = KINDS[Type.UNSIGNED if type is Type.NUMBER else Type.NUMBER]
    value, kind = data.draw(
        st.one_of(st.tuples(st.one_of(FLOATS, NEAR_EDGES), st.just(np.float64)), st.tuples(other, st.just(dtype)))
    )
    column = np.array([value], kind)
    wanted = cut(value, type)
    if wanted is None:
        with pytest.raises(Undefined, match=f"does not fit type {type.value}"):
            columnwise(column)
    else:
        assert columnwise(column).tolist() == [wanted]


@given(st.lists(FLOATS, max_size=8))
def test_float_codes_are_one_for_equal_floats(values: list[float]) -> None:
    codes = codes_of(np.array(values, np.float64), Type.FLOAT)
    again = typed(codes, Type.FLOAT).tolist()
    for a, b, code in zip(values, again, codes.tolist(), strict=True):
        assert a == b or (math.isnan(a) and math.isnan(b))
        others = [c for v, c in zip(values, codes.tolist(), strict=True) if v == a or (math.isnan(v) and math.isnan(a))]
        assert set(others) == {code}


@given(st.lists(UNSIGNED, max_size=8))
def test_unsigned_codes_go_both_ways(values: list[int]) -> None:
    column = np.array(values, np.uint64)
    assert typed(codes_of(column, Type.UNSIGNED), Type.UNSIGNED).tolist() == values
