from __future__ import annotations

from pathlib import Path

import pytest

REACH = """\
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.output path
"""


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test in an empty folder, without the colours of whoever runs it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def reach() -> Path:
    """A program with its facts: reach.dl and facts/."""
    Path("facts").mkdir()
    Path("facts/edge.facts").write_text("1\t2\n2\t3\n3\t4\n", encoding="utf-8")
    Path("reach.dl").write_text(REACH, encoding="utf-8")
    return Path("reach.dl")
