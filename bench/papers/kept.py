"""What several processes of one table need, made by the first of them: facts, and the states that must come out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather

from bench.graphs import Facts
from bench.papers.measuring import Fingerprint, arrow

folder: Path | None = None  # where it is kept; nothing is, if there is none


def tables(key: str, make: Callable[[], Facts]) -> Mapping[str, pa.Table]:
    """Facts as Arrow tables."""
    place = _place(key)
    if place is None or not place.exists():
        made = {relation: arrow(rows) for relation, rows in make().items() if rows}
        if place is None:
            return made
        place.mkdir()
        for number, table in enumerate(made.values()):
            feather.write_feather(table, place / str(number), compression="uncompressed")
        (place / "names").write_text(json.dumps(list(made)), encoding="utf-8")
    names: list[str] = json.loads((place / "names").read_text(encoding="utf-8"))
    return {name: feather.read_table(place / str(number)) for number, name in enumerate(names)}


def state(key: str, make: Callable[[], Fingerprint]) -> Fingerprint:
    """What must come out, computed once."""
    place = _place(f"state {key}")
    if place is None:
        return make()
    if not place.exists():
        place.write_text(json.dumps(make()), encoding="utf-8")
    count, total = json.loads(place.read_text(encoding="utf-8"))
    return count, total


def _place(key: str) -> Path | None:
    return None if folder is None else folder / hashlib.sha256(key.encode()).hexdigest()[:24]
