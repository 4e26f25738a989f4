"""Tables 1 and 2 of "Optimised Maintenance of Datalog Materialisations": small and large deletions, by each algorithm.

Facts chosen by chance from all relations are deleted together, then inserted again; each run takes others.  The first
run, which builds indexes, is told apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import holdfast
from bench.papers.measuring import (
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
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.protocol import Bag, Facts
from holdfast.modules import MODULES

PAPER = "optimised-maintenance"
ALGORITHMS = {
    "DRed": "dred",
    "DRed^c": "dred-counting",
    "B/F": "backward-forward",
    "B/F^c": "backward-forward-counting",
    "recompute": "recompute",
    "auto, modules": "auto",
}
# rematerialisation: which counters are kept
SCRATCH: Mapping[str, tuple[str, ...]] = {
    "from scratch, 0 counters": (),
    "from scratch, 1 counter": ("nonrecursive",),
    "from scratch, 2 counters": ("nonrecursive", "recursive"),
}
REMAT, REMAT_1C, REMAT_2C = SCRATCH
SUBJECTS = ("SSPE", "LUBM-like", "UOBM-like", "Claros-LE")
FEW: Mapping[str, int] = {"small": 20, "paper": 1_000, "max": 1_000}
MANY: Mapping[str, float] = {"SSPE": 0.02, "LUBM-like": 0.25, "UOBM-like": 0.5, "Claros-LE": 0.08}  # the paper's shares
SECONDS: Mapping[str, float] = {"small": 60, "paper": 40, "max": 600}
# the paper's figures; those of UOBM-U and Claros-LE are of other facts and more of them
THEIRS: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "few": {
        "SSPE": {"DRed": 1684.97, "DRed^c": 10.53, "B/F": 252.97, "B/F^c": 247.00},
        "UOBM-like": {"DRed": 1185.87, "DRed^c": 179.24, "B/F": 31.96, "B/F^c": 1.18},
        "Claros-LE": {"DRed": 1741.66, "DRed^c": 1143.55, "B/F": 653.04, "B/F^c": 560.61},
    },
    "many": {
        "SSPE": {
            "DRed": 7240,
            "DRed^c": 74.36,
            "B/F": 7750,
            "B/F^c": 7900,
            REMAT: 68.28,
            REMAT_1C: 70.18,
            REMAT_2C: 71.81,
        },
        "UOBM-like": {
            "DRed": 3660,
            "DRed^c": 1540,
            "B/F": 3110,
            "B/F^c": 1640,
            REMAT: 1560,
            REMAT_1C: 1600,
            REMAT_2C: 1610,
        },
        "Claros-LE": {
            "DRed": 17810,
            "DRed^c": 5010,
            "B/F": 16740,
            "B/F^c": 3490,
            REMAT: 3360,
            REMAT_1C: 3490,
            REMAT_2C: 3600,
        },
    },
}
INCLUDES = (
    "All of `apply`: encoding the given facts, maintenance, and the change that it answers with. From scratch: "
    "evaluation only, without reading and storing facts."
)
SAME = (
    "SSPE is the paper's graph (100,000 nodes, 1,000,000 edges) with another seed; UOBM-like and Claros-LE have "
    "the kind of rules and facts that the paper names, but far fewer facts (the paper: 254.8 and 18.8 million), so "
    "its seconds are for orientation. Claros-LE: its own rules, generated facts."
)


def jobs(which: str, size: Size) -> list[Job]:
    """A process for each subject and algorithm, which makes both kinds of deletion; in size small for each subject."""
    made = list[Job]()
    for name in SUBJECTS:
        row = f"{name}, {f'{FEW[size]:,} facts' if which == 'few' else f'{MANY[name]:.0%} of the facts'} deleted"
        theirs = THEIRS[which].get(name, {})
        for variants in apart(ALGORITHMS, size):
            shown = [*variants, *(_scratches(which) if "recompute" in variants else ())]
            places = {
                f"{which} {variant}": Place(row, Figure("holdfast", variant, paper=theirs.get(variant)))
                for variant in shown
            }
            made.append(Job("deletions", (name, *variants), places, SECONDS[size], missing(name)))
    return made


def _scratches(which: str) -> tuple[str, ...]:
    """The paper takes counters away for large deletions only."""
    return (REMAT_2C,) if which == "few" else tuple(SCRATCH)


@contextmanager
def keeping(counters: Collection[str]) -> Iterator[None]:
    """Evaluation counts no other derivations; what it finds is the same, and nothing could be maintained then."""
    whole = MemoryCounters.add

    def add(self: MemoryCounters, facts: Bag | Facts) -> None:
        if self.column in counters:
            whole(self, facts)

    with patch.object(MemoryCounters, "add", add):
        yield


def measure(case: Sequence[str], told: Run) -> Iterator[tuple[str, Answer]]:
    """Delete and insert, as often as asked and once more for the indexes: few facts, then many."""
    name, *variants = case
    for variant in variants:
        for _ in _Series(name, variant, "small").turns("few", FEW["small"], told):
            pass  # nobody looks: everything is loaded now
        series = _Series(name, variant, told.size)
        yield from series.turns("few", FEW[told.size], told)
        if not told.impatient:
            yield from series.turns("many", round(MANY[name] * series.subject.given), told)


class _Series:
    """One materialisation, and what is measured on it."""

    def __init__(self, name: str, variant: str, size: str) -> None:
        self.subject, self.variant, self.algorithm = subject(name, size), variant, ALGORITHMS[variant]
        self.modules = MODULES if variant == "auto, modules" else ()
        self.kb = self._evaluated(self.subject.facts)
        self.whole = self.subject.state()
        check(fingerprint(self.kb), self.whole, "evaluation")

    def _evaluated(self, facts: Mapping[str, object]) -> KnowledgeBase:
        return holdfast.from_text(self.subject.program, facts=facts, modules=self.modules)

    def turns(self, which: str, number: int, told: Run) -> Iterator[tuple[str, Answer]]:
        """Some facts out and in again, each state checked against from-scratch evaluation."""
        deleted, inserted = list[Taken](), list[Taken]()
        scratch: dict[str, list[float]] = {name: [] for name in _scratches(which) if self.variant == "recompute"}
        first = which == "few"  # the first of all builds indexes
        for turn in range(told.runs + first):
            gone, rest = self.subject.parted(number, turn)
            deleted.append(timed(self.kb, Update(delete=gone), self.algorithm))
            right = self.subject.state(rest, f"{number} by {turn}")
            for name, seconds in scratch.items():
                with keeping(SCRATCH[name]):
                    again = self._evaluated(rest)
                seconds.append(evaluation(again))
                check(fingerprint(again), right, f"evaluation {name}")
            check(fingerprint(self.kb), right, f"deleting {number:,} facts with {self.algorithm}")
            inserted.append(timed(self.kb, Update(insert=gone), self.algorithm))
            check(fingerprint(self.kb), self.whole, f"inserting {number:,} facts again with {self.algorithm}")
            if told.impatient:
                break
        later = slice(int(first and len(deleted) > 1), None)
        back = median([taken.seconds for taken in inserted[later]])
        yield (
            f"{which} {self.variant}",
            answer(deleted[later], facts=size_of(self.kb), first=deleted[0].seconds, inserted=back),
        )
        for name, seconds in scratch.items():
            yield (
                f"{which} {name}",
                Answer(
                    tuple(seconds[later]),
                    "all facts by number and hash, against the maintained ones",
                    {"facts": self.whole[0]},
                ),
            )


_COUNTERS = (
    "From scratch with 0, 1 and 2 counters: the paper's Remat, Remat-1C and Remat-2C. holdfast always keeps "
    "both; for the others, adding to counters is left out, and their columns stay empty."
)
_MODULES = "The four algorithms and recompute run without modules, as in the paper; auto is what a user gets."
TABLES = (
    Study(
        f"{PAPER}-table-1",
        PAPER,
        "Table 1: small deletions",
        INCLUDES,
        lambda size: jobs("few", size),
        notes=(SAME, _MODULES),
    ),
    Study(
        f"{PAPER}-table-2",
        PAPER,
        "Table 2: large deletions",
        INCLUDES,
        lambda size: jobs("many", size),
        notes=(SAME, _MODULES, _COUNTERS),
    ),
)
