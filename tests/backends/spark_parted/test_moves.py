"""Shards that use Spark's shuffle: any worker goes on with any of them, and a repetition that differs is found."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import pytest

import holdfast
from holdfast.backends.spark_parted import crew, shuffle
from holdfast.backends.spark_parted.jobs import SHUFFLE
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
