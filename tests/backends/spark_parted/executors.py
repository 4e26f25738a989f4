"""The executors of a `local-cluster`, and what the program that kills them says."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import holdfast


def executors() -> list[int]:
    """The executors that this process has started, through its JVM."""
    found, parents = [], {os.getpid()}
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in listed.splitlines()[1:]]
    for _ in range(6):
        parents |= {int(pid) for pid, parent, _ in processes if int(parent) in parents}
    for pid, _, command in processes:
        if int(pid) in parents and "CoarseGrainedExecutorBackend" in command:
            found.append(int(pid))
    return found


def tell(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%X')} {text}\n")
    sys.stdout.flush()


def same(there: holdfast.KnowledgeBase, here: holdfast.KnowledgeBase) -> None:
    for name in here.relations:
        assert set(there[name]) == set(here[name]), name
