"""Closures by modules, and by generic evaluation and maintenance on the same engine: edges that go and come.

DAG-R is the modular paper's random acyclic graph; cliques are symmetric-transitive; the Debian archive's dependencies
change as they did, upload by upload; DBpedia's categories, LUBM and Claros have their whole rule sets.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import holdfast
from bench.graphs import Row as FactRow
from bench.graphs import connected, random_dag
from bench.processes import ROOT
from bench.updates.rows import Row, Taken, Work, row
from bench.updates.timing import Run, arrow, check, evaluation, fingerprint, size_of, timed
from bench.workloads import Size
from holdfast import KnowledgeBase, Update
from holdfast.modules import MODULES

HOW: Mapping[str, tuple[Any, ...]] = {"modules": MODULES, "generic": ()}
DATA = ROOT.parent / "shared" / "data"
_DECLARED = ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\npath(x, y) :- edge(x, y).\n"
PROGRAMS = {
    "quadratic": _DECLARED + "path(x, z) :- path(x, y), path(y, z).\n",
    "linear": _DECLARED + "path(x, z) :- edge(x, y), path(y, z).\n",
    "symmetric": _DECLARED + "path(x, z) :- path(x, y), path(y, z).\npath(y, x) :- path(x, y).\n",
}
DAGS: Mapping[str, tuple[int, int]] = {"small": (60, 300), "paper": (10_000, 100_000), "max": (16_000, 160_000)}
CLIQUES: Mapping[str, tuple[int, ...]] = {"small": (30, 10), "paper": (2_000,), "max": (4_000,)}
STREAMS = {"claros": "random_run0_100-10-200", "dbpedia": "", "lubm": ""}  # none: all facts, some of which go and come
_FEW = 500_000  # facts: the last state is computed once more by generic evaluation
_SMALL = 600  # lines of Debian's dependencies in size small


@dataclass(frozen=True)
class Case:
    """A program, its facts, and updates by kind, one after the other; all of them together change nothing, or `end`."""

    title: str
    program: str
    facts: Mapping[str, Any]
    updates: Sequence[tuple[str, Update]]
    end: Mapping[str, Any] | None = None  # the explicit facts after all updates


def jobs(size: Size) -> list[tuple[str, ...]]:
    """A process for each case, with modules and without; what needs data that is not there is left out."""
    cases = ["dag quadratic", "dag linear", "cliques", "debian quadratic", "debian linear"]
    cases += [] if size == "small" else list(STREAMS)
    return [(name, how) for name in cases if _is_here(name) for how in HOW]


def _is_here(name: str) -> bool:
    return DATA.is_dir() or name.split()[0] in ("dag", "cliques")


def run(job: tuple[str, ...], told: Run) -> list[Row]:
    """Evaluate, then make the updates; what is there at the end must be what follows."""
    name, how = job
    _series(case("dag linear", "small"), how, told)  # nobody looks: everything is loaded now
    return _series(case(name, told.size), how, told)


def _series(made: Case, how: str, told: Run) -> list[Row]:
    kb = holdfast.from_text(made.program, facts=made.facts, modules=HOW[how])
    scratch, title = evaluation(kb), f"{made.title}, {size_of(kb):,} facts"
    rows, taken = [row(title, f"evaluation, {how}", [Taken(scratch, Work(), ())], [])], dict[str, list[Taken]]()
    for kind, update in made.updates:
        taken.setdefault(kind, []).append(timed(kb, update))
        if told.impatient:
            break
    else:
        _check(kb, made)
    return rows + [row(title, f"{kind}, {how}", found, [scratch]) for kind, found in taken.items()]


def _check(kb: KnowledgeBase, made: Case) -> None:
    """The last state against one from scratch: generic where there are few facts, else by modules and by hashes."""
    facts = made.facts if made.end is None else made.end
    if size_of(kb) < _FEW:
        again = holdfast.from_text(made.program, facts=facts, modules=())
        here, there = ({name: set(view) for name, view in base.relations.items()} for base in (kb, again))
        check(here, there, made.title)
    else:
        check(fingerprint(kb), fingerprint(holdfast.from_text(made.program, facts=facts)), made.title)


@cache
def case(name: str, size: str) -> Case:
    """A case by name."""
    match name.split():
        case ["dag", form]:
            return _dag(form, size)
        case ["cliques"]:
            return _cliques(size)
        case ["debian", form]:
            return _debian(form, size)
        case [kb] if STREAMS[kb]:
            return _stream(kb, STREAMS[kb])
        case _:
            return _knowledge(name)


def _dag(form: str, size: str) -> Case:
    nodes, number = DAGS[size]
    edges = list(random_dag(nodes, number)["edge"])
    Random(7).shuffle(edges)
    updates = list[tuple[str, Update]]()
    for kind, some in ((f"{number // 100:,} edges", edges[: number // 100]), ("a quarter", edges[: number // 4])):
        updates += 2 * [(f"{kind} deleted", Update(delete={"edge": arrow(some)})),
                        (f"{kind} inserted", Update(insert={"edge": arrow(some)}))]
    return Case(f"DAG-R, {form}, {number:,} edges", PROGRAMS[form], {"edge": arrow(edges)}, updates)


def _cliques(size: str) -> Case:
    tree, more = connected(CLIQUES[size])
    updates = list[tuple[str, Update]]()
    for kind, some in (("an edge with a detour", more[:5]), ("a leaf", tree[-5:])):
        for edge in some:
            updates += [(f"{kind} deleted", Update(delete={"edge": [edge]})),
                        (f"{kind} inserted", Update(insert={"edge": [edge]}))]
    title = f"symmetric-transitive, cliques of {CLIQUES[size][0]:,}"
    return Case(title, PROGRAMS["symmetric"], {"edge": arrow([*tree, *more])}, updates)


# --- Debian --------------------------------------------------------------------------------------------


def _debian(form: str, size: str) -> Case:
    numbers: dict[str, int] = {}
    lines = list(_lines("depends"))[: _SMALL if size == "small" else None]
    counts = Counter(_edge(numbers, line) for line in lines if line[1] in ("pre", "dep"))
    facts = {"edge": arrow(sorted(counts))}
    updates = [("an upload", update) for update in _uploads(numbers, counts)]
    return Case(f"Debian, {form}", PROGRAMS[form], facts, updates, {"edge": arrow(sorted(+counts))})


def _uploads(numbers: dict[str, int], counts: Counter[FactRow]) -> Iterator[Update]:
    """Each source package's upload as one update; several lines may say the same edge."""
    uploads = list[list[tuple[str, FactRow]]]()
    for mark, *line in _lines("updates"):
        if mark == "@":
            uploads.append([])
        elif line[0] == "depends" and line[2] in ("pre", "dep"):
            uploads[-1].append((mark, _edge(numbers, line[1:])))
    for upload in uploads:
        before = {edge for _, edge in upload if counts[edge] > 0}
        for mark, edge in upload:
            counts[edge] += 1 if mark == "+" else -min(1, counts[edge])
        after = {edge for _, edge in upload if counts[edge] > 0}
        yield Update(delete={"edge": sorted(before - after)}, insert={"edge": sorted(after - before)})


