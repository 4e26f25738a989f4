"""The oracle on Soufflé's programs: the judge is judged by answers that nobody here computed.

Left out are the programs on which brute force takes seconds.  What this cannot catch: a construct that none of
Soufflé's tests uses.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.language import parse, tree
from holdfast.values import Row, Value

from ..oracle.evaluate import Evaluation
from .shared_data import needs_shared_data, read_text
from .test_souffle import OUTPUT_DELIMITERS, POSITIVE, expected_outputs, facts_of, program_of, rows_of

pytestmark = needs_shared_data
SLOW = (
    "evaluation/aggregates7",
    "example/lubm",
    "example/minpath1",
    "example/minpath2",
    "example/po3",
    "example/po4",
    "example/po5",
    "example/trains",
)
QUICK = [test for test in POSITIVE if test not in SLOW]


def given_facts(evaluation: Evaluation, folder: Path) -> dict[str, list[Row]]:
    """The facts of every `.input` relation, each column read by its declared type."""
    facts = {}
    for item in evaluation.program.items:
        if isinstance(item, tree.Directive) and item.kind == "input":
            parameters = {parameter.key: parameter.value for parameter in item.parameters}
            for name in item.names:
                lines = read_text(next(folder.glob(f"{name.text}.facts*"))).splitlines()
                lines = lines[1:] if parameters.get("headers") == "true" else lines
                rows = [line.split(parameters.get("delimiter", "\t")) for line in lines]
                types = evaluation.columns[name.text]
                facts[name.text] = [tuple(map(cell, row, types)) for row in rows]
    return facts


def cell(text: str, type_: str) -> Value:
    match type_:
        case "number" | "unsigned":
            return int(text.strip(), 0) if text.strip()[:2] in ("0x", "0b") else int(text)
        case "float":
            return float(text)
        case _:
            return text


@pytest.mark.parametrize("test", QUICK)
def test_program_gives_its_csv(test: str) -> None:
    evaluation = Evaluation(parse(read_text(program_of(test)), test))
    found = evaluation.run(given_facts(evaluation, facts_of(test)), counted=False).facts
    for name, file in expected_outputs(test).items():
        lines = ["\t".join(str(value) for _, value in fact) or "()" for fact in found.get(name, ())]
        assert rows_of("\n".join(lines)) == rows_of(read_text(file), OUTPUT_DELIMITERS.get(test, "\t")), name
