"""A snapshot stays what it was: facts, rules, queries and explanations, whatever is updated later."""

from __future__ import annotations

import gc
import linecache
import sys
import threading
import weakref
from random import Random
from types import FrameType
from typing import Any, cast

import numpy as np
import pytest

import holdfast
from holdfast import KnowledgeBase, KnowledgeSnapshot, Update
from holdfast.backends.memory.frozen import FrozenRelation
from holdfast.backends.memory.reading import PinnedVersion
from holdfast.backends.memory.store import MemoryBackend

from ..atomic.judging import judge
from .worlds import NODES, PROGRAM, opened, state_of, step

pytestmark = pytest.mark.only_in_memory("Spark keeps no versions")

QUERIES = ("path(1, x)", "edge(x, y), !path(y, x)", "n = count : { path(_, _) }", "label(x, s), degree(x, n)")


def answers(kb: KnowledgeBase | KnowledgeSnapshot) -> list[set[object]]:
    return [set(kb.query(text)) for text in QUERIES]


@pytest.mark.parametrize("modules", [True, False], ids=["modules", "rules"])
@pytest.mark.parametrize("seed", range(8))
def test_snapshots_stay_what_they_were(seed: int, modules: bool) -> None:
    dice = Random(seed)
    kb = opened(dice, modules=modules)
    kept: list[tuple[KnowledgeSnapshot, object, object]] = []
    for _ in range(25):
        if dice.random() < 0.4:
            snapshot = kb.snapshot()
            if dice.random() < 0.5:  # otherwise nothing of it is read before it is the past
                assert state_of(snapshot) == state_of(kb)
            kept.append((snapshot, state_of(kb), answers(kb)))
        step(dice, kb)
        for snapshot, state, found in dice.sample(kept, min(2, len(kept))):
            assert state_of(snapshot) == state
            assert answers(snapshot) == found
        if len(kept) > 4:
            kept.pop(dice.randrange(len(kept)))
    for snapshot, state, found in kept:
        assert state_of(snapshot) == state and answers(snapshot) == found
        assert snapshot.sizes() == {name: len(rows) for name, rows in snapshot.relations.items()}
    judge(kb)


def test_packing_and_growing_tables_leave_snapshots_alone() -> None:
    kb = holdfast.from_text("p(x, y) :- e(x, y), x < y.", {"e": [(i, i + 1) for i in range(6_000)]})
    backend = cast("MemoryBackend", kb._backend)
    early, early_view = kb.snapshot(), kb["e"]
    assert (17, 18) in early["e"] and list(early.query("p(17, y)")) == [(18,)]
    kb.apply(Update(delete={"e": [(i, i + 1) for i in range(5_500)]}))
    assert backend.packings, "the table was not packed: this shows nothing"
    middle = kb.snapshot()
    kb.apply(Update(insert={"e": [(-i, i) for i in range(1, 40_000)]}))
    for snapshot, size in ((early, 6_000), (middle, 500), (kb.snapshot(), 40_499)):
        assert len(snapshot["e"]) == len(set(snapshot["e"])) == len(snapshot["p"]) == size
    assert (17, 18) in early["e"] and (17, 18) in early_view and (17, 18) not in middle["e"]
    assert list(early.query("p(17, y)")) == [(18,)] and not middle.query("p(17, y)")
    assert list(kb.query("p(-17, y)")) == [(17,)] and not early.query("e(-17, y)")


def test_explanations_of_the_past() -> None:
    kb = holdfast.from_text(PROGRAM, {"edge": [(1, 2), (2, 3)]})
    before = kb.snapshot()
    kb.apply(Update(delete={"edge": [(2, 3)]}, insert={"edge": [(7, 8)]}, remove_rules=["r2"]))
    proof = before.why("path(1, 3)")
    assert proof is not None and kb.why("path(1, 3)") is None
    holdfast.check_proof(proof.to_json(), before.rules_text(), {"edge": [(1, 2), (2, 3)]})
    assert before.why_not("path(7, 8)") is not None and kb.why_not("path(7, 8)") is None