def _edge(numbers: dict[str, int], line: Sequence[str]) -> FactRow:
    return (numbers.setdefault(line[0], len(numbers)), numbers.setdefault(line[3], len(numbers)))


def _lines(name: str) -> Iterator[list[str]]:
    with gzip.open(DATA / "ext" / "debian" / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


# --- knowledge bases -----------------------------------------------------------------------------------


def _knowledge(kb: str) -> Case:
    """All rules and facts; every twentieth fact of each relation goes and comes, then ten single ones."""
    folder, program = DATA / "kb" / "facts" / kb, (DATA / "kb" / "rules" / f"{kb}.dl").read_text(encoding="utf-8")
    index = [line.split("\t") for line in (folder / "index.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    facts = {}
    for predicate, _, _, file in index:
        if f"'{predicate}'(" in program:
            with gzip.open(folder / file, "rt", encoding="utf-8") as lines:
                facts[predicate] = [tuple(line.rstrip("\n").split("\t")) for line in lines]
    some = {predicate: rows[::20] for predicate, rows in facts.items()}
    updates = 3 * [("every twentieth fact deleted", Update(delete=some)),
                   ("every twentieth fact inserted", Update(insert=some))]
    for predicate, rows in sorted(facts.items(), key=lambda pair: -len(pair[1]))[:10]:
        updates += [("one fact deleted", Update(delete={predicate: rows[:1]})),
                    ("one fact inserted", Update(insert={predicate: rows[:1]}))]
    return Case(f"{kb}, {sum(map(len, facts.values())):,} given", program, facts, updates)


def _stream(kb: str, name: str) -> Case:
    """All rules and one of the streams that came with them."""
    program = (DATA / "kb" / "rules" / f"{kb}.dl").read_text(encoding="utf-8")
    with gzip.open(DATA / "kb" / "streams" / kb / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        updates = [("an update of the stream", Update.from_json(_mentioned(json.loads(line), program)))
                   for line in lines]
    end: dict[str, set[FactRow]] = {}
    for _, update in updates:
        for facts, change in ((update.delete, set.difference_update), (update.insert, set.update)):
            for predicate, rows in facts.items():
                change(end.setdefault(predicate, set()), map(tuple, rows))  # type: ignore[arg-type]
    return Case(f"{kb}, {name}", program, {}, updates, {predicate: sorted(rows) for predicate, rows in end.items()})


def _mentioned(update: dict[str, Any], program: str) -> dict[str, Any]:
    """The update without relations that no rule mentions."""
    return {key: {name: rows for name, rows in update.get(key, {}).items() if f"'{name}'(" in program}
            for key in ("delete", "insert")}
