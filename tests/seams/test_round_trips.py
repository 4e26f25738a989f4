"""Every value that is easily confused, written to a file of each format and read again; also as an update in JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.values import Iri

from .judge import encoded
from .values import FIELDS, PLAIN, TYPES, declared, domain

pytestmark = pytest.mark.only_in_memory("files are the same everywhere")
KINDS = ["number", *PLAIN, *FIELDS]
LAYOUTS = ['"p.csv"', '"p.csv", rfc4180=true', '"p.csv", headers=true', '"p.csv", escape=true', '"p.facts"']
LAYOUTS += ['"p.jsonl"', '"p.jsonl", headers=true', '"p.parquet"', '"p.csv.gz", rfc4180=true']


def _values(type_: str) -> list[Any]:
    """An IRI with a space is none, and only JSON keeps it."""
    return [value for value in domain(type_) if not (isinstance(value, Iri) and " " in value.value)]


@pytest.mark.parametrize("type_", KINDS)
def test_files_come_back(tmp_path: Path, type_: str) -> None:
    for number, layout in enumerate(LAYOUTS):
        if type_ == "Both" and "json" not in layout:
            continue  # a field of type any is written as if it were a string; docs/facts-and-rdf.md says so
        bare = not any(word in layout for word in ("rfc4180", "escape", "json", "parquet"))
        refused = [v for v in _values(type_) if bare and type_ == "symbol" and ("\t" in v or "\n" in v)]
        values = [v for v in _values(type_) if v not in refused]
        alone = values if "rfc4180" in layout and type_ == "symbol" else []  # the first line decides on the delimiter
        for place, group in enumerate([values, *([value] for value in alone)]):
            _comes_back(tmp_path / f"{number}-{place}", type_, layout, group)
        for value in refused:
            with pytest.raises(HoldfastError, match="E0612"):
                _comes_back(tmp_path / f"{number}", type_, layout, [value])


def _comes_back(folder: Path, type_: str, layout: str, values: list[Any]) -> None:
    text = TYPES + f".decl p(a: {declared(type_)}, b: {declared(type_)})\n"
    rows = [(value, value) for value in values]
    holdfast.from_text(f"{text}.output p(filename={layout})\n", {"p": rows}).write_outputs(folder)
    found = holdfast.from_text(f"{text}.input p(filename={layout})\n", folder)["p"]
    assert {encoded(row, (type_, type_)) for row in found} == {encoded(row, (type_, type_)) for row in rows}, layout


@pytest.mark.parametrize("type_", KINDS)
def test_changes_as_json_are_updates(type_: str) -> None:
    rows = [(value,) for value in domain(type_)]
    kb, other = (holdfast.from_text(f"{TYPES}.decl p(a: {declared(type_)})\n") for _ in range(2))
    change = kb.apply(holdfast.Update(insert={"p": rows})).to_json()
    other.apply(holdfast.Update.from_json({"insert": change["added"]}))
    assert other["p"] == kb["p"] and len(kb["p"]) == len(rows)
    other.apply(holdfast.Update.from_json({"delete": change["added"]}))
    assert len(other["p"]) == 0
