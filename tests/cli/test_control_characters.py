"""Control characters from data, programs and file names are shown escaped, wherever a person may read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli import terminal
from holdfast.cli.progress import TerminalProgress
from holdfast.errors import Diagnostic, HoldfastError, SourceText, Span, printable
from tests.cli.shell import Result, holdfast

BAD = "\x1b]0;title\x07\x1b[2J\x9b31m\x7f\u202e\u2066\u2028\x85end"
OBEYED = re.compile("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\x1b(?!\\[)")
COLOURS = re.compile("\x1b\\[[0-9;]*m")


def assert_clean(result: Result) -> None:
    for text in (result.out, result.err):
        assert not OBEYED.search(COLOURS.sub("", text)), repr(text)
        assert "\x1b[2J" not in text


@pytest.fixture
def hostile() -> Path:
    """A program, facts and updates with control characters wherever they can be."""
    folder = Path("facts" + BAD.replace("\x85", ""))
    folder.mkdir()
    (folder / "s.facts").write_text(f"a{BAD}\t1\n", encoding="utf-8")
    (folder / "bad.facts").write_text(f"x{BAD}\n", encoding="utf-8")
    Path("p.dl").write_text(".decl s(x: symbol, n: number)\n.decl t(x: symbol)\nt(x) :- s(x, _).\n", encoding="utf-8")
    Path("any.dl").write_text("t(x) :- s(x, _).\n.output t\n", encoding="utf-8")
    Path("bad.dl").write_text(".decl bad(x: number)\n.decl t(x: number)\nt(x) :- bad(x).\n", encoding="utf-8")
    Path("named.dl").write_text(f'// {BAD.strip()}\na("q{BAD}").\nb(x) :- a(x), x != "{BAD}".\n', encoding="utf-8")
    lines = [{"insert": {"s": [["b" + BAD, 2]]}}, {"insert": {"s" + BAD: [[1]]}}, {"insert": {"s": [[BAD, "x" + BAD]]}}]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    Path("u.jsonl").write_text(text + "{" + BAD + "\n", encoding="utf-8")
    return folder


def commands(facts: Path) -> Iterator[tuple[object, ...]]:
    yield "run", "p.dl", "-F", facts
    yield "run", "any.dl", "-F", facts
    yield "run", "any.dl", "-F", facts, "-D", "out" + BAD
    yield "run", "bad.dl", "-F", facts
    yield "run", "named.dl"
    yield "run", "p.dl", "-F", facts, "--json"
    yield "run", "missing" + BAD
    yield "run", "p.dl", "-F", "missing" + BAD
    yield "run", "p.dl", "--stats", f"missing{BAD}/file"
    yield "run", "p.dl", "--limit-memory", BAD
    yield "run", "p.dl", "--engine", BAD
    yield "query", "p.dl", f't("{BAD}"), y = 1', "-F", facts
    yield "query", "p.dl", f"t(x) {BAD}", "-F", facts
    yield "query", "p.dl", "t(x)", "-F", facts, "--json"
    yield "stream", "p.dl", "-F", facts, "--updates", "u.jsonl"
    yield "stream", "p.dl", "-F", facts, "--updates", "u.jsonl", "--keep-going", "--explain-choice"
    yield "impact", "any.dl", "-F", facts, "--add", "u(x) :- s(x, _)."
    yield "impact", "any.dl", "-F", facts, "--add", BAD
    yield "check", "named.dl"
    yield "check", "bad.dl" + BAD
    yield BAD, "x"
    yield "run", "--" + BAD


@pytest.mark.parametrize("on_terminal", [True, False])
def test_no_command_writes_control_characters(hostile: Path, on_terminal: bool) -> None:
    for words in commands(hostile):
        assert_clean(holdfast(*words, terminal=on_terminal))


@pytest.mark.parametrize("words", [("fmt", "named.dl"), ("graph", "named.dl"), ("plan", "named.dl")])
def test_texts_are_escaped_on_a_terminal_and_exact_in_a_file(hostile: Path, words: tuple[str, ...]) -> None:
    assert_clean(holdfast(*words, terminal=True))
    if words[0] == "fmt":
        assert BAD in holdfast(*words).out


def test_answers_for_the_next_program_are_exact(hostile: Path) -> None:
    assert BAD in holdfast("query", "p.dl", "t(x)", "-F", hostile).out
    assert_clean(holdfast("query", "p.dl", "t(x)", "-F", hostile, terminal=True))


def test_json_and_files_mean_the_same_as_the_data(hostile: Path) -> None:
    rows = holdfast("run", "p.dl", "-F", hostile, "--json").json["relations"]["t"]["rows"]
    assert rows == [["a" + BAD]]
    holdfast("run", "any.dl", "-F", hostile, "-D", "out")
    assert Path("out/t.csv").read_text(encoding="utf-8") == f"a{BAD}\n"
    lines = holdfast("stream", "p.dl", "-F", hostile, "--updates", "u.jsonl").out.splitlines()
    assert json.loads(lines[0])["added"]["t"] == [["b" + BAD]]


def test_a_line_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.line("wrote a\nerror[E0001]: forged\r")
    terminal.note("a\nb")
    terminal.heading("a\nb")
    captured = capsys.readouterr()
    assert captured.out == "wrote a\\nerror[E0001]: forged\\r\na\\nb\n"
    assert captured.err == "a\\nb\n"


def test_the_place_is_under_the_escaped_line() -> None:
    source = SourceText("a\x1b.dl", "p(\x1b\x1bq, \x07).\nz")
    error = HoldfastError(Diagnostic("E0001", "no\x1b", Span(source, 1, 5, 1, 6), notes=("n\n",), help="h\x07"))
    assert str(error).splitlines() == [
        "error[E0001]: no\\x1b",
        "  --> a\\x1b.dl:1:5",
        "   |",
        " 1 | p(\\x1b\\x1bq, \\x07).",
        "   |           ^",
        "   = note: n\\n",
        "   = help: h\\x07",
    ]


def test_progress_is_escaped() -> None:
    progress = TerminalProgress()
    progress.round("a" + BAD, 1, 2, 3)
    progress.finished()
    assert progress._text == f"a{printable(BAD)}: round 1, 2 new, 3 facts"


def test_a_very_long_value_is_cut_in_tables_only() -> None:
    Path("facts").mkdir()
    Path("facts/s.facts").write_text("x" * 5000 + "\n", encoding="utf-8")
    Path("p.dl").write_text(".decl t(x: symbol)\n.decl s(x: symbol)\nt(x) :- s(x).\n", encoding="utf-8")
    shown = holdfast("run", "p.dl", "-F", "facts").out
    assert "x" * 1000 + "… (5,000 characters)" in shown and "x" * 1001 not in shown
    assert holdfast("query", "p.dl", "t(x)", "-F", "facts").out == "x" * 5000 + "\n"
