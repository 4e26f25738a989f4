"""A process that writes a store and others that follow it: each answer of a reader is a version, and none goes back.

The update with number n inserts the edge (n, n) and deletes (n - 20, n - 20), so each version is known by its number.
`python -m tests.store.processes --updates 10000 --readers 4` is the campaign; the tests run a short one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.store.writing import Store

RULES = "reach(x, y) :- edge(x, y).  reach(x, z) :- reach(x, y), edge(y, z)."
KEPT = 20


def write(folder: Path, updates: int, smallest: int) -> None:
    """Update a store, and sync one record of two; with 300 bytes, a log of a few records is long enough for a new
    snapshot."""
    Store.smallest = smallest
    with holdfast.open(folder) as kb:
        for number in range(kb.version + 1, updates + 1):
            gone = [(number - KEPT, number - KEPT)]
            kb.sync = "full" if number // 8 % 2 else "os"
            kb.apply(Update(insert={"edge": [(number, number)]}, delete={"edge": gone}))


def read(folder: Path, updates: int) -> None:
    """Follow a store until it has so many updates; prints how many versions were seen."""
    seen = 0
    with holdfast.open(folder, read_only=True) as kb:
        version = kb.version
        check(kb)
        while version < updates:
            before, version = version, kb.refresh()
            assert version >= before
            if version > before:
                check(kb)
                seen += 1
            else:
                time.sleep(0.001)
    print(seen)


def check(kb: KnowledgeBase) -> None:
    """The facts are those of the version."""
    expected = {(x, x) for x in range(max(0, kb.version - KEPT + 1), kb.version + 1)}
    assert set(kb.explicit("edge")) == set(kb["reach"]) == expected, kb.version


def run(folder: Path, updates: int, readers: int, smallest: int = 300) -> list[int]:
    """One writer and some readers; gives how many versions each reader saw."""
    holdfast.from_text(RULES, {"edge": [(0, 0)]}, store=folder).close()
    started = [_start("read", folder, updates, 0) for _ in range(readers)]
    started.append(_start("write", folder, updates, smallest))
    try:
        outputs = [process.communicate(timeout=1800) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (_, errors) in zip(started, outputs, strict=True):
        assert process.returncode == 0, errors
    return [int(output) for output, _ in outputs[:-1]]


def _start(role: str, folder: Path, updates: int, smallest: int) -> subprocess.Popen[str]:
    code = f"from pathlib import Path; from tests.store.processes import read, write; {role}(Path({str(folder)!r}), "
    code += f"{updates}, {smallest})" if role == "write" else f"{updates})"
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def main() -> None:
    """The campaign."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--updates", type=int, default=10_000)
    options.add_argument("--readers", type=int, default=4)
    options.add_argument("--smallest", type=int, default=300, help="bytes of a snapshot; a third of a log")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-readers-") as folder:
        seen = run(Path(folder) / "kb", asked.updates, asked.readers, asked.smallest)
    print(f"{asked.updates} updates, {asked.readers} readers saw {seen} versions")


if __name__ == "__main__":
    main()
