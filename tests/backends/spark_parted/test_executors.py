"""Shards on several executors, of which some are killed by their process ids: facts and counters stay those of memory.

A master of this kind cannot share a process with another, so this runs in processes of its own.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.backends.spark_parted.jobs import DIRECT, SHUFFLE

pytestmark = pytest.mark.only_in_memory("has its own engine")


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("options", [[DIRECT], [DIRECT, "--dynamic"], [SHUFFLE]], ids=" ".join)
def test_updates_survive_executors_that_are_killed(options: list[str]) -> None:
    command = [sys.executable, "-m", f"{__package__}.on_executors", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(" all as expected\n")
