"""Every kind of source and sink, and what becomes of rows that do not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import holdfast
from holdfast import pipeline
from holdfast.errors import DataError, UsageError
from holdfast.pipeline.model import Place, Quarantine
from holdfast.pipeline.sinks import SinkWriter
from holdfast.spark_session import SparkFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """\
.decl reading(turbine: symbol, count: number, celsius: float)
.decl warm(turbine: symbol, celsius: float)
warm(x, t) :- reading(x, _, t), t > 10.0.
"""
ROWS = [("a b", 1, 11.5), ("", -2, 9.0), ('é,"', 9223372036854775807, 1e300)]
WARM = {("a b", 11.5), ('é,"', 1e300)}
DERBY = "jdbc:derby:memory:pipeline;create=true"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.dl").write_text(PROGRAM, encoding="utf-8")


def run(spark: SparkSession, text: str, **more: Any) -> pipeline.RunResult:
    return pipeline.run(pipeline.from_text(f'[pipeline]\nprogram = "rules.dl"\n{text}'), spark=spark, **more)


def table() -> pa.Table:
    return pa.table([list(column) for column in zip(*ROWS, strict=True)], names=["turbine", "count", "celsius"])


def test_folders_in_which_nothing_has_come_yet(spark: SparkSession) -> None:
    Path("rows").mkdir()
    Path("rows/_SUCCESS").touch()
    sources = "".join(
        f'[sources.{format}]\nrelation = "reading"\npath = "rows"\nformat = "{format}"\n'
        + ("options = { header = true }\n" if format == "csv" else "")
        for format in ("csv", "tsv", "json", "parquet")
    )
    assert len(run(spark, sources, mode="batch").base["reading"]) == 0


def test_sources_of_every_format_give_the_same_facts(spark: SparkSession) -> None:
    """Each fills a relation of its own, in one run."""
    frame = spark.createDataFrame(table())
    pq.write_table(table(), "rows.parquet")
    Path("rows.json").write_text(
        "".join(json.dumps(dict(zip(table().column_names, row, strict=True))) + "\n" for row in ROWS), encoding="utf-8"
    )
    Path("head.csv").write_text(
        'celsius,Turbine,count\n11.5,a b,1\n9.0,,-2\n1e300,"é,\\"",9223372036854775807\n', encoding="utf-8"
    )
    Path("rows.tsv").write_text('a b\t1\t11.5\n\t-2\t9.0\né,"\t9223372036854775807\t1e300\n', encoding="utf-8")
    frame.write.format("jdbc").options(url=DERBY, dbtable="READINGS").save()
    frame.createOrReplaceTempView("readings_view")
    sources = {
        "csv": 'path = "head.csv"\noptions = { header = true }',
        "tsv": 'path = "rows.tsv"',
        "json": 'path = "rows.json"',
        "parquet": 'path = "rows.parquet"',
        "jdbc": f'format = "jdbc"\nurl = "{DERBY}"\ntable = "READINGS"',
        "table": 'format = "table"\ntable = "readings_view"',
        "frame": 'format = "frame"',
        "spark": 'format = "spark:parquet"\npath = "rows.parquet"',
    }
    columns = "turbine: symbol, count: number, celsius: float"
    rules = "".join(f".decl by_{name}({columns})\n" for name in sources)
    rules += ".decl warm(turbine: symbol, celsius: float)\nwarm(x, t) :- by_csv(x, _, t), t > 10.0.\n"
    Path("rules.dl").write_text(rules, encoding="utf-8")
    text = "".join(f"[sources.by_{name}]\n{source}\n" for name, source in sources.items())
    base = run(spark, text, frames={"by_frame": frame}).base
    for name in sources:
        assert set(base[f"by_{name}"]) == set(ROWS), name
    assert set(base["warm"]) == WARM


@pytest.mark.parametrize("engine", ["memory", "spark"])
def test_columns_of_any_type_are_read_as_in_process(spark: SparkSession, engine: str) -> None:
    """5 is no string, "5" is one; what CSV files write as terms are terms; after a restart too."""
    rules = ".decl t(x: any)\n.decl five(x: any)\nfive(x) :- t(x), x = 5.\n.decl late(x: any)\n"
    lines = [
        '{"x": 5}',
        '{"x": "5"}',
        '{"x": "<http://e/a>"}',
        '{"x": {"@id": "http://e/b"}}',
        '{"x": 1.0}',
        '{"x": -0.25}',
        '{"x": "a b"}',
        '{"x": 9223372036854775807}',
    ]
    Path("rules.dl").write_text(rules, encoding="utf-8")
    Path("here").mkdir()
    Path("here/t.jsonl").write_text("\n".join(lines), encoding="utf-8")
    Path("here/late.tsv").write_text('5\n"5"\n<http://e/a>\n"chat"@fr\n1.5\nplain\n', encoding="utf-8")
    expected = holdfast.open("rules.dl", facts="here")
    text = (
        f'[engine]\nkind = "{engine}"\n[sources.t]\npath = "here/t.jsonl"\nformat = "json"\n'
        '[updates.late]\npath = "here/late.tsv"\n[snapshots]\npath = "s"\n'
    )
    outcome = run(spark, text, mode="update")
    for name in ("t", "five", "late"):
        assert set(outcome.base[name]) == set(expected[name]), name
    Path("here/late.tsv").write_text("", encoding="utf-8")
    again = run(spark, text, mode="update")
    assert [set(again.base[name]) for name in ("t", "late")] == [set(expected[name]) for name in ("t", "late")]


@pytest.mark.parametrize("engine", ["memory", "spark"])
def test_rdf_files(spark: SparkSession, engine: str) -> None:
    Path("rules.dl").write_text(
        "@prefix ex: <http://e/> .\n.decl ex:up(x: any, y: any)\n"
        ".decl ex:age(x: any, n: number)\n.decl older(x: any)\n"
        "ex:up(?x, ?z) :- ex:up(?x, ?y), ex:up(?y, ?z).\n"
        "older(?x) :- ex:age(?x, ?n), ?n > 40.",
        encoding="utf-8",
    )
    Path("a.nt").write_text(
        "<http://e/a> <http://e/up> <http://e/b> .\n<http://e/a> <http://e/age> "
        '"41"^^<http://www.w3.org/2001/XMLSchema#integer> .\n',
        encoding="utf-8",
    )
    Path("b.ttl").write_text("@prefix e: <http://e/> . e:b e:up e:c ; e:age 40 .", encoding="utf-8")
    Path("z.tsv").write_text("<http://e/z>\t<http://e/a>\n", encoding="utf-8")
    text = (
        f'[engine]\nkind = "{engine}"\n[sources.one]\npath = "a.nt"\n[sources.two]\npath = "b.ttl"\n'
        '[sources.terms]\npath = "z.tsv"\nrelation = "ex:up"\n[snapshots]\npath = "s"\n'
    )
    outcome = run(spark, text + '[updates.three]\npath = "c.ttl"\n')
    assert len(outcome.base["ex:up"]) == 6
    assert [str(row[0]) for row in outcome.base["older"]] == ["<http://e/a>"]
    Path("c.ttl").write_text("@prefix e: <http://e/> . e:c e:up e:d ; e:age 50 .", encoding="utf-8")
    outcome = run(spark, text + '[updates.three]\npath = "c.ttl"\n', mode="update")
    assert len(outcome.base["ex:up"]) == 10
    assert len(outcome.base["older"]) == 2


def test_sinks_of_every_format(spark: SparkSession) -> None:
    pq.write_table(table(), "rows.parquet")
    formats = {
        "csv": 'path = "out/csv"',
        "tsv": 'path = "out/tsv"',
        "json": 'path = "out/json"',
        "parquet": 'path = "out/parquet"',
        "jdbc": f'url = "{DERBY}"\ntable = "WARM"',
        "table": 'table = "warm_sink"',
    }
    sinks = "".join(
        f'[sinks.s_{name}]\nrelation = "warm"\nformat = "{name}"\n{where}\n'
        f'[sinks.c_{name}]\nrelation = "warm"\nwrite = "changes"\nformat = "{name}"\n'
        f"{where.replace('out/', 'out/c_').replace('WARM', 'WARM_C').replace('_sink', '_changes')}\n"
        for name, where in formats.items()
    )
    text = (
        '[sources.reading]\npath = "rows.parquet"\n[updates.reading]\npath = "more.json"\n[snapshots]\npath = "s"\n'
        + sinks
    )
    Path("more.json").write_text(
        '{"turbine": "x", "count": 1, "celsius": 12, "_change_type": "insert"}\n'
        '{"turbine": "a b", "count": 1, "celsius": 11.5, "_change_type": "delete"}\n',
        encoding="utf-8",
    )
    try:
        run(spark, text)
        outcome = run(spark, text, mode="update")
        assert len(outcome.written) == len(formats)
        out = Path("out").absolute()
        whole = {
            "csv": spark.read.csv(f"{out}/csv", header=True),
            "json": spark.read.json(f"{out}/json"),
            "tsv": spark.read.csv(f"{out}/tsv", header=True, sep="\t"),
            "parquet": spark.read.parquet(f"{out}/parquet"),
            "jdbc": spark.read.jdbc(DERBY, "WARM"),
            "table": spark.read.table("warm_sink"),
        }
        changes = {
            "csv": spark.read.csv(f"{out}/c_csv", header=True),
            "json": spark.read.json(f"{out}/c_json"),
            "tsv": spark.read.csv(f"{out}/c_tsv", header=True, sep="\t"),
            "parquet": spark.read.parquet(f"{out}/c_parquet"),
            "jdbc": spark.read.jdbc(DERBY, "WARM_C"),
            "table": spark.read.table("warm_changes"),
        }
        for name in formats:
            rows = {(r["turbine"], float(r["celsius"])) for r in whole[name].collect()}
            assert rows == {("x", 12.0), ('é,"', 1e300)}, name
            written = {
                (r["turbine"], float(r["celsius"]), r["_change_type"], int(r["_update"]))
                for r in changes[name].collect()
            }
            assert written == {("x", 12.0, "insert", 1), ("a b", 11.5, "delete", 1)}, name
    finally:
        spark.sql("DROP TABLE IF EXISTS warm_sink")
        spark.sql("DROP TABLE IF EXISTS warm_changes")


def test_rows_that_do_not_fit_go_to_the_quarantine_with_the_reason(spark: SparkSession) -> None:
    Path("rows.json").write_text(
        '{"turbine": "good", "count": 1, "celsius": 20}\n'
        '{"turbine": "a", "count": 1.5, "celsius": 20}\n'
        '{"turbine": "b", "count": 1, "celsius": "12x"}\n'
        '{"turbine": "c", "count": 99999999999999999999, "celsius": 20}\n'
        '{"turbine": null, "count": 1, "celsius": 20}\n'
        '{"turbine": "d", "count": 1, "celsius": 99}\n'
        '{"turbine": 5, "count": 1, "celsius": 20}\n'
        '{"turbine": "f", "count": "1", "celsius": 20}\n'
        '{"turbine": "e", \n',
        encoding="utf-8",
    )
    text = '[sources.reading]\npath = "rows.json"\nchecks = ["celsius BETWEEN -60 AND 60"]\n'
    outcome = run(spark, text + '[quarantine]\npath = "bad"\n')
    assert (set(outcome.base["warm"]), outcome.rejections) == ({("good", 20.0)}, 8)
    rows = [
        json.loads(line)
        for file in Path("bad/_update=0").glob("part*")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    assert {row["reason"] for row in rows} == {
        "count is not a number: 1.5",
        "turbine is not a symbol: 5, in JSON of type integer",
        "count is not a number: 1, in JSON of type string",
        "celsius is not a float: 12x",
        "count is not a number: 99999999999999999999",
        "turbine has no value",
        "the check fails: celsius BETWEEN -60 AND 60",
        "the line is malformed",
    }
    assert {(row["source"], row["relation"]) for row in rows} == {("reading", "reading")}
    assert any(row["row"].startswith('{"turbine":"a"') for row in rows)
    with pytest.raises(DataError, match=r"8 of 9 rows fail their checks, and 50% may"):
        run(spark, text + '[quarantine]\npath = "bad"\nlimit = "50%"\n')
    with pytest.raises(DataError, match=r"8 of 9 rows fail their checks, and 0 may(.|\n)*a \[quarantine\]"):
        run(spark, text)


@pytest.mark.parametrize(
    ("source", "kind", "expected"),
    [
        ('path = "none.parquet"', UsageError, r"E0903\]: there is no file or folder none.parquet for reading to read"),
        ('path = "none*.parquet"', SparkFailure, r"E1005\]: cannot read reading: \[PATH_NOT_FOUND\]"),
        (
            'path = "rows.parquet"\ncolumns = { celsius = "x1" }',
            UsageError,
            r"in the source: columns = \{ celsius = \"NAME\" \}",
        ),
        ('format = "frame"', UsageError, "E1110"),
        ('path = "rows.parquet"\ncolumns = { celsius = "temp" }', UsageError, r"E1106(.|\n)*it has turbine, count"),
        ('path = "rows.parquet"\nchecks = ["celsius >"]', UsageError, "E1104"),
        ('path = "rows.parquet"\nchecks = ["heat > 1"]', UsageError, r"E1104(.|\n)*SQL expression over turbine, count"),
        (
            'format = "jdbc"\nurl = "jdbc:nosuchdb:x"\ntable = "t"',
            SparkFailure,
            "cannot read reading: No suitable driver",
        ),
    ],
)
def test_sources_that_cannot_be_used(spark: SparkSession, source: str, kind: type[Exception], expected: str) -> None:
    pq.write_table(table(), "rows.parquet")
    with pytest.raises(kind, match=expected) as caught:
        run(spark, f"[sources.reading]\n{source}\n")
    assert "Traceback" not in str(caught.value) and "\tat " not in str(caught.value)


def test_a_sink_does_not_write_over_files_of_others(spark: SparkSession) -> None:
    pq.write_table(table(), "rows.parquet")
    Path("out").mkdir()
    Path("out/thesis.txt").write_text("years of work", encoding="utf-8")
    text = '[sources.reading]\npath = "rows.parquet"\n[sinks.warm]\nformat = "csv"\npath = "out"\n'
    with pytest.raises(UsageError, match=r"holds thesis.txt, which no sink wrote"):
        run(spark, text)
    assert Path("out/thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_a_header_with_other_names_is_refused_and_columns_are_not_mixed_up(spark: SparkSession) -> None:
    Path("rows.csv").write_text("celsius,turbine,count\n11.5,a,1\n", encoding="utf-8")
    text = '[sources.reading]\npath = "rows.csv"\noptions = { header = true }\n'
    assert set(run(spark, text).base["reading"]) == {("a", 1, 11.5)}
    with pytest.raises(DataError, match=r"E1116\]: rows.csv has its columns in another order\n"):
        run(spark, text + 'fields = ["turbine", "count", "celsius"]\n')
    Path("arriving").mkdir()
    Path("arriving/1.csv").write_text("turbine,number,celsius\na,1,11.5\n", encoding="utf-8")
    text = (
        '[updates.reading]\nformat = "csv"\npath = "arriving"\noptions = { header = true }\n'
        '[snapshots]\npath = "state"\n'
    )
    with pytest.raises(DataError, match=r"E1116\]: arriving/1.csv lacks column count and has the extra column number"):
        run(spark, text, mode="stream")
    Path("arriving/1.csv").write_text("turbine,count,celsius\na,1,11.5\n", encoding="utf-8")
    assert set(run(spark, text, mode="stream").base["reading"]) == {("a", 1, 11.5)}


def test_columns_may_be_expressions(spark: SparkSession) -> None:
    frame = spark.sql("""SELECT '{"t": "a", "c": 12.5}' AS value""")
    outcome = run(
        spark,
        '[sources.reading]\nformat = "frame"\n[sources.reading.columns]\ncount = "1 + 1"\n'
        """turbine = "get_json_object(value, '$.t')"\ncelsius = "get_json_object(value, '$.c')"\n""",
        frames={"reading": frame},
    )
    assert set(outcome.base["reading"]) == {("a", 2, 12.5)}


def test_on_spark_everything_is_the_same(spark: SparkSession) -> None:
    Path("rows.csv").write_text("a,1,20.5\nb,x,1.0\nc,2,3.25\n", encoding="utf-8")
    Path("more.json").write_text(
        '{"turbine": "a", "count": 1, "celsius": 20.5, "_change_type": "delete"}\n'
        '{"turbine": "d", "count": 5, "celsius": 30, "_change_type": "insert"}\n'
        '{"turbine": "e", "count": 5, "celsius": 30, "_change_type": "INSERT"}\n',
        encoding="utf-8",
    )
    rule = ".decl hot(x: symbol)\nhot(x) :- warm(x, t), t > 25.0."
    Path("lines.jsonl").write_text(json.dumps({"add_rules": [rule]}) + '\n{"no": 1}\n', encoding="utf-8")
    results = {}
    for engine in ("memory", "spark"):
        text = (
            f'[sources.reading]\npath = "rows.csv"\n[quarantine]\npath = "{engine}/bad"\n'
            f'[engine]\nkind = "{engine}"\n'
            f'[snapshots]\npath = "{engine}/state"\n[updates.reading]\npath = "more.json"\n'
            '[updates.lines]\nformat = "updates"\npath = "lines.jsonl"\n'
            f'[sinks.feed]\nrelation = "*"\nwrite = "changes"\nformat = "json"\npath = "{engine}/feed"\n'
        )
        outcome = run(spark, text, mode="update")
        assert outcome.engine == engine
        files = sorted(
            (str(file.parent).removeprefix(engine), line)
            for file in Path(engine).rglob("part-*.json")
            for line in file.read_text(encoding="utf-8").splitlines()
        )
        relations = {name: set(view) for name, view in outcome.base.relations.items()}
        results[engine] = (relations, files, outcome.rejections)
    assert results["memory"] == results["spark"]
    assert results["memory"][0] == {"reading": {("c", 2, 3.25), ("d", 5, 30.0)}, "warm": {("d", 30.0)}, "hot": {("d",)}}
    assert results["memory"][2] == 3
    assert [path for path, _ in results["memory"][1] if "bad" in path] == ["/bad/_update=0", *["/bad/_update=1"] * 2]


def test_an_update_that_is_written_again_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    places = [
        Place("json", str(tmp_path / "json")),
        Place("parquet", f"file://{tmp_path}/parquet"),
        Place("table", table="again"),
        Place("jdbc", url=DERBY, table="AGAIN"),
    ]
    declared = pipeline.from_text('[pipeline]\nprogram = "rules.dl"\n')
    reads = {
        "json": lambda: spark.read.json(str(tmp_path / "json")),
        "table": lambda: spark.table("again"),
        "parquet": lambda: spark.read.parquet(str(tmp_path / "parquet")),
        "jdbc": lambda: spark.read.jdbc(DERBY, "AGAIN"),
    }
    try:
        for place in places:
            writer = SinkWriter(spark, replace(declared, quarantine=Quarantine(place)))
            for number, turbines in ((1, ["a", "half"]), (2, ["c"]), (1, ["a", "b"])):
                writer.rejected(number, [pa.table({"turbine": turbines})])
            writer.rejected(3, [pa.table({"turbine": ["half"]})])
            writer.rejected(3, [])  # another try, with other rows
            rows = sorted((row["_update"], row["turbine"]) for row in reads[place.format]().collect())
            assert rows == [(1, "a"), (1, "b"), (2, "c")], place.format
    finally:
        spark.sql("DROP TABLE IF EXISTS again")


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_sink_does_not_take_a_folder_of_others_for_its_own(spark: SparkSession, tmp_path: Path, scheme: str) -> None:
    """Also where Spark writes by a URL; and a folder that it would put beside is the user's, not ours."""
    pq.write_table(table(), "rows.parquet")
    for name in ("out", "out.new", "out.old"):
        Path(name).mkdir()
        (Path(name) / "thesis.txt").write_text("years of work", encoding="utf-8")
    source = '[sources.reading]\npath = "rows.parquet"\n[sinks.warm]\nformat = "csv"\n'
    text = f'{source}path = "{scheme}{tmp_path if scheme else "."}/out"\n'
    with pytest.raises(UsageError, match=r"E1108.*holds thesis.txt, which no sink wrote"):
        run(spark, text)
    Path("out/thesis.txt").unlink()
    run(spark, text)
    assert len(list(Path("out").glob("part-*"))) > 0
    assert {path.parent.name for path in Path().glob("*/thesis.txt")} == {"out.new", "out.old"}
