"""Soufflé's own tests (data/ext/souffle): 111 programs must give their CSV, 28 must be refused.

What this cannot catch: derivation counters (a CSV has none), anything only a larger input shows, and whether a
refusal's wording helps anybody; the golden files do that.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import HoldfastError

from .shared_data import DATA, needs_shared_data, read_text, table

pytestmark = needs_shared_data
FOLDER = DATA / "ext" / "souffle"
TESTS = table("ext/souffle/tests.tsv")
POSITIVE = [test["test"] for test in TESTS if test["kind"] in ("core", "builtin")]
NEGATIVE = [test["test"] for test in TESTS if test["kind"] == "negative"]
OUTPUT_DELIMITERS = {"syntactic/input_directive3": "delim"}


def program_of(test: str) -> Path:
    return FOLDER / test / f"{Path(test).name}.dl"


def facts_of(test: str) -> Path:
    facts = FOLDER / test / "facts"
    return facts if facts.is_dir() else FOLDER / test


def rows_of(text: str, delimiter: str = "\t") -> set[tuple[object, ...]]:
    """The rows of an output file; floats compare as numbers, to the six digits that Soufflé writes."""
    return {tuple(_cell(cell) for cell in line.split(delimiter)) for line in text.splitlines()}


def _cell(text: str) -> object:
    if re.fullmatch(r"-?\d+", text) or not re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text):
        return text
    number = float(f"{float(text):.6g}")
    return str(int(number)) if number == int(number) else number


def expected_outputs(test: str) -> dict[str, Path]:
    files = [*(FOLDER / test).glob("*.csv"), *(FOLDER / test).glob("*.csv.gz")]
    return {file.name.split(".csv")[0]: file for file in files}


@pytest.mark.parametrize("test", POSITIVE)
def test_program_gives_its_csv(test: str, tmp_path: Path) -> None:
    kb = holdfast.open(program_of(test), facts=facts_of(test))
    kb.write_outputs(tmp_path)
    expected = expected_outputs(test)
    assert {file.name.removesuffix(".csv") for file in tmp_path.iterdir()} == set(expected)
    delimiter = OUTPUT_DELIMITERS.get(test, "\t")
    for name, file in expected.items():
        got = (tmp_path / f"{name}.csv").read_text(encoding="utf-8")
        assert rows_of(got, delimiter) == rows_of(read_text(file), delimiter), name


# --- refusals ----------------------------------------------------------------------------------------

# What is wrong with each program, as our codes say it; a code that ends in … stands for its family.
REASONS: dict[str, set[str]] = {
    "semantic/attrib_dupl": {"E0203"},
    "semantic/choice": {"E0501"},
    "semantic/divide_by_zero": {"E0406"},
    "semantic/fact_arity": {"E0205"},
    "semantic/fact_number": {"E0403"},
    "semantic/fact_number2": {"E0403"},
    "semantic/fact_variable": {"E0302"},
    "semantic/inline_exclude": {"E0301"},
    "semantic/load10": {"E0606"},
    "semantic/load2": {"E0601"},
    "semantic/load3": {"E0606"},
    "semantic/load4": {"E0605"},
    "semantic/mutually_dependent_aggregate": {"E0306"},
    "semantic/rel_stratification": {"E0501"},
    "semantic/rel_stratification2": {"E0501"},
    "semantic/rel_udef": {"E0201"},
    "semantic/rule_arity": {"E0205"},
    "semantic/rule_typecompat": {"E0401", "E0402", "E0301"},
    "semantic/rule_undeclared_relation": {"E0201"},
    "semantic/rule_undeclared_relation2": {"E0201"},
    "semantic/type_dupl": {"E0204"},
    "semantic/var_single": {"E0301"},
    "syntactic/rule": {"E01…"},
    "syntactic/syntax1": {"E01…"},
    "syntactic/syntax2": {"E01…"},
    "syntactic/syntax3": {"E01…"},
    "syntactic/syntax4": {"E01…"},
    "syntactic/syntax5": {"E01…"},
}


def expected_lines(test: str) -> set[int]:
    """The lines of Soufflé's errors; those of its warnings are none of our business."""
    file = FOLDER / test / f"{Path(test).name}.err"
    if not file.exists():
        return set()
    text = read_text(file)
    in_program = re.findall(r"^Error: .* at line (\d+)$|^has cyclic negation .* at line (\d+)$", text, re.MULTILINE)
    in_facts = re.findall(r"^Error loading .* in line (\d+);", text, re.MULTILINE)
    return {int(line) for found in in_program for line in found if line} | set(map(int, in_facts))


def refusal(test: str) -> HoldfastError:
    with pytest.raises(HoldfastError) as caught:
        holdfast.open(program_of(test), facts=facts_of(test))
    return caught.value


@pytest.mark.parametrize("test", NEGATIVE)
def test_program_is_refused_at_the_right_line(test: str) -> None:
    error = refusal(test)
    places = {span.line for d in error.diagnostics for span in (d.span, *(label.span for label in d.labels)) if span}
    assert expected_lines(test) <= places


@pytest.mark.parametrize("test", NEGATIVE)
def test_program_is_refused_for_the_right_reason(test: str) -> None:
    codes = {diagnostic.code for diagnostic in refusal(test).diagnostics}
    for reason in REASONS[test]:
        assert any(code.startswith(reason.removesuffix("…")) for code in codes), codes


def test_every_refusal_has_its_reason() -> None:
    assert set(REASONS) == set(NEGATIVE)
