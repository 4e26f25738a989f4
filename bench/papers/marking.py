"""Tables 1 to 3 of "Backward/Forward with Marking": whole update streams, old and new, and the work of each phase.

Each stream is replayed from its beginning in every way in turn, so that whatever else the machine does falls on all of
them.  As in the paper the first update is done before any other is known, the time is processor time of the whole
stream, and a row is the mean of its seeds.
"""

from __future__ import annotations

import gc
import gzip
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import holdfast
from bench.papers.measuring import DATA, Answer, Run, Work, check
from bench.papers.study import Job, Place, Study
from bench.tables import Figure
from bench.workloads import Size
from holdfast import KnowledgeBase, Update
from holdfast.maintenance.marking import Marks
from holdfast.streaming.queue import UpdateQueue

PAPER = "bf-with-marking"
FOLDER = DATA / "marking"
THEIRS = {"p_trans": "table1_p_trans", "p_seq": "table2_p_seq", "track": "table3_real"}
SIZES: Mapping[str, Sequence[int]] = {"p_trans": range(10, 90, 10), "p_seq": range(10, 90, 10), "track": range(3)}
SEEDS: Mapping[str, tuple[int, ...]] = {"small": (1,), "paper": (1, 2, 3), "max": (1, 2, 3)}

Way = tuple[str, str]
"""An algorithm, and what is done with updates that wait."""
WAYS: Mapping[str, Way] = {
    "B/F (old)": ("backward-forward", "none"),
    "B/F with marks (new)": ("backward-forward", "marks"),
    "auto, one by one": ("auto", "none"),
    "auto, looking ahead": ("auto", "auto"),
}
_TIMES = {"B/F (old)": "time_old", "B/F with marks (new)": "time_new"}
_PHASES = {"deletion": "del", "backward": "bwd", "forward": "fwd", "insertion": "ins"}
_SECONDS = 180.0
CHECKED = "the number of facts and their digest after the last update, against the expected ones"


@dataclass(frozen=True)
class Pass:
    """One stream replayed in one way."""

    seconds: float
    work: Work
    marks: Marks


def keys(kind: str, size: str) -> Sequence[int]:
    """The rows of a table."""
    return SIZES[kind][:1] if size == "small" else SIZES[kind]


def jobs(kind: str, size: Size) -> list[Job]:
    """One process for a table."""
    reason = "" if FOLDER.is_dir() else "there is no ../shared/data/marking"
    places = dict[str, Place]()
    for key in keys(kind, size):
        theirs = {} if reason else _paper(kind, key)
        name = f"track {key}" if kind == "track" else f"{key} edges out and in with each update"
        for way in WAYS:
            places[f"{key} {way}"] = Place(name, Figure("holdfast", way, paper=theirs.get(_TIMES.get(way, ""))), at=key)
    return [Job("marking", (kind,), places, _SECONDS, missing=reason)]


def measure(case: Sequence[str], told: Run) -> Iterator[tuple[str, Answer]]:
    """The rows of one table."""
    [kind] = case
    for way in WAYS.values():
        replay(_names(kind, SIZES[kind][0], (1,))[0], way)  # nobody looks: everything is loaded now
    for key in keys(kind, told.size):
        yield from row(kind, key, told.runs, SEEDS[told.size])


def row(kind: str, key: int, runs: int, numbers: Sequence[int]) -> Iterator[tuple[str, Answer]]:
    """Every stream of a row in every way, in turn."""
    passes: dict[str, list[list[Pass]]] = {way: [] for way in WAYS}
    for _ in range(runs):
        turn = {way: list[Pass]() for way in WAYS}
        for name in _names(kind, key, numbers):
            for way, how in WAYS.items():
                turn[way].append(replay(name, how))
        for way, several in turn.items():
            passes[way].append(several)
    for way, found in passes.items():
        seconds = tuple(sum(one.seconds for one in seeds) / len(seeds) for seeds in found)
        yield f"{key} {way}", Answer(seconds, CHECKED, _counts(kind, key, way, found[-1]))


