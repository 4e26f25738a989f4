"""Shards that use Spark's shuffle: any worker goes on with any of them, and a repetition that differs is found."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import holdfast
from holdfast.backends.spark_parted import crew, moves, shuffle
from holdfast.backends.spark_parted.jobs import SHUFFLE
from holdfast.backends.spark_parted.shuffle import ShuffleJob
from holdfast.backends.spark_parted.store import SparkPartedBackend

from .test_shards import CLOSURE, NAMES
from .threads import Workers

pytestmark = pytest.mark.only_in_memory("has its own engine")
CHAIN = [(number, number + 1) for number in range(12)]
ALL = {(x, y) for x in range(13) for y in range(x + 1, 13)}


@pytest.fixture
def moving(direct: Workers) -> Workers:
    direct.exchange = SHUFFLE
    return direct


def opened(workers: Workers, text: str = CLOSURE) -> tuple[holdfast.KnowledgeBase, crew.SparkCrew, Path]:
    kb = holdfast.from_text(text, {"edge": CHAIN} if text == CLOSURE else {}, engine=workers.engine(3), modules=())
    backend = kb._backend
    assert isinstance(backend, SparkPartedBackend)
    return kb, backend.crew, Path(backend._settings.folder)


def test_a_worker_without_the_shard_repeats_its_moves(moving: Workers) -> None:
    kb, directed, _ = opened(moving)
    for number in range(4):
        moving.lose_memory()
        kb.apply(holdfast.Update(insert={"edge": [(number, 100 + number)]}))
    assert {row for row in kb["path"] if row[1] < 100} == ALL
    assert directed.restored == 0
    assert moving.jobs == 1


def test_a_repetition_that_differs_is_found_and_all_shards_are_restored(moving: Workers) -> None:
    kb, directed, folder = opened(moving)
    for path in folder.glob("moved-*-1"):
        came, _ = pickle.loads(path.read_bytes())
        path.write_bytes(pickle.dumps((came, b"other rows")))
    moving.lose_memory()
    assert set(kb["path"]) == ALL
    assert directed.restored == 1
    assert moving.jobs == 2


def test_values_that_shards_make_are_asked_for_between_moves(moving: Workers) -> None:
    kb, directed, _ = opened(moving, NAMES)
    expected = holdfast.from_text(NAMES)
    for names in (["a", "b", "c"], ["c", "é"]):
        moving.lose_memory()
        pairs = list(pairwise(names))
        for each in (kb, expected):
            each.apply(holdfast.Update(insert={"parent": pairs}))
        for name in ("full", "later", "longest"):
            assert set(kb[name]) == set(expected[name])
    assert directed.restored == 0


def test_moves_are_not_repeated_for_ever(moving: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "_MOST_MOVES", 30)
    kb, directed, folder = opened(moving)
    for number in range(5):
        kb.apply(holdfast.Update(insert={"edge": [(number, 100 + number)]}))
    assert directed.restored > 0
    assert len(list(folder.glob("moved-*-0"))) < 80
    assert {row for row in kb["path"] if row[1] < 100} == ALL


def test_a_new_base_begins_new_moves(moving: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_SMALL", 0)
    kb, directed, _ = opened(moving)
    for number in range(5):
        kb.apply(holdfast.Update(insert={"edge": [(number, 100 + number)]}))
    assert not (directed._committed.base or "").startswith("base-1-")
    moving.lose_memory()
    assert {row for row in kb["path"] if row[1] < 100} == ALL


def test_an_exchange_takes_no_job_of_its_own(moving: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message is one job, unless shards exchange rows more often than is expected, or ask for values."""
    jobs, ask = defaultdict[int, list[int]](list), ShuffleJob.ask

    def counted(job: ShuffleJob, messages: Sequence[bytes], *, exchanges: int) -> list[Any]:
        before = job.requests
        replies = ask(job, messages, exchanges=exchanges)
        jobs[exchanges].append(job.requests - before)
        return replies

    monkeypatch.setattr(ShuffleJob, "ask", counted)
    kb, directed, _ = opened(moving)
    for number in range(4):
        moving.lose_memory()
        kb.apply(holdfast.Update(insert={"edge": [(number, 100 + number)]}))
    assert {row for row in kb["path"] if row[1] < 100} == ALL
    assert set(jobs[0]) == {1}
    assert len(jobs[1]) > 12
    assert set(jobs[1]) == {1}
    assert directed.requests == sum(map(sum, jobs.values()))
    opened(moving, NAMES)[0].apply(holdfast.Update(insert={"parent": [("x", "y"), ("y", "z")]}))
    assert max(max(each) for each in jobs.values()) > 1


def test_a_worker_passes_over_its_new_objects_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = list[str]()
    monkeypatch.setattr(
        moves, "gc", SimpleNamespace(freeze=lambda: calls.append("f"), unfreeze=lambda: calls.append("u"))
    )
    for number in range(1, 502):
        moves._spare_collections(number)
    assert "".join(calls) == "f" * 499 + "uf"
    calls.clear()
    settings, moved = settings_in(tmp_path, "one"), dict[tuple[str, int], moves.MovedShards]()
    list(moves.run_move(settings, 0, 0, [], moved))
    assert calls == []
    list(moves.run_move(settings_in(tmp_path, "other"), 0, 0, [], moved))
    assert calls == ["u"], "those of an attempt that has ended are garbage"
    moves._drop_unneeded(moved)
    assert calls == ["u"]
    for path in tmp_path.iterdir():
        path.unlink()
    tmp_path.rmdir()
    moves._drop_unneeded(moved)
    assert not moved
    assert calls == ["u", "u"], "those of a knowledge base that is closed are garbage"


