"""What `bench.spark` measures: two workloads as DataFrames, and PySpark that one would write for them by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bench.ontology import CHAINS, DOMAINS, RANGES, SUBCLASSES, program
from bench.universities import universities

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Frames = dict[str, "DataFrame"]
LENGTH = 5
CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
ENDS = """
.decl edge(x: number, y: number)
.decl end(x: number)
end(y) :- edge(_, y), !edge(y, _).
"""
RECURSIVE = """
WITH RECURSIVE path(x, y) AS (SELECT x, y FROM edge UNION ALL SELECT p.x, e.y FROM path p JOIN edge e ON p.y = e.x)
SELECT count(*) FROM path
"""


def chains(spark: SparkSession, number: int) -> Frames:
    """Chains of `LENGTH` edges: x goes to x + 1 but at their ends.  The closure is three times as large."""
    made = spark.range(number // LENGTH * (LENGTH + 1)).where(f"id % {LENGTH + 1} < {LENGTH}")
    return {"edge": made.selectExpr("id AS x", "id + 1 AS y").localCheckpoint()}


def chain_update() -> tuple[str, list[tuple[int, int]], list[tuple[int, int]]]:
    """500 edges that break chains, and 500 that make two chains one."""
    gone, come = ([(6 * chain + place, 6 * chain + place + 1) for chain in range(500)] for place in (2, 5))
    return "edge", gone, come


def closure_by_hand(edge: DataFrame) -> DataFrame:
    """Semi-naive evaluation as one would write it."""
    from pyspark.sql.functions import expr

    path, delta = edge, edge
    while delta.count():
        new = delta.alias("d").join(edge.alias("e"), on=expr("d.y = e.x")).selectExpr("d.x", "e.y").distinct()
        delta = new.join(path, ["x", "y"], "left_anti").localCheckpoint()
        path = path.union(delta).localCheckpoint()
    return path


def closure_by_sql(edge: DataFrame) -> int:
    """Spark's own recursion: without UNION it is right only where there is one way from each node to each."""
    edge.sparkSession.conf.set("spark.sql.cteRecursionRowLimit", "-1")
    edge.createOrReplaceTempView("edge")
    return int(edge.sparkSession.sql(RECURSIVE).collect()[0][0])


# --- universities ------------------------------------------------------------------------------------


def facts_of(workload: str, number: int) -> int:
    """How many facts there are when so many are asked for."""
    return number // LENGTH * LENGTH if workload == "closure" else _copies(number) * _facts_of_one()


def _facts_of_one() -> int:
    return sum(map(len, universities(1).values()))


def _copies(number: int) -> int:
    return max(1, round(number / _facts_of_one()))


def campuses(spark: SparkSession, number: int) -> Frames:
    """About so many facts: one university, made by `bench.universities`, again and again with other numbers."""
    import pyarrow as pa

    one = universities(1)
    most = 1 + max(value for rows in one.values() for row in rows for value in row)
    copies = spark.range(_copies(number)).withColumnRenamed("id", "copy")
    made = {}
    for name, rows in one.items():
        columns = list(zip(*rows, strict=True))
        names = ["x", "y"][: len(columns)]
        table = pa.table({name: pa.array(column, pa.int64()) for name, column in zip(names, columns, strict=True)})
        shifted = [f"{name} + copy * {most} AS {name}" for name in names]
        made[name] = spark.createDataFrame(table).crossJoin(copies).selectExpr(*shifted).localCheckpoint()
    return made


def university_program() -> str:
    """The rules of `bench.ontology`, with declarations."""
    used = set(re.findall(r"(\w+)\(([^)]*)\)", program()))
    kinds = {name: "x: number, y: number" if "," in arguments else "x: number" for name, arguments in used}
    kinds |= {
        name: "x: number, y: number" if len(rows[0]) == 2 else "x: number" for name, rows in universities(1).items()
    }
    return "".join(f".decl {name}({columns})\n" for name, columns in sorted(kinds.items())) + program()


def university_update() -> tuple[str, list[tuple[int, int]], list[tuple[int, int]]]:
    """Five hundred students of the first university leave their courses, and five hundred take another's."""
    takes = universities(1)["takesCourse"]
    gone = [(row[0], row[1]) for row in takes[:500]]
    come = [(student, takes[-1 - place][1]) for place, (student, _) in enumerate(gone)]
    return "takesCourse", gone, sorted(set(come) - {(row[0], row[1]) for row in takes})


