"""Relations as DataFrames of Spark, in and out; bad ones are refused; and nothing grows with the number of updates."""

from __future__ import annotations

import gc
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import holdfast
from holdfast.backends.spark_parted.folders import frame_folder, lending
from holdfast.errors import DataError, HoldfastError

from .conftest import small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REACH = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.mark.parametrize("rows", [0, 2])
def test_facts_come_and_go_as_dataframes(spark: SparkSession, rows: int) -> None:
    """Views stay on the shards, or some of them do."""
    engine = small(spark, driverRows=rows)
    edges = engine.createDataFrame([(1, 2), (2, 3), (1, 2), (3, 1)], "x int, y long")
    kb = holdfast.from_text(REACH, {"edge": edges}, engine=engine, modules=())
    assert len(kb["edge"]) == 3
    assert len(kb["path"]) == 9
    before = kb["path"]
    with kb.update() as update:
        update.delete("edge", engine.createDataFrame([(3, 1), (8, 8)], "x long, y long"))
        update.insert("edge", engine.createDataFrame([(3, 4)], "y long, x long").select("x", "y"))
        update.insert("edge", spark.createDataFrame([(4, 3)], "x long, y long"))  # of another session, and given before
    assert (update.change.no_ops, set(update.change.added["edge"])) == (2, {(4, 3)})
    assert (
        {tuple(row) for row in kb["path"].to_spark().collect()} == set(kb["path"]) == {(1, 2), (1, 3), (2, 3), (4, 3)}
    )
    assert len(set(before)) == 9  # a relation is as it was when it was asked for
    before.to_spark().createOrReplaceTempView("path_before")
    assert engine.table("path_before").count() == 9
    assert set(kb.query("path(x, 3), !edge(x, 3)")) == {(1,)}


def test_updates_that_are_merged_take_dataframes(spark: SparkSession) -> None:
    """Once, DataFrames among updates that were merged were passed over without a word."""
    kb = holdfast.from_text(REACH, {"edge": [(1, 2)]}, engine=spark, modules=())
    first = holdfast.Update(insert={"edge": spark.createDataFrame([(2, 3), (3, 4)], "x long, y long")})
    second = holdfast.Update(delete={"edge": spark.createDataFrame([(3, 4)], "x long, y long")})
    change = kb.apply_net([first, second, holdfast.Update(insert={"edge": [(4, 5)]})])
    assert set(change.added["edge"]) == {(2, 3), (4, 5)} == set(kb["edge"]) - {(1, 2)}
    assert set(kb["path"]) == {(1, 2), (2, 3), (1, 3), (4, 5)}
    assert change.no_ops == 2  # what came and went on the way


def test_nothing_waits_for_the_cores_that_shards_have(spark: SparkSession) -> None:
    """Once, the rows of an update's DataFrames were counted by a job that waited until the shards gave them back."""
    engine = small(spark, holdSeconds=300)
    kb = holdfast.from_text(REACH, {"edge": [(1, 2)]}, engine=engine, modules=())
    frames = [spark.createDataFrame(rows, "x long, y long") for rows in ([(2, 3), (2, 3), (3, 4)], [(1, 2), (7, 8)])]
    begun = time.monotonic()
    change = kb.apply(holdfast.Update(insert={"edge": frames[0]}, delete={"edge": frames[1]}))
    assert time.monotonic() - begun < 200
    assert change.no_ops == 2  # (2, 3) again, and (7, 8) was not there
    assert set(kb["path"]) == {(2, 3), (3, 4), (2, 4)}
    kb.close()
    begun = time.monotonic()
    assert spark.range(6, numPartitions=2).count() == 6  # a job of the user's
    assert time.monotonic() - begun < 200
    with kb:
        assert kb.apply(holdfast.Update(insert={"edge": [(4, 5)]})).added["path"]


