"""The laws of the protocol on Spark, with deltas on the driver and, for the slow tests, nothing there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from holdfast.backends.protocol import Engine
from holdfast.backends.spark.store import SparkBackend
from holdfast.program.model import Rule

from .. import laws
from ..definition import Sets, rules, some_sets
from ..model import ModelBackend
from .conftest import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAYS = pytest.mark.parametrize("way", ["driver", pytest.param("mixed", marks=pytest.mark.slow)])
# The same examples in every run: another one would be a test that fails now and then, after minutes of shrinking.
few = partial(
    settings,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
pairs = st.frozensets(st.sampled_from(laws.PAIRS))


def engine(spark: SparkSession, way: str) -> Engine:
    return partial(SparkBackend, session(spark, way))


@WAYS
@few(max_examples=12)
@given(data=st.data())
def test_sets(spark: SparkSession, way: str, data: st.DataObject) -> None:
    laws.sets_obey(engine(spark, way), data)


@WAYS
@few(max_examples=6)
@given(rule=rules(negated_wildcards=False), sets=some_sets(), style=st.integers(0, 2), number=st.integers(0, 23))
def test_every_instance_once(spark: SparkSession, way: str, rule: Rule, sets: Sets, style: int, number: int) -> None:
    laws.plans_obey(engine(spark, way), rule, sets, style, number)


@WAYS
@few(max_examples=3)
@given(rule=rules(negated_wildcards=True), sets=some_sets(), number=st.integers(0, 23))
def test_every_instance_without_a_delta(spark: SparkSession, way: str, rule: Rule, sets: Sets, number: int) -> None:
    laws.whole_plans_obey(engine(spark, way), rule, sets, number)


@WAYS
@few(max_examples=2)
@given(all_=laws.meanings, changed=laws.meanings)
def test_aggregates_of_touched_groups(spark: SparkSession, way: str, all_: laws.Meaning, changed: laws.Meaning) -> None:
    laws.aggregates_obey(engine(spark, way), all_, changed)


@WAYS
@few(max_examples=3)
@given(closed=pairs, goals=pairs, most=st.integers(1, 3))
def test_expansion(
    spark: SparkSession, way: str, closed: frozenset[laws.Fact], goals: frozenset[laws.Fact], most: int
) -> None:
    laws.expansion_obeys(engine(spark, way), closed, goals, most)


@WAYS
@few(max_examples=5)
@given(data=st.data())
def test_counters_and_undo(spark: SparkSession, way: str, data: st.DataObject) -> None:
    laws.counters_obey(engine(spark, way), data)


def test_sets_of_two_backends_do_not_mix(spark: SparkSession) -> None:
    laws.backends_do_not_mix(engine(spark, "driver"), ModelBackend)


def test_a_dropped_relation_begins_empty(spark: SparkSession) -> None:
    laws.a_dropped_relation_begins_empty(engine(spark, "driver"))
