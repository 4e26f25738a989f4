"""Knowledge bases that follow a store which another one writes."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.knowledge.following import Following
from holdfast.store import publishing, reading
from holdfast.store.reading import read_store
from holdfast.store.writing import Store

from . import processes
from .test_commits import edge
from .test_store import FACTS, REACH, codes, whole


@pytest.fixture
def pair(tmp_path: Path) -> Any:
    """A writer and a reader of one store."""
    folder = tmp_path / "kb"
    with holdfast.from_text(REACH, FACTS, store=folder) as writer, holdfast.open(folder, read_only=True) as reader:
        yield writer, reader


@pytest.fixture
def reloads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often a reader loads the state anew."""
    count, reload = list[int](), Following._reload

    def counted(self: Following) -> bool:
        count.append(1)
        return reload(self)

    monkeypatch.setattr(Following, "_reload", counted)
    return count


ACTS: list[Callable[[KnowledgeBase], object]] = [
    lambda kb: kb.apply(edge((3, 4))),
    lambda kb: kb.apply(Update(delete={"edge": [(1, 2)]}, insert={"edge": [(n, n) for n in range(300)]})),
    lambda kb: kb.apply(Update(add_rules="two(x, z) :- edge(x, y), edge(y, z).", insert={"edge": [(5, 6)]})),
    lambda kb: kb.apply_net([edge((8, 9)), Update(delete={"edge": [(3, 4)]})]),
    lambda kb: kb.apply_all([edge((9, 10)), Update(delete={"edge": [(9, 10)]}), edge((9, 11))]),
    lambda kb: kb.apply(Update(remove_rules=["r1"])),
    lambda kb: kb.apply(Update()),
]


@pytest.mark.parametrize("compacts", [False, True])
def test_a_reader_stays_where_it_is_until_it_refreshes(pair: Any, compacts: bool, reloads: list[int]) -> None:
    writer, reader = pair
    for act in ACTS:
        before = whole(reader)
        act(writer)
        if compacts:
            writer.compact()
            writer.apply(edge((writer.version, 77)))
        assert whole(reader) == before
        assert reader.refresh() == writer.version
        assert whole(reader) == whole(writer)
        assert reader.refresh() == writer.version
    assert not reloads


def test_a_snapshot_is_deleted_while_a_reader_checks_it(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = pair
    digest, turns = reading.file_digest, iter(range(2))

    def late(path: Path) -> str:
        for _ in turns:  # the first keeps the manifest of the snapshot before it, the second does not
            writer.apply(edge((writer.version, 78)))
            writer.compact()
        return digest(path)

    writer.apply(edge((3, 4)))
    writer.compact()
    monkeypatch.setattr(reading, "file_digest", late)
    assert reader.refresh() == writer.version
    assert whole(reader) == whole(writer)
    assert next(turns, None) is None


def test_a_reader_that_slept_through_two_snapshots_loads_the_state_anew(pair: Any, reloads: list[int]) -> None:
    writer, reader = pair
    for n in range(3):
        writer.apply(edge((n, 50)))
        writer.compact()
    before = whole(reader)
    assert reader.refresh() == 3
    assert before != whole(reader) == whole(writer)
    assert len(reloads) == 1
    writer.apply(edge((9, 9)))
    assert reader.refresh() == 4
    assert len(reloads) == 1
    assert codes(lambda: reader.apply(edge((9, 9)))) == ["E1305"]


def test_a_reader_follows_a_migration(tmp_path: Path, reloads: list[int]) -> None:
    folder, new = tmp_path / "kb", REACH + " two(x, z) :- edge(x, y), edge(y, z)."
    holdfast.from_text(REACH, FACTS, store=folder).close()
    reader = holdfast.open(folder, read_only=True)
    with holdfast.from_text(new, store=folder, migrate=True) as writer:
        assert reader.refresh() == 1
        assert whole(reader) == whole(writer)
    assert reloads
    reader.close()


def test_a_reader_writes_nothing(pair: Any, tmp_path: Path) -> None:
    writer, reader = pair
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    before = whole(reader)
    for call in (
        lambda: reader.apply(edge((3, 4))),
        lambda: reader.apply(Update(add_rules="p(x) :- edge(x, _).")),
        lambda: reader.apply_all([edge((3, 4))]),
        reader.compact,
        lambda: reader.backup(tmp_path / "copy"),
    ):
        assert codes(call) == ["E1305"]
    assert reader.what_if(edge((3, 4)))
    assert whole(reader) == before
    assert files == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    writer.apply(Update(insert={"edge": [(3, 4)]}, note={"who": "ann"}))
    assert whole(reader.at(0)) == before
    assert [commit.notes for commit in reader.commits()] == [({"who": "ann"},)]


def test_what_is_in_the_log_and_has_not_happened_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reloads: list[int]
) -> None:
    folder, seen = tmp_path / "kb", list[Any]()
    with holdfast.from_text(REACH, FACTS, store=folder) as writer, holdfast.open(folder, read_only=True) as reader:

        def interrupted(*_: object, **__: object) -> None:
            assert read_store(folder).version == 1
            with holdfast.open(folder, read_only=True) as late:
                seen.extend((reader.refresh(), late.version))
            raise MemoryError

        with monkeypatch.context() as patch, pytest.raises(MemoryError):
            patch.setattr(type(writer._maintainer), "run", interrupted)
            writer.apply(edge((7, 7)))
        assert seen == [0, 0]
        writer.apply(edge((8, 8)))
        assert reader.refresh() == 1
        assert whole(reader) == whole(writer)
    assert not reloads


