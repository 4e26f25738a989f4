"""Both backends on the same rules, on few facts: on Spark the number of rounds is what costs, not the facts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import holdfast
from bench.graphs import Facts
from bench.papers.measuring import FROM_SCRATCH, Answer, Run, Taken, answer, check, fingerprint, timed
from bench.papers.study import Job, Place, Study
from bench.papers.subjects import LINEAR
from bench.papers.zodiacedge import FOLDER, facts_of, program_of, rules_of
from bench.tables import Figure
from bench.workloads import Size
from holdfast import Update

ENGINES = ("memory", "spark")
PIECES: Mapping[str, int] = {"small": 20, "paper": 10_000, "max": 200_000}  # chains of five edges
RULE = 6  # of RS3, which the paper adds and deletes in its tables 2 and 3
_SECONDS: Mapping[str, float] = {"small": 60, "paper": 120, "max": 900}
_KINDS = ("materialisation", "removed", "back")


def jobs(size: Size) -> list[Job]:
    """A process for each program and backend."""
    chains = f"{PIECES[size]:,} chains of five edges"
    names = {
        "chains": (
            f"{chains}: closure",
            f"{chains}: an edge of each of {_some(size):,} deleted",
            f"{chains}: inserted again",
        ),
        "rs3": (
            "ZodiacEdge, RS3 on w50: materialisation",
            f"ZodiacEdge, RS3 on w50: r{RULE} removed",
            f"ZodiacEdge, RS3 on w50: r{RULE} added",
        ),
    }
    return [
        Job(
            "backends",
            (what, engine),
            {kind: Place(text, Figure("holdfast", engine)) for kind, text in zip(_KINDS, texts, strict=True)},
            _SECONDS[size],
            _missing(what, engine),
        )
        for what, texts in names.items()
        for engine in ENGINES
    ]


def _missing(what: str, engine: str) -> str:
    if what == "rs3" and not FOLDER.is_dir():
        return "there is no ../shared/data/zodiacedge"
    return "not installed (pyspark)" if engine == "spark" and find_spec("pyspark") is None else ""


def _some(size: str) -> int:
    return max(1, PIECES[size] // 100)


def measure(case: Sequence[str], told: Run) -> Iterator[tuple[str, Answer]]:
    """Evaluate, and make a change and take it back, each once for every run."""
    what, engine = case
    holdfast.from_text("a(1). b(x) :- a(x).", engine=engine).apply(Update(insert={"a": [(2,)]}))  # everything is loaded
    facts: Mapping[str, Any]
    if what == "chains":
        program, facts = LINEAR, chains(PIECES[told.size])
        some = {"edge": facts["edge"][2 : 5 * _some(told.size) : 5]}
        rest: Mapping[str, Any] = {"edge": sorted(set(facts["edge"]) - set(some["edge"]))}
        there, back, without = Update(delete=some), Update(insert=some), program
    else:
        rules = rules_of("rs3")
        program, facts, without = program_of(rules), facts_of("ds2/w50"), program_of(rules, (RULE,))
        there, back, rest = Update(remove_rules=[rules[RULE - 1]]), Update(add_rules=[rules[RULE - 1]]), facts
    whole, less = (
        fingerprint(holdfast.from_text(text, facts=given)) for text, given in ((program, facts), (without, rest))
    )
    seconds, forth, again = list[float](), list[Taken](), list[Taken]()
    for _ in range(told.runs):
        begun = time.perf_counter()
        kb = holdfast.from_text(program, facts=facts, engine=engine)
        seconds.append(time.perf_counter() - begun)
        check(fingerprint(kb), whole, "evaluation")
        if told.impatient:
            break
    yield "materialisation", Answer(tuple(seconds), f"{FROM_SCRATCH} on the memory backend", {"facts": whole[0]})
    for _ in range(told.runs):
        forth.append(timed(kb, there))
        check(fingerprint(kb), less, "the change")
        again.append(timed(kb, back))
        check(fingerprint(kb), whole, "taking it back")
        if told.impatient:
            break
    yield "removed", answer(forth, f"{FROM_SCRATCH} on the memory backend")
    yield "back", answer(again, "all facts by number and hash, against those before")


def chains(pieces: int) -> Facts:
    """Chains of five edges: the closure has three times as many facts and five rounds."""
    return {"edge": [(6 * piece + place, 6 * piece + place + 1) for piece in range(pieces) for place in range(5)]}


TABLES = (
    Study(
        "backends",
        "",
        "Memory and Spark on one machine",
        "All of `from_text` and all of `apply`, without starting Spark.",
        jobs,
        notes=("Spark runs on the cores of this machine; it pays when facts do not fit into the memory of one.",),
    ),
)
