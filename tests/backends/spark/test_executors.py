"""On several executors, each a process of its own: the same results; and one that dies during an update does no harm.

A master of this kind cannot share a process with another, so this runs in one of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WORKER = Path(__file__).parent / "on_executors.py"


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_updates_survive_an_executor_that_is_killed() -> None:
    done = subprocess.run([sys.executable, str(WORKER)], capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" all as expected\n")
