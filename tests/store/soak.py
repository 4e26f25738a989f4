"""Many updates of one store: memory and disk stay bounded, and so does the time of an update.

`python -m tests.store.soak --updates 100000` prints a line for each tenth; it fails if the last is out of bounds.  The
machine may be busy with other things, so the time of an update is that of the same update of a new knowledge base with
the same facts, times a factor.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

import holdfast
from holdfast import KnowledgeBase, Update

RULES = """
may(u, d) :- member(u, g), grant(g, d).
reach(x, y) :- link(x, y).
reach(x, z) :- reach(x, y), link(y, z).
"""
USERS, GROUPS, LINKS = 2_000, 50, 60
COMPARED = 500  # updates of each tenth


def main() -> None:
    """Run, and compare the last tenth with the second."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--updates", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--sync", choices=["full", "os"], default="os")
    asked = options.parse_args()
    chance = random.Random(asked.seed)
    with tempfile.TemporaryDirectory(prefix="holdfast-soak-") as folder:
        with holdfast.from_text(RULES, first_facts(chance), store=Path(folder) / "kb") as kb:
            kb.sync = asked.sync
            parts = [part(kb, Path(folder), asked.updates // 10, chance) for _ in range(10)]
            facts = {name: set(kb[name]) for name in kb}
        with holdfast.open(Path(folder) / "kb") as kb:
            assert {name: set(kb[name]) for name in kb} == facts
            assert kb.version == asked.updates // 10 * 10
    judge(parts)


def part(kb: KnowledgeBase, folder: Path, updates: int, chance: random.Random) -> tuple[float, int, int]:
    """Some updates: how many times as long as of a new knowledge base they take in the end, and the memory and the
    bytes on disk."""
    beside, most = min(COMPARED, updates // 2), 0
    for number in range(updates - beside):
        kb.apply(update(chance))
        if number % 100 == 0:
            most = max(most, on_disk(folder))
    memory, times, others = resident(), list[float](), list[float]()
    new = holdfast.from_text(RULES, {name: list(kb.explicit(name)) for name in ("member", "grant", "link")})
    for number in range(beside):
        change = update(chance)
        taken = seconds(kb, change), seconds(new, change)
        if number >= beside // 5:  # what is prepared only once is behind us
            times.append(taken[0])
            others.append(taken[1])
    found = statistics.median(times) / statistics.median(others), memory, most
    shown = f"{1000 * statistics.median(times):.3f} ms, {found[0]:.2f} times a new one"
    print(f"version {kb.version}: {shown}, {memory >> 20} MiB, {most >> 10} KiB", flush=True)
    return found


def seconds(kb: KnowledgeBase, change: Update) -> float:
    """Of the processor, by one update."""
    begun = time.thread_time()
    kb.apply(change)
    return time.thread_time() - begun


def judge(parts: list[tuple[float, int, int]]) -> None:
    """The last tenth is like the second."""
    (factor, memory, disk), last = parts[1], parts[-1]
    assert last[0] < 1.5 * factor, "updates take longer and longer"
    assert last[1] < 1.25 * memory + (20 << 20), "memory grows"
    assert last[2] < 1.5 * disk, "the store grows"
    print("bounded")


def first_facts(chance: random.Random) -> dict[str, list[tuple[int, int]]]:
    return {
        "member": [(user, chance.randrange(GROUPS)) for user in range(USERS)],
        "grant": [(group, chance.randrange(500)) for group in range(GROUPS) for _ in range(5)],
        "link": [(chance.randrange(LINKS), chance.randrange(LINKS)) for _ in range(LINKS)],
    }


def update(chance: random.Random) -> Update:
    """Some facts come and as many go; values are from a fixed range, so that the facts do not grow."""

    def members() -> list[tuple[int, int]]:
        return [(chance.randrange(USERS), chance.randrange(GROUPS)) for _ in range(10)]

    links = [(chance.randrange(LINKS), chance.randrange(LINKS)) for _ in range(2)]
    gone = [(chance.randrange(LINKS), chance.randrange(LINKS)) for _ in range(60)]
    return Update(
        insert={"member": members(), "link": links},
        delete={"member": [pair for _ in range(10) for pair in members()], "link": gone},
    )


def resident() -> int:
    """Bytes of memory that the process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
