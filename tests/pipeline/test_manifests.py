"""Manifests vouch for themselves and for each other: whatever bits flip, `restore` never takes another state for what
was written, and never deletes anything before it knows."""

from __future__ import annotations

import errno
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import DamagedData, UsageError
from holdfast.pipeline import snapshots
from holdfast.pipeline.snapshots import Manifest, SnapshotStore
from tests.pipeline.test_snapshots import files, store_with


def flipped(content: bytes, bit: int) -> bytes:
    return content[: bit // 8] + bytes([content[bit // 8] ^ 1 << bit % 8]) + content[bit // 8 + 1 :]


def meaning(manifest: Manifest) -> dict[str, object]:
    return json.loads(manifest.to_json())


def flips(folder: Path, victims: str, count: int, seed: int) -> Iterator[Path]:
    """Copies of a folder of snapshots, in each of which a bit of one file is another."""
    dice = random.Random(seed)
    chosen = [path.relative_to(folder) for path in files(SnapshotStore(folder)) if path.match(victims)]
    for number in range(count):
        copy = folder.with_name(f"copy{number}")
        shutil.copytree(folder, copy)
        victim = copy / dice.choice(chosen)
        content = victim.read_bytes()
        victim.write_bytes(flipped(content, dice.randrange(len(content) * 8)))
        yield copy
        shutil.rmtree(copy)


@pytest.mark.parametrize(("victims", "count"), [("manifests/*", 200), ("*.parquet", 60), ("CURRENT", 100)])
def test_a_flipped_bit_is_refused_or_harmless(tmp_path: Path, victims: str, count: int) -> None:
    model = store_with(tmp_path / "model", 5, keep=4)
    whole = {number: meaning(model.load(number)) for number in model.whole()}
    refused = 0
    for copy in flips(tmp_path / "model", victims, count, seed=14):
        try:
            newest = SnapshotStore(copy).current()
            assert newest is not None and meaning(newest) == whole[4]
        except DamagedData:
            refused += 1
        for number in whole:
            store = SnapshotStore(copy, keep=4)
            before = {path: path.read_bytes() for path in files(store)}
            try:
                found = meaning(store.go_back(number))
            except DamagedData:
                refused += 1
                assert {path: path.read_bytes() for path in files(store)} == before
                continue
            assert found == whole[number]
            current = store.current()
            assert current is not None and meaning(current) == whole[number]
            break
    assert refused > count / 4


def test_a_manifest_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3, keep=3)
    shutil.copy(tmp_path / "manifests/0.json", tmp_path / "manifests/1.json")
    with pytest.raises(DamagedData, match=r"manifests/1.json is that of update 0"):
        store.go_back(1)


def test_a_manifest_of_another_history_is_refused_by_the_one_after_it(tmp_path: Path) -> None:
    """It is whole, and so are its files; but it is not the one that update 2 was made on."""
    store = store_with(tmp_path / "a", 3, keep=3)
    text = (tmp_path / "a/manifests/1.json").read_text(encoding="utf-8")
    manifest = Manifest.from_json(text)
    other = Manifest(**{**vars(manifest), "program": "p(x) :- edge(_, x)."})
    (tmp_path / "a/manifests/1.json").write_text(other.to_json(), encoding="utf-8")
    with pytest.raises(DamagedData, match=r"manifests/1.json does not match its hash"):
        store.go_back(1)
    assert [number for number in range(3) if (tmp_path / f"a/manifests/{number}.json").exists()] == [0, 1, 2]
    assert store.go_back(0).number == 0


def as_before(folder: Path) -> None:
    """Make the manifests those of the format without hashes, as an older holdfast wrote them."""
    import hashlib

    new = ("sha256", "previous", "previous_sha256", "parts_of", "taken")
    for path in (folder / "manifests").iterdir():
        content = {key: value for key, value in json.loads(path.read_text("utf-8")).items() if key not in new}
        path.write_text(json.dumps({**content, "format": 1}), encoding="utf-8")
    newest = json.loads((folder / "CURRENT").read_text("utf-8"))["snapshot"]
    digest = hashlib.sha256((folder / f"manifests/{newest}.json").read_bytes()).hexdigest()
    (folder / "CURRENT").write_text(json.dumps({"snapshot": newest, "sha256": digest}), encoding="utf-8")


