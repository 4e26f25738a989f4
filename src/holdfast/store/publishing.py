"""How far readers may follow a log while another process writes it.

A record may be in the log before its update has happened: its consequences are being computed, and it may yet be taken
back.  So the writer notes in the file `lock` where the log ends whose updates have happened.  This is for processes on
one machine and is not synced.  After a restart of the machine it means nothing, and the whole log counts.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

_NOTE: Final = struct.Struct("<36sQQ")


def publish(lock: int, number: int, end: int) -> None:
    """The log of a snapshot has happened up to a place.  If that cannot be noted, nothing is: then all of it counts."""
    try:
        os.pwrite(lock, _NOTE.pack(_boot(), number, end), 0)
    except OSError:
        os.ftruncate(lock, 0)


def published(folder: Path) -> tuple[int, int] | None:
    """The number of the log that is written, and where it ends for readers; None if nothing is known."""
    with suppress(OSError, struct.error):
        boot, number, end = _NOTE.unpack((folder / "lock").read_bytes())
        return (number, end) if boot == _boot() else None
    return None


@cache
def _boot() -> bytes:
    """Tells one start of the machine from another, where the system says that."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes()[:36].ljust(36)
    except OSError:
        return bytes(36)