def test_a_snapshot_costs_nothing_until_facts_change(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(PROGRAM, {"edge": [(i, i + 1) for i in range(1000)], "label": [(1, "a")]}, modules=())
    captured: list[str] = []
    keep = holdfast.backends.memory.reading.PinnedVersion.keep  # type: ignore[attr-defined]
    monkeypatch.setattr(
        "holdfast.backends.memory.reading.PinnedVersion.keep",
        lambda self, name, relation: (captured.append(name), keep(self, name, relation)),
    )
    snapshots = [kb.snapshot() for _ in range(100)]
    assert captured == []
    kb.apply(Update(insert={"label": [(2, "b")]}))
    assert set(captured) == {"label", "named"} and len(captured) == 200
    assert len(snapshots[0]["label"]) == 1 and len(kb["label"]) == 2


def test_what_no_snapshot_holds_is_released() -> None:
    kb = opened(Random(1))
    snapshot = kb.snapshot()
    rows = set(snapshot["edge"])
    kb.apply(Update(delete={"edge": sorted(rows)}))
    held = weakref.ref(snapshot)
    del snapshot
    gc.collect()
    assert held() is None
    backend = cast("MemoryBackend", kb._backend)
    assert not any(pinned() for pinned in backend._committed._pinned)


def test_many_updates_keep_one_status_array() -> None:
    kb = holdfast.from_text("p(x) :- e(x, _).", {"e": [(i, i) for i in range(2000)]})
    backend = cast("MemoryBackend", kb._backend)
    arrays = set()
    ask = kb.prepare("e($x, y)")
    for number in range(50):
        kb.apply(Update(insert={"e": [(number, -1)]}, delete={"e": [(number, number)]}))
        assert list(ask({"x": number})) == [(-1,)]
        arrays.add(id(backend._committed._now["e"].status))
    assert len(arrays) == 1, "each update copied the whole status"


def test_versions_count_updates() -> None:
    kb = opened(Random(3), modules=False)
    assert kb.version == 0 and kb.snapshot().version == 0
    assert kb.apply(Update(insert={"edge": [(1, 1)]})).version == 1
    changes = kb.apply_all([Update(insert={"edge": [(1, 2)]}), Update(delete={"edge": [(1, 2)]})])
    assert [change.version for change in changes] == [2, 3] and kb.version == 3
    assert kb.apply_net([Update(insert={"edge": [(5, 5)]})] * 2).version == 5
    assert kb.what_if(Update(insert={"edge": [(1, 3)]})).version is None and kb.version == 5
    answers = kb.stream([Update(insert={"edge": [(8, i)]}) for i in range(4)])
    assert [answer.change.version for answer in answers if answer.change is not None] == [6, 7, 8, 9]


def test_looking_up_reads_no_more_than_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound atoms and `in` go by an index: the relation is never walked through or copied."""
    kb = holdfast.from_text("p(x, y) :- e(x, y), x > 1.", {"e": [(i, i % 7) for i in range(5000)]})
    ask = kb.prepare("p($x, y)")
    ask({"x": 5})
    assert (5, 5) in kb["p"]

    def refuse(*_: object) -> None:
        raise AssertionError("walked through the whole relation")

    monkeypatch.setattr(FrozenRelation, "_all", refuse)
    monkeypatch.setattr(np, "flatnonzero", refuse)
    assert list(ask({"x": 4999})) == [(1,)] and list(kb.query("p(17, y)")) == [(3,)]
    assert (17, 3) in kb["p"] and (17, 4) not in kb["p"] and ("x", 3) not in kb["p"] and (17,) not in kb["p"]
    assert len(kb.query("p(x, $y)", {"y": 3})) == sum(1 for i in range(2, 5000) if i % 7 == 3)
    assert list(kb.query("p(17, $y)", {"y": 3})) == [()]


@pytest.mark.parametrize("seed", range(4))
def test_point_lookups_agree_with_the_whole(seed: int) -> None:
    dice = Random(seed)
    kb = opened(dice, modules=bool(seed % 2))
    for _ in range(12):
        step(dice, kb)
        for name in ("edge", "path", "hop", "degree"):
            rows = set(kb[name])
            for _ in range(3):
                x, y = dice.randrange(NODES), dice.randrange(NODES)
                assert set(kb.query(f"{name}({x}, y)")) == {(b,) for a, b in rows if a == x}
                assert set(kb.query(f"{name}(x, {y})")) == {(a,) for a, b in rows if b == y}
                assert set(kb.query(f"{name}({x}, _)")) == {() for a, b in rows if a == x}
                assert set(kb.query(f"{name}(x, x)")) == {(a,) for a, b in rows if a == b}
                assert ((x, y) in kb[name]) == ((x, y) in rows) == bool(kb.query(f"{name}({x}, {y})"))


def test_a_reader_may_end_while_a_commit_walks_over_the_pinned_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A WeakSet takes a dead item out in the thread where it died, between any two steps of who iterates over it."""
    kb = holdfast.from_text("p(x) :- e(x).", {"e": [(1,)]})
    kept, ending = [kb.snapshot() for _ in range(3)], [kb.snapshot()]
    about_to_end, go_on, walked = threading.Event(), threading.Event(), list[str]()

    def paused(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and "discard" in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
            about_to_end.set()
            go_on.wait(60)
        return paused

    def end() -> None:
        sys.settrace(paused)
        ending.clear()
        gc.collect()
        about_to_end.set()

    def contains(pinned: PinnedVersion, name: str) -> bool:
        if not walked:
            go_on.set()
            reader.join(60)
        walked.append(name)
        return known(pinned, name)

    known, reader = PinnedVersion.__contains__, threading.Thread(target=end)
    reader.start()
    assert about_to_end.wait(60)
    monkeypatch.setattr(PinnedVersion, "__contains__", contains)
    kb.apply(Update(insert={"e": [(2,)]}))
    assert walked and not reader.is_alive()
    assert all(set(snapshot["p"]) == {(1,)} for snapshot in kept) and set(kb["p"]) == {(1,), (2,)}
