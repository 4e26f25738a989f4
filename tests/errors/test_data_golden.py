"""The messages about every set of facts in data/ are exactly its golden file.

These tests cannot see whether a message is helpful; a person has to read the golden files for that.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.formats.codes import ALL_CODES
from tests.errors.data_golden import cases, told_about_facts


@pytest.mark.parametrize("case", cases(), ids=lambda path: path.name)
def test_messages_are_what_the_golden_file_says(case: Path) -> None:
    expected = (case / "expected.txt").read_text(encoding="utf-8")
    assert expected.startswith("error[")
    assert told_about_facts(case) == expected


def test_codes_that_formats_raise_are_listed() -> None:
    text = "".join(
        path.read_text(encoding="utf-8")
        for path in Path("src/holdfast/formats").glob("*.py")
        if path.name != "codes.py"
    )
    assert {code for code in ALL_CODES if f'"{code}"' not in text} == set()
    assert {word for word in text.split('"') if word.startswith("E06") and len(word) == 5} == set(ALL_CODES)
