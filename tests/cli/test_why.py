"""`holdfast why`, `why-not` and `check-proof` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli.main import run

PROGRAM = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
edge(1, 2).  edge(2, 3).
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "reach.dl"
    file.write_text(PROGRAM)
    return str(file)


def test_a_proof_goes_through_the_checker(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", program, "path(1, 3)", "--format", "json"]) == 0
    text = capsys.readouterr().out
    proof = tmp_path / "proof.json"
    proof.write_text(text)
    assert run(["check-proof", program, str(proof)]) == 0
    assert "path(1, 3)" in capsys.readouterr().out
    proof.write_text(text.replace("edge(2, 3)", "edge(2, 4)"))
    assert run(["check-proof", program, str(proof)]) == 1
    assert "E0940" in capsys.readouterr().err


def test_an_absence_goes_through_the_checker(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why-not", program, "path(3, _)", "--format", "json"]) == 0
    absence = tmp_path / "absence.json"
    absence.write_text(capsys.readouterr().out)
    assert json.loads(absence.read_text())["absent"] == "path(3, _)"
    assert run(["check-proof", program, str(absence)]) == 0


@pytest.mark.parametrize("format", ["tree", "text", "dot"])
def test_formats(program: str, format: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", program, "path(1, 3)", "--format", format]) == 0
    assert "path(1, 3)" in capsys.readouterr().out


def test_exit_codes(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", program, "path(3, 1)"]) == 1
    assert "why-not" in capsys.readouterr().err
    assert run(["why-not", program, "path(1, 3)"]) == 1
    assert run(["why", program, "path(1, x)"]) == 2
    assert run(["why", program, "path(1, 3)", "--format", "poem"]) == 2
    assert run(["why", program, "path(1, 3)", "--seconds", "0"]) == 3


def test_a_tree_is_cut(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", program, "path(1, 3)", "--depth", "1"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
