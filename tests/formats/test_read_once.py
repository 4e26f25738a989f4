"""A facts file is read once, although the types of its columns are known before its facts are."""

from __future__ import annotations

import gzip
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import Limits
from holdfast.formats import contents, files

RULES = ".input edge\n.input tag\npath(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z). t(x) :- tag(x)."


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is opened, by name."""
    found: Counter[str] = Counter()
    original = files._opened

    def counted(path: Path, is_packed: bool) -> Any:
        found[path.name] += 1
        return original(path, is_packed)

    monkeypatch.setattr(files, "_opened", counted)
    return found


def written(folder: Path, *, packed: bool = False) -> Path:
    (folder / "edge.jsonl").write_text('{"x": 1, "y": 2}\n{"x": 2, "y": 3}\n', encoding="utf-8")
    if packed:
        (folder / "tag.facts.gz").write_bytes(gzip.compress(b"a\nb\n"))
    else:
        (folder / "tag.facts").write_text("a\nb\n", encoding="utf-8")
    return folder


def whole(kb: holdfast.KnowledgeBase) -> bool:
    return set(kb["path"]) == {(1, 2), (2, 3), (1, 3)} and set(kb["t"]) == {("a",), ("b",)}


@pytest.mark.parametrize("rules", [RULES, RULES.replace(".input edge\n.input tag\n", "")], ids=["input", "by name"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_each_file_is_opened_once(rules: str, packed: bool, tmp_path: Path, opened: Counter[str]) -> None:
    if packed:
        rules = rules.replace(".input tag", '.input tag(filename="tag.facts.gz")')
    assert whole(holdfast.from_text(rules, written(tmp_path, packed=packed)))
    assert sorted(opened.values()) == [1, 1]


def test_what_can_be_read_only_once(tmp_path: Path) -> None:
    """A named pipe, as shells make for `<(…)`.  Once, it was opened again for its facts, which waited for ever."""
    pipe = tmp_path / "edge.facts"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"1\t2\n2\t3\n"))
    writer.start()
    kb = holdfast.from_text("path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).", tmp_path)
    writer.join()
    assert set(kb["path"]) == {(1, 2), (2, 3), (1, 3)}


def test_many_bytes_are_read_again_rather_than_kept(
    tmp_path: Path, opened: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MOST_KEPT", 34)
    (tmp_path / "a.facts").write_text("1\n" * 10, encoding="utf-8")
    (tmp_path / "b.facts").write_text("2\n" * 10, encoding="utf-8")
    kb = holdfast.from_text("p(x) :- a(x). p(x) :- b(x).", tmp_path)
    assert set(kb["p"]) == {(1,), (2,)}
    assert opened == {"a.facts": 1, "b.facts": 2}


def test_what_is_kept_does_not_reach_a_limit_on_memory(
    tmp_path: Path, opened: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least limit under which files can be read one by one is enough, though it has no room for them together."""
    rules = "".join(f"p(x) :- f{i}(x). " for i in range(8))
    for i in range(8):
        (tmp_path / f"f{i}.facts").write_text(f"{i:060}\n" * 2_000, encoding="utf-8")

    def opens(memory: int) -> bool:
        try:
            return len(holdfast.from_text(rules, tmp_path, limits=Limits(memory=memory))["p"]) == 8
        except holdfast.errors.LimitReached:
            return False

    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(contents, "MOST_KEPT", 0)
        least = next(memory for memory in range(100_000, 10_000_000, 20_000) if opens(memory))
    opened.clear()
    assert opens(least) and max(opened.values()) > 1
    opened.clear()
    assert opens(10 * least) and max(opened.values()) == 1