def settings_in(folder: Path, attempt: str) -> moves.MoveSettings:
    settings = moves.MoveSettings("kb", 1, str(folder), attempt)
    moves.say(settings, 0, [(moves.NOTHING, b"")])
    return settings


def test_the_last_move_is_repeated_from_files(tmp_path: Path) -> None:
    """The driver knows how it has ended: another worker must find the same."""
    settings, one, other, third = settings_in(tmp_path, "a"), {}, {}, {}  # type: ignore[var-annotated]
    [(_, end)] = moves.run_move(settings, 0, 0, [], one)
    assert end.number == 0
    (file,) = tmp_path.glob("moved-*")
    before = file.stat().st_ino
    [(_, again)] = moves.run_move(settings, 0, 0, None, one)
    assert again is end
    [(_, again)] = moves.run_move(settings, 0, 0, None, other)
    assert again == end
    assert file.stat().st_ino == before
    came, _ = pickle.loads(file.read_bytes())
    file.write_bytes(pickle.dumps((came, b"other rows")))
    with pytest.raises(RuntimeError, match="has found something else when it repeated move 0"):
        list(moves.run_move(settings, 0, 0, None, third))
    for shards in one[("kb", 0)], other[("kb", 0)]:
        shards.end()


@pytest.mark.parametrize(("most", "expected"), [(1, [2, 1, 1, 1, 1]), (2, [3, 2, 1]), (3, [4, 2]), (5, [6]), (8, [6])])
def test_a_job_has_few_moves(moving: Workers, monkeypatch: pytest.MonkeyPatch, most: int, expected: list[int]) -> None:
    """However many commands exchange rows: Spark visits the stages of a job recursively."""
    lengths, ask = list[int](), ShuffleJob._moved_on
    monkeypatch.setattr(shuffle, "_MOST_EXCHANGES", most)
    monkeypatch.setattr(
        ShuffleJob, "_moved_on", lambda job, said, n, **goes_on: (lengths.append(n), ask(job, said, n, **goes_on))[1]
    )
    kb, directed, _ = opened(moving)
    assert max(lengths) == 2
    backend = kb._backend
    assert isinstance(backend, SparkPartedBackend)
    for number in range(3):
        some = backend.facts({"edge": np.array([(number, 100 + number)], np.int64)})
        for _ in range(5):
            backend._driver.do("spread", [(some.number, [])])
        lengths.clear()
        backend._driver.flush()
        assert lengths == expected
        if number == 1:
            moving.lose_memory()
    directed.abandon()
    lengths.clear()
    kb.apply(holdfast.Update(insert={"edge": [(5, 500)]}))
    assert max(lengths) == 1 + min(most, 5), "shards that are restored do the same again"
    assert {row for row in kb["path"] if row[1] < 100} == ALL
    assert directed.restored == 1


def test_one_task_exchanges_nothing(moving: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths, ask = list[int](), ShuffleJob._moved_on
    monkeypatch.setattr(
        ShuffleJob, "_moved_on", lambda job, said, n, **goes_on: (lengths.append(n), ask(job, said, n, **goes_on))[1]
    )
    moving.tasks = 1
    kb, _, _ = opened(moving)
    assert set(kb["path"]) == ALL
    assert set(lengths) == {1}


def test_rows_that_did_not_all_come_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a shuffle cannot be read to its end, Python sees fewer rows before Spark ends the task."""
    moved = dict[tuple[str, int], moves.MovedShards]()
    monkeypatch.setattr(moves, "_moved", moved)
    monkeypatch.setattr(moves, "gc", SimpleNamespace(freeze=lambda: None, unfreeze=lambda: None))
    settings = moves.MoveSettings("kb", 2, str(tmp_path), "a")
    sent = dict[int, list[tuple[int, moves.Passed]]]()
    for number in range(2):
        moves.say(settings, number, [(moves.NOTHING, b"")] * 2)
    for task in range(2):
        for to, each in moves.run_task(settings, 0, True, task, []):
            sent.setdefault(to, []).append((to, each))
    assert [each for _, each in sent[1] if isinstance(each, int)] == [0, 1]
    for length in range(len(sent[1])):
        with pytest.raises(RuntimeError, match="rows for move 1 of task 1 are missing"):
            list(moves.run_task(settings, 1, False, 1, iter(sent[1][:length])))
        assert not list(tmp_path.glob("moved-a-1-*"))
    ends = [each for _, each in moves.run_task(settings, 1, False, 1, iter(sent[1])) if isinstance(each, moves.MoveEnd)]
    assert [(end.number, end.task) for end in ends] == [(1, 1), (0, 1)]
    again = [each for _, each in moves.repeat_task(settings, 1, 1, []) if isinstance(each, moves.MoveEnd)]
    assert again == ends[:1]
    for shards in moved.values():
        shards.end()
