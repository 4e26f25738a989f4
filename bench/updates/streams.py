"""The update streams of "Backward/Forward with Marking", if their files are beside the repository.

Each state is checked against the expected one: explicit facts, all facts, and a digest of them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import holdfast
from bench.processes import ROOT
from bench.updates.rows import Row, Taken, row
from bench.updates.timing import Run, check, evaluation, size_of, timed
from bench.workloads import Size
from holdfast import KnowledgeBase, Update

DATA = ROOT.parent / "shared" / "data" / "marking"
ALGORITHMS = ("dred-counting", "dred", "backward-forward", "backward-forward-counting", "auto")
TITLES = {"p_trans": "P_trans, {} edges out and in", "p_seq": "P_seq, {} edges out and in", "track": "track {}"}
_TRACKS = (("track", "0"), ("track", "1"), ("track", "2"))
STREAMS: Mapping[Size, tuple[tuple[str, str], ...]] = {
    "small": (("p_trans", "10"), ("p_seq", "10"), ("track", "0")),
    "paper": (("p_trans", "10"), ("p_trans", "80"), ("p_seq", "10"), ("p_seq", "80"), *_TRACKS),
    "max": (*((kind, str(edges)) for kind in ("p_trans", "p_seq") for edges in range(10, 90, 10)), *_TRACKS),
}
SEEDS: Mapping[str, int] = {"small": 1, "paper": 3, "max": 3}
LENGTH: Mapping[str, int | None] = {"small": 6, "paper": None, "max": None}  # updates of a stream that are replayed


def missing() -> str:
    """Why there is nothing to measure, if so."""
    return "" if DATA.is_dir() else "skipped: no ../shared/data/marking beside the repository"


def jobs(size: Size) -> list[tuple[str, ...]]:
    """A process for each kind of stream and algorithm."""
    return [(*stream, algorithm) for stream in STREAMS[size] for algorithm in ALGORITHMS]


def run(case: tuple[str, ...], told: Run) -> list[Row]:
    """Replay the streams of one kind."""
    kind, number, algorithm = case
    names = [f"track{number}"] if kind == "track" else [
        f"{kind}_seed{seed}_u{number}" for seed in range(1, SEEDS[told.size] + 1)]
    rules = (DATA / "rules" / f"{'ways' if kind == 'track' else kind}.dl").read_text(encoding="utf-8")
    _Replay(rules, names[0], algorithm, 3)  # nobody looks: everything is loaded now
    replays = [_Replay(rules, name, algorithm, LENGTH[told.size]) for name in names]
    result = row(f"stream {TITLES[kind].format(number)}", algorithm, (t for r in replays for t in r.taken),
                 (seconds for r in replays for seconds in r.scratch(told)), facts=size_of(replays[0].kb))
    return [replace(result, first=statistics.median(r.initial.seconds for r in replays))]


class _Replay:
    """One stream from its beginning; the first update, which loads everything, stands apart."""

    def __init__(self, rules: str, name: str, algorithm: str, length: int | None) -> None:
        self.rules, self.explicit = rules, dict[str, set[tuple[Any, ...]]]()
        self.kb = holdfast.from_text(rules)
        text = gzip.decompress((DATA / "streams" / f"{name}.jsonl.gz").read_bytes()).decode()
        expected = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))[name]
        taken = list[Taken]()
        for line, right in list(zip(text.splitlines(), expected, strict=True))[:length]:
            update = json.loads(line)
            taken.append(timed(self.kb, Update.from_json(update), algorithm))
            self._note(update)
            found = [sum(map(len, self.explicit.values())), *digest(self.kb)]
            check(found, right, f"update {len(taken)} of {name} with {algorithm}")
        self.initial, self.taken = taken[0], taken[1:]

    def _note(self, update: Mapping[str, Mapping[str, list[list[Any]]]]) -> None:
        for name, rows in update["delete"].items():
            self.explicit[name] -= set(map(tuple, rows))
        for name, rows in update["insert"].items():
            self.explicit.setdefault(name, set()).update(map(tuple, rows))

    def scratch(self, told: Run) -> Iterable[float]:
        """The last state anew."""
        facts = {name: list(rows) for name, rows in self.explicit.items()}
        for _ in range(told.runs):
            kb = holdfast.from_text(self.rules, facts=facts)
            check(digest(kb), digest(self.kb), "the whole stream")
            yield evaluation(kb)


def digest(kb: KnowledgeBase) -> tuple[int, str]:
    """The number of facts and a digest of them, in the form that the expected ones have."""
    lines = sorted(json.dumps([name, *fact], ensure_ascii=False, separators=(",", ":")).encode()
                   for name, view in kb.relations.items() for fact in view)
    return len(lines), hashlib.sha256(b"\n".join(lines)).hexdigest()[:16]
