"""Explanations on Spark are those of the memory engine, with few jobs; a profile is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import holdfast
from holdfast.errors import UsageError
from holdfast.updates import Update

from .conftest import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
end(x) :- path(_, x), !edge(x, _).
"""
FACTS = {"edge": [(1, 2), (2, 3), (3, 4), (7, 8)]}


def counted(spark: SparkSession, kb: holdfast.KnowledgeBase, fact: str) -> tuple[holdfast.Proof, int]:
    """A proof, and the number of jobs that it took."""
    group = f"why {fact}, {id(kb)}"
    spark.sparkContext.setJobGroup(group, "counted")
    try:
        proof = kb.why(fact, seconds=None)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    assert proof is not None
    return proof, len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))


def test_jobs_over_large_relations(spark: SparkSession) -> None:
    """More facts than are fetched whole, with the settings of everyday: jobs grow with the height only.

    Where relations are in DataFrames, a query is several jobs: decision 0055 has the figures.
    """
    facts = {"edge": [(10 * chain + n, 10 * chain + n + 1) for chain in range(130) for n in range(9)]}
    kb = holdfast.from_text(RULES, facts=facts, engine=session(spark, "driver"), modules=())
    here = holdfast.from_text(RULES, facts=facts, modules=())
    for fact in ("path(20, 26)", "end(29)"):
        proof, jobs = counted(spark, kb, fact)
        assert proof.to_json() == here.why(fact).to_json()  # type: ignore[union-attr]
        assert jobs <= 2 * proof.height + 5, (fact, jobs, proof.height)


@pytest.mark.parametrize("way", ["driver", "far"])
def test_the_same_explanations_as_in_memory(spark: SparkSession, way: str) -> None:
    kb = holdfast.from_text(RULES, facts=FACTS, engine=session(spark, way), modules=())
    here = holdfast.from_text(RULES, facts=FACTS, modules=())
    proof, jobs = counted(spark, kb, "path(1, 4)")
    assert proof.to_json() == here.why("path(1, 4)").to_json()  # type: ignore[union-attr]
    assert jobs <= 2 * proof.height + 5
    if way == "far":
        return  # each look is a job: the rest would take minutes
    absence = kb.why_not("path(4, 1)", seconds=None)
    assert absence is not None
    assert absence.to_json() == here.why_not("path(4, 1)").to_json()  # type: ignore[union-attr]
    update = Update(insert={"edge": [(4, 5)]}, delete={"edge": [(7, 8)]})
    change, other = kb.apply(update), here.apply(update)
    for fact in ("path(1, 5)", "end(8)", "end(4)"):
        assert change.why(fact, seconds=None).parts == other.why(fact).parts  # type: ignore[union-attr]
    assert str(kb.supports("path(1, 5)", seconds=None)) == str(here.supports("path(1, 5)"))
    assert kb.repair(make=["end(2)"], edits=1, seconds=None)[0].deletes == ("edge(2, 3)",)


def test_a_profile_is_refused(spark: SparkSession) -> None:
    with pytest.raises(UsageError, match="E0917"):
        holdfast.from_text(RULES, facts=FACTS, engine=session(spark, "driver"), profile=True)
