"""The laws bite on Spark too: every deliberately broken part of its storage is caught by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.backends.spark import facts
from holdfast.backends.spark.counters import SparkCounters
from holdfast.backends.spark.relations import Stored
from holdfast.backends.spark.standing import Standing

from ...equivalence.mutants import Mutant, broken
from .. import laws
from .test_laws import engine, few

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow
SETS, COUNTERS = "sets", "counters"
MUTANTS = [
    Mutant("what E has is not looked at", Stored.put, "self.counts[flag] += value - record[flag]", "pass", SETS),
    Mutant("a view of I is old", Stored.put, "record[flag] = value", "pass", SETS),
    Mutant("union takes what is there as new", facts.union, "near.less - rows", "near.less", SETS),
    Mutant(
        "a near set loses nothing",
        facts.without,
        "left.less | left.standing.having(predicate, rows)",
        "left.less",
        SETS,
    ),
    Mutant("intersection is the other set", facts.both, "Local(has(predicate, other, rows))", "Local(rows)", SETS),
    Mutant("a list forgets", facts.Listed.__ior__, "self.forms.update(result)", "self.forms = result", SETS),
    Mutant("a set has rows that it lost", Standing.having, "and records[row][self.flag]", "", SETS),
    Mutant("undo leaves numbers", SparkCounters._uncount, "-= step * times", "-= 0", COUNTERS),
    Mutant("numbers stay forgotten", SparkCounters._restore, "[self.place] = number", "[5] = 0", COUNTERS),
    Mutant("a fact is counted once", SparkCounters._count, "+= step * times", "+= step", COUNTERS),
]


@few(max_examples=25)
@given(data=st.data())
def sets_obey(spark: SparkSession, data: st.DataObject) -> None:
    laws.sets_obey(engine(spark, "driver"), data)


@few(max_examples=15)
@given(data=st.data())
def counters_obey(spark: SparkSession, data: st.DataObject) -> None:
    laws.counters_obey(engine(spark, "driver"), data)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_broken_storage_is_caught(spark: SparkSession, mutant: Mutant) -> None:
    """What is whole passes the same checks: `test_laws.py`."""
    laws_ = {SETS: sets_obey, COUNTERS: counters_obey}
    with broken(mutant), pytest.raises(Exception):  # noqa: B017  be it that a check breaks off
        laws_[mutant.policy](spark)


@pytest.mark.parametrize("law", [sets_obey, counters_obey])
def test_whole_storage_is_not_caught(spark: SparkSession, law: object) -> None:
    law(spark)  # type: ignore[operator]
