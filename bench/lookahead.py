"""`python -m bench.lookahead`: what looking ahead saves or costs on every stream of ../shared/data, worst first.

Each stream is replayed by `auto`, one update after the other and looking ahead, each time in a process of its own,
which begins with the rules read and nothing else: what is loaded and planned for windows is in the time, which is
processor time.  The two ways take turns; the least of each counts, for whatever else the machine does can only add to
it.  A stream that seems to lose more than 3% is measured again before it is believed.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import multiprocessing
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import holdfast
from bench.graphs import Row
from bench.papers.measuring import DATA
from holdfast import KnowledgeBase, Update
from holdfast.streaming.queue import UpdateQueue

BOUND = 0.03
AGAIN = 6  # times that a stream is measured again if it seems to lose
WAYS = ("none", "auto")


@dataclass(frozen=True)
class Stream:
    """A stream of updates and its rules."""

    name: str
    rules: Path
    updates: Path


@dataclass(frozen=True)
class Found:
    """Seconds of a stream one by one and looking ahead, its updates, and how many of them were in windows."""

    name: str
    alone: float
    ahead: float
    updates: int
    windowed: int

    @property
    def loss(self) -> float:
        """Of the time; what is below 0 is gained."""
        return self.ahead / self.alone - 1

    def __str__(self) -> str:
        return (
            f"{self.name:48} {self.updates:4} updates {self.alone * 1e3:9.1f} ms {self.ahead * 1e3:9.1f} ms "
            f"{self.loss:+7.1%}  {self.windowed} in windows"
        )


def streams() -> Iterator[Stream]:
    """Those of the marking paper and those of the knowledge bases."""
    for path in sorted((DATA / "marking" / "streams").glob("*.gz")):
        name = path.name.split(".")[0]
        program = "ways" if name.startswith("track") else name[: name.index("_seed")]
        yield Stream(f"marking/{name}", DATA / "marking" / "rules" / f"{program}.dl", path)
    for path in sorted((DATA / "kb" / "streams").glob("*/*.gz")):
        kb = path.parent.name
        yield Stream(f"{kb}/{path.name.split('.')[0]}", DATA / "kb" / "rules" / f"{kb}.dl", path)


def measured(kb: KnowledgeBase, stream: Stream, runs: int) -> Found:
    """One stream; more often if it seems to lose."""
    updates, best = _updates(stream, set(kb.relations)), dict[str, tuple[float, int]]()
    gc.collect()  # what the interpreter has loaded is walked through now, and not while one of the ways is measured
    for run in range(runs + AGAIN):
        if run >= runs and best["auto"][0] <= (1 + BOUND) * best["none"][0]:
            break
        for way in WAYS if run % 2 else reversed(WAYS):
            best[way] = min(best.get(way, (float("inf"), 0)), _apart(kb, updates, way))
    return Found(stream.name, best["none"][0], best["auto"][0], len(updates) - 1, best["auto"][1])


def _updates(stream: Stream, known: set[str]) -> list[Update]:
    lines = map(json.loads, gzip.decompress(stream.updates.read_bytes()).splitlines())
    return [Update(_known(line["delete"], known), _known(line["insert"], known)) for line in lines]


def _known(facts: Mapping[str, Sequence[Row]], known: set[str]) -> dict[str, Sequence[Row]]:
    """Without those of predicates that no rule mentions."""
    return {name: rows for name, rows in facts.items() if name in known}


def _apart(kb: KnowledgeBase, updates: Sequence[Update], way: str) -> tuple[float, int]:
    """Processor seconds of a replay, and updates in windows, in a copy of this process."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    child = context.Process(target=lambda: theirs.send(_replayed(kb, updates, way)))
    child.start()
    theirs.close()
    try:
        found: tuple[float, int] = mine.recv()
    finally:
        child.join()
    return found


def _replayed(kb: KnowledgeBase, updates: Sequence[Update], way: str) -> tuple[float, int]:
    first, *rest = updates
    queue = UpdateQueue(len(updates))
    for update in rest:
        queue.put(update)
    queue.close()
    begun, windowed = time.process_time(), 0
    kb.apply(first)
    for answer in kb.stream(queue, lookahead=way):
        assert answer.change is not None
        windowed += answer.window > 1
    return time.process_time() - begun, windowed


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and tell; 1 if a stream loses more than it may."""
    parser = argparse.ArgumentParser(prog="python -m bench.lookahead", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("only", nargs="*", help="regular expressions; streams whose names have one of them")
    parser.add_argument("--runs", type=int, default=3, help="of each stream and way (default: 3)")
    asked = parser.parse_args(arguments)
    wanted = [one for one in streams() if not asked.only or any(re.search(each, one.name) for each in asked.only)]
    found = list[Found]()
    for rules, several in groupby(wanted, lambda stream: stream.rules):
        kb = holdfast.from_text(rules.read_text(encoding="utf-8"))
        for stream in several:
            found.append(measured(kb, stream, asked.runs))
            print(found[-1], file=sys.stderr, flush=True)
    if not found:
        print("there are no such streams", file=sys.stderr)
        return 2
    worst = sorted(found, key=lambda one: -one.loss)
    alone, ahead = sum(one.alone for one in found), sum(one.ahead for one in found)
    print("\n".join(map(str, worst[:10])))
    losing = sum(one.loss > BOUND for one in found)
    print(f"{len(found)} streams: {alone:.1f} s one by one, {ahead:.1f} s looking ahead; {losing} lose more than 3%")
    return 1 if losing else 0


if __name__ == "__main__":
    sys.exit(main())