@pytest.mark.parametrize("most", [None, 0])
def test_every_type_goes_out_and_in_again(spark: SparkSession, most: int | None) -> None:
    text = ".decl p(n: number, u: unsigned, f: float, s: symbol, a: any)"
    rows = [
        (-1, 2**64 - 1, 0.5, "7", 7),
        (2**63 - 1, 0, float("inf"), 'a "b"', "7"),
        (0, 1, -0.0, "", holdfast.Iri("x:y")),
    ]
    kb = holdfast.from_text(text, {"p": rows}, engine=small(spark, driverRows=most))
    frame = kb["p"].to_spark()
    assert frame.dtypes == [("n", "bigint"), ("u", "decimal(20,0)"), ("f", "double"), ("s", "string"), ("a", "string")]
    assert {tuple(row) for row in frame.collect()} == {
        (-1, Decimal(2**64 - 1), 0.5, "7", "7"),
        (2**63 - 1, Decimal(0), float("inf"), 'a "b"', '"7"'),
        (0, Decimal(1), 0.0, "", "<x:y>"),
    }
    for engine in (spark, "memory"):
        assert set(holdfast.from_text(text, {"p": frame}, engine=engine)["p"]) == set(rows)


def test_types_that_the_program_leaves_open_follow_the_dataframe(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1.5)], "k string, v double")
    kb = holdfast.from_text("q(k, v + 1.0) :- p(k, v).", {"p": frame}, engine=spark)
    assert set(kb["q"]) == {("a", 2.5)}


def test_a_dataframe_that_does_not_fit_is_refused(spark: SparkSession) -> None:
    missing = spark.createDataFrame([(1, None)], "x long, y long")
    with pytest.raises(DataError, match=r"E0606\]: facts for relation edge, column y: a value is missing\n"):
        holdfast.from_text(REACH, {"edge": missing}, engine=spark)
    number = spark.createDataFrame([(1.5,), (None,)], "x double")
    with pytest.raises(DataError, match=r"E0606\]: facts for relation p, column x: a value is missing\n"):
        holdfast.from_text(".decl p(x: any)", {"p": number}, engine=spark)
    negative = spark.createDataFrame([(1,), (-1,)], "x long")
    with pytest.raises(DataError, match=r"E0606\]: facts for relation n, column x: -1 does not fit type unsigned\n"):
        holdfast.from_text(".decl n(x: unsigned)", {"n": negative}, engine=spark)
    text = spark.createDataFrame([("a", "b")], "x string, y string")
    with pytest.raises(HoldfastError, match="values of Spark's type string do not fit type number"):
        holdfast.from_text(REACH, {"edge": text}, engine=spark)
    with pytest.raises(HoldfastError, match="lacks column y and has the extra column z"):
        holdfast.from_text(REACH, {"edge": spark.createDataFrame([(1, 2)], "x long, z long")}, engine=spark)
    kb = holdfast.from_text(REACH, {"edge": [(1, 2)]}, engine=spark)
    with pytest.raises(HoldfastError, match="a value is missing"):
        kb.apply(holdfast.Update(insert={"edge": missing}))
    assert set(kb["path"]) == {(1, 2)}


def test_updates_leave_nothing_behind(spark: SparkSession) -> None:
    """Neither DataFrames that were given, nor views, nor blocks of Spark stay."""
    engine = small(spark, driverRows=0)
    kb = holdfast.from_text(REACH, {"edge": [(1, 2), (2, 3)]}, engine=engine, modules=())
    folder, held = Path(kb._backend._settings.folder), []  # type: ignore[attr-defined]
    frames = Path(frame_folder(str(folder))).parent  # of this process, beside those of others
    before = set(frames.iterdir())
    for number in range(3):
        with kb.update() as update:
            update.insert("edge", spark.createDataFrame([(3, 4 + number)], "x long, y long"))
            update.delete("edge", [(3, 3 + number)])
        with lending():
            assert {tuple(row) for row in update.change.added["edge"].to_spark().collect()} == {(3, 4 + number)}
        del update
        gc.collect()
        kinds = Counter(path.name.partition("-")[0] for path in folder.iterdir())
        held.append((kinds["given"], kinds["rows"], spark.sparkContext._jsc.getPersistentRDDs().size()))  # type: ignore[attr-defined]
    assert held == [(0, 0, held[0][2])] * 3
    assert set(frames.iterdir()) == before
    assert set(kb["path"]) == {(1, 2), (1, 3), (2, 3), (1, 6), (2, 6), (3, 6)}


