"""A round is one job, whatever the number of rules; by Spark's own count of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import holdfast

from .conftest import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EDGES = [(1, 2), (2, 3), (3, 4)]


def evaluated(spark: SparkSession, way: str, rules: int, copies: int = 1) -> tuple[int, int]:
    """How many jobs and rounds it takes to evaluate so many hyper-nodes with so many recursive rules each."""
    names = [f"e{number}" for number in range(rules)]
    paths = [f"path{number}" for number in range(copies)]
    text = "".join(f".decl {name}(x: number, y: number)\n" for name in (*paths, *names))
    for path in paths:
        text += f"{path}(x, y) :- e0(x, y).\n"
        text += "".join(f"{path}(x, z) :- {path}(x, y), {name}(y, z).\n" for name in names)
    context, group = spark.sparkContext, f"{way} {rules} {copies}"
    context.setJobGroup(group, "counted")
    try:
        kb = holdfast.from_text(text, dict.fromkeys(names, EDGES), engine=session(spark, way), modules=())
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    assert [len(kb[path]) for path in paths] == [6] * copies
    return len(context.statusTracker().getJobIdsForGroup(group)), sum(node.rounds for node in kb.statistics.nodes)


def test_a_round_is_one_job(spark: SparkSession) -> None:
    jobs, rounds = evaluated(spark, "driver", 1)
    assert (jobs, rounds) == (4, 4)  # e0 takes none; the first rule one; and the three rounds of the recursion
    assert evaluated(spark, "driver", 6) == (jobs, rounds + 5)
    assert evaluated(spark, "driver", 1, copies=3) == (jobs, rounds), "they do not read one another"


@pytest.mark.slow
def test_a_large_round_is_one_job_too(spark: SparkSession) -> None:
    """All sets stay on the executors; all relations are loaded in one job, and folded in one."""
    assert evaluated(spark, "far", 1)[0] == evaluated(spark, "far", 3)[0] == evaluated(spark, "far", 1, copies=3)[0]
