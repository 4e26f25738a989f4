"""A process that updates a store and is killed at a random moment; what it acknowledged is there afterwards."""

from __future__ import annotations

import random
import select
import shutil
import subprocess
import sys
from pathlib import Path

import holdfast

CHILD = """
import sys
import holdfast
from holdfast import Update
from holdfast.store.writing import Store
Store.smallest = 300
kb = holdfast.from_text("reach(x, y) :- edge(x, y).  reach(x, z) :- reach(x, y), edge(y, z).",
    facts={"edge": [(0, 0)]}, store=sys.argv[1])
print("ready", flush=True)
while True:
    number = kb.version + 1
    kb.apply(Update(insert={"edge": [(number, number)]}, delete={"edge": [(number - 20, number - 20)]}))
    print(number, flush=True)
"""


def killed(folder: Path, seed: int, rounds: int = 3) -> int:
    """Start a process on a store, kill it, and look; several times on one store.  Gives the last version."""
    chance, version = random.Random(seed), 0
    for _ in range(rounds):
        acknowledged = max(version, _run_and_kill(folder, chance.randrange(60)))
        with holdfast.open(folder) as kb:
            assert kb.version in (acknowledged, acknowledged + 1)
            first = max(0, kb.version - 19)
            assert set(kb.explicit("edge")) == {(x, x) for x in range(first, kb.version + 1)}
            version = kb.version
    shutil.rmtree(folder)
    return version


def _run_and_kill(folder: Path, updates: int) -> int:
    """Let a child make at least so many updates; gives the number of the last that it acknowledged."""
    command = [sys.executable, "-c", CHILD, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            lines = [child.stdout.readline() for _ in range(updates + 1)]
            select.select([], [], [], random.random() / 50)
        finally:
            child.kill()
        lines += child.stdout.readlines()
    whole = [line for line in lines if line.endswith("\n") and line != "ready\n"]
    assert lines[0] == "ready\n"
    return int(whole[-1]) if whole else 0