def test_records_come_as_texts(spark: SparkSession) -> None:
    """And rules take them apart on the shards."""
    text = """
    .type Pair = [x: number, y: Pair]
    .decl given(p: Pair, n: number)
    .decl taken(p: Pair, x: number)
    taken(q, x) :- given([x, q], _).
    taken([n, p], n) :- given(p, n), n < 3.
    """
    frame = spark.createDataFrame([("[1, [2, nil]]", 1), ("nil", 2)], "p string, n long")
    there = holdfast.from_text(text, {"given": frame}, engine=small(spark, driverRows=0))
    here = holdfast.from_text(text, {"given": frame.toArrow()})
    update = holdfast.Update(insert={"given": spark.createDataFrame([("[7, nil]", 9)], "p string, n long")})
    for kb in (here, there):
        kb.apply(update)
    assert set(there["taken"]) == set(here["taken"])
    assert sorted(there["taken"].to_spark().collect()) == sorted(here["taken"].to_spark().collect())


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(HoldfastError, match="unknown engine sparc"):
        holdfast.from_text(REACH, engine="sparc")


def test_booleans_decimals_dates_and_times_are_read_as_in_memory(spark: SparkSession) -> None:
    frame = spark.sql(
        """SELECT * FROM VALUES
        (true, 1.10BD, DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00.5Z'),
        (false, 2.50BD, DATE '1969-12-31', TIMESTAMP '1969-12-31 00:00:00Z') AS t(b, d, day, time)"""
    )
    table = frame.toArrow()
    for types in ("symbol symbol symbol symbol", "any any any any", "number float number number"):
        columns = ", ".join(f"{n}: {t}" for n, t in zip(("b", "d", "day", "time"), types.split(), strict=True))
        text = f".decl p({columns})"
        there = holdfast.from_text(text, {"p": frame}, engine=spark)
        here = holdfast.from_text(text, {"p": table})
        assert set(there["p"]) == set(here["p"])
    for name, type_ in (("b", "float"), ("d", "number"), ("day", "float"), ("day", "unsigned"), ("time", "unsigned")):
        for engine in (spark, "memory"):
            given = frame.select(name) if engine is spark else table.select([name])
            with pytest.raises(DataError, match="E0606"):
                set(holdfast.from_text(f".decl p({name}: {type_})", {"p": given}, engine=engine)["p"])


def test_functors_of_strings_and_dates_are_those_of_memory(spark: SparkSession) -> None:
    text = """
    .decl s(t: symbol, d: symbol)
    .decl p(a: symbol, b: symbol, c: symbol, d: symbol)
    .decl q(a: number, b: symbol, c: symbol, d: number, e: number)
    s("Key = 12", "2024-02-29"). s("none", "1969-12-31").
    p(regex_group(t, "(\\\\pL+) = (\\\\d+)", 2), regex_replace(t, "[a-z]", "<\\\\0>"), upper(t), split(t, " ", 1)) :-
        s(t, _).
    q(n, date_text(add_months(n, 1)), time_text(to_time(d)), weekday(n), date_of(time_of(n) - 1)) :-
        s(_, d), n = to_date(d).
    """
    here, there = holdfast.from_text(text), holdfast.from_text(text, engine=spark)
    assert len(here["p"]) == len(here["q"]) == 2
    for name in ("p", "q"):
        assert set(here[name]) == set(there[name])
    for engine in ("memory", spark):
        with pytest.raises(HoldfastError, match=r"E0701.*is not a date such as"):
            wrong = holdfast.from_text('s("x"). p(to_date(t)) :- s(t).', engine=engine)
            set(wrong["p"])