def test_folders_of_an_older_holdfast_open_and_the_way_back_has_to_be_asked_for(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3, keep=3)
    as_before(tmp_path)
    newest = store.current()
    assert newest is not None and newest.number == 2  # CURRENT has the hash of this one
    assert store.unverified() == [0, 1]
    with pytest.raises(UsageError, match=r"E1117(.|\n)*--unverified"):
        store.go_back(1)
    assert len(files(store)) == 3 + 3 + 1
    store.commit(Manifest(**{**vars(newest), "number": 3}))
    assert store.unverified() == [1]  # update 2 has a hash in the manifest of update 3
    assert store.go_back(1, unverified=True).number == 1


def test_what_a_damaged_manifest_needs_is_not_thrown_away(tmp_path: Path) -> None:
    store = store_with(tmp_path, 4, keep=4)
    path = tmp_path / "manifests/2.json"
    content = path.read_bytes()
    path.write_bytes(b"{")
    newest = store.current()
    assert newest is not None
    store.commit(Manifest(**{**vars(newest), "number": 4}))
    path.write_bytes(content)
    assert store.whole() == [1, 2, 3, 4]


def test_manifests_left_over_by_a_restore_that_was_stopped_are_no_witnesses(tmp_path: Path) -> None:
    store = store_with(tmp_path, 4, keep=4)
    kept = {n: (tmp_path / f"manifests/{n}.json").read_bytes() for n in (2, 3)}
    first = store.go_back(1)
    for number, content in kept.items():  # as if it had been killed before it deleted them
        (tmp_path / f"manifests/{number}.json").write_bytes(content)
    store.commit(Manifest(**{**vars(first), "number": 2, "program": "q(x) :- edge(x, _)."}))
    current = store.current()
    assert current is not None and current.program == "q(x) :- edge(x, _)."
    assert store.whole() == [0, 1, 2]


@pytest.mark.parametrize("name", ["²", "007", "-1", "9" * 100, "1.5", "x"])
def test_files_with_other_names_among_the_manifests_are_left_alone(tmp_path: Path, name: str) -> None:
    store = store_with(tmp_path, 2, keep=2)
    other = tmp_path / f"manifests/{name}.json"
    other.write_text("{}", encoding="utf-8")
    newest = store.current()
    assert newest is not None and newest.number == 1 and store.whole() == [0, 1] and store.next_number() == 2
    assert other.exists()


@pytest.mark.parametrize("text", ["1e400", '{"snapshot": 1e400}', "[" * 100_000, '{"snapshot": []}', "null", "\x00"])
def test_a_pointer_that_says_nothing_is_damage(tmp_path: Path, text: str) -> None:
    store = store_with(tmp_path, 2, keep=2)
    (tmp_path / "CURRENT").write_text(text, encoding="utf-8")
    with pytest.raises(DamagedData, match="CURRENT"):
        store.current()


class Faults:
    """Lets the n-th step that changes the disk fail, as a full one does, half of it done where it has halves."""

    def __init__(self, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps, self._at = 0, at
        for owner, name in (
            (Path, "open"),
            (Path, "replace"),
            (Path, "unlink"),
            (Path, "mkdir"),
            (snapshots.shutil, "rmtree"),
            (snapshots.os, "fsync"),
            (snapshots.pq, "write_table"),
        ):
            monkeypatch.setattr(owner, name, self._failing(getattr(owner, name), name))

    def _failing(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            self.steps += name != "open" or "w" in arguments[1:2] or "w" in named.get("mode", "")
            if self.steps != self._at:
                return function(*arguments, **named)
            if name == "write_table":
                function(*arguments, **named)
                Path(arguments[1]).write_bytes(Path(arguments[1]).read_bytes()[:50])
            raise OSError(errno.ENOSPC, "No space left on device")

        return called


def test_a_disk_that_is_full_at_any_step_leaves_the_old_snapshot_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = store_with(tmp_path / "model", 5, keep=3)
    whole = {number: meaning(model.load(number)) for number in model.whole()}
    before = meaning(store_with(tmp_path / "before", 4, keep=3).load(3))
    failed = 0
    for at in range(1, 1000):
        folder = tmp_path / f"copy{at}"
        shutil.copytree(tmp_path / "before", folder)
        with monkeypatch.context() as patched:
            faults = Faults(at, patched)
            try:
                store_with(folder, 5, keep=3, first=4)
            except OSError:
                failed += 1
            done = faults.steps < at
        found = SnapshotStore(folder, keep=3).current()
        assert found is not None and meaning(found) in (before, whole[4]), at
        store_with(folder, 5, keep=3, first=4 if found.number == 3 else 5)  # it goes on
        newest = SnapshotStore(folder, keep=3).current()
        assert newest is not None and meaning(newest) == whole[4], at
        shutil.rmtree(folder)
        if done:
            break
    assert failed >= 8
