"""Durable updates beside SQLite's commits, on one disk and in one run: `python -m bench.durable`.

Both put 20 changed facts on the disk before they return: a knowledge base with a store, which maintains its conclusions
too, and SQLite with a write-ahead log and full synchronisation, which does not.  They take turns, so that both meet the
same noise.  Then 8 threads update the knowledge base at the same time.

How the two compare depends on the disk: where a sync takes microseconds, Python is compared with C.  `--sync-ms 5`
measures twice, on this disk and on a simulated one, where each sync of either system takes at least 5 ms; both times
the syncs of each commit are counted.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import holdfast
from bench import slow_disk
from holdfast import KnowledgeBase, Update

PROGRAM = """
may(u, d) :- member(u, g), grant(g, d).
open(u, d) :- may(u, d), !blocked(u).
"""
WRITERS = 8
_SQL = "CREATE TABLE member (u INTEGER, g INTEGER, PRIMARY KEY (u, g)) WITHOUT ROWID"


def main() -> None:
    """Print medians in milliseconds, and rates."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--updates", type=int, default=300)
    options.add_argument("--facts", type=int, default=10_000)
    options.add_argument("--folder", type=Path, help="on the disk to be measured; by default that of temporary files")
    options.add_argument("--sync-ms", type=float, help="measure on a simulated disk too, whose syncs take so long")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        if asked.sync_ms is None:
            measure(Path(folder), asked.updates, asked.facts)
            return
        library = slow_disk.build(Path(folder))
        same = ["--updates", str(asked.updates), "--facts", str(asked.facts), "--folder", folder]
        print("this disk", flush=True)
        slow_disk.run(library, 0, "bench.durable", same)
        print(
            f"\na simulated disk: this one, and every fsync and fdatasync takes at least {asked.sync_ms:g} ms",
            flush=True,
        )
        slow_disk.run(library, asked.sync_ms, "bench.durable", same)


def measure(folder: Path, updates: int, facts: int) -> None:
    """Everything, in a folder of its own."""
    members = [(n, n % 100) for n in range(facts)]
    given = {"member": members, "grant": [(n, n % 7) for n in range(100)], "blocked": [(0,)]}
    connection = _sqlite(folder / "beside.db", members)
    with (
        holdfast.from_text(PROGRAM, given, store=folder / "kb") as kb,
        holdfast.from_text(PROGRAM, given, store=folder / "os") as fast,
    ):
        fast.sync = "os"
        plain = holdfast.from_text(PROGRAM, given)
        turns = {
            "SQLite, WAL, FULL": lambda n: _commit(connection, n),
            "holdfast, durable": lambda n: kb.apply(_update(n)),
            "holdfast, sync='os'": lambda n: fast.apply(_update(n)),
            "holdfast, no store": lambda n: plain.apply(_update(n)),
        }
        found = _taken(turns, updates, range(facts, facts + 10 * (updates + 20), 10))
        for name, taken in found.items():
            print(f"{name:22} {taken}")
        sqlite, durable, *_ = found.values()
        print(f"durable / SQLite       {durable.median / sqlite.median:7.2f}")
        if 0 in (sqlite.syncs, durable.syncs):
            sys.exit("one of them does not sync by the C library, so this compares nothing")
        numbers = count(10 * facts, 10)
        _rate(kb, WRITERS, 10 * WRITERS, numbers)  # what is prepared only once is behind us here too
        single, several = (_rate(kb, threads, updates, numbers) for threads in (1, WRITERS))
        print(f"1 writer {single:.0f}/s, {WRITERS} writers {several:.0f}/s: {several / single:.2f} times")


def _update(n: int) -> Update:
    """Ten facts come and ten go."""
    return Update(
        insert={"member": [(n + k, k) for k in range(10)]}, delete={"member": [(n + k - 10, k) for k in range(10)]}
    )


def _sqlite(path: Path, members: list[tuple[int, int]]) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(_SQL)
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO member VALUES (?, ?)", members)
    connection.execute("COMMIT")
    return connection


def _commit(connection: sqlite3.Connection, n: int) -> None:
    connection.execute("BEGIN")
    connection.executemany("INSERT OR IGNORE INTO member VALUES (?, ?)", [(n + k, k) for k in range(10)])
    connection.executemany("DELETE FROM member WHERE u = ? AND g = ?", [(n + k - 10, k) for k in range(10)])
    connection.execute("COMMIT")


@dataclass
class Taken:
    """The seconds that each commit of a system took, and the syncs of all of them, if they are counted."""

    seconds: list[float] = field(default_factory=list)
    syncs: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        slow = sorted(self.seconds)[-len(self.seconds) // 10]
        shown = f"{1000 * self.median:7.2f} ms, nine of ten {1000 * slow:.2f}"
        return shown if self.syncs is None else f"{shown}, {self.syncs / len(self.seconds):.2f} syncs each"


def _taken(turns: dict[str, Callable[[int], object]], number: int, numbers: range) -> dict[str, Taken]:
    found = {name: Taken() for name in turns}
    for turn, n in enumerate(numbers[: number + 20]):
        for name, act in turns.items():
            before, begun = slow_disk.syncs(), time.perf_counter()
            act(n)
            taken, after = time.perf_counter() - begun, slow_disk.syncs()
            if turn < 20:  # what is prepared only once is behind us
                continue
            found[name].seconds.append(taken)
            if before is not None and after is not None:
                found[name].syncs = (found[name].syncs or 0) + after - before
    return found


def _rate(kb: KnowledgeBase, threads: int, updates: int, numbers: Iterator[int]) -> float:
    """Updates per second by some threads."""
    begun = time.perf_counter()
    workers = [
        threading.Thread(target=lambda: [kb.apply(_update(next(numbers))) for _ in range(updates // threads)])
        for _ in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return updates // threads * threads / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
