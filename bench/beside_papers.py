"""Other systems beside the papers' tables: the papers' programs as workloads, and which row is about which.

The others know no names in quotes, so relations have plainer ones here.  What they take from scratch stands in a
paper's table once for each program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bench.graphs import Facts
from bench.papers.subjects import SOURCES, missing
from bench.sheets import has_paper
from bench.tables import OURS, PaperTable, Row
from bench.workloads import SIZES, WORKLOADS, Size, Workload

# programs that are workloads of their own anyway
SAME = {"SSPE": "sspe", "LUBM-like": "lubm-like", "DAG-R": "dag-quadratic"}
# the others, and how many facts they have in size paper, given ones included
COUNTS = {
    "UOBM-like": 2_443_395,
    "Claros-LE": 3_119_345,
    "LUBM-LE": 3_642_030,
    "DBpedia-SKOS": 96_454,
    "SKOS, deep categories": 5_817_453,
}
KEYS = {**SAME, **{name: re.sub(r"\W+", "-", name.lower()) for name in COUNTS}}
NOTE = (
    "Columns of other systems: all facts from scratch, loading included, as in the table `evaluation`; once for "
    "each program.  They do not maintain what they derived."
)


def workloads() -> dict[str, Workload]:
    """Those whose rules can be had here, by key."""
    return {KEYS[name]: _workload(name) for name in COUNTS if not missing(name)}


def absent() -> dict[str, str]:
    """Why the others cannot be."""
    return {KEYS[name]: missing(name) for name in COUNTS if missing(name)}


def _workload(name: str) -> Workload:
    program = SOURCES[name].program()
    rules = "\n".join(line for line in program.splitlines() if not line.startswith(("%", "//"))) + "\n"
    quoted = sorted(set(re.findall(r"'([^']+)'", rules)))  # numbered, for DuckDB takes capitals for small letters
    plain = {relation: f"r{number}_" + re.sub(r"\W", "_", relation) for number, relation in enumerate(quoted)}

    def facts(size: Size) -> Facts:
        return {
            plain.get(relation, relation): rows
            for relation, rows in SOURCES[name].facts[size]().items()
            if relation in plain or re.search(rf"\b{re.escape(relation)}\(", rules)
        }

    said = re.sub(r"'([^']+)'", lambda found: plain[found[1]], rules)
    return Workload(KEYS[name], name, said, {size: lambda size=size: facts(size) for size in SIZES}, COUNTS[name])


EVERY: Mapping[str, Workload] = {**WORKLOADS, **workloads()}


def with_peers(tables: Sequence[PaperTable]) -> Iterator[PaperTable]:
    """The tables, those of papers with what the others took."""
    found = {row.name.partition(":")[0]: row for table in tables if table.key == "evaluation" for row in table.rows}
    for table in tables:
        yield _beside(table, found) if table.paper and has_paper(table) else table


def _beside(table: PaperTable, found: Mapping[str, Row]) -> PaperTable:
    rows, seen = list[Row](), set[str]()
    for row in table.rows:
        name = next((name for name in KEYS if row.name == name or row.name.startswith(f"{name}, ")), "")
        others = found[KEYS[name]].figures if name and name not in seen and KEYS[name] in found else ()
        seen.add(name)
        peers = [replace(figure, variant="") for figure in others if figure.system != OURS]
        rows.append(replace(row, figures=(*row.figures, *peers)))
    same = all(len(new.figures) == len(old.figures) for new, old in zip(rows, table.rows, strict=True))
    return table if same else replace(table, rows=tuple(rows), notes=(*table.notes, NOTE))
