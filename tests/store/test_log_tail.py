"""Who syncs a record: this thread where that is quick, another one where it takes long; and what a power cut leaves."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from holdfast.store import log_tail
from holdfast.store.files import Files
from holdfast.store.log_tail import LogTail
from holdfast.store.records import BEGINNING, UPDATES, LogKey, LogRecord, read_log

from .disk import Disk, File

KEY = LogKey("store", 1)


class Slow(Files):
    """Syncs by a clock of its own."""

    def __init__(self) -> None:
        self.now = self.takes = 0.0
        self.threads: list[int] = []

    def perf_counter(self) -> float:
        return self.now

    def sync(self, handle: int) -> None:
        self.threads.append(threading.get_ident())
        self.now += self.takes
        super().sync(handle)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Slow:
    made = Slow()
    monkeypatch.setattr(log_tail, "time", made)
    return made


def test_slow_syncs_are_another_threads(disk: Slow, tmp_path: Path) -> None:
    handle = disk.create(tmp_path / "log")
    disk.write_all(handle, BEGINNING, 0)
    log, mine = LogTail(disk, handle, KEY), threading.get_ident()
    here = list[bool]()
    for number, takes in enumerate([1e-5] * 3 + [0.1] * 3 + [1e-5] * 60):
        disk.takes = takes
        log.begin(LogRecord(UPDATES, number, number + 1, b"content"), 1 << 20, sync=True)
        log.wait_for_disk()
        here.append(disk.threads[-1] == mine)
    assert here[:4] == [True] * 4, "the first slow one is not expected"
    assert here[4:10] == [False] * 6
    assert here[-1], "it is quick again"
    log.close()
    assert len(read_log((tmp_path / "log").read_bytes(), KEY).records) == len(here) == len(disk.threads)


@pytest.mark.parametrize("seed", range(4))
def test_torn_records_among_zeros_are_told_from_the_end(seed: int, tmp_path: Path) -> None:
    """Records of many sectors overwrite zeros, and any of these sectors are on the disk after a power cut."""
    chance, disk = random.Random(seed), Disk(tmp_path)
    handle = disk.create(tmp_path / "log")
    disk.write_all(handle, BEGINNING, 0)
    disk.sync(handle)
    log, records, file, torn = LogTail(disk, handle, KEY), list[LogRecord](), disk.tree.live["log"], 0
    assert isinstance(file, File)
    for number in range(60):
        if chance.random() < 0.1:
            log.cut_back()
        record = LogRecord(UPDATES, number, number + 1, chance.randbytes(chance.choice((5, 500, 1000, 5000, 20_000))))
        log.begin(record, 1 << 20, sync=True)
        for _ in range(10):
            left = read_log(file.torn(chance), KEY)
            assert left.fault is None
            assert list(left.records) in (records, [*records, record])
            torn += len(left.records) == len(records)
        log.wait_for_disk()
        records.append(record)
        assert list(read_log(file.synced, KEY).records) == records
    assert torn > 100
    log.close()
