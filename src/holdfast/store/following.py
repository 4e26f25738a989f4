"""A store as a reader sees it while another process writes: a snapshot, and the records after it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from holdfast.store.manifests import cannot
from holdfast.store.publishing import published
from holdfast.store.reading import StoreContents, read_store
from holdfast.store.records import LogKey, StoreLog, read_records

_TRIES = 20  # attempts to open a log before the writer replaces it


class FollowedLog:
    """The log of a snapshot, kept open so that it can be read to its end after the writer has deleted it."""

    def __init__(self, stored: StoreContents) -> None:
        self.folder, self.id, self.number = stored.folder, stored.id, stored.manifest.version
        self._key = LogKey(stored.id, self.number)
        self._place = stored.log.end, stored.log.last
        self._handle = os.open(self.folder / stored.manifest.log, os.O_RDONLY | os.O_CLOEXEC)

    def read(self, end: int | None) -> StoreLog:
        """The records since the last call, up to an offset."""
        start, last = self._place
        log = read_records(_read_from(self._handle, start), (0, last), self._key)
        log = _until(StoreLog(log.records, tuple((start + place, check) for place, check in log.ends)), end)
        if log.ends:
            self._place = log.ends[-1]
        return log

    def close(self) -> None:
        """Close the log."""
        with suppress(OSError):
            os.close(self._handle)
        self._handle = -1


def follow(folder: Path, *, check_facts: bool = True) -> tuple[StoreContents, FollowedLog]:
    """The last state that a reader may see, and the log from there on."""
    for attempt in range(_TRIES):
        stored = happened(read_store(folder, check_facts=check_facts))
        try:
            return stored, FollowedLog(stored)
        except OSError as error:  # the writer has begun another log
            if attempt == _TRIES - 1:
                raise cannot(folder, "read", error) from error
    raise AssertionError("the last attempt returns or raises")


def happened(stored: StoreContents) -> StoreContents:
    """The store without records whose updates are not committed yet."""
    known = published(stored.folder)
    if known is None or known[0] != stored.manifest.version:
        return stored
    return replace(stored, log=_until(stored.log, known[1]))


def _until(log: StoreLog, end: int | None) -> StoreLog:
    number = len(log.ends) if end is None else sum(place <= end for place, _ in log.ends)
    return StoreLog(log.records[:number], log.ends[:number])


def _read_from(handle: int, start: int) -> bytes:
    parts = []
    while part := os.pread(handle, 1 << 20, start):
        parts.append(part)
        start += len(part)
    return b"".join(parts)
