"""`holdfast why`, `why-not`, `check-proof`, `repair` and `stream --why` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
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
    assert "no fact path(3, _) holds" in capsys.readouterr().out


def test_a_proof_from_a_store_is_checked_against_its_export(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, proof, out = (str(tmp_path / name) for name in ("kb", "proof.json", "out"))
    holdfast.open(program, store=store).close()
    assert run(["why", store, "path(1, 3)", "--format", "json"]) == 0
    Path(proof).write_text(capsys.readouterr().out)
    assert run(["check-proof", store, proof]) == 2
    assert "store export" in capsys.readouterr().err
    assert run(["store", "export", store, out]) == 0
    assert run(["check-proof", f"{out}/program.dl", proof, "-F", f"{out}/facts"]) == 0


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


def test_all_ways_and_supports(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", program, "path(1, 3)", "--all"]) == 0
    assert capsys.readouterr().out.startswith("path(1, 3)  in 1 way:")
    assert run(["why", program, "path(1, 3)", "--all", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["finalConclusion"] == "path(1, 3)"
    assert run(["why", program, "path(1, 3)", "--all", "--format", "dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph")
    assert run(["why", program, "path(1, 3)", "--supports", "2"]) == 0
    assert capsys.readouterr().out == "1. edge(1, 2), edge(2, 3)\n"
    assert run(["why", program, "path(1, 3)", "--supports", "2", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["complete"]
    assert run(["why", program, "path(1, 3)", "--supports", "2", "--format", "dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph supports {")
    assert run(["why", program, "path(3, 1)", "--supports", "2"]) == 1
    assert run(["why", program, "path(3, 1)", "--all"]) == 1


def test_a_line_for_each_derived_fact(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", program, "--all-facts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    proofs = [json.loads(line) for line in lines]
    assert [proof["finalConclusion"] for proof in proofs] == ["path(1, 2)", "path(1, 3)", "path(2, 3)"]
    proof = tmp_path / "proof.json"
    for line in lines:
        proof.write_text(line)
        assert run(["check-proof", program, str(proof)]) == 0
    capsys.readouterr()
    proof.write_text("\n".join(lines) + "\n")
    assert run(["check-proof", program, str(proof)]) == 0
    assert capsys.readouterr().out.count("the proof is right") == 3
    proof.write_text("\n".join(lines).replace('"edge(2, 3)"', '"edge(2, 4)"'))
    assert run(["check-proof", program, str(proof)]) == 1
    capsys.readouterr()
    assert run(["why", program, "--all-facts", "--seconds", "0"]) == 0
    assert "E0806" in capsys.readouterr().out
    assert run(["why", program]) == 2
    assert run(["why", program, "path(1, 2)", "--all-facts"]) == 2


def test_repairs(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["repair", program, "--make", "path(3, 1)", "--limit", "1"]) == 0
    assert capsys.readouterr().out.startswith("1. insert edge(3, 1)")
    assert run(["repair", program, "--unmake", "path(1, 3)", "--may-insert", "none", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["complete"]
    for format, start in (("tree", "1. insert"), ("text", "1. insert"), ("dot", "digraph repairs {")):
        assert run(["repair", program, "--make", "path(3, 1)", "--limit", "1", "--format", format]) == 0
        assert capsys.readouterr().out.startswith(start)
    words = ["repair", program, "--make", "path(3, 1)", "--may-insert", "none", "--may-delete", "edge"]
    assert run(words) == 1
    assert "no repair was found" in capsys.readouterr().out
    assert run(["repair", program]) == 2
    assert run(["repair", program, "--make", "path(3, 1)", "--seconds", "0"]) == 3


def test_a_stream_says_why(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    updates = tmp_path / "updates.jsonl"
    updates.write_text(
        '{"insert": {"edge": [[3, 4]]}}\n{"delete": {"edge": [[1, 2]]}}\n{"add_rules": ["loop(x) :- edge(x, x)."]}\n'
    )
    for lookahead in ("auto", "none", "window", "marks"):
        assert run(["stream", program, "--updates", str(updates), "--why", "--lookahead", lookahead]) == 0
        first, second, third = map(json.loads, capsys.readouterr().out.splitlines())
        assert {"fact": "path(1, 4)", "change": "added", "causes": {"insert": ["edge(3, 4)"]}} in first["why"]
        assert {each["change"] for each in second["why"]} == {"removed"}
        assert all(each["causes"] == {"delete": ["edge(1, 2)"]} for each in second["why"])
        assert third["why"] == []


def test_an_impact_says_why(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["impact", program, "--insert", "edge(3, 4)", "--delete", "edge(1, 2)"]
    assert run([*words, "--why", "path(2, 4)", "--why", "path(1, 3)", "--why", "path(2, 3)"]) == 0
    out = capsys.readouterr().out
    assert "path(2, 4) came because the update inserted edge(3, 4)" in out
    assert "path(1, 3) went because the update deleted edge(1, 2)" in out
    assert "path(2, 3) would not change" in out
    assert run([*words, "--why", "path(2, 4)", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["why"]["path(2, 4)"]["causes"] == {"insert": ["edge(3, 4)"]}
    assert run(["impact", program]) == 2
