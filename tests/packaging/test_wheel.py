"""A built wheel, installed beside what it asks for and nothing else, runs the first example of the README."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.docs.consoles import steps
from tests.docs.pages import ROOT, blocks

NOT_BUILT = shutil.ignore_patterns(".*", "__pycache__", "bench", "docs", "examples", "tests", "out", "build", "dist")


def run(*words: str | Path, folder: Path, path: Path | None = None) -> str:
    """What a command prints, with no variable of Python's in its environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env={**kept, **({"PYTHONPATH": str(path)} if path else {})},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(folder: Path) -> Path:
    """The wheel, built from a copy of the sources."""
    hatchling = pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=NOT_BUILT, symlinks=True)
    run(
        *(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist"),
        folder=source,
        path=Path(hatchling.__file__).parents[1],
    )
    [wheel] = (folder / "dist").glob("*.whl")
    return wheel


def needed(requirements: list[str], seen: set[str]) -> Iterator[importlib.metadata.Distribution]:
    """The distributions that are asked for, and what these ask for."""
    for requirement in map(Requirement, requirements):
        name = requirement.name.lower()
        if name not in seen and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            seen.add(name)
            found = importlib.metadata.distribution(name)
            yield found
            yield from needed(found.requires or [], seen)


def linked(distribution: importlib.metadata.Distribution, packages: Path) -> None:
    """Put the files of a distribution into an environment."""
    tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
    for top in tops:
        if not (packages / top).exists():
            (packages / top).symlink_to(Path(str(distribution.locate_file(top))))


def test_a_wheel_runs_the_first_example(tmp_path: Path) -> None:
    wheel = built(tmp_path)
    venv.create(tmp_path / "bare")
    python = tmp_path / "bare/bin/python"
    install = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    run(*install, wheel, folder=tmp_path)
    [packages] = (tmp_path / "bare").glob("lib/*/site-packages")
    [metadata] = packages.glob("holdfast-*.dist-info")
    for distribution in needed(importlib.metadata.Distribution.at(metadata).requires or [], set()):
        linked(distribution, packages)

    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    [example] = [
        step
        for block in list(blocks(ROOT / "README.md"))[:4]
        if block.kind == "console"
        for step in steps(block.text)
        if step.command.startswith("holdfast run ")
    ]
    words = shlex.split(example.command)[1:]
    rows = [line.split() for line in example.expected.splitlines() if line.startswith("  ")]
    printed = [line.split() for line in run(python.with_name("holdfast"), *words, folder=tmp_path).splitlines()]
    assert rows and [row for row in rows if row not in printed] == []
    where = run(
        python, "-c", "import holdfast; print(holdfast.__file__, holdfast.__version__)", folder=tmp_path
    ).split()
    assert Path(where[0]).is_relative_to(packages) and where[1] == importlib.metadata.version("holdfast")
    assert (packages / "holdfast/py.typed").exists() and list(metadata.rglob("LICENSE"))
