"""Tables 1 to 3 of "Backward/Forward with Marking" with our engine, and the paper's figures beside ours.

`python -m bench.marking [--runs N] [--small] [--save FILE]`.  Each stream is replayed from its beginning in every way
in turn, so that whatever else the machine does falls on all of them; the quickest of the runs counts.  As in the
paper the first update is done before any other is known, and the time is processor time of the whole stream.  The
last state is checked.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

import holdfast
from bench.screen import on_screen
from bench.sheets import Sheet, as_markdown
from bench.updates.rows import Work
from bench.updates.streams import DATA, digest, missing
from bench.updates.timing import check
from holdfast import Update
from holdfast.maintenance.marking import Marks
from holdfast.streaming.queue import UpdateQueue

PAPER = {"p_trans": "table1_p_trans", "p_seq": "table2_p_seq", "track": "table3_real"}
TITLES = {"p_trans": "Table 1, P_trans, edges out and in", "p_seq": "Table 2, P_seq, edges out and in",
          "track": "Table 3, tracks"}
SIZES = {"p_trans": range(10, 90, 10), "p_seq": range(10, 90, 10), "track": range(3)}
SEEDS = (1, 2, 3)

Way = tuple[str, str]
"""An algorithm, and what is done with updates that wait."""
OLD, NEW = ("backward-forward", "none"), ("backward-forward", "marks")
PLAIN, AHEAD = ("auto", "none"), ("auto", "auto")
WAYS: tuple[Way, ...] = (OLD, NEW, PLAIN, AHEAD)


@dataclass(frozen=True)
class Pass:
    """One stream replayed in one way."""

    seconds: float
    work: Work
    marks: Marks


@dataclass(frozen=True)
class Line:
    """What the streams of one row came to: in each way, the mean of the seeds' best."""

    key: int
    ways: Mapping[Way, Pass]


def names(kind: str, key: int, seeds: Sequence[int] = SEEDS) -> list[str]:
    """The streams that a row of the paper's tables is about."""
    return [f"track{key}"] if kind == "track" else [f"{kind}_seed{seed}_u{key}" for seed in seeds]


def replay(name: str, way: Way) -> Pass:
    """A stream from an empty knowledge base."""
    program = "ways" if name.startswith("track") else name[: name.index("_seed")]
    first, *updates = _updates(name)
    kb = holdfast.from_text((DATA / "rules" / f"{program}.dl").read_text(encoding="utf-8"))
    queue = UpdateQueue(len(updates))
    for update in updates:
        queue.put(update)
    queue.close()
    algorithm, lookahead = way
    work, marks = Work(), Marks()
    begun = time.process_time()
    work += Work.of(kb.apply(first, algorithm=algorithm))
    for answer in kb.stream(queue, algorithm=algorithm, lookahead=lookahead):
        assert answer.change is not None
        work += Work.of(answer.change)
        marks = Marks(marks.explicit + answer.marks.explicit, marks.implicit + answer.marks.implicit,
                      marks.saved + answer.marks.saved)
    seconds = time.process_time() - begun
    check(digest(kb), tuple(_expected()[name][-1][1:]), f"{name} with {' and '.join(way)}")
    return Pass(seconds, work, marks)


def measured(kind: str, key: int, runs: int, seeds: Sequence[int] = SEEDS) -> Line:
    """One row: every stream in every way, in turn."""
    passes: dict[tuple[Way, str], list[Pass]] = {}
    for _ in range(runs):
        for name in names(kind, key, seeds):
            for way in WAYS:
                passes.setdefault((way, name), []).append(replay(name, way))
    best = {place: min(found, key=lambda p: p.seconds) for place, found in passes.items()}
    return Line(key, {way: _mean([best[way, name] for name in names(kind, key, seeds)]) for way in WAYS})


