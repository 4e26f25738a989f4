"""Results as files: JSON with every single run, and the tables as Markdown beside it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.race import Result
from bench.report import as_markdown, sheets
from bench.startup import Wait
from bench.updates.experiments import Found
from bench.updates.sheets import update_sheets
from bench.workloads import Size

FOLDER = Path(__file__).parent / "results"


def save(size: Size, machine: Mapping[str, object], results: Sequence[Result], waits: Sequence[Wait],
         updates: Sequence[Found] = (), folder: Path = FOLDER) -> list[Path]:
    """Write both files; gives their paths."""
    today = datetime.date.today().isoformat()
    folder.mkdir(parents=True, exist_ok=True)
    figures, summary = folder / f"{today}-{size}.json", folder / f"{today}-{size}.md"
    content = {"date": today, "size": size, "machine": machine, "workloads": list(map(_result, results)),
               "waits": list(map(asdict, waits)), "updates": [found.as_json() for found in updates]}
    figures.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    summary.write_text(_summary(today, size, machine, results, waits, updates), encoding="utf-8")
    return [figures, summary]


def _result(result: Result) -> dict[str, object]:
    return {
        "name": result.workload.name,
        "facts": result.facts,
        "expected": result.expected,
        "series": [{**asdict(series), "ours_over_theirs": result.ratio(series)} for series in result.series],
    }


def _summary(today: str, size: Size, machine: Mapping[str, object], results: Sequence[Result],
             waits: Sequence[Wait], updates: Sequence[Found]) -> str:
    packages = machine["packages"]
    assert isinstance(packages, Mapping)
    lines = [
        f"# Measurements of {today}, size {size}",
        "",
        f"- {machine['cores']} cores ({machine['processor']}), {int(str(machine['memory'])) / 2**30:.0f} GiB, "
        f"{machine['system']}, Python {machine['python']}",
        f"- {', '.join(f'{name} {version}' for name, version in packages.items())}; commit {machine['commit']}",
        "",
        "Medians of the runs; the spread is from the quickest to the slowest.",
        "[How it is measured](../../docs/benchmarks.md).",
        "",
    ]
    tables = [*sheets(results, waits), *(sheet for found in updates for sheet in update_sheets(found))]
    return "\n".join([*lines, *map(as_markdown, tables)])
