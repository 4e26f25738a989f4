"""The end of a log, where records are appended.

The file is longer than its records: it ends in zeros, which later records overwrite.  So most syncs write only data,
and not a new file size, which takes a file system about as long again.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final, TypeAlias

from holdfast.store.files import Files
from holdfast.store.records import BEGINNING, FIRST, LogKey, LogRecord, encoded
from holdfast.store.syncing import Syncer

SPARE: Final = 1 << 18  # bytes of zeros written at a time
_WEIGHT: Final = 0.2  # of the last sync in the average


LogPlace: TypeAlias = tuple[int, bytes]
"""The end of a log's records, and the checksum of the last one."""
START: Final[LogPlace] = len(BEGINNING), FIRST


class LogTail:
    """A log open for appending.  System calls raise `OSError`."""

    quick = 1e-3
    """Seconds: a sync that takes less is not worth a second thread, since handing it over takes time too."""

    def __init__(
        self, files: Files, handle: int, key: LogKey, place: tuple[int, bytes] = (len(BEGINNING), FIRST)
    ) -> None:
        self._files, self._handle, self._key = files, handle, key
        self.place = place  # one attribute, because an exception may come between two assignments
        self._size = place[0]  # of the file
        self._written: LogPlace | None = None  # the end of a record that is being synced
        self._is_dirty = False  # whether anything but zeros may follow the last record
        self._is_aside = self._is_syncing = False  # the sync of that record is another thread's, and it has begun
        self._sync_takes = 0.0  # seconds, an average of the last ones
        self._syncer = Syncer()

    def found(self, size: int, *, is_dirty: bool) -> None:
        """Set the size of the file; `is_dirty` if anything but zeros may follow the last record."""
        self._size, self._is_dirty = size, is_dirty

    def begin(self, record: LogRecord, most: int, *, sync: bool) -> None:
        """Write a record, with spare zeros up to `most`, and begin to sync it where that pays.  If this raises, call
        `cut_back`."""
        self.wait_for_disk()
        if self._is_dirty:
            self.cut_back()
        end, last = self.place
        data = encoded(record, last, self._key)
        after = end + len(data)
        spare = max(0, min(after + SPARE, most) - after) if after > self._size else 0
        self._is_dirty = True
        self._files.write_all(self._handle, data + bytes(spare), end)
        self._size = max(self._size, after + spare)
        self._written = after, data[-len(FIRST) :]
        if not sync:
            self._adopt()
            return
        self._is_aside = self._files.syncs_aside and self._sync_takes > self.quick
        if self._is_aside:
            self._begin_sync()
        elif self._files.syncs_aside:
            self._files.begin_sync(self._handle, end, len(data))

    def wait_for_disk(self) -> None:
        """Wait until everything written is on disk."""
        if self._written is None:
            return
        if not self._is_aside:
            self._sync()
        else:
            if not self._is_syncing:  # interrupted before the sync had begun
                self._begin_sync()
            self._is_syncing = False
            self._syncer.wait()
        self._adopt()

    def _begin_sync(self) -> None:
        self._syncer.begin(self._sync)
        self._is_syncing = True

    def _sync(self) -> None:
        begun = time.perf_counter()
        self._files.sync(self._handle)
        self._sync_takes += _WEIGHT * (time.perf_counter() - begun - self._sync_takes)

    def _adopt(self) -> None:
        """Count the written record as part of the log."""
        assert self._written is not None
        self.place, self._is_dirty, self._written = self._written, False, None

    def cut_back(self) -> None:
        """Truncate everything after the last record, including spare zeros."""
        self._written = None
        self._files.truncate(self._handle, self.place[0])
        self._size, self._is_dirty = self.place[0], False

    def renew(self, data: bytes) -> None:
        """Write all records again, so that the next sync writes all of them to disk, whatever happened before."""
        self.cut_back()
        self._files.write_all(self._handle, data, 0)
        self._files.sync(self._handle)

    def seal(self) -> None:
        """Make the file end with its last record, on disk."""
        self.wait_for_disk()
        if self._size > self.place[0] or self._is_dirty:
            self.cut_back()
        self._files.sync(self._handle)

    def close(self) -> None:
        """Close the file as it is."""
        self._syncer.close()
        with suppress(OSError):
            os.close(self._handle)
        self._handle = -1
