"""A result: everything that was measured on one day in one size, as a file that can be read, added to and compared.

`holdfast bench compare` reads these files by itself: what they look like is written in docs/benchmarks.md.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.machine import describe
from bench.profiles import Profile
from bench.tables import Figure, PaperTable, Row
from bench.workloads import Size

FOLDER = Path(__file__).parent / "results"
FORMAT = 1


@dataclass(frozen=True)
class Result:
    """Tables, and where and how they were measured."""

    date: str
    size: Size
    runs: int
    machine: Mapping[str, Any]
    tables: tuple[PaperTable, ...] = ()
    profiles: tuple[Profile, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def begun(size: Size, runs: int, limits: Mapping[str, float]) -> Result:
        """One of today in which there is nothing yet."""
        return Result(datetime.date.today().isoformat(), size, runs, describe(), limits=limits)

    @property
    def name(self) -> str:
        """Of its files, without ending."""
        return f"{self.date}-{self.size}"

    def table(self, key: str) -> PaperTable | None:
        """A table by its key."""
        return next((table for table in self.tables if table.key == key), None)

    def with_table(self, new: PaperTable) -> Result:
        """With a table, or with more of its rows: a row takes the place of the one with its name."""
        old = self.table(new.key)
        if old is None:
            return replace(self, tables=(*self.tables, new))
        rows = {row.name: row for row in (*old.rows, *new.rows)}
        merged = replace(new, rows=tuple(rows.values()))
        return replace(self, tables=tuple(merged if table is old else table for table in self.tables))

    def continues(self, other: Result) -> bool:
        """Whether this run goes on with what another has: the same day, size and source."""
        return (self.date, self.size, self.machine["commit"]) == (other.date, other.size, other.machine["commit"])

    def write(self, folder: Path = FOLDER) -> Path:
        """The file, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        new = path.with_suffix(".new")
        new.write_text(
            json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        return new.replace(path)


def read(path: Path) -> Result:
    """What `write` wrote."""
    value = json.loads(path.read_text(encoding="utf-8"))
    if value.pop("format") != FORMAT:
        raise ValueError(f"{path} has another format than {FORMAT}")
    return Result(
        **{
            **value,
            "tables": tuple(map(_table, value["tables"])),
            "profiles": tuple(map(Profile.from_json, value["profiles"])),
        }
    )


def _table(value: dict[str, Any]) -> PaperTable:
    rows = tuple(Row(**{**row, "figures": tuple(map(_figure, row["figures"]))}) for row in value["rows"])
    return PaperTable(
        **{**value, "rows": rows, "logarithmic": tuple(value["logarithmic"]), "notes": tuple(value["notes"])}
    )


def _figure(value: dict[str, Any]) -> Figure:
    return Figure(**{**value, "runs": tuple(value["runs"]), "command": tuple(value["command"])})
