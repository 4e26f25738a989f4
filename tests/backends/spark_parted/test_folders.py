"""Folders of processes that were killed are removed by the next one; all others stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.backends.spark_parted.folders import frame_folder, new_folder, remove_folder

pytestmark = pytest.mark.only_in_memory("has no engine")
KILLED = """
import os, signal, sys
from holdfast.backends.spark_parted.folders import frame_folder, new_folder
folder = new_folder(sys.argv[1])
print(folder, frame_folder(folder), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_folders_of_killed_processes_go(tmp_path: Path) -> None:
    own, foreign = Path(new_folder(str(tmp_path))), tmp_path / "holdfast-shards-unlocked"
    frames = Path(frame_folder(str(own)))
    foreign.mkdir()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False)
    left = [Path(each) for each in killed.stdout.split()]
    assert len(left) == 2 and all(each.is_dir() for each in left)
    another = Path(new_folder(str(tmp_path)))
    assert not any(each.exists() for each in left)
    assert own.is_dir() and frames.is_dir() and foreign.is_dir() and another.is_dir()
    remove_folder(str(own))
    assert not own.exists() and frames.is_dir()
