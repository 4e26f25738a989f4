"""The small parts of the command line: amounts, cells, progress, files."""

from __future__ import annotations

import io
import math
import time
from pathlib import Path

import pytest

from holdfast.cli import cells, files, progress
from holdfast.cli.options import bytes_of
from holdfast.errors import UsageError
from holdfast.values import BlankNode, Iri, Literal, Type, Value


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1000", 1000),
        ("4K", 4096),
        ("512M", 512 * 2**20),
        ("1.5g", 3 * 2**29),
        ("2 GiB", 2**31),
        ("1TB", 2**40),
    ],
)
def test_amounts_of_memory(text: str, number: int) -> None:
    assert bytes_of(text) == number


@pytest.mark.parametrize("text", ["", "G", "-4G", "4X", "4GG", "1e3"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(UsageError, match="E0013"):
        bytes_of(text)


@pytest.mark.parametrize(
    ("value", "kind", "text", "as_json"),
    [
        (1, Type.NUMBER, "1", 1),
        (-0.5, Type.FLOAT, "-0.5", -0.5),
        (math.inf, Type.FLOAT, "inf", {"@value": "INF", "@type": "http://www.w3.org/2001/XMLSchema#double"}),
        ("plain", Type.SYMBOL, "plain", "plain"),
        ("two\tcells\n", Type.SYMBOL, "two\\tcells\\n", "two\tcells\n"),
        ("7", Type.SYMBOL, "7", "7"),
        ("7", Type.ANY, '"7"', "7"),
        (Iri("http://e/a"), Type.ANY, "<http://e/a>", {"@id": "http://e/a"}),
        (BlankNode("b"), Type.ANY, "_:b", {"@id": "_:b"}),
        (Literal("chat", language="fr"), Type.ANY, '"chat"@fr', {"@value": "chat", "@language": "fr"}),
        (Literal("1", "http://e/t"), Type.ANY, '"1"^^<http://e/t>', {"@value": "1", "@type": "http://e/t"}),
    ],
)
def test_values_in_cells_and_json(value: Value, kind: Type, text: str, as_json: object) -> None:
    assert cells.row_as_text((value,), (kind,)) == [text]
    assert cells.row_as_json((value,)) == [as_json]


def test_a_file_is_written_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("p.dl").write_text("old", encoding="utf-8")

    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_text(Path("p.dl"), "new")
    assert Path("p.dl").read_text(encoding="utf-8") == "old"
    assert [path.name for path in Path().iterdir()] == ["p.dl"]


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_silent_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    watcher = progress.for_this_terminal()
    assert isinstance(watcher, progress.TerminalProgress)
    watcher.started(3)
    watcher.round("path", 1, 10, 10)
    watcher.finished()
    assert screen.getvalue() == ""


def test_progress_shows_node_round_and_facts_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENT_SECONDS", 0.05)
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    watcher = progress.for_this_terminal()
    watcher.started(3)
    watcher.round("path", 7, 1200, 34000)
    deadline = time.monotonic() + 10
    while "round 7" not in screen.getvalue() and time.monotonic() < deadline:
        time.sleep(0.02)
    watcher.finished()
    assert "path: round 7, 1,200 new, 34,000 facts" in screen.getvalue()


def test_without_a_terminal_only_compiling_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    watcher = progress.for_this_terminal()
    watcher.started(3)
    watcher.round("path", 1, 10, 10)
    watcher.compiling()
    watcher.compiling()  # of a module's kernels, after the engine's
    watcher.finished()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("preparing the kernels")
    assert captured.err.count("\n") == 1
