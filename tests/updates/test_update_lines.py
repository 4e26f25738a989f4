"""Lines of updates and of changes: JSON as everybody reads it, whatever the floats."""

from __future__ import annotations

import math

import pytest

import holdfast
from holdfast import Update
from holdfast.errors import DataError
from holdfast.formats.json_lines import from_json, load_json
from holdfast.update_lines import UpdateLine, change_line


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_update_lines_with_numbers_that_json_does_not_have(number: str) -> None:
    content = f'{{"insert": {{"p": [[{number}]]}}}}\n'.encode()
    with pytest.raises(DataError, match="E0613") as raised:
        UpdateLine("u.jsonl", 3, 1, content).update()
    span = raised.value.diagnostics[0].span
    assert span is not None and (span.line, span.column) == (3, 20)


def test_change_lines_are_json_whatever_the_floats() -> None:
    base = holdfast.from_text(".decl p(x: float)\n.decl q(x: float)\nq(x) :- p(x).")
    line = change_line(1, base.apply(Update(insert={"p": [(math.inf,), (-math.inf,), (math.nan,), (0.5,)]})))
    added = load_json(line)["added"]["q"]
    assert {repr(from_json(value)) for [value] in added} == {"inf", "-inf", "nan", "0.5"}