def _mean(passes: Sequence[Pass]) -> Pass:
    count = len(passes)
    work = sum((p.work for p in passes), Work())
    marks = Marks(*(sum(getattr(p.marks, name) for p in passes) // count for name in ("explicit", "implicit", "saved")))
    return Pass(sum(p.seconds for p in passes) / count, Work(*(total // count for total in vars(work).values())), marks)


def sheets(kind: str, lines: Sequence[Line]) -> list[Sheet]:
    """Times, and rule applications and marks; what the paper has stands in front of ours."""
    times = ("", "paper old s", "new s", "less", "B/F old ms", "marks ms", "less", "auto ms", "ahead ms", "less",
             "paper new / ahead")
    work = ("", "deletions", "paper", "marks", "paper", "backward", "paper", "forward", "paper", "insertions", "paper",
            "marks ex.", "paper", "im.", "paper", "saved")
    return [Sheet(TITLES[kind], times, tuple(_times(kind, line) for line in lines)),
            Sheet(f"{TITLES[kind]}: B/F, rule instances and marks", work, tuple(_work(kind, line) for line in lines))]


def _times(kind: str, line: Line) -> tuple[str, ...]:
    theirs = _paper(kind)[line.key]
    old, new, plain, ahead = (line.ways[way].seconds for way in WAYS)
    return (str(line.key), f"{theirs['time_old']:.2f}", f"{theirs['time_new']:.2f}",
            _less(theirs["time_old"], theirs["time_new"]), _ms(old), _ms(new), _less(old, new), _ms(plain), _ms(ahead),
            _less(plain, ahead), f"{theirs['time_new'] / ahead:,.0f}")


def _work(kind: str, line: Line) -> tuple[str, ...]:
    theirs, old, new = _paper(kind)[line.key], line.ways[OLD], line.ways[NEW]

    def paper(*columns: str) -> str:
        return f"{next(theirs[column] for column in columns if column in theirs):,}"

    return (str(line.key), f"{old.work.deletion:,}", paper("del_old"), f"{new.work.deletion:,}", paper("del_new"),
            f"{new.work.backward:,}", paper("bwd_new", "bwd"), f"{new.work.forward:,}", paper("fwd_new", "fwd"),
            f"{new.work.insertion:,}", paper("ins"), f"{new.marks.explicit:,}", paper("marks_explicit"),
            f"{new.marks.implicit:,}", paper("marks_implicit"), f"{new.marks.saved:,}")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.0f}"


def _less(old: float, new: float) -> str:
    return f"{(old - new) / old:.1%}"


def _paper(kind: str) -> dict[int, dict[str, Any]]:
    table = json.loads((DATA / "paper_tables.json").read_text(encoding="utf-8"))[PAPER[kind]]
    return {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}


def _updates(name: str) -> Iterator[Update]:
    for line in gzip.decompress((DATA / "streams" / f"{name}.jsonl.gz").read_bytes()).splitlines():
        yield Update.from_json(json.loads(line))


def _expected() -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, show, and save if asked."""
    parser = argparse.ArgumentParser(prog="python -m bench.marking", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=3, help="runs of each stream in each way (default: 3)")
    parser.add_argument("--only", choices=SIZES, nargs="+", default=list(SIZES), help="only these programs")
    parser.add_argument("--small", action="store_true", help="one size of each table, one seed, one run")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the tables to a Markdown file")
    asked = parser.parse_args(arguments)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 170)
    if reason := missing():
        console.print(reason)
        return 0
    shown = list[Sheet]()
    for kind in asked.only:
        keys = SIZES[kind]
        for way in () if asked.small else WAYS:
            replay(names(kind, keys[0])[0], way)  # nobody looks: everything is loaded now
        wanted, runs, seeds = (keys[:1], 1, SEEDS[:1]) if asked.small else (keys, asked.runs, SEEDS)
        for sheet in sheets(kind, [measured(kind, key, runs, seeds) for key in wanted]):
            on_screen(sheet, console)
            shown.append(sheet)
    if asked.save:
        asked.save.write_text("\n".join(map(as_markdown, shown)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
