"""The store of a pipeline: an update and the position in the stream are there together, whatever fails and when."""

from __future__ import annotations

import math
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest

import holdfast
from holdfast import HoldfastError
from holdfast.errors import DamagedData, UsageError
from holdfast.pipeline import keeping
from holdfast.pipeline.batches import Position
from holdfast.pipeline.keeping import PipelineStore
from holdfast.pipeline.model import EngineSettings, Snapshots
from holdfast.pipeline.state import Opener, PipelineState
from holdfast.store.writing import Store
from tests.pipeline.old_folders import store_with
from tests.store.disk import Disk, File, Folder, mounted

PROGRAM = ".decl edge(a: number, b: number)\n.decl p(a: number)\np(x) :- edge(x, _).\n"
OPENER = Opener(EngineSettings(), cast("Any", None))
Seen = tuple[int, Position, frozenset[tuple[int, int]]]


@pytest.fixture(autouse=True)
def _no_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there is a cache must not depend on how busy the machine is."""
    monkeypatch.setattr(Store, "worth_caching", math.inf)


def pipeline_store(folder: Path, keep: int = 3, every: int = 3) -> PipelineStore:
    return PipelineStore(Snapshots(folder, keep, every))


def expected(number: int) -> Seen:
    """The update with a number inserts the edge (number, 1)."""
    position = Position("s", number, 1, 1, "") if number else Position()
    return number, position, frozenset((n, 1) for n in range(number + 1))


def opened(store: PipelineStore) -> PipelineState:
    """The state that a folder has, or the first one; the store is ready to go on."""
    found = store.current()
    if found is None:
        state = OPENER.open(PROGRAM, "p.dl", {"edge": [pa.table({"a": [0], "b": [1]})]}, 1)
        store.begin(state, "")
        return state
    store.go_on(found, "")
    return OPENER.opened(found.rows, found.load)


def updates(folder: Path, until: int, done: Callable[[int], None] = lambda number: None, **settings: int) -> None:
    """Take a folder to an update, from wherever it is."""
    store = pipeline_store(folder, **settings)
    with store.alone():
        state = opened(store)
        done(store.number)
        for number in range(store.number + 1, until + 1):
            store.collect(state.base)
            state.apply([("insert", "edge", pa.table({"a": [number], "b": [1]}))], [], _never)
            store.commit(number, state, expected(number)[1], lambda: None)
            done(number)


def _never(line: object, error: HoldfastError) -> None:
    raise error


def seen(folder: Path) -> Seen | None:
    """What a folder has."""
    found = pipeline_store(folder).current()
    if found is None:
        return None
    state = OPENER.opened(found.rows, found.load)
    assert state.sizes() == found.progress.sizes
    return found.number, found.progress.position, cast("Any", frozenset(state.base["edge"]))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "lock")


def test_the_last_updates_can_be_gone_back_to(tmp_path: Path) -> None:
    updates(tmp_path, 7, keep=3)
    assert {path.name for path in (tmp_path / "log").iterdir()} == {"3.hfl", "6.hfl"}  # 5 is in the first
    store = pipeline_store(tmp_path)
    assert [row[0] for row in store.listed()] == [3, 4, 5, 6, 7]
    assert store.listed()[-1] == (7, "newest", 16)
    with store.alone():
        store.go_back(5)
    assert seen(tmp_path) == expected(5)
    assert not (tmp_path / "facts/6").exists() and [row[0] for row in store.listed()] == [3, 4, 5]
    with store.alone(), pytest.raises(UsageError, match=r"E1114(.|\n)*kept: 3, 4, 5"):
        store.go_back(6)
    updates(tmp_path, 8)
    assert seen(tmp_path) == expected(8)


def test_two_runs_at_once_are_refused_and_readers_follow(tmp_path: Path) -> None:
    store = pipeline_store(tmp_path / "s", every=100)
    with store.alone():
        state = opened(store)
        with pytest.raises(UsageError, match="E1111"), pipeline_store(tmp_path / "s").alone():
            pass
        reader = holdfast.open(tmp_path / "s", read_only=True)
        store.collect(state.base)
        state.apply([("insert", "edge", pa.table({"a": [1], "b": [1]}))], [], _never)
        assert (reader.refresh(), len(reader["edge"])) == (0, 1)  # it is not durable yet
        store.commit(1, state, Position("s", 1, 1, 1, ""), lambda: None)
        assert (reader.refresh(), set(reader["p"])) == (1, {(0,), (1,)})
        assert [note["place"] for commit in reader.commits() for note in commit.notes] == [1]
        reader.close()
    with pytest.raises(UsageError, match=r"E1311"):
        holdfast.open(tmp_path / "s")
    with pytest.raises(UsageError, match=r"E1311"):
        holdfast.from_text(PROGRAM, store=tmp_path / "s")


def test_the_folder_of_a_knowledge_base_is_left_alone(tmp_path: Path) -> None:
    holdfast.from_text(PROGRAM, store=tmp_path).close()
    with pytest.raises(UsageError, match=r"E1108.*the store of a knowledge base"), pipeline_store(tmp_path).alone():
        pass
    holdfast.open(tmp_path).close()


def test_a_large_update_is_committed_by_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_LOGGED", 0)
    updates(tmp_path, 2, every=100)
    assert seen(tmp_path) == expected(2)
    assert {path.name for path in (tmp_path / "facts").iterdir()} == {"0", "1", "2"}  # each can be gone back to


def test_what_follows_is_kept_if_evaluating_it_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "worth_caching", 0.0)
    updates(tmp_path, 4)
    assert [path.name for path in (tmp_path / "derived").iterdir()] == ["3"]
    updates(tmp_path, 7)
    assert [path.name for path in (tmp_path / "derived").iterdir()] == ["6"]
    assert seen(tmp_path) == expected(7)


def test_a_copy_of_the_store_is_one_of_a_pipeline(tmp_path: Path) -> None:
    from holdfast.store.copying import copy_store

    updates(tmp_path / "s", 4)
    copy_store(tmp_path / "s", tmp_path / "copy")
    assert seen(tmp_path / "copy") == expected(4)
    updates(tmp_path / "copy", 6)
    assert seen(tmp_path / "copy") == expected(6)


@pytest.mark.parametrize("damage", ["cut", "flip", "remove", "empty"])
def test_damage_to_any_file_is_seen_and_what_is_intact_is_offered(tmp_path: Path, damage: str) -> None:
    updates(tmp_path / "model", 5, keep=3)
    needed = {"HOLDFAST", "CURRENT", "CLOSED", "manifests/3.json", "facts/3/edge.parquet", "log/3.hfl"}
    for place, victim in enumerate(path.relative_to(tmp_path / "model") for path in files(tmp_path / "model")):
        folder = tmp_path / f"copy{place}"
        shutil.copytree(tmp_path / "model", folder)
        harm(folder / victim, damage)
        if victim.as_posix() in needed - ({"CLOSED"} if damage == "remove" else set()):
            with pytest.raises(DamagedData) as caught:
                seen(folder)
            assert caught.value.diagnostics[0].code == "E1112" and caught.value.diagnostics[0].help
        else:
            assert seen(folder) == expected(5)
        with pipeline_store(folder).alone():  # it can be begun anew, under a number that no update had
            number = pipeline_store(folder).next_number()
        assert number == 6 or victim.as_posix() in ("log/3.hfl", "HOLDFAST")
        store = pipeline_store(folder)
        with store.alone():
            store.begin(OPENER.open(PROGRAM, "p.dl", {}, 0), "")
        assert seen(folder) == (number, Position(), frozenset())


def harm(victim: Path, damage: str) -> None:
    content = victim.read_bytes()
    match damage:
        case "cut":
            victim.write_bytes(content[:-5])
        case "flip":
            victim.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
        case "remove":
            victim.unlink()
        case "empty":
            victim.write_bytes(b"")


def test_a_flipped_bit_is_refused_or_harmless_and_the_way_back_gives_what_was(tmp_path: Path) -> None:
    dice = random.Random(14)
    updates(tmp_path / "model", 5, keep=4)
    refused = 0
    for place in range(30):
        folder = tmp_path / "copy"
        shutil.copytree(tmp_path / "model", folder)
        victim = dice.choice(files(folder))
        content = bytearray(victim.read_bytes())
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        victim.write_bytes(content)
        try:
            assert seen(folder) == expected(5), place
        except DamagedData:
            refused += 1
        store = pipeline_store(folder)
        with store.alone():
            try:
                store.go_back(4)
            except HoldfastError:
                shutil.rmtree(folder)
                continue
        assert seen(folder) == expected(4), (place, victim)
        shutil.rmtree(folder)
    assert refused > 12


# --- faults ------------------------------------------------------------------------------------------


class Campaign:
    """Updates of a folder on a disk that fails or is looked at: which states may be found afterwards."""

    def __init__(self, root: Path, first: int | None, fault: Callable[[int, str], str | None] | None = None) -> None:
        root.mkdir()
        self.disk, self.folder, self.known = Disk(root, fault), root / "state", first
        self._first = 0 if first is None else first  # has no position
        if first is not None:  # an older folder, which is on the disk before anything else happens
            store_with(self.folder, first + 1, PROGRAM)
            self.disk.tree.live["state"] = on_disk(self.folder)
        else:
            self.folder.mkdir()
            self.disk.tree.live["state"] = Folder()
        self.disk.tree.synced = dict(self.disk.tree.live)

    def run(self, until: int) -> None:
        with mounted(self.disk), pytest.MonkeyPatch.context() as patch:
            patch.setattr(keeping, "Files", lambda: self.disk)
            updates(self.folder, until, self._done)

    def _done(self, number: int) -> None:
        self.known = number

    def judge(self, folder: Path) -> None:
        """The folder has the last update that was acknowledged, or the one after it."""
        found = seen(folder)
        if found is None:
            assert self.known is None
            return
        assert found[0] in ((0,) if self.known is None else (self.known, self.known + 1))
        position = Position() if found[0] == self._first else expected(found[0])[1]
        assert found == (found[0], position, expected(found[0])[2])


def on_disk(folder: Path) -> Folder:
    made = Folder()
    for path in folder.iterdir():
        if path.is_dir():
            made.live[path.name] = on_disk(path)
        else:
            file = File()
            file.live, file.synced = bytearray(path.read_bytes()), path.read_bytes()
            made.live[path.name] = file
    made.synced = dict(made.live)
    return made


def images(campaign: Campaign, tmp: Path, dice: random.Random) -> Iterator[Path]:
    """The folder after a kill, after a power cut, and after one with some writes done."""
    disk = campaign.disk
    for make in (disk.after_kill, disk.after_power_cut, lambda to: disk.after_torn_writes(to, dice)):
        make(tmp / "image")
        yield tmp / "image/state"
        shutil.rmtree(tmp / "image")


def until(first: int | None) -> int:
    """The last update of a campaign: some records, a snapshot, and a record."""
    return 4 + (first or 0)


@pytest.mark.parametrize("first", [None, 4], ids=["new", "old"])
def test_a_crash_before_any_call_leaves_an_update_with_its_position(tmp_path: Path, first: int | None) -> None:
    """Also while a folder of the older kind becomes a store."""
    campaign, dice, looked = Campaign(tmp_path / "disk", first), random.Random(1), 0

    def look() -> None:
        nonlocal looked
        with mounted(None):
            for image in images(campaign, tmp_path, dice):
                campaign.judge(image)
                looked += 1

    campaign.disk.watch = look
    campaign.run(until(first))
    assert campaign.known == until(first) and looked > 100


@pytest.mark.parametrize("first", [None, 4], ids=["new", "old"])
@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_a_call_that_fails_loses_nothing_that_was_acknowledged(tmp_path: Path, first: int | None, step: int) -> None:
    whole, last = Campaign(tmp_path / "whole", first), until(first)
    whole.run(last)
    failed = 0
    for number in range(step // 2, len(whole.disk.calls), step):
        for kind in ("full", "broken"):
            campaign = Campaign(tmp_path / "disk", first, lambda call, _, n=number, k=kind: k if call == n else None)
            try:
                campaign.run(last)
            except HoldfastError as error:
                assert {found.code for found in error.diagnostics} <= {"E1304", "E1305"}
                failed += 1
            for image in images(campaign, tmp_path, random.Random(number)):
                campaign.judge(image)
                updates(image, last)  # it goes on
                found = seen(image)
                assert found is not None and found[0] == last and found[2] == expected(last)[2]
            shutil.rmtree(tmp_path / "disk")
    assert failed > len(whole.disk.calls) / step


def test_the_lock_goes_with_the_process(tmp_path: Path) -> None:
    store = pipeline_store(tmp_path)
    child = os.fork()
    if child == 0:
        with store.alone():
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    updates(tmp_path, 1)
    assert seen(tmp_path) == expected(1)
