"""The log: records of updates, each with its own checksum and that of the record before.

    bytes   contents
    16      the start of the log: `holdfast log 1`, padded
    then for each record
    4       the mark `HFR1`
    4       kind
    8       the version before it
    8       the version after it
    8       length of the content
    16      the checksum of the record before, zeros for the first
            the content
    16      checksum of all that, keyed with the store and the number of the log

A record cannot be mistaken for one of another store or log.  Only the last record can be incomplete, because each is on
disk before the next is written.  So a broken record with nothing valid after it was never acknowledged, and one with
something valid after it is damage.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Final

BEGINNING: Final = b"holdfast log 1".ljust(16, b"\0")
UPDATES, TAKEN_BACK = 1, 2
"""Kinds of record: updates, and a mark that the records after a version were retracted."""

_MARK: Final = b"HFR1"
_HEAD: Final = struct.Struct("<4sIQQQ16s")
_CHECK: Final = 16
FIRST: Final = bytes(_CHECK)  # in place of the record before the first


@dataclass(frozen=True)
class LogRecord:
    """One commit: the versions before and after it, and its updates."""

    kind: int
    base: int
    version: int
    content: bytes


@dataclass(frozen=True)
class LogKey:
    """The log and store that a record belongs to."""

    store: str
    number: int

    def check(self, data: bytes) -> bytes:
        """The checksum of a record."""
        sum = self._keyed.copy()
        sum.update(data)
        return sum.digest()

    @cached_property
    def _keyed(self) -> hashlib.blake2b:
        return hashlib.blake2b(digest_size=_CHECK, key=f"{self.store}/{self.number}".encode())


@dataclass(frozen=True)
class StoreLog:
    """The contents of a log: its records, with their ends and checksums."""

    records: tuple[LogRecord, ...] = ()
    ends: tuple[tuple[int, bytes], ...] = ()
    fault: str | None = None  # if the rest is damaged

    @property
    def end(self) -> int:
        """Where the last record ends."""
        return self.ends[-1][0] if self.ends else len(BEGINNING)

    @property
    def last(self) -> bytes:
        """The checksum of the last record."""
        return self.ends[-1][1] if self.ends else FIRST

    def until(self, version: int) -> StoreLog | None:
        """The part of the log that leads to a version; None if no record ends at it."""
        for number in range(len(self.records), 0, -1):
            log = StoreLog(self.records[:number], self.ends[:number])
            applied = log.applied()
            if applied and applied[-1].version == version:
                return log
        return None

    def applied(self) -> list[LogRecord]:
        """The records that make up the state: a record replaces those with versions after its base."""
        found: list[LogRecord] = []
        for record in self.records:
            while found and found[-1].version > record.base:
                found.pop()
            if record.kind == UPDATES:
                found.append(record)
        return found


def encoded(record: LogRecord, before: bytes, key: LogKey) -> bytes:
    """Encode a record; the last 16 bytes are its checksum."""
    head = _HEAD.pack(_MARK, record.kind, record.base, record.version, len(record.content), before)
    return b"".join((head, record.content, key.check(head + record.content)))


def read_log(data: bytes, key: LogKey) -> StoreLog:
    """The records of a log up to the first incomplete one; with a fault if anything valid follows it."""
    if data[: len(BEGINNING)] != BEGINNING:
        return StoreLog(fault="it does not begin as a log")
    return read_records(data, (len(BEGINNING), FIRST), key)


def read_records(data: bytes, place: tuple[int, bytes], key: LogKey) -> StoreLog:
    """The records after a place, which is the end and checksum of the previous record."""
    records: list[LogRecord] = []
    ends = [place]
    while (found := _record(data, ends[-1][0], key)) is not None:
        record, before, check, end = found
        if before != ends[-1][1]:
            fault = f"the record at byte {ends[-1][0]} does not follow the one before it"
            return StoreLog(tuple(records), tuple(ends[1:]), fault)
        records.append(record)
        ends.append((end, check))
    return StoreLog(tuple(records), tuple(ends[1:]), _valid_after(data, ends[-1][0], key))


def _record(data: bytes, place: int, key: LogKey) -> tuple[LogRecord, bytes, bytes, int] | None:
    """The record at an offset, the previous checksum, its own, and its end; None if it is not valid."""
    start = place + _HEAD.size
    if len(data) < start + _CHECK:
        return None
    mark, kind, base, version, length, before = _HEAD.unpack_from(data, place)
    end = start + length + _CHECK
    if mark != _MARK or end > len(data):
        return None
    check = data[end - _CHECK : end]
    if key.check(data[place : end - _CHECK]) != check:
        return None
    return LogRecord(kind, base, version, data[start : end - _CHECK]), before, check, end


def _valid_after(data: bytes, place: int, key: LogKey) -> str | None:
    """The fault, if a valid record follows a broken one."""
    following = data.find(_MARK, place + 1)
    while following >= 0:
        if _record(data, following, key) is not None:
            return f"the record at byte {place} is broken, and a valid one follows at byte {following}"
        following = data.find(_MARK, following + 1)
    return None