def test_no_writer_and_no_lock(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    with holdfast.from_text(REACH, FACTS, store=folder) as kb:
        kb.apply(edge((3, 4)))
        before = whole(kb)
    with holdfast.open(folder, read_only=True) as one, holdfast.open(folder, read_only=True) as two:
        assert whole(one) == whole(two) == before
        with holdfast.open(folder) as writer:
            writer.apply(edge((4, 5)))
            assert one.refresh() == two.refresh() == 2
        assert one.refresh() == 2


def test_a_refresh_that_fails_is_made_good_by_the_next(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, reader = pair
    for n in range(3):
        writer.apply(edge((n, 50)))
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(type(reader._maintainer), "run", lambda *_, **__: exec("raise MemoryError"))
        reader.refresh()
    assert reader.refresh() == 3
    assert whole(reader) == whole(writer)


def test_a_store_in_the_place_of_another(tmp_path: Path, reloads: list[int]) -> None:
    for name, edges in (("kb", [(1, 2)]), ("other", [(7, 8)])):
        holdfast.from_text(REACH, {"edge": edges}, store=tmp_path / name).close()
    with holdfast.open(tmp_path / "kb", read_only=True) as reader:
        (tmp_path / "kb").rename(tmp_path / "old")
        (tmp_path / "other").rename(tmp_path / "kb")
        assert reader.refresh() == 0
        assert set(reader["reach"]) == {(7, 8)}
        assert reloads


def test_a_note_for_readers_that_cannot_be_written_is_no_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with holdfast.from_text(REACH, FACTS, store=tmp_path / "kb") as writer:
        with monkeypatch.context() as patch:
            patch.setattr(publishing.os, "pwrite", full)
            publishing.publish(writer._kept.store._lock, 0, 16)
        assert publishing.published(tmp_path / "kb") is None


def test_what_cannot_follow(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text(REACH)
    assert codes(lambda: holdfast.open(tmp_path / "p.dl", store=tmp_path / "kb", read_only=True)) == ["E0926"]
    assert codes(lambda: holdfast.open(tmp_path / "p.dl", read_only=True)) == ["E0926"]
    assert codes(lambda: holdfast.open(tmp_path, read_only=True)) == ["E1301"]
    assert codes(holdfast.from_text(REACH, FACTS).refresh) == ["E1308"]


def test_readers_in_threads_while_the_log_is_replaced_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "smallest", 300)
    folder, failures = tmp_path / "kb", list[BaseException]()
    holdfast.from_text(processes.RULES, {"edge": [(0, 0)]}, store=folder).close()

    def read() -> None:
        try:
            processes.read(folder, 120)
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in readers:
        thread.start()
    processes.write(folder, 120, 300)
    for thread in readers:
        thread.join(60)
    assert not failures


@pytest.mark.parametrize("smallest", [300, 1 << 13], ids=["short logs", "longer logs"])
def test_a_writer_and_two_readers_in_processes(smallest: int, tmp_path: Path) -> None:
    assert len(processes.run(tmp_path / "kb", updates=200, readers=2, smallest=smallest)) == 2
