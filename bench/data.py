"""Facts on their way to the measured process: tab-separated files, read outside of the measured time."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from bench.graphs import Facts
from bench.workloads import WORKLOADS, Workload

_TOLD = "workload.json"  # what a process is told of a workload that is not among those of bench/workloads.py


def write(workload: Workload, facts: Facts, folder: Path) -> None:
    """A file for each relation that has facts, and an empty one for each that no rule derives."""
    if workload.name not in WORKLOADS:
        told = [workload.name, workload.title, workload.program, {}, workload.expected]
        (folder / _TOLD).write_text(json.dumps(told), encoding="utf-8")
    derived = {rule.head.relation for rule in workload.rules}
    for relation in workload.arities:
        if relation in facts or relation not in derived:
            lines = ("\t".join(map(str, row)) + "\n" for row in facts.get(relation, ()))
            path(folder, relation).write_text("".join(lines), encoding="utf-8")


def workload(name: str, folder: Path) -> Workload:
    """One by its name; a program of a paper comes with its facts, so that whoever reads it need not import holdfast."""
    if name in WORKLOADS or not (folder / _TOLD).exists():
        return WORKLOADS[name]
    return Workload(*json.loads((folder / _TOLD).read_text(encoding="utf-8")))


def path(folder: Path, relation: str) -> Path:
    """Where the facts of a relation are."""
    return folder / f"{relation}.tsv"


def given(workload: Workload, folder: Path) -> tuple[str, ...]:
    """The relations that have a file."""
    return tuple(relation for relation in workload.arities if path(folder, relation).exists())


def tables(workload: Workload, folder: Path) -> dict[str, pa.Table]:
    """The facts as Arrow tables of 64-bit integers with the columns c1, c2, …"""
    return {
        relation: _table(path(folder, relation), workload.arities[relation]) for relation in given(workload, folder)
    }


def _table(file: Path, arity: int) -> pa.Table:
    columns = {name: pa.int64() for name in names(arity)}
    if not file.stat().st_size:
        return pa.schema(columns).empty_table()
    return pa_csv.read_csv(
        file,
        read_options=pa_csv.ReadOptions(column_names=list(columns)),
        parse_options=pa_csv.ParseOptions(delimiter="\t"),
        convert_options=pa_csv.ConvertOptions(column_types=columns),
    )


def names(arity: int) -> list[str]:
    """The names of a relation's columns, for systems that want names: those that holdfast gives, too."""
    return [f"c{place}" for place in range(1, arity + 1)]
