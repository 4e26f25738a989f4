"""Memory of processes, as Linux tells it; elsewhere the peak comes from `getrusage` and there is no limit."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def resident(process: int) -> int:
    """Bytes that a process holds now, 0 where nobody knows."""
    return _status(str(process), "VmRSS")


def own() -> int:
    """Bytes that this process holds now, 0 where nobody knows."""
    return _status("self", "VmRSS")


def own_peak() -> int:
    """The most that this process ever held, in bytes.

    `getrusage` comes second: on Linux it starts from what the parent held.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _status("self", "VmHWM") or (usage if sys.platform == "darwin" else usage * 1024)


def _status(process: str, field: str) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)
