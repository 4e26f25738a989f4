"""The end of a log, where records are appended.

The file is longer than its records: behind them are zeros, which the next records overwrite.  So most syncs put only
data on the disk, and not a new size of the file, which takes a file system about as long again.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final, TypeAlias

from holdfast.store.files import Files
from holdfast.store.records import BEGINNING, FIRST, LogKey, LogRecord, encoded
from holdfast.store.syncing import Syncer

SPARE: Final = 1 << 18  # bytes of zeros that are written at a time
_WEIGHT: Final = 0.2  # of the last sync in the average


LogPlace: TypeAlias = tuple[int, bytes]
"""Where the records of a log end, and the checksum of the last."""
START: Final[LogPlace] = len(BEGINNING), FIRST


class LogTail:
    """A log that is open for appending.  Calls of the system raise `OSError`."""

    quick = 1e-3
    """Seconds: a sync that takes less is not worth a second thread, since handing it over takes time too."""

    def __init__(
        self, files: Files, handle: int, key: LogKey, place: tuple[int, bytes] = (len(BEGINNING), FIRST)
    ) -> None:
        self._files, self._handle, self._key = files, handle, key
        self.place = place  # one attribute: an exception may come between two assignments
        self._size = place[0]  # of the file
        self._written: LogPlace | None = None  # the place behind a record that is being synced
        self._is_dirty = False  # something other than records and zeros may be behind `place`
        self._is_aside = self._is_syncing = False  # the sync of that record is another thread's, and it has begun
        self._sync_takes = 0.0  # seconds, an average of the last ones
        self._syncer = Syncer()

    def found(self, size: int, *, is_dirty: bool) -> None:
        """The file has so many bytes, which need not be zeros behind the last record."""
        self._size, self._is_dirty = size, is_dirty

    def begin(self, record: LogRecord, most: int, *, sync: bool) -> None:
        """Write a record and, where that pays, begin to sync it; spare zeros do not go beyond `most`.  If it fails,
        `cut_back` is due."""
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

    def wait_for_disk(self) -> None:
        """Wait until what was written is on the disk."""
        if self._written is None:
            return
        if not self._is_aside:
            self._sync()
        else:
            if not self._is_syncing:  # an exception came from elsewhere before it had begun
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
        """The record that was written is part of the log."""
        assert self._written is not None
        self.place, self._is_dirty, self._written = self._written, False, None

    def cut_back(self) -> None:
        """Take back everything behind the last record, spare zeros too."""
        self._written = None
        self._files.truncate(self._handle, self.place[0])
        self._size, self._is_dirty = self.place[0], False

    def renew(self, data: bytes) -> None:
        """Write all records again, so that the next sync puts each of them on the disk, whatever happened before."""
        self.cut_back()
        self._files.write_all(self._handle, data, 0)
        self._files.sync(self._handle)

    def seal(self) -> None:
        """The file ends with its last record, on the disk."""
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
