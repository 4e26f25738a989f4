"""Snapshots of the older kind: they are read, gone back to, and no damage goes unseen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.errors import DamagedData, ExitCode, UsageError
from holdfast.pipeline.old_snapshots import Manifest, OldSnapshots
from tests.pipeline.old_folders import manifest_text, store_with
from tests.pipeline.test_keeping import harm


def files(store: OldSnapshots) -> list[Path]:
    return sorted(path for path in store.folder.rglob("*") if path.is_file())


def test_the_newest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    newest = store_with(tmp_path, 3).current()
    assert newest is not None
    assert (newest.number, newest.facts_of, [u.number for u in newest.updates]) == (2, 0, [1, 2])
    assert Manifest.from_json(manifest_text(newest)) == newest
    assert OldSnapshots(tmp_path).table(newest.facts[0]).to_pydict() == {"a": [0], "b": [1]}


def test_a_new_folder_has_no_snapshot(tmp_path: Path) -> None:
    assert OldSnapshots(tmp_path / "new").current() is None


def test_what_is_whole_and_where_to_go_back_to(tmp_path: Path) -> None:
    store = store_with(tmp_path, 5)
    assert store.faults() == dict.fromkeys(range(5))
    next((tmp_path / "updates/2").iterdir()).unlink()
    faults = store.faults()
    assert [number for number, fault in faults.items() if fault is None] == store.whole() == [0, 1, 3, 4]
    assert faults[2] == "updates/2/0.parquet is missing"
    with pytest.raises(DamagedData, match="the snapshot of update 1 is intact"):
        store.go_back(2)


@pytest.mark.parametrize("damage", ["cut", "flip", "remove", "empty"])
def test_damage_to_any_file_is_seen(tmp_path: Path, damage: str) -> None:
    for number in range(len(files(store_with(tmp_path / "model", 3)))):
        store = store_with(tmp_path / f"{damage}{number}", 3)
        victim = files(store)[number]
        harm(victim, damage)
        needed = victim.name not in ("0.json", "1.json")  # older manifests, which the newest snapshot does not need
        if needed:
            with pytest.raises(DamagedData) as caught:
                store.current()
            assert caught.value.exit_code == ExitCode.DAMAGED_DATA
            assert caught.value.diagnostics[0].help
        else:
            assert store.current() is not None


def test_the_message_names_the_snapshot_to_go_back_to(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    (tmp_path / "updates/2/0.parquet").unlink()
    with pytest.raises(DamagedData, match=r"updates/2/0.parquet is missing(.|\n)*restore PIPELINE --update 1"):
        store.current()
    assert store.go_back(1).number == 1
    assert store.current() == store.load(1)
    with pytest.raises(UsageError, match="kept: 0, 1"):
        store.go_back(7)


def test_a_switch_that_did_not_happen_leaves_the_old_snapshot(tmp_path: Path) -> None:
    store = store_with(tmp_path, 2)
    (tmp_path / "manifests/2.json").write_text("{", encoding="utf-8")
    (tmp_path / "CURRENT.new").write_text("{", encoding="utf-8")
    newest = store.current()
    assert newest is not None and newest.number == 1


def test_a_first_switch_that_did_not_happen_is_a_beginning(tmp_path: Path) -> None:
    store = store_with(tmp_path, 1)
    (tmp_path / "CURRENT").write_text('{"snapshot": null}\n', encoding="utf-8")
    assert store.is_there
    assert (store.current(), store.next_number()) == (None, 0)
    (tmp_path / "CURRENT").unlink()
    with pytest.raises(DamagedData, match="CURRENT is missing"):
        store.current()


def test_numbers_go_on_whatever_happens(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    assert store.next_number() == 3
    (tmp_path / "CURRENT").write_text("?", encoding="utf-8")
    assert store.next_number() == 3


def test_a_snapshot_of_another_format_is_not_read(tmp_path: Path) -> None:
    store = store_with(tmp_path, 1)
    manifest = json.loads((tmp_path / "manifests/0.json").read_text(encoding="utf-8"))
    (tmp_path / "manifests/0.json").write_text(json.dumps({**manifest, "format": 99}), encoding="utf-8")
    with pytest.raises(DamagedData, match="format 99"):
        store.load(0)
