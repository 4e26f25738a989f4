"""Every program in examples/ runs, is laid out as `holdfast fmt` has it, and gives what its expected/ folder holds.

The expected files were computed by separate Python code, not by holdfast.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import holdfast
from tests.docs.pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*/*.dl"))


def facts_of(program: Path) -> Path:
    folder = program.parent / "facts"
    return folder if folder.is_dir() else program.with_suffix(".ttl")


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda path: path.stem)
def test_example_gives_what_is_expected(program: Path, tmp_path: Path) -> None:
    result = holdfast("run", program, "-F", facts_of(program), "-D", tmp_path)
    assert result.code == 0, result.err
    expected = {path.name: path.read_text(encoding="utf-8") for path in (program.parent / "expected").iterdir()}
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == expected


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_formatted(program: Path) -> None:
    result = holdfast("fmt", "--check", program)
    assert result.code == 0, result.out + result.err


def test_there_are_examples_and_each_is_listed() -> None:
    listed = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    assert len(EXAMPLES) >= 7
    assert [path for path in EXAMPLES if f"holdfast run {path.relative_to(ROOT)} " not in listed] == []


@pytest.mark.xdist_group("spark")
def test_the_demo_runs_and_agrees_with_plain_python(tmp_path: Path) -> None:
    script = ROOT / "examples/windfarm/demo.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "update 5: ridge_11 has become an anomaly" in done.stdout
    assert "Checked against plain Python: 2,616 neighbours, 3 anomalies, 2 silent turbines." in done.stdout


def test_the_wind_farm_facts_are_those_of_the_generator(tmp_path: Path) -> None:
    folder = ROOT / "examples/windfarm"
    script = "import pathlib, sys, generate; generate.write(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", script, tmp_path], cwd=folder, check=True)
    for path in tmp_path.iterdir():
        assert path.read_text(encoding="utf-8") == (folder / "facts" / path.name).read_text(encoding="utf-8")
