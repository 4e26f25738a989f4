"""Nemo's own test cases (data/ext/nemo), through the converter.

What this cannot catch: a mistake of the converter that makes a case easier; and the difference between a bare
name and a string, which the conversion gives up.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import DataError, EvaluationError
from holdfast.values import BlankNode, Iri, Literal, Value

from .nemo_converter import convert
from .shared_data import DATA, needs_shared_data, table

pytestmark = needs_shared_data
FOLDER = DATA / "ext" / "nemo"
NOT_OURS: dict[str, tuple[type[Exception], str]] = {
    "arithmetic/filter": (EvaluationError, "Nemo passes over a division by zero in silence; with us it is an error"),
    "regression/builtin/float-nan-inf/run": (
        AssertionError,
        "Nemo leaves out what is not a finite number; our floats are IEEE's",
    ),
    "data-formats/dsv/missing-column": (
        DataError,
        "Nemo leaves out a row that lacks a value; with us the file is malformed",
    ),
    "regression/load/rdf-invalid-prefixes/run": (
        DataError,
        "the file is not Turtle: its last @prefix lacks the full stop",
    ),
}


def _case(name: str) -> object:
    if name not in NOT_OURS:
        return name
    raised, reason = NOT_OURS[name]
    return pytest.param(name, marks=pytest.mark.xfail(raises=raised, reason=reason))


CASES = [_case(case["test"]) for case in table("ext/nemo/tests.tsv")]


def normal(value: Value) -> str:
    """A value as Nemo's CSV has it, without the quotes of strings."""
    match value:
        case Iri(value=text) | BlankNode(label=text):
            return text
        case Literal(lexical=lexical):
            return lexical
        case _:
            return str(value)


def expected_cell(text: str) -> str:
    """A cell of an expected file: strings lose their quotes, doubles are written as Python does."""
    if text.endswith("XMLSchema#double>"):
        return str(float(text.split('"')[1]))
    return text[1:-1] if text.startswith('"') else text


def expected_rows(file: Path) -> set[tuple[str, ...]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return {tuple(map(expected_cell, row)) for row in csv.reader(lines) if row}


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, tmp_path: Path) -> None:
    conversion = convert(FOLDER / f"{case}.rls", FOLDER)
    program = tmp_path / "case.dl"
    program.write_text(conversion.text, encoding="utf-8")
    kb = holdfast.open(program, facts=conversion.rdf or FOLDER)
    for name in conversion.outputs:
        got = {tuple(map(normal, row)) for row in kb[name]}
        assert got == expected_rows(FOLDER / case / f"{name}.csv"), conversion.text