def _names(kind: str, key: int, seeds: Sequence[int]) -> list[str]:
    return [f"track{key}"] if kind == "track" else [f"{kind}_seed{seed}_u{key}" for seed in seeds]


def replay(name: str, way: Way) -> Pass:
    """A stream from an empty knowledge base."""
    program = "ways" if name.startswith("track") else name[: name.index("_seed")]
    first, *updates = _updates(name)
    kb = holdfast.from_text((FOLDER / "rules" / f"{program}.dl").read_text(encoding="utf-8"))
    queue = UpdateQueue(len(updates))
    algorithm, lookahead = way
    work, marks = Work(), Marks()
    gc.collect()  # what the interpreter has loaded is walked through now, and not while one of the ways is measured
    begun = time.process_time()
    queue.put(first)
    for reply in kb.stream(queue, algorithm=algorithm, lookahead=lookahead):
        assert reply.change is not None
        work += Work.of(reply.change)
        marks = Marks(
            marks.explicit + reply.marks.explicit,
            marks.implicit + reply.marks.implicit,
            marks.saved + reply.marks.saved,
        )
        if reply.number == 1:
            for update in updates:
                queue.put(update)
            queue.close()
    seconds = time.process_time() - begun
    check(digest(kb), tuple(_json("expected")[name][-1][1:]), f"{name} with {' and '.join(way)}")
    return Pass(seconds, work, marks)


def _counts(kind: str, key: int, way: str, passes: Sequence[Pass]) -> dict[str, float]:
    """Means of the seeds: rule instances by phase and marks, each with the paper's where it has one."""
    theirs, age = _paper(kind, key), {"B/F (old)": "old", "B/F with marks (new)": "new"}.get(way)
    work = asdict(sum((one.work for one in passes), Work()))
    counts = dict[str, float]()
    for phase, column in _PHASES.items():
        counts[phase] = work[phase] / len(passes)
        if age and (found := theirs.get(f"{column}_{age}", theirs.get(column))) is not None:
            counts[f"{phase} (paper)"] = found
    if age == "new":
        for name in ("explicit", "implicit", "saved"):
            counts[f"marks {name}"] = sum(getattr(one.marks, name) for one in passes) / len(passes)
            if f"marks_{name}" in theirs:
                counts[f"marks {name} (paper)"] = theirs[f"marks_{name}"]
    return counts


def _paper(kind: str, key: int) -> dict[str, float]:
    table = _json("paper_tables")[THEIRS[kind]]
    return next(dict(zip(table["columns"], row, strict=True)) for row in table["rows"] if row[0] == key)


@cache
def _json(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _updates(name: str) -> Iterator[Update]:
    for line in gzip.decompress((FOLDER / "streams" / f"{name}.jsonl.gz").read_bytes()).splitlines():
        yield Update.from_json(json.loads(line))


def digest(kb: KnowledgeBase) -> tuple[int, str]:
    """The number of facts and a digest of them, in the form that the expected ones have."""
    lines = sorted(
        json.dumps([name, *fact], ensure_ascii=False, separators=(",", ":")).encode()
        for name, view in kb.relations.items()
        for fact in view
    )
    return len(lines), hashlib.sha256(b"\n".join(lines)).hexdigest()[:16]


def _study(number: int, kind: str, title: str, axis: str) -> Study:
    return Study(
        f"{PAPER}-table-{number}",
        PAPER,
        f"Table {number}: {title}",
        "Processor time of the whole stream: encoding the updates, maintenance and the changes.",
        partial(jobs, kind),
        axis=axis,
        logarithmic=(False, True),
        notes=_NOTES,
    )


_NOTES = (
    "The streams are the paper's own. Its engine (SWI-Prolog, CHR) applies one rule at a time; new is with marking.",
    "No other system stands here: of those that are measured only Pathway maintains recursion, in the table "
    "`updates-beside-pathway`.",
    "The paper counts rule applications that had an effect, holdfast all rule instances that were met.",
)
TABLES = (
    _study(1, "p_trans", "P_trans", "edges out and in with each update"),
    _study(2, "p_seq", "P_seq", "edges out and in with each update"),
    _study(3, "track", "real tracks", ""),
)
