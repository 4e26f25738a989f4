"""The messages about every program in the folders here are exactly its golden file.

These tests cannot see whether a message is helpful; a person has to read the golden files for that.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.errors.golden import HERE, programs, reported


@pytest.mark.parametrize("program", programs(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_diagnostics_are_as_the_golden_file_says(program: Path) -> None:
    assert reported(program) == program.with_suffix(".txt").read_text(encoding="utf-8")


def test_there_are_enough_syntax_cases() -> None:
    assert len(list((HERE / "syntax").glob("*.dl"))) >= 25


def test_no_message_leaks_a_name_of_the_grammar() -> None:
    grammar = (HERE.parents[1] / "src/holdfast/language/grammar.lark").read_text(encoding="utf-8")
    terminals = {word for line in grammar.splitlines() if line.startswith("%declare") for word in line.split()[1:]}
    leaked = {
        (path.stem, word)
        for path in (HERE / "syntax").glob("*.txt")
        for word in path.read_text(encoding="utf-8").replace("`", " ").replace(",", " ").split()
        if word in terminals and word not in {"IRI"}
    }
    assert not leaked
