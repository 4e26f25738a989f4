"""Threads that read and write one knowledge base, or several, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .threaded import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_threads(name: str) -> None:
    command = [sys.executable, "-m", "tests.atomic.threaded", name, "--rounds", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
