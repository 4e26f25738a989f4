"""Functors have the values in explanations that the engine gives them, for odd arguments too."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from holdfast.backends.memory.arithmetic import Undefined
from holdfast.backends.memory.functors import Bindings, evaluate
from holdfast.explanations.terms import NoValue, compute, value_of
from holdfast.program.model import Apply, Const
from holdfast.values import BlankNode, Iri, Literal, Type
from holdfast.values.dictionary import Dictionary

F, N, U, S, A = Type.FLOAT, Type.NUMBER, Type.UNSIGNED, Type.SYMBOL, Type.ANY
VALUES: dict[Type, list[Any]] = {
    F: [0.0, -1.0, 0.5, 3.0, -2.0, -2.5, 1e308, math.inf, -math.inf, math.nan, 5e-324, 1e16],
    N: [0, 1, -1, 2, 7, -7, 63, 64, 2**63 - 1, -(2**63)],
    U: [0, 1, 2, 7, 63, 64, 2**63, 2**64 - 1],
    S: ["", "a", "ab", "é", "12", "-3", "1.5", " 7 ", "0x1F", "1e3", "1_000", "٣", "ß", "b,a", "inf"],
    A: [7, "7", 0.5, math.nan, Iri("a b"), BlankNode("b"), Literal("x", None, "en"), Literal("1", "urn:t")],
}
MEANINGS: list[tuple[str, tuple[Type, ...], Type]] = [
    *[(name, (type, type), type) for name in ("+", "-", "*", "/", "^", "min", "max") for type in (F, N, U)],
    *[(name, (type, type), type) for name in ("%", "bshr", "band", "bor", "bxor", "land", "lor") for type in (N, U)],
    *[(name, (S, S), S) for name in ("min", "max", "cat")],
    *[(name, (S,), S) for name in ("lower", "upper", "trim")],
    *[("to_string", (type,), S) for type in (F, N, U, S, A)],
    *[("abs", (type,), type) for type in (F, N)],
    *[
        ("str", (A,), S),
        ("lang", (A,), S),
        ("replace", (S, S, S), S),
        ("split", (S, S, N), S),
        ("substr", (S, N, N), S),
    ],
    *[("to_number", (S,), N), ("to_unsigned", (S,), U), ("to_float", (S,), F), ("strlen", (S,), N)],
    *[("ftoi", (F,), N), ("ftou", (F,), U), ("itof", (N,), F), ("utof", (U,), F), ("itou", (N,), U), ("utoi", (U,), N)],
]


@pytest.mark.parametrize(("name", "types", "result"), MEANINGS)
def test_a_functor_has_the_value_that_the_engine_gives(name: str, types: tuple[Type, ...], result: Type) -> None:
    dictionary, compared = Dictionary(), 0
    for arguments in product(*(VALUES[type] for type in types)):
        codes = tuple(map(Const, arguments, types))
        try:
            found = evaluate(Apply(name, codes, result), Bindings({}, 1, dictionary))
        except Undefined:
            continue  # the run stops
        expected = value_of(dictionary.decode_values(found, result)[0], result)
        try:
            value = value_of(compute(name, list(map(value_of, arguments, types))), result)
        except NoValue as error:
            pytest.fail(f"{name}{arguments} has no value, and the engine gives {expected!r}: {error}")
        if name == "^" and result is F:  # the last digit depends on the library
            assert math.isclose(value, expected, rel_tol=1e-12) or value == expected, arguments
        else:
            assert (type(value), value) == (type(expected), expected), arguments
        compared += 1
    assert compared


@pytest.mark.parametrize("exponent", ["9223372036854775807", "-9223372036854775808"])
def test_a_power_that_is_too_large_is_refused_at_once(exponent: str) -> None:
    if exponent.startswith("-"):
        assert compute("^", [7, int(exponent)]) == 0
    else:
        with pytest.raises(NoValue):
            compute("^", [7, int(exponent)])
