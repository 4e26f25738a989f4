"""check, fmt, graph and plan: what they print and what they answer."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.cli.shell import holdfast

UNTIDY = "path(x,y):-edge(x,y).   // start\n"


def test_without_arguments_the_help_is_shown() -> None:
    result = holdfast()
    assert result.code == 0
    assert result.out == holdfast("--help").out
    assert "Example:" in result.out


@pytest.mark.parametrize("command", ["check", "fmt", "graph", "plan", "run", "query"])
def test_every_help_has_an_example_and_json(command: str) -> None:
    result = holdfast(command, "--help")
    assert result.code == 0
    assert f"Example:\n    holdfast {command} " in result.out
    assert "--json" in result.out


def test_version() -> None:
    assert holdfast("--version").out.startswith("holdfast 0.")


def test_check_counts_what_was_written(reach: Path) -> None:
    result = holdfast("check", reach)
    assert (result.code, result.out, result.err) == (0, "ok: 2 relations, 2 rules, 2 hyper-nodes\n", "")


def test_check_counts_a_rule_with_an_aggregate_once() -> None:
    Path("a.dl").write_text("n(c) :- c = count : { e(_, _) }.\ne(1, 2).\n", encoding="utf-8")
    assert holdfast("check", "a.dl").out.startswith("ok: 2 relations, 1 rule, ")


def test_check_prints_warnings_and_is_good_all_the_same() -> None:
    Path("w.dl").write_text("p(x) :- q(x), !r(x, y).\nq(1).\nr(2, 3).\n", encoding="utf-8")
    result = holdfast("check", "w.dl")
    assert result.code == 0
    assert result.err.startswith("warning[")
    assert "w.dl:1:" in result.err
    assert [item["severity"] for item in holdfast("check", "w.dl", "--json").json["diagnostics"]] == ["warning"]


def test_check_json(reach: Path) -> None:
    result = holdfast("check", reach, "--json")
    assert result.json == {"ok": True, "relations": 2, "rules": 2, "hyper-nodes": 2, "diagnostics": []}


def test_fmt_prints_the_tidy_text() -> None:
    Path("u.dl").write_text(UNTIDY, encoding="utf-8")
    result = holdfast("fmt", "u.dl")
    assert result.code == 0
    assert "path(x, y) :- edge(x, y)." in result.out
    assert "// start" in result.out
    assert Path("u.dl").read_text(encoding="utf-8") == UNTIDY


def test_fmt_reads_standard_input() -> None:
    assert "path(x, y) :- edge(x, y)." in holdfast("fmt", "-", stdin=UNTIDY).out


def test_fmt_check_answers_1_until_write_has_been_there() -> None:
    Path("u.dl").write_text(UNTIDY, encoding="utf-8")
    result = holdfast("fmt", "--check", "u.dl")
    assert (result.code, result.out) == (1, "would change u.dl\n")
    assert Path("u.dl").read_text(encoding="utf-8") == UNTIDY
    assert holdfast("fmt", "--write", "u.dl").out == "changed u.dl\n"
    assert holdfast("fmt", "--check", "u.dl").code == 0
    assert holdfast("fmt", "--write", "u.dl").out == ""


def test_fmt_json_has_the_text_and_whether_it_changed() -> None:
    Path("u.dl").write_text(UNTIDY, encoding="utf-8")
    result = holdfast("fmt", "--check", "--json", "u.dl")
    assert result.code == 1
    assert result.json["ok"] is False
    [file] = result.json["files"]
    assert file["changed"] is True
    assert "path(x, y)" in file["text"]


def test_fmt_writes_nothing_when_one_of_the_files_is_bad() -> None:
    Path("u.dl").write_text(UNTIDY, encoding="utf-8")
    Path("bad.dl").write_text("path(x", encoding="utf-8")
    assert holdfast("fmt", "--write", "u.dl", "bad.dl").code == 2
    assert Path("u.dl").read_text(encoding="utf-8") == UNTIDY


def test_fmt_keeps_the_mode_of_the_file() -> None:
    Path("u.dl").write_text(UNTIDY, encoding="utf-8")
    Path("u.dl").chmod(0o640)
    holdfast("fmt", "--write", "u.dl")
    assert Path("u.dl").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("words", [["--check", "--write", "u.dl"], ["--write", "-"], ["u.dl", "u.dl"]])
def test_fmt_refuses_what_makes_no_sense(words: list[str]) -> None:
    Path("u.dl").write_text(UNTIDY, encoding="utf-8")
    result = holdfast("fmt", *words)
    assert result.code == 2
    assert "error[E0010]" in result.err


def test_graph_in_every_format(reach: Path) -> None:
    assert "path" in holdfast("graph", reach).out
    assert holdfast("graph", reach, "--format", "dot").out.startswith("digraph")
    assert ElementTree.fromstring(holdfast("graph", reach, "--format", "svg").out).tag.endswith("svg")
    assert holdfast("graph", reach, "--format", "json").json == holdfast("graph", reach, "--json").json


def test_graph_writes_a_file(reach: Path) -> None:
    result = holdfast("graph", reach, "--format", "dot", "-o", "g.dot")
    assert (result.code, result.out, result.err) == (0, "", "wrote g.dot\n")
    assert Path("g.dot").read_text(encoding="utf-8") == holdfast("graph", reach, "--format", "dot").out


def test_a_file_that_cannot_be_written_is_an_error(reach: Path) -> None:
    result = holdfast("graph", reach, "-o", "nowhere/g.txt")
    assert result.code == 2
    assert "error[E0014]: nowhere/g.txt cannot be written" in result.err


def test_plan_shows_the_recursive_rule_and_its_delta(reach: Path) -> None:
    result = holdfast("plan", reach)
    assert result.code == 0
    assert "path" in result.out
    assert "edge" in result.out
    assert isinstance(holdfast("plan", reach, "--json").json, dict)
