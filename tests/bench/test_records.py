"""The bench of records: both forms of the analysis derive the same."""

from __future__ import annotations

import holdfast
from bench.records import FLAT, RECORDS, analysed, measured


def _flat(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(v for value in row for v in (value.fields if isinstance(value, holdfast.Record) else (value,)))


def test_records_and_columns_derive_the_same() -> None:
    facts = analysed(36)
    records, flat = (holdfast.from_text(text, facts) for text in (RECORDS, FLAT))
    for name in ("points", "field", "edge", "reachable"):
        assert {_flat(row) for row in records[name]} == set(flat[name])
        assert len(flat[name])
    lines = list(measured(24, 1))
    assert len(lines) == 4
