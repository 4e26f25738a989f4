"""Many updates of one store: memory and disk stay bounded, and so does the time of an update.

`python -m tests.store.soak --updates 100000` prints a line for each tenth; it fails if the last is out of bounds.
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
    """Some updates: their median time, and the memory and the bytes on disk afterwards."""
    times, most = [], 0
    for number in range(updates):
        change = update(chance)
        begun = time.thread_time()  # of the processor: the machine may be busy
        kb.apply(change)
        times.append(time.thread_time() - begun)
        if number % 100 == 0:
            most = max(most, on_disk(folder))
    found = statistics.median(times), resident(), most
    print(f"version {kb.version}: {1000 * found[0]:.3f} ms, {found[1] >> 20} MiB, {found[2] >> 10} KiB", flush=True)
    return found


def judge(parts: list[tuple[float, int, int]]) -> None:
    """The last tenth is like the second."""
    (seconds, memory, disk), last = parts[1], parts[-1]
    assert last[0] < 1.5 * seconds, "updates take longer and longer"
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