def university_by_hand(given: Mapping[str, DataFrame]) -> Frames:
    """The same consequences by someone who has understood the ontology: in order, each recursion where it is.

    What is left out is what he sees to be superfluous: the two directions of an inverse give one another nothing new.
    """
    spark = next(iter(given.values())).sparkSession
    nobody, nothing = spark.createDataFrame([], "x long"), spark.createDataFrame([], "x long, y long")
    made: Frames = {}

    def get(name: str) -> DataFrame:
        return made[name] if name in made else given.get(name, nobody if name in classes else nothing)

    def keep(name: str, *parts: DataFrame) -> None:
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.union(part)
        made[name] = whole.distinct().localCheckpoint()

    classes = {*SUBCLASSES, *DOMAINS, *RANGES, *" ".join(SUBCLASSES.values()).split()}
    keep("subOrganizationOf", _closed(get("subOrganizationOf")))
    keep("hasSameHomeTownWith", _closed(_both(get("hasSameHomeTownWith"))))
    keep("isFriendOf", _both(get("isFriendOf")))
    keep("worksFor", get("worksFor"), get("headOf"))
    keep("memberOf", get("memberOf"), get("worksFor"))
    keep("memberOf", get("memberOf"), _chain(get("memberOf"), get("subOrganizationOf")))
    keep("degreeFrom", *(get(f"{degree}DegreeFrom") for degree in ("undergraduate", "masters", "doctoral")))
    for name, inverse in (
        ("degreeFrom", "hasAlumnus"),
        ("memberOf", "member"),
        ("publicationAuthor", "authorOf"),
        ("advisor", "advises"),
        ("teacherOf", "taughtBy"),
        ("worksFor", "employs"),
    ):
        keep(inverse, _turned(get(name)))
    for name in ("coAuthor", "hasTeacher"):
        keep(name, _chain(*map(get, CHAINS[name].split())))
    keep("colleagueOf", _both(_chain(get("worksFor"), get("employs"))))
    keep("knows", get("isFriendOf"), get("advisor"), get("coAuthor"))
    _classes(get, keep)
    return made


def _classes(get: Callable[[str], DataFrame], keep: Callable[..., None]) -> None:
    def heads(domains: Sequence[str], ranges: Sequence[str] = ()) -> list[DataFrame]:
        return [*(get(name).select("x") for name in domains), *(get(name).selectExpr("y AS x") for name in ranges)]

    def of(name: str) -> list[DataFrame]:
        domains, ranges = (side.get(name, "").split() for side in (DOMAINS, RANGES))
        return [get(name), *map(get, SUBCLASSES.get(name, "").split()), *heads(domains, ranges)]

    for name, link, target in (
        ("chair", "headOf", "department"),
        ("dean", "headOf", "college"),
        ("director", "headOf", "program"),
    ):
        there = get(target).withColumnRenamed("x", "y")
        keep(name, get(name), get(link).join(there, "y", "left_semi").select("x"))
    for name in (
        "researchGroup",
        "university",
        "course",
        "article",
        "publication",
        "work",
        "professor",
        "faculty",
        "administrativeStaff",
    ):
        keep(name, *of(name))
    keep("organization", *of("organization"))
    keep("teachingAssistant", *of("teachingAssistant"))
    keep("researchAssistant", *of("researchAssistant"))
    keep("student", *of("student"), *heads(["takesCourse"]))  # all that is taken is a course, and who takes it a person
    keep("employee", *of("employee"))
    keep("person", *of("person"))


def _turned(frame: DataFrame) -> DataFrame:
    return frame.selectExpr("y AS x", "x AS y")


def _both(frame: DataFrame) -> DataFrame:
    return frame.union(_turned(frame)).distinct()


def _chain(left: DataFrame, right: DataFrame) -> DataFrame:
    from pyspark.sql.functions import expr

    return left.alias("l").join(right.alias("r"), on=expr("l.y = r.x")).selectExpr("l.x", "r.y").distinct()


def _closed(edge: DataFrame) -> DataFrame:
    return closure_by_hand(edge.localCheckpoint())
