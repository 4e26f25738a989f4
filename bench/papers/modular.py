"""Tables 1 and 2 of "Modular Materialisation of Datalog Programs": modules, and generic evaluation of the same rules.

A thousand facts are deleted and inserted again, as often as asked, and then a quarter of all facts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import holdfast
from bench.papers.measuring import (
    FROM_SCRATCH,
    Answer,
    Run,
    Taken,
    answer,
    check,
    evaluation,
    fingerprint,
    median,
    size_of,
    timed,
)
from bench.papers.study import Job, Place, Study, apart
from bench.papers.subjects import missing, subject
from bench.tables import Figure
from bench.workloads import Size
from holdfast import KnowledgeBase, Update
from holdfast.modules import MODULES

PAPER = "modular-materialisation"
LINEAR = "generic, DRed^c, right-linear rule"
HOW: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "modules": (MODULES, "auto"),
    "modules, DRed^c": (MODULES, "dred-counting"),
    "generic, DRed^c": ((), "dred-counting"),
    LINEAR: ((), "dred-counting"),
}
SUBJECTS = ("Claros-LE", "LUBM-LE", "DBpedia-SKOS", "SKOS, deep categories", "DAG-R")
FEW: Mapping[str, int] = {"small": 20, "paper": 1_000, "max": 1_000}
KINDS = {"few deleted": "{few} facts deleted", "few inserted": "{few} facts inserted", "many deleted": "25% deleted"}
SECONDS: Mapping[str, float] = {"small": 60, "paper": 75, "max": 600}
_LONG = 150.0  # seconds for generic evaluation of DAG-R's quadratic rule
# the paper's figures: with modules, generic
THEIRS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "Claros-LE": {
        "materialisation": (733.55, 3593.32),
        "few deleted": (0.93, 1035.28),
        "few inserted": (0.17, 0.80),
        "many deleted": (314.33, 3616.93),
    },
    "LUBM-LE": {
        "materialisation": (291.90, 1100.22),
        "few deleted": (0.32, 3.87),
        "few inserted": (0.01, 0.01),
        "many deleted": (182.93, 1369.77),
    },
    "DBpedia-SKOS": {
        "materialisation": (103.23, 3623.37),
        "few deleted": (21.77, 691.32),
        "few inserted": (0.20, 2.78),
        "many deleted": (111.28, 3826.87),
    },
    "DAG-R": {
        "materialisation": (29.60, 3238.86),
        "few deleted": (64.92, 3005.11),
        "few inserted": (14.56, 116.78),
        "many deleted": (62.48, 4316.71),
    },
}


def jobs(kinds: Mapping[str, str], size: Size) -> list[Job]:
    """A process for each subject and each way, which brings the figures of both tables."""
    made = list[Job]()
    for name in SUBJECTS:
        for ways in apart([way for way in HOW if way != LINEAR or name == "DAG-R"], size):
            places = {
                f"{kind} {way}": Place(
                    f"{name}, {text.format(few=f'{FEW[size]:,}')}" if text else name,
                    Figure("holdfast", way, paper=_theirs(name, kind, way)),
                )
                for way in ways
                for kind, text in kinds.items()
            }
            slow = size == "paper" and name == "DAG-R" and ways == ("generic, DRed^c",)
            made.append(Job("modular", (name, *ways), places, _LONG if slow else SECONDS[size], missing(name)))
    return made


def _theirs(name: str, kind: str, way: str) -> float | None:
    """The paper's figure for the same algorithm."""
    columns = {"modules, DRed^c": 0, "generic, DRed^c": 1}
    return THEIRS[name][kind][columns[way]] if name in THEIRS and way in columns else None


def measure(case: Sequence[str], told: Run) -> Iterator[tuple[str, Answer]]:
    """Evaluate, then make the updates; each state must be what follows."""
    name, *ways = case
    for way in ways:
        for _ in _Series("DAG-R", way, Run("small", 1, told.patience)).answers():
            pass  # nobody looks: everything is loaded now
        yield from ((f"{kind} {way}", found) for kind, found in _Series(name, way, told).answers())


