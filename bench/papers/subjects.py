"""Programs with facts in three sizes: those of the papers that can be had or made here.

All facts come from fixed seeds; people and things are numbers, so that states can be told apart by their hashes.
The rules of Claros, LUBM and DBpedia's categories are read from `../shared/data/kb`.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np
import pyarrow as pa

from bench import ontology
from bench.graphs import Facts, Row, random_dag, weighted_dag
from bench.papers import claros, kept, uobm
from bench.papers.measuring import DATA, Fingerprint, from_scratch
from bench.universities import universities
from bench.workloads import LENGTHS

KB = DATA / "kb"
_DECLARED = ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\npath(x, y) :- edge(x, y).\n"
QUADRATIC = _DECLARED + "path(x, z) :- path(x, y), path(y, z).\n"
LINEAR = _DECLARED + "path(x, z) :- edge(x, y), path(y, z).\n"
SYMMETRIC = _DECLARED + "path(x, z) :- path(x, y), path(y, z).\npath(y, x) :- path(x, y).\n"


@dataclass(frozen=True)
class Subject:
    """A program, and the given facts of each relation."""

    name: str
    program: str
    facts: Mapping[str, pa.Table]

    def state(self, facts: Mapping[str, pa.Table] | None = None, left_out: str = "nothing") -> Fingerprint:
        """What must come out, of all facts or of those left; evaluated from scratch with modules, but only once."""
        given = self.facts if facts is None else facts
        return kept.state(f"{self.name} without {left_out}", lambda: from_scratch(self.program, given)[1])

    @property
    def given(self) -> int:
        """How many facts there are."""
        return sum(map(len, self.facts.values()))

    def parted(self, number: int, seed: int) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
        """So many facts by chance, from all relations alike, and the rest."""
        chosen = np.zeros(self.given, dtype=bool)
        chosen[Random(seed).sample(range(self.given), number)] = True
        gone, rest, first = dict[str, pa.Table](), dict[str, pa.Table](), 0
        for name, table in self.facts.items():
            mask = chosen[first : first + len(table)]
            gone[name], rest[name] = table.filter(pa.array(mask)), table.filter(pa.array(~mask))
            first += len(table)
        return {name: table for name, table in gone.items() if len(table)}, rest


@dataclass(frozen=True)
class Source:
    program: Callable[[], str]
    facts: Mapping[str, Callable[[], Facts]]
    rules: str = ""  # the file in the shared data that it needs


def _rules(name: str) -> str:
    return (KB / "rules" / f"{name}.dl").read_text(encoding="utf-8")


def _classes(facts: Facts) -> Facts:
    """The universities with the names that LUBM's rules have: classes are capitalised."""
    return {"a1:" + (name[0].upper() + name[1:] if len(rows[0]) == 1 else name): rows for name, rows in facts.items()}


def _categories() -> Facts:
    """DBpedia's categories as they are, numbered."""
    numbers: dict[str, int] = {}
    found: dict[str, list[Row]] = {}
    folder = KB / "facts" / "dbpedia"
    for line in (folder / "index.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        predicate, _, _, file = line.split("\t")
        with gzip.open(folder / file, "rt", encoding="utf-8") as lines:
            found[predicate] = [
                tuple(numbers.setdefault(word, len(numbers)) for word in line.rstrip("\n").split("\t"))
                for line in lines
            ]
    return found


def _deep_categories(groups: int, size: int = 300) -> Facts:
    """Categories in long chains, as in all of DBpedia, with some cycles; groups do not know each other."""
    random, broader = Random(13), set[Row]()
    for first in range(0, groups * size, size):
        for place in range(1, size):
            broader |= {(first + place, first + random.randrange(max(0, place - 12), place)) for _ in range(2)}
        broader.add((first + random.randrange(size // 4), first + random.randrange(size // 4, size // 2)))
    return {"skos:broader": sorted(broader)}


def _dag(nodes: int, edges: int) -> Callable[[], Facts]:
    return lambda: random_dag(nodes, edges)


_DAGS = {"small": _dag(60, 300), "paper": _dag(10_000, 100_000), "max": _dag(16_000, 160_000)}
SOURCES = {
    "SSPE": Source(
        lambda: LENGTHS,
        {
            "small": lambda: weighted_dag(300, 1_500),
            "paper": lambda: weighted_dag(100_000, 1_000_000),
            "max": lambda: weighted_dag(300_000, 3_000_000),
        },
    ),
    "LUBM-like": Source(
        ontology.program,
        {"small": lambda: universities(1, (1, 1)), "paper": lambda: universities(12), "max": lambda: universities(50)},
    ),
    "UOBM-like": Source(
        uobm.program,
        {"small": lambda: uobm.facts(1, (1, 1)), "paper": lambda: uobm.facts(4), "max": lambda: uobm.facts(10)},
    ),
    "Claros-LE": Source(
        lambda: _rules("claros"),
        {"small": lambda: claros.facts(3, 12), "paper": lambda: claros.facts(200), "max": lambda: claros.facts(1_000)},
        "rules/claros.dl",
    ),
    "LUBM-LE": Source(
        lambda: _rules("lubm"),
        {
            "small": lambda: _classes(universities(1, (1, 1))),
            "paper": lambda: _classes(universities(12)),
            "max": lambda: _classes(universities(50)),
        },
        "rules/lubm.dl",
    ),
    "DBpedia-SKOS": Source(
        lambda: _rules("dbpedia"), dict.fromkeys(("small", "paper", "max"), _categories), "facts/dbpedia/index.tsv"
    ),
    "SKOS, deep categories": Source(
        lambda: _rules("dbpedia"),
        {
            "small": lambda: _deep_categories(2, 40),
            "paper": lambda: _deep_categories(40),
            "max": lambda: _deep_categories(200),
        },
        "rules/dbpedia.dl",
    ),
    "DAG-R": Source(lambda: QUADRATIC, _DAGS),
    "DAG-R, right-linear": Source(lambda: LINEAR, _DAGS),
}


def missing(name: str) -> str:
    """Why a subject cannot be had here, if so."""
    rules = SOURCES[name].rules
    return f"there is no ../shared/data/kb/{rules}" if rules and not (KB / rules).exists() else ""


@cache
def subject(name: str, size: str) -> Subject:
    """A program with the facts of the relations that its rules mention."""
    source = SOURCES[name]
    program, facts = source.program(), kept.tables(f"{name} {size}", source.facts[size])
    return Subject(
        f"{name} {size}",
        program,
        {
            relation: table
            for relation, table in facts.items()
            if f"{relation}(" in program or f"'{relation}'(" in program
        },
    )
