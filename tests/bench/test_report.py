"""Results as files, pages and pictures, from figures that are made up.

What these tests cannot see: whether the pictures are pleasant.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from bench import readme
from bench.beside_papers import with_peers
from bench.own import Job, measured
from bench.papers.deletions import SCRATCH, keeping
from bench.papers.measuring import fingerprint
from bench.profiles import Part, Profile, slowest
from bench.report import text
from bench.results import Result, read
from bench.sections import chosen
from bench.sheets import as_markdown, duration, sheets, times
from bench.streaming_peers import updates_beside_pathway
from bench.summary import summary
from bench.tables import OURS, Figure, PaperTable, Row
from tests.bench.test_bench import GENEROUS

PAPER = PaperTable(
    "paper-table-1",
    "A paper",
    "Deletions",
    "everything",
    (
        Row(
            "few",
            (
                Figure(OURS, "dred", runs=(0.5,), paper=100.0, checked="facts"),
                Figure(OURS, "b/f", failure="over 9 s", paper=3.0),
                Figure("peer", runs=(2.0, 2.0, 4.0), checked="facts"),
            ),
            at=10,
        ),
        Row("many", (Figure(OURS, "dred", runs=(4.0, 2.0), paper=1.0, checked="facts"),), at=100),
    ),
    axis="deleted",
    logarithmic=(True, True),
)
OWN = PaperTable(
    "evaluation",
    "",
    "Evaluation",
    "everything",
    (
        Row(
            "closure: 3 facts",
            (
                Figure(OURS, "modules", runs=(0.1,), command=("m", "1"), counts={"MiB": 7.0}),
                Figure(OURS, "generic", runs=(4.0,), command=("m", "2")),
                Figure("peer", runs=(2.0,)),
            ),
        ),
        Row("other: 3 facts", (Figure(OURS, runs=(1.0, 3.0, 2.0), command=("m", "3")), Figure("peer", runs=(2.5,)))),
    ),
)
MACHINE = {
    "cores": 2,
    "processor": "p",
    "memory": 2**33,
    "system": "s",
    "python": "3",
    "packages": {"x": "1"},
    "commit": "abc",
}
PROFILE = Profile(
    "evaluation", "closure: 3 facts", "generic", (Part("evaluations", 1, 2.0, {"join": 1.0}, {"f (a.py:3)": 0.5}),)
)
RESULT = Result(
    "2026-01-02", "small", 3, MACHINE, (PAPER, OWN), (PROFILE,), {"seconds": 9, "peers": 9, "memory": 2**30}
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read(RESULT.write(tmp_path)) == RESULT


def test_rows_are_added_and_replaced() -> None:
    new = PaperTable(**{**vars(PAPER), "rows": (Row("many", ()), Row("most", ()))})
    merged = RESULT.with_table(new).table(PAPER.key)
    assert merged is not None
    assert [row.name for row in merged.rows] == ["few", "many", "most"]
    assert merged.rows[1].figures == ()


def test_beside_a_paper_each_way_has_a_line() -> None:
    [sheet] = sheets(PAPER)
    assert sheet.headings == ("case", "way", "paper", "ours", "spread", "paper ÷ ours", "peer")
    assert sheet.rows == (
        ("few", "dred", "100 s", "500 ms", "(1 run)", "200×", "2.00 s ±50 %"),
        ("", "b/f", "3.00 s", "over 9 s", "", "", ""),
        ("many", "dred", "1.00 s", "3.00 s", "±33 %", "0.33× (slower)", ""),
    )


def test_systems_stand_side_by_side() -> None:
    shown, counted = sheets(OWN)
    assert shown.headings == ("case", "holdfast (modules)", "holdfast (generic)", "holdfast", "peer")
    assert shown.rows[1] == ("other: 3 facts", "", "", "**2.00 s ±50 %**", "2.50 s (1 run)")
    assert counted.aside


def test_the_summary_says_where_we_lose() -> None:
    papers, systems, lost = summary(RESULT.tables)
    assert papers.rows == (("A paper: Deletions", "2", "1", "100×", "few, dred: 200×", "many, dred: 0.33× (slower)"),)
    assert systems.rows[0][4:] == ("0.5× (slower)", "20×", "**we lose**")
    assert systems.rows[1][-1] == "even"
    assert lost.rows == (("Deletions", "few", "b/f", "over 9 s"),)


def test_a_page_has_everything() -> None:
    page = text(RESULT, {PAPER.key: Path("picture.svg")})
    for part in (
        "## Summary",
        "## The papers' tables",
        "## Our own tables",
        "![Deletions: deleted](picture.svg)",
        "| 50.0% | 1.000 | kernel `join` |",
        "make bench SIZE=small BENCH=--save",
    ):
        assert part in page


def test_pictures_are_drawn_for_axes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the plots need matplotlib: pip install -e '.[bench]'")
    from bench.plots import panels, write_plots

    [(_, lines)] = panels(PAPER).items()
    assert [line.name for line in lines] == ["few, dred", "few, peer", "many, dred"]
    [(key, path)] = write_plots(RESULT, tmp_path).items()
    assert key == PAPER.key
    assert "<svg" in path.read_text(encoding="utf-8")


def test_the_slowest_rows_are_those_that_can_be_made_again() -> None:
    assert [figure.command for _, _, figure in slowest(RESULT.tables)] == [("m", "2"), ("m", "3"), ("m", "1")]


def test_a_job_that_fails_is_a_figure_that_says_so() -> None:
    table = measured(OWN, [Job("no_such_module", (), Figure(OURS, "x"))], "small", 1, GENEROUS)
    [row] = table.rows
    assert row.figures[0].failure.startswith("failed: ModuleNotFoundError")


def test_updates_beside_pathway() -> None:
    table = updates_beside_pathway("small", 1, GENEROUS, print)
    assert len(table.rows) == 3
    for row in table.rows:
        assert [figure.name for figure in row.figures] == ["holdfast (modules)", "holdfast (generic)", "pathway"]
        assert all(figure.runs or figure.failure.startswith("not installed") for figure in row.figures)


def test_keys_are_chosen() -> None:
    every = ["a", "b/x", "b/y", "bc"]
    assert chosen(every, ["b"], []) == ["b/x", "b/y"]
    assert chosen(every, None, ["b/x", "a"]) == ["b/y", "bc"]


def test_figures_are_short() -> None:
    assert [duration(s) for s in (0.00041, 0.0234, 1.5, 1234)] == ["0.41 ms", "23 ms", "1.50 s", "1,234 s"]
    assert [times(r) for r in (None, 2.5, 0.71, 1250.0)] == ["", "2.5×", "0.71× (slower)", "1,250×"]


def test_the_readme_has_the_figures_of_a_committed_result() -> None:
    page = readme.PAGE.read_text(encoding="utf-8")
    path = readme.used(page)
    assert path is not None
    assert readme.rewritten(page, readme.block(read(path))) == page, "python -m bench.readme puts them there"
    assert page.count("times as long |") == readme.FIGURES


def test_other_systems_stand_beside_a_paper_once_for_each_program() -> None:
    ours, theirs = Figure("holdfast", "DRed", runs=(1.0,), paper=9.0), Figure("duckdb", "loop", failure="over 10 s")
    paper = PaperTable(
        "k",
        "a-paper",
        "Table 1",
        "",
        (Row("SSPE, few deleted", (ours,)), Row("SSPE, many", (ours,)), Row("DAG-R", (ours,))),
    )
    evaluation = PaperTable("evaluation", "", "E", "", (Row("sspe: 3 → 7 facts", (ours, theirs)),))
    beside, same = with_peers([paper, evaluation])
    assert [[figure.name for figure in row.figures] for row in beside.rows] == [
        ["holdfast (DRed)", "duckdb"],
        ["holdfast (DRed)"],
        ["holdfast (DRed)"],
    ]
    assert "over 10 s" in as_markdown(sheets(beside)[0])
    assert same is evaluation


def test_rematerialisation_without_counters_finds_the_same() -> None:
    program, facts = "p(x) :- e(x, y). p(y) :- p(x), e(x, y).", {"e": [(1, 2), (2, 3)]}
    found = set()
    for counters in SCRATCH.values():
        with keeping(counters):
            found.add(fingerprint(holdfast.from_text(program, facts=facts, modules=())))
    assert found == {fingerprint(holdfast.from_text(program, facts=facts))}
