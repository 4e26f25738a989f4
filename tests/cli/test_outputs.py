"""The outputs of a run appear all or none, and never in the place of what was read."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest

from holdfast.formats import staging
from tests.cli.shell import holdfast

TWO = """\
.decl s(x: symbol)
.decl t(x: symbol)
.decl u(x: symbol)
t(x) :- s(x).
u(x) :- s(x).
.output t{first}
.output u{second}
"""


def tree() -> dict[str, str]:
    """Every file and its content."""
    return {str(path): path.read_text(encoding="utf-8") for path in Path().rglob("*") if path.is_file()}


def program(value: str, first: str = "", second: str = "") -> None:
    Path("facts").mkdir(exist_ok=True)
    Path("facts/s.jsonl").write_text(f'["{value}"]\n', encoding="utf-8")
    Path("two.dl").write_text(TWO.format(first=first, second=second), encoding="utf-8")


@pytest.mark.parametrize("command", ["run", "stream"])
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(
    "first",
    ["(rfc4180=true)", "(escape=true)", '(filename="t.jsonl")', '(filename="t.parquet")', '(filename="t.jsonl.gz")'],
)
def test_an_output_that_fails_leaves_no_other_behind(first: str, old: bool, command: str) -> None:
    program("a\\tb", first, '(delimiter="\\t")')
    if old:
        Path("out").mkdir()
        Path("out/t.csv").write_text("older\n", encoding="utf-8")
        Path("out/u.csv").write_text("older\n", encoding="utf-8")
    Path("no.jsonl").touch()
    before = tree()
    words = ["--updates", "no.jsonl"] if command == "stream" else []
    result = holdfast(command, "two.dl", "-F", "facts", "-D", "out", "--stats", "stats.json", *words)
    assert "E0612" in result.err and result.code == 2
    assert tree() == before
    assert Path("out").exists() == old


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_failing_rename_gives_the_old_files_back(failing: int) -> None:
    program("a")
    Path("out").mkdir()
    Path("out/u.csv").write_text("older\n", encoding="utf-8")
    before, calls, replace = tree(), 0, Path.replace

    def sometimes(path: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(28, os.strerror(28))
        return replace(path, target)

    with mock.patch.object(Path, "replace", sometimes):
        result = holdfast("run", "two.dl", "-F", "facts", "-D", "out", "--stats", "stats.json")
    assert "E0611" in result.err and tree() == before
    assert holdfast("run", "two.dl", "-F", "facts", "-D", "out", "--stats", "stats.json").code == 0
    assert {"out/t.csv", "out/u.csv", "stats.json"} <= tree().keys() and not list(Path().rglob(".*"))


def test_a_folder_in_the_place_of_an_output() -> None:
    program("a")
    Path("out/u.csv").mkdir(parents=True)
    assert "E0611" in holdfast("run", "two.dl", "-F", "facts", "-D", "out").err
    assert not Path("out/t.csv").exists()


def test_an_interrupt_while_files_take_their_places() -> None:
    program("a")
    before = tree()
    with mock.patch.object(staging, "_keep_old", side_effect=KeyboardInterrupt):
        assert holdfast("run", "two.dl", "-F", "facts", "-D", "out").code == 130
    assert tree() == before and not Path("out").exists()


def test_two_outputs_with_one_file_are_refused_before_anything_is_computed() -> None:
    program("a", '(filename="same.csv")', '(filename="same.csv")')
    assert "E0624" in holdfast("run", "two.dl", "-F", "facts", "-D", "out").err
    assert not Path("out").exists()


def test_one_output_given_twice_is_one() -> None:
    Path("p.dl").write_text("a(1).\n.output a\n.output a\n", encoding="utf-8")
    assert holdfast("run", "p.dl", "-D", "out").code == 0
    assert Path("out/a.csv").read_text(encoding="utf-8") == "1\n"


@pytest.fixture
def linked() -> None:
    """A program whose files have second names."""
    Path("facts").mkdir()
    Path("facts/s.csv").write_text("1\n", encoding="utf-8")
    Path("p.dl").write_text("s(2).\nt(x) :- s(x).\n.output s\n.output t\n", encoding="utf-8")
    Path("u.jsonl").write_text('{"insert": {"s": [[3]]}}\n', encoding="utf-8")
    Path("more").mkdir()
    Path("more/1.jsonl").write_text('{"insert": {"s": [[3]]}}\n', encoding="utf-8")
    Path("more/END").touch()
    Path("link").symlink_to("p.dl")
    os.link("facts/s.csv", "hard")


STREAM = ("stream", "p.dl", "-F", "facts", "--updates")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "p.dl", "--stats", "p.dl"),
        ("run", "p.dl", "--stats", "link"),
        ("run", "link", "--stats", "p.dl"),
        ("run", "p.dl", "-F", "facts", "--stats", "facts/s.csv"),
        ("run", "p.dl", "-F", "facts", "--stats", "hard"),
        ("run", "p.dl", "-F", "facts", "-D", "facts"),
        ("graph", "p.dl", "-o", "p.dl"),
        ("graph", "p.dl", "-o", "link"),
        (*STREAM, "u.jsonl", "--stats", "p.dl"),
        (*STREAM, "u.jsonl", "--stats", "u.jsonl"),
        (*STREAM, "u.jsonl", "--stats", "facts/s.csv"),
        (*STREAM, "u.jsonl", "--changes", "p.dl"),
        (*STREAM, "u.jsonl", "--changes", "u.jsonl"),
        (*STREAM, "u.jsonl", "--changes", "facts/s.csv"),
        (*STREAM, "u.jsonl", "-D", "facts"),
        (*STREAM, "u.jsonl", "--changes", "x", "--stats", "x"),
        (*STREAM, "u.jsonl", "--changes", "./x", "--stats", "more/../x"),
        (*STREAM, "more", "--changes", "more/2.jsonl"),
        (*STREAM, "more", "--stats", "more/1.jsonl"),
    ],
    ids=" ".join,
)
def test_nothing_that_was_read_is_overwritten(words: tuple[str, ...], linked: None) -> None:
    before = tree()
    result = holdfast(*words)
    assert result.code == 2 and "E0002" not in result.err, result.err
    assert tree() == before


def test_an_output_that_is_the_program(linked: None) -> None:
    Path("q.dl").write_text('t(1).\n.output t(filename="q.dl")\n', encoding="utf-8")
    before = tree()
    assert "E0625" in holdfast("run", "q.dl", "-D", ".").err
    assert tree() == before


@pytest.mark.parametrize("words", [("--stats", "rules.dl"), ("--stats", "macros.h"), ("-D", ".")], ids=" ".join)
def test_what_the_program_includes_is_not_overwritten(words: tuple[str, ...], linked: None) -> None:
    Path("macros.h").write_text("#define ONE 1\n", encoding="utf-8")
    Path("rules.dl").write_text('t(ONE).\n.output t(filename="macros.h")\n', encoding="utf-8")
    Path("q.dl").write_text('#include "macros.h"\n.include "rules.dl"\n', encoding="utf-8")
    before = tree()
    assert "E0625" in holdfast("run", "q.dl", *words).err
    assert tree() == before


WRITING = {
    "run --stats": ("run", "q.dl", "--stats"),
    "graph -o": ("graph", "q.dl", "-o"),
    "stream --stats": ("stream", "q.dl", "--updates", "u.jsonl", "--stats"),
    "stream --changes": ("stream", "q.dl", "--updates", "u.jsonl", "--changes"),
}


@pytest.mark.parametrize("read", ["q.dl", "rules.dl", "macros.h", "more/deep.dl", "deep"])
@pytest.mark.parametrize("command", WRITING)
def test_no_option_overwrites_what_is_included(command: str, read: str, linked: None) -> None:
    Path("macros.h").write_text("#define ONE 1\n", encoding="utf-8")
    Path("more/deep.dl").write_text("t(ONE) :- s(ONE).\n", encoding="utf-8")
    Path("deep").symlink_to("more/deep.dl")
    Path("rules.dl").write_text('#include "macros.h"\n.include "more/deep.dl"\n', encoding="utf-8")
    Path("q.dl").write_text('.include "rules.dl"\n', encoding="utf-8")
    before = tree()
    assert "E0625" in holdfast(*WRITING[command], read).err
    assert tree() == before


@pytest.mark.parametrize("command", [name for name in WRITING if name != "graph -o"])
def test_a_file_of_functors_is_not_overwritten(command: str, linked: None) -> None:
    Path("f.py").write_text("import holdfast\n", encoding="utf-8")
    Path("q.dl").write_text('t(1) :- s(1).\n.output t(filename="f.py")\n', encoding="utf-8")
    before = tree()
    for written in (("f.py",), ("x.json", "-D", ".")):
        assert "E0625" in holdfast(*WRITING[command], *written, "--functors", "f.py").err
        assert {name: text for name, text in tree().items() if name != "x.json"} == before


def test_what_was_not_read_may_be_in_the_same_folder(linked: None) -> None:
    Path("q.dl").write_text("t(x) :- s(x).\n.output t\n", encoding="utf-8")
    Path("facts/t.txt").write_text("other\n", encoding="utf-8")
    assert holdfast("run", "q.dl", "-F", "facts", "-D", "facts", "--stats", "facts/stats.json").code == 0
    assert Path("facts/t.csv").read_text(encoding="utf-8") == "1\n"


def test_an_output_to_another_device_says_which_there_are() -> None:
    Path("device.dl").write_text(".decl p(x: number)\np(1).\n.output p(IO=sqlite)\n", encoding="utf-8")
    result = holdfast("run", "device.dl", "-D", "out")
    assert result.code == 2
    assert "IO=sqlite is not supported for relation p; IO is file, and for an .output also stdout" in result.err
