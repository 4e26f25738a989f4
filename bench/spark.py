"""`python -m bench.spark`: transitive closure on Spark, by us, by PySpark written by hand, by Spark's recursive SQL.

The edges are chains of five, so that the closure has three times as many facts and five rounds.  All run in one
session, one after the other; each number of seconds is that of a single run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import holdfast
from holdfast.spark_session import SparkOptions, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LENGTH = 5
PROGRAM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
RECURSIVE = """
WITH RECURSIVE path(x, y) AS (SELECT x, y FROM edge UNION ALL SELECT p.x, e.y FROM path p JOIN edge e ON p.y = e.x)
SELECT count(*) FROM path
"""


def edges(spark: SparkSession, number: int) -> DataFrame:
    """Chains of `LENGTH` edges: x goes to x + 1 but at their ends."""
    made = spark.range(number // LENGTH * (LENGTH + 1)).where(f"id % {LENGTH + 1} < {LENGTH}")
    return made.selectExpr("id AS x", "id + 1 AS y").localCheckpoint()


def by_hand(spark: SparkSession, edge: DataFrame) -> int:
    """Semi-naive evaluation as one would write it."""
    from pyspark.sql.functions import expr

    path, delta = edge, edge
    while delta.count():
        new = delta.alias("d").join(edge.alias("e"), on=expr("d.y = e.x")).selectExpr("d.x", "e.y").distinct()
        delta = new.join(path, ["x", "y"], "left_anti").localCheckpoint()
        path = path.union(delta).localCheckpoint()
    return path.count()


def by_sql(spark: SparkSession, edge: DataFrame) -> int:
    spark.conf.set("spark.sql.cteRecursionRowLimit", "-1")
    edge.createOrReplaceTempView("edge")
    return int(spark.sql(RECURSIVE).collect()[0][0])


def timed(name: str, run: Callable[[], object]) -> object:
    begun = time.perf_counter()
    result = run()
    print(f"{name:34} {time.perf_counter() - begun:8.2f} s   {result}", flush=True)
    return result


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--edges", type=int, default=1_000_000)
    options.add_argument("--memory", default="6g")
    options.add_argument("--only", default="ours,hand,sql")
    given = options.parse_args()
    spark = spark_session(SparkOptions(conf={"spark.driver.memory": given.memory}))
    edge = edges(spark, given.edges)
    timed("warm-up", lambda: edge.count())
    if "hand" in given.only:
        timed("PySpark by hand", lambda: by_hand(spark, edge))
    if "sql" in given.only:
        timed("recursive SQL", lambda: by_sql(spark, edge))
    if "ours" in given.only:
        ours(spark, edge)


def ours(spark: SparkSession, edge: DataFrame) -> None:
    kb = timed("holdfast, from scratch", lambda: holdfast.from_text(PROGRAM, {"edge": edge}, engine=spark))
    assert isinstance(kb, holdfast.KnowledgeBase)
    for node in kb.statistics.nodes:
        print(f"   {', '.join(node.predicates)}: {node.rounds} rounds, {node.facts:,} facts, {node.seconds:.2f} s")
    gone = [(6 * number + 2, 6 * number + 3) for number in range(500)]
    come = [(6 * number + 5, 6 * number + 6) for number in range(500)]
    for name, delete, insert in (("first", gone, come), ("second", come, gone), ("third", gone, come)):
        update = holdfast.Update(delete={"edge": delete}, insert={"edge": insert})
        timed(f"holdfast, {name} update of 1,000", lambda update=update: sizes(kb.apply(update)))  # type: ignore[misc]


def sizes(change: holdfast.Change) -> str:
    added, removed = (sum(map(len, side.values())) for side in (change.added, change.removed))
    return f"{added:,} added, {removed:,} removed"


if __name__ == "__main__":
    main()
