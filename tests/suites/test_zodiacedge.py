"""The closures of ZodiacEdge's rule sets (data/zodiacedge): the numbers of derived facts, of each predicate too.

What this cannot catch: two wrong facts that make up for each other in a count.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.values import Row

from .shared_data import DATA, document, needs_shared_data, tsv_rows

pytestmark = needs_shared_data
FOLDER = DATA / "zodiacedge"
SIZES: dict[str, dict[str, int]] = document("zodiacedge/expected_sizes.json")


def facts_for(rules: str, folder: Path) -> dict[str, list[Row]]:
    """The facts of the relations that the rules mention."""
    return {file.stem: tsv_rows(file) for file in folder.glob("*.tsv") if f"{file.stem}(" in rules}


@pytest.mark.parametrize("case", SIZES)
def test_sizes(case: str) -> None:
    rules, size = case.split("/")
    data = FOLDER / ("ds1" if rules == "rs1" else "ds2") / size
    text = (FOLDER / "rules" / f"{rules}.dl").read_text(encoding="utf-8")
    kb = holdfast.from_text(text, facts=facts_for(text, data))
    expected = {name: number for name, number in SIZES[case].items() if name != "idb_total"}
    assert {name: len(kb[name]) for name in expected} == expected
    assert sum(expected.values()) == SIZES[case]["idb_total"]


@pytest.mark.parametrize("width", [50, 100])
def test_the_p5_fact_switches_negation_on(width: int) -> None:
    """One p5 fact takes p25 facts away and adds nothing anywhere."""
    rules = (FOLDER / "rules" / "rs2.dl").read_text(encoding="utf-8")
    facts = facts_for(rules, FOLDER / "ds2" / f"w{width}")
    extra = {"p5": tsv_rows(FOLDER / "ds2" / f"extra_w{width}" / "p5.tsv")}
    before, after = holdfast.from_text(rules, facts=facts), holdfast.from_text(rules, facts=facts | extra)
    for name in ("p20", "p30"):
        assert set(after[name]) == set(before[name])
    assert set(after["p25"]) < set(before["p25"])
    [blocked] = extra["p5"]
    ends: dict[object, list[object]] = {}
    for y, z in before["p12"]:
        ends.setdefault(y, []).append(z)
    kept = {(x, z) for x, y in before["p11"] for z in ends.get(y, ()) if (y, z) != blocked}
    assert set(after["p25"]) == kept
