"""No two relations, and no two parts of a pipeline, share a place without a word."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import pipeline
from holdfast.errors import UsageError
from holdfast.pipeline.keeping import PipelineStore
from holdfast.pipeline.model import Place, Sink, Snapshots
from holdfast.pipeline.naming import place_name, sink_places
from holdfast.pipeline.running import checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = [
    "a b", "a-b", "a.b", "a/b", "a\\b", "a:b", "a%20b", ".", "..", "", " ", "/", "..\\..", "CON", "con", "nul", "LPT1",
    "_temporary", "_SUCCESS", "é", "e\u0301", "É", "ß", "ss", "İ", "ı", "x" * 300, "x" * 301, "X" * 300,
    "<http://a/b>", "<http://a/B>", "<http://a#b>", "<http://a/b>/2", "<http://a/b/>", "\ud800", "a\0b", "a\nb", "a b ",
]  # fmt: skip


def all_distinct(names: set[str]) -> bool:
    """Also where case does not count, names that are plain and differ in nothing else left out."""
    plain = {name for name in names if place_name(name) == name}
    others = {place_name(name).casefold() for name in names - plain}
    return len(others) == len(names - plain) and not others & {name.casefold() for name in plain}


def test_odd_names_have_places_of_their_own() -> None:
    names = {*ODD, *map(place_name, ODD), *(name.swapcase() for name in ODD), "a_b", "A_B", "http_a_b"}
    assert all_distinct(names)
    for name in names:
        assert f"x{place_name(name)}".isidentifier() and place_name(name).isascii()
        assert 0 < len(place_name(name)) <= 48


@pytest.mark.parametrize("name", ["edge", "a_b", "VarPointsTo", "_x", "p1", "longer_than_most_but_still_plain"])
def test_plain_names_stay_what_they_are(name: str) -> None:
    assert place_name(name) == name


@given(st.sets(st.text(max_size=8) | st.text("abAB_. /:<>#%", max_size=6) | st.from_regex(r"\A<http://[ab/#]{1,4}>\Z")))
def test_different_names_have_different_places(names: set[str]) -> None:
    assert all_distinct(names | set(map(place_name, names)))


def test_names_that_differ_in_case_are_refused_where_that_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"edge": "edge", "Edge": "Edge"}
    folder = Sink("all", Place("csv", str(tmp_path / "new")), "*")
    assert [Path(place.path or "").name for place, _ in sink_places(folder, names)] == ["edge", "Edge"]
    with pytest.raises(UsageError, match=r"E1108.*edge and Edge would be written to one place"):
        sink_places(Sink("all", Place("table", table="out"), "*"), names)
    monkeypatch.setattr(Path, "exists", lambda path: True)  # as if the file system found names in any case
    with pytest.raises(UsageError, match=r"E1108.*edge and Edge would be written to one place"):
        sink_places(folder, names)


PROGRAM = ".decl edge(a: number, b: number)\n.decl 'a b'(a: number)\n.decl a_b(a: number)\n"
RULES = "'a b'(x) :- edge(x, _).\na_b(y) :- edge(_, y).\n"


@pytest.mark.parametrize("write", ["state", "changes"])
def test_every_relation_is_there(spark: SparkSession, tmp_path: Path, write: str) -> None:
    """The case that was lost: `'a b'` and `a_b` in one folder."""
    (tmp_path / "rules.dl").write_text(PROGRAM + RULES, encoding="utf-8")
    (tmp_path / "edges.csv").write_text("1,2\n", encoding="utf-8")
    (tmp_path / "more.csv").write_text("3,4\n", encoding="utf-8")
    (tmp_path / "p.toml").write_text(
        f"""[pipeline]
program = "rules.dl"
mode = "update"
[sources.edge]
path = "edges.csv"
[updates.edge]
path = "more.csv"
[snapshots]
path = "state"
[sinks.all]
relation = "*"
format = "csv"
path = "out"
write = "{write}"
""",
        encoding="utf-8",
    )
    pipeline.run(pipeline.read(tmp_path / "p.toml"), spark=spark)
    found = {
        path.name: sorted(line for file in path.rglob("part-*") for line in file.read_text("utf-8").split()[1:])
        for path in (tmp_path / "out").iterdir()
    }
    values = {"edge": ["1,2", "3,4"], "a_b": ["2", "4"], place_name("a b"): ["1", "3"]}
    if write == "changes":
        values = {name: [f"{rows[1]},insert"] for name, rows in values.items()}
    assert found == values


HEAD = '[pipeline]\nprogram = "rules.dl"\n[snapshots]\npath = "state"\n[sources.edge]\npath = "in/edges.csv"\n'
MORE = '[updates.more]\nrelation = "edge"\nformat = "csv"\npath = "in/more/*.csv"\n'
A = '[sinks.a]\nrelation = "edge"\nformat = "csv"\n'
B = '[sinks.b]\nrelation = "a_b"\nformat = "csv"\n'
TABLE = '[sinks.t]\nformat = "table"\n'
OTHER = '[sinks.u]\nformat = "table"\nrelation = "a_b"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (A + 'path = "out"\n' + B + 'path = "out"\n', "sink a and sink b"),
        (A + 'path = "out"\n' + B + 'path = "./in/../out/"\n', "sink a and sink b"),
        (A + 'path = "out"\n' + B + 'write = "changes"\npath = "out/b"\n', "sink a and sink b"),
        (A + 'path = "in"\n', "source edge and sink a"),
        (A + 'path = "in/more/x.csv"\n', "updates more and sink a"),
        (A + 'path = "state"\n', "the snapshots and sink a"),
        (A + 'path = "state/x"\n', "the snapshots and sink a"),
        (A + 'path = "bad"\n[quarantine]\npath = "bad"\n', "the quarantine and sink a"),
        (A + 'path = "s3a://x/y"\n' + B + 'path = "s3a://x/y/"\n', "sink a and sink b"),
        (TABLE + 'relation = "edge"\ntable = "T"\n' + OTHER + 'table = "t"\n', "sink t and sink u"),
        (TABLE + 'relation = "*"\ntable = "t"\n' + OTHER + 'table = "t_edge"\n', "sink t and sink u"),
    ],
)
def test_places_that_would_overwrite_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.dl").write_text(PROGRAM + RULES, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        checked(pipeline.from_text(HEAD + MORE + text))
    assert {found.code for found in caught.value.diagnostics} == {"E1108"}
    assert expected in str(caught.value)


def test_places_beside_each_other_are_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.dl").write_text(PROGRAM + RULES, encoding="utf-8")
    checked(
        pipeline.from_text(HEAD + MORE + A + 'path = "in/out"\n' + B + 'path = "out"\n[quarantine]\npath = "bad"\n')
    )


@pytest.mark.parametrize("name", ["facts", "updates", "checkpoint", "log"])
def test_snapshots_do_not_begin_in_a_folder_with_data_of_others(tmp_path: Path, name: str) -> None:
    """Facts and updates that no snapshot names are deleted."""
    (tmp_path / name / "mine").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"E1108.*which no run wrote"), PipelineStore(Snapshots(tmp_path)).alone():
        pass
    assert (tmp_path / name / "mine").exists()