class _Series:
    """What is measured of one program in one way."""

    def __init__(self, name: str, way: str, told: Run) -> None:
        self.subject = subject("DAG-R, right-linear" if way == LINEAR else name, told.size)
        self.name, self.told = name, told
        self.modules, self.algorithm = HOW[way]

    def answers(self) -> Iterator[tuple[str, Answer]]:
        """Materialisation, then few facts, then many."""
        seconds = list[float]()
        for _ in range(self.told.runs):
            kb = None  # one at a time
            kb = holdfast.from_text(self.subject.program, facts=self.subject.facts, modules=self.modules)
            seconds.append(evaluation(kb))
            if self.told.impatient:
                break
        assert kb is not None
        begun = time.perf_counter()
        whole = fingerprint(kb)
        fetched = time.perf_counter() - begun
        checked = self._check(kb, self.subject.facts, "nothing", "evaluation")
        yield (
            "materialisation",
            Answer(
                tuple(seconds),
                checked,
                {
                    "given": self.subject.given,
                    "facts": size_of(kb),
                    "bytes per fact": kb.statistics.memory / size_of(kb),
                    "fetching and hashing all facts, s": fetched,
                },
            ),
        )
        for kind, number in (("few", FEW[self.told.size]), ("many", self.subject.given // 4)):
            if not self.told.impatient:
                yield from self._turns(kb, whole, kind, number)

    def _turns(self, kb: KnowledgeBase, whole: tuple[int, int], kind: str, number: int) -> Iterator[tuple[str, Answer]]:
        deleted, inserted, checked = list[Taken](), list[Taken](), ""
        for turn in range(self.told.runs):
            gone, rest = self.subject.parted(number, turn)
            deleted.append(timed(kb, Update(delete=gone), self.algorithm))
            checked = self._check(kb, rest, f"{number} by {turn}", f"deleting {number:,} facts with {self.algorithm}")
            inserted.append(timed(kb, Update(insert=gone), self.algorithm))
            check(fingerprint(kb), whole, f"inserting {number:,} facts with {self.algorithm}")
            if self.told.impatient:
                break
        yield f"{kind} deleted", answer(deleted, checked, inserted=median([taken.seconds for taken in inserted]))
        yield f"{kind} inserted", answer(inserted, "all facts by number and hash, against those before the deletion")

    def _check(self, kb: KnowledgeBase, facts: Mapping[str, Any], left_out: str, what: str) -> str:
        """Against evaluation from scratch with modules; an acyclic graph's pairs are counted in another way too."""
        check(fingerprint(kb), self.subject.state(facts, left_out), what)
        if self.name != "DAG-R":
            return FROM_SCRATCH
        columns = (column.to_pylist() for column in facts["edge"].columns)
        check(len(kb["path"]), reachable(list(zip(*columns, strict=True))), what)
        return f"{FROM_SCRATCH}, and the number of paths against one by bit sets in plain Python"


def reachable(edges: Sequence[tuple[int, ...]]) -> int:
    """How many pairs of nodes a path connects, where edges go from smaller to larger numbers."""
    reached: dict[int, int] = {}
    for source, target in sorted(edges, reverse=True):
        reached[source] = reached.get(source, 0) | 1 << target | reached.get(target, 0)
    return sum(bits.bit_count() for bits in reached.values())


_SAME = (
    "DAG-R is the paper's (10,000 nodes, 100,000 edges) with another seed. The others have far fewer facts than "
    "the paper (18.8, 133.6 and 5 million): rules of ../shared/data/kb; DBpedia-SKOS with the facts beside them, "
    "LUBM-LE with generated universities, Claros-LE and the deep categories with generated facts. The paper's "
    "seconds are for orientation there."
)
_MODULES = (
    "modules: what a user gets (`auto`); a closure that has a hyper-node to itself is maintained exactly and "
    "not written out pair by pair, and `fetching` says what reading all of it costs. modules, DRed^c: the "
    "paper's algorithm. generic: the same engine without modules."
)
TABLES = (
    Study(
        f"{PAPER}-table-1",
        PAPER,
        "Table 1: materialisation",
        "Evaluation, without reading and storing facts.",
        lambda size: jobs({"materialisation": ""}, size),
        notes=(_SAME, _MODULES),
    ),
    Study(
        f"{PAPER}-table-2",
        PAPER,
        "Table 2: incremental maintenance",
        "All of `apply`: encoding the given facts, maintenance, and the change that it answers with.",
        lambda size: jobs(KINDS, size),
        notes=(_SAME, _MODULES),
    ),
)
