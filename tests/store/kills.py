"""A process that updates a store and is killed at a random moment; what it acknowledged is there afterwards.

The process is a copy of this one, so that nothing has to be imported before it can be killed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.store.log_tail import LogTail
from holdfast.store.writing import Store

RULES = "reach(x, y) :- edge(x, y).  reach(x, z) :- reach(x, y), edge(y, z)."
KEPT = 20
EARLY = 0.2  # of the kills come before the store is open
MOMENT = 0.02  # seconds


def killed(folder: Path, seed: int, rounds: int = 3) -> int:
    """Start a process on a store, kill it, and look; several times on one store.  Gives the last version."""
    chance, version = random.Random(seed), 0
    for _ in range(rounds):
        acknowledged = max(version, _run_and_kill(folder, chance))
        with _opened(folder) as kb:
            assert kb.version in (acknowledged, acknowledged + 1)
            first = max(0, kb.version - KEPT + 1)
            assert set(kb.explicit("edge")) == {(x, x) for x in range(first, kb.version + 1)}
            version = kb.version
    shutil.rmtree(folder)
    return version


def _run_and_kill(folder: Path, chance: random.Random) -> int:
    """Let a process make at least so many updates; gives the number of the last that it acknowledged."""
    lines = 0 if chance.random() < EARLY else 1 + chance.randrange(25)
    out, into = os.pipe()
    aside, smallest = chance.random() < 0.5, chance.choice((300, 1 << 14))
    child = os.fork()
    if child == 0:
        try:
            LogTail.quick = 0.0 if aside else LogTail.quick  # a thread syncs
            _update_for_ever(folder, into, smallest)
        finally:
            os._exit(1)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        try:
            found = [pipe.readline() for _ in range(lines)]
            time.sleep(chance.random() * MOMENT)
        finally:
            os.kill(child, signal.SIGKILL)
        found += pipe.readlines()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, "it ended by itself"
    return max((int(line) for line in found if line.endswith(b"\n")), default=0)


def _update_for_ever(folder: Path, into: int, smallest: int) -> None:
    """Update a store, and write the number of each update that is acknowledged; with a small snapshot, a short log is
    long enough."""
    Store.smallest = smallest
    kb = _opened(folder)
    os.write(into, b"0\n")
    while True:
        number = kb.version + 1
        gone = [(number - KEPT, number - KEPT)]
        kb.apply(Update(insert={"edge": [(number, number)]}, delete={"edge": gone}))
        os.write(into, f"{number}\n".encode())


def _opened(folder: Path) -> KnowledgeBase:
    return holdfast.from_text(RULES, facts={"edge": [(0, 0)]}, store=folder)
