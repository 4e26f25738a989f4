"""Aggregates of random groups against Python: exact sums or refusals, means and medians, order of strings."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.memory.aggregates import aggregate
from holdfast.backends.memory.arithmetic import Undefined
from holdfast.errors import EvaluationError
from holdfast.maintenance.watch import Watch
from holdfast.plans.model import AggregatePlan, Read
from holdfast.program.model import AggregateRule
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

from .building import backend, numbers, rows
from .test_arithmetic import FLOATS, SIGNED, UNSIGNED, fits

VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.NUMBER: SIGNED,
    Type.UNSIGNED: UNSIGNED,
    Type.FLOAT: st.floats(
        allow_nan=False, allow_infinity=False, allow_subnormal=False, min_value=-1e100, max_value=1e100
    ),
    Type.SYMBOL: st.text("aàbé\U0001f600Z", max_size=3),
}
Groups = dict[tuple[int, ...], list[Any]]


def computed(function: str, groups: Groups, type: Type, result: Type) -> dict[tuple[int, ...], Any]:
    """The aggregate of facts (g, h, number, value), grouped by h and g."""
    dictionary = Dictionary()
    types = (Type.NUMBER, Type.NUMBER, Type.NUMBER, type)
    facts = [(*key[::-1], i, value) for key, values in groups.items() for i, value in enumerate(values)]
    random = np.random.default_rng(len(facts))
    coded = dictionary.encode_rows([facts[i] for i in random.permutation(len(facts))], types)
    target = None if function == "count" else 3
    rule = AggregateRule("r", "head", "source", (1, 0), function, target)
    head = (Type.NUMBER, Type.NUMBER, result)
    found = dictionary.decode_rows(aggregate(rule, coded, types, head, dictionary), head)
    assert len({row[:2] for row in found}) == len(found)
    return {row[:2]: row[2] for row in found}  # type: ignore[misc]


@st.composite
def groups(draw: st.DrawFn, type: Type, max_size: int = 7) -> Groups:
    keys = st.tuples(st.integers(-2, 2), st.integers(0, 1))
    return draw(st.dictionaries(keys, st.lists(VALUES[type], min_size=1, max_size=max_size), max_size=4))


@pytest.mark.parametrize("type", VALUES)
@pytest.mark.parametrize(("function", "plain"), [("min", min), ("max", max)])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_extremes(function: str, plain: Callable[..., Any], type: Type, data: st.DataObject) -> None:
    given_groups = data.draw(groups(type))
    assert computed(function, given_groups, type, type) == {key: plain(v) for key, v in given_groups.items()}


@given(groups(Type.SYMBOL))
def test_count(given_groups: Groups) -> None:
    expected = {key: len(values) for key, values in given_groups.items()}
    assert computed("count", given_groups, Type.SYMBOL, Type.NUMBER) == expected


@pytest.mark.parametrize("type", [Type.NUMBER, Type.UNSIGNED])
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_sums_are_exact_or_refused(type: Type, data: st.DataObject) -> None:
    given_groups = data.draw(groups(type))
    expected = {key: sum(values) for key, values in given_groups.items()}
    if all(fits(value, type) for value in expected.values()):
        assert computed("sum", given_groups, type, type) == expected
    else:
        with pytest.raises(Undefined, match="does not fit 64 bits"):
            computed("sum", given_groups, type, type)


@pytest.mark.parametrize("type", [Type.NUMBER, Type.UNSIGNED, Type.FLOAT])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_means(type: Type, data: st.DataObject) -> None:
    given_groups = data.draw(groups(type))
    found = computed("mean", given_groups, type, Type.FLOAT)
    assert found.keys() == given_groups.keys()
    for key, values in given_groups.items():
        exact = float(sum(map(Fraction, values)) / len(values))
        largest = max(abs(float(v)) for v in values)
        tolerance = 1e-15 * len(values) * largest if type is Type.FLOAT else 0.0
        assert math.isclose(found[key], exact, rel_tol=4e-16, abs_tol=tolerance)


@pytest.mark.parametrize("type", [Type.NUMBER, Type.UNSIGNED, Type.FLOAT])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_medians(type: Type, data: st.DataObject) -> None:
    given_groups = data.draw(groups(type))
    found = computed("median", given_groups, type, Type.FLOAT)
    assert found.keys() == given_groups.keys()
    for key, values in given_groups.items():
        assert math.isclose(found[key], float(median(map(Fraction, values))), rel_tol=4e-16)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.tuples(st.integers(0, 1), st.integers(0, 1)), st.lists(FLOATS, min_size=1, max_size=4)),
    st.sampled_from(["sum", "mean", "median", "min", "max"]),
)
def test_any_floats_go_through(given_groups: Groups, function: str) -> None:
    """Infinities and NaN are values; nothing is said about them on the way (warnings are errors here)."""
    found = computed(function, given_groups, Type.FLOAT, Type.FLOAT)
    assert found.keys() == given_groups.keys()


@pytest.mark.parametrize(
    ("values", "middle"),
    [
        ([math.inf, math.inf], math.inf),
        ([-math.inf, -math.inf], -math.inf),
        ([1.7e308, 1.7e308], 1.7e308),
        ([-1.7e308, 1.7e308], 0.0),
        ([5e-324, 5e-324], 5e-324),
        ([1.0, 2.0], 1.5),
    ],
)
def test_medians_at_the_ends_of_the_floats(values: list[float], middle: float) -> None:
    assert computed("median", {(0, 0): values}, Type.FLOAT, Type.FLOAT) == {(0, 0): middle}


def test_an_aggregate_over_the_backend() -> None:
    watch = Watch()
    store = backend(numbers("source", 2), numbers("head", 2), watch=watch)
    store.materialisation |= store.facts({"source": rows([(1, 5), (1, 7), (2, 1)], 2)})
    known = store.facts({"source": rows([(3, 3)], 2)})
    rule = AggregateRule("r", "head", "source", (0,), "sum", 1)
    found = store.apply([AggregatePlan(rule)], {Read.ALL: store.materialisation})
    assert sorted(store.rows("head", found.support()).tolist()) == [[1, 12], [2, 1]]
    assert watch.facts == 2, "facts that an aggregate makes are counted"
    bare = AggregateRule("r", "head", "source", (), "count", None)
    assert len(known) == 1
    empty = AggregatePlan(bare)
    assert len(store.apply([empty], {Read.ALL: store.explicit})) == 0


def test_a_sum_without_value_names_the_rule() -> None:
    store = backend(numbers("source", 2), numbers("head", 1))
    store.materialisation |= store.facts({"source": rows([(1, 2**63 - 1), (2, 1)], 2)})
    plan = AggregatePlan(AggregateRule("total", "head", "source", (), "sum", 1))
    with pytest.raises(EvaluationError, match="rule total has no value for some facts: the sum does not fit 64 bits"):
        store.apply([plan], {Read.ALL: store.materialisation})
