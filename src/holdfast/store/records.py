"""The log: records of updates, each with its own checksum and that of the record before.

    length  what
    16      the log's beginning: `holdfast log 1`, filled up
    then for each record
    4       the mark `HFR1`
    4       kind
    8       the version before it
    8       the version after it
    8       length of the content
    16      the checksum of the record before, zeros for the first
            the content
    16      checksum of all that, keyed with the store and the number of the log

A record cannot be taken for one of another store or another log.  Only the last record can be incomplete, because each
is on the disk before the next is written.  So a record that is broken with nothing valid behind it was never
acknowledged, and one with something valid behind it is damage.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

BEGINNING: Final = b"holdfast log 1".ljust(16, b"\0")
UPDATES, TAKEN_BACK = 1, 2
"""Kinds of record: updates, and a mark that records after a version never became the state."""

_MARK: Final = b"HFR1"
_HEAD: Final = struct.Struct("<4sIQQQ16s")
_CHECK: Final = 16
FIRST: Final = bytes(_CHECK)  # stands for the record before the first


class BrokenLogError(Exception):
    """A log that is not what was written."""


@dataclass(frozen=True)
class Record:
    """One commit: the versions before and after it, and its updates."""

    kind: int
    base: int
    version: int
    content: bytes


@dataclass(frozen=True)
class LogKey:
    """Which log of which store a record belongs to."""

    store: str
    number: int

    def check(self, data: bytes) -> bytes:
        """The checksum of a record."""
        key = f"{self.store}/{self.number}".encode()
        return hashlib.blake2b(data, digest_size=_CHECK, key=key).digest()


@dataclass(frozen=True)
class Log:
    """What a log holds: its records, where the last one ends, and its checksum."""

    records: tuple[Record, ...]
    end: int
    last: bytes

    def applied(self) -> list[Record]:
        """The records that make up the state: one whose base is behind another's version replaces that."""
        found: list[Record] = []
        for record in self.records:
            while found and found[-1].version > record.base:
                found.pop()
            if record.kind == UPDATES:
                found.append(record)
        return found


def encoded(record: Record, before: bytes, key: LogKey) -> bytes:
    """A record as bytes; the last 16 are its checksum."""
    head = _HEAD.pack(_MARK, record.kind, record.base, record.version, len(record.content), before)
    return b"".join((head, record.content, key.check(head + record.content)))


def read_log(data: bytes, key: LogKey) -> Log:
    """The records of a log up to the first that is incomplete; raises if that is not the end of it."""
    if data[: len(BEGINNING)] != BEGINNING:
        raise BrokenLogError("it does not begin as a log")
    records: list[Record] = []
    place, last = len(BEGINNING), FIRST
    while (found := _record(data, place, key)) is not None:
        record, before, check, end = found
        if before != last:
            raise BrokenLogError(f"the record at byte {place} does not follow the one before it")
        records.append(record)
        place, last = end, check
    _refuse_valid_after(data, place, key)
    return Log(tuple(records), place, last)


def _record(data: bytes, place: int, key: LogKey) -> tuple[Record, bytes, bytes, int] | None:
    """The record at a place, the checksum before it, its own, and where it ends; None if there is no valid one."""
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
    if kind not in (UPDATES, TAKEN_BACK):
        raise BrokenLogError(f"the record at byte {place} is of kind {kind}, which is not known")
    return Record(kind, base, version, data[start : end - _CHECK]), before, check, end


def _refuse_valid_after(data: bytes, place: int, key: LogKey) -> None:
    following = data.find(_MARK, place + 1)
    while following >= 0:
        if _record(data, following, key) is not None:
            raise BrokenLogError(f"the record at byte {place} is broken, and a valid one follows at byte {following}")
        following = data.find(_MARK, following + 1)
