"""How far readers may follow a log while another process writes it.

A record may be in the log before its update is committed: its consequences are still being computed, and it may be
retracted.  So the writer notes in the file `lock` where the committed part of the log ends.  The note is for processes
on one machine and is not synced.  After a restart of the machine it is ignored, and the whole log is valid.
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
    """Publish the committed end of a log.  If that fails, clear the note: then readers follow the whole log."""
    try:
        os.pwrite(lock, _NOTE.pack(_boot(), number, end), 0)
    except OSError:
        os.ftruncate(lock, 0)


def published(folder: Path) -> tuple[int, int] | None:
    """The number of the current log, and its end for readers; None if unknown."""
    with suppress(OSError, struct.error):
        boot, number, end = _NOTE.unpack((folder / "lock").read_bytes())
        return (number, end) if boot == _boot() else None
    return None


@cache
def _boot() -> bytes:
    """The id of the machine's current boot, if the system provides one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes()[:36].ljust(36)
    except OSError:
        return bytes(36)
