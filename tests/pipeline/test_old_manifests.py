"""Manifests vouch for themselves and for each other: whatever bits flip, `restore` never takes another state for what
was written, and never deletes anything before it knows."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import DamagedData, UsageError
from holdfast.pipeline.old_snapshots import Manifest, OldSnapshots
from tests.pipeline.old_folders import as_before, commit, manifest_text, store_with
from tests.pipeline.test_old_snapshots import files


def flipped(content: bytes, bit: int) -> bytes:
    return content[: bit // 8] + bytes([content[bit // 8] ^ 1 << bit % 8]) + content[bit // 8 + 1 :]


def meaning(manifest: Manifest) -> dict[str, object]:
    return json.loads(manifest_text(manifest))


def flips(folder: Path, victims: str, count: int, seed: int) -> Iterator[Path]:
    """Copies of a folder of snapshots, in each of which a bit of one file is another."""
    dice = random.Random(seed)
    chosen = [path.relative_to(folder) for path in files(OldSnapshots(folder)) if path.match(victims)]
    for number in range(count):
        copy = folder.with_name(f"copy{number}")
        shutil.copytree(folder, copy)
        victim = copy / dice.choice(chosen)
        content = victim.read_bytes()
        victim.write_bytes(flipped(content, dice.randrange(len(content) * 8)))
        yield copy
        shutil.rmtree(copy)


@pytest.mark.parametrize(("victims", "count"), [("manifests/*", 40), ("*.parquet", 15), ("CURRENT", 25)])
def test_a_flipped_bit_is_refused_or_harmless(tmp_path: Path, victims: str, count: int) -> None:
    model = store_with(tmp_path / "model", 5)
    whole = {number: meaning(model.load(number)) for number in model.whole()}
    refused = 0
    for copy in flips(tmp_path / "model", victims, count, seed=14):
        try:
            newest = OldSnapshots(copy).current()
            assert newest is not None and meaning(newest) == whole[4]
        except DamagedData:
            refused += 1
        for number in whole:
            store = OldSnapshots(copy)
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
    store = store_with(tmp_path, 3)
    shutil.copy(tmp_path / "manifests/0.json", tmp_path / "manifests/1.json")
    with pytest.raises(DamagedData, match=r"manifests/1.json is that of update 0"):
        store.go_back(1)


def test_a_manifest_of_another_history_is_refused_by_the_one_after_it(tmp_path: Path) -> None:
    """It is whole, and so are its files; but it is not the one that update 2 was made on."""
    store = store_with(tmp_path / "a", 3)
    text = (tmp_path / "a/manifests/1.json").read_text(encoding="utf-8")
    manifest = Manifest.from_json(text)
    other = Manifest(**{**vars(manifest), "program": "p(x) :- edge(_, x)."})
    (tmp_path / "a/manifests/1.json").write_text(manifest_text(other), encoding="utf-8")
    with pytest.raises(DamagedData, match=r"manifests/1.json does not match its hash"):
        store.go_back(1)
    assert [number for number in range(3) if (tmp_path / f"a/manifests/{number}.json").exists()] == [0, 1, 2]
    assert store.go_back(0).number == 0


def test_folders_of_an_older_holdfast_open_and_the_way_back_has_to_be_asked_for(tmp_path: Path) -> None:
    store = store_with(tmp_path, 3)
    as_before(tmp_path)
    newest = store.current()
    assert newest is not None and newest.number == 2  # CURRENT has the hash of this one
    assert store.unverified() == [0, 1]
    with pytest.raises(UsageError, match=r"E1117(.|\n)*--unverified"):
        store.go_back(1)
    assert len(files(store)) == 3 + 3 + 1
    commit(tmp_path, Manifest(**{**vars(newest), "number": 3}))
    assert store.unverified() == [0, 1]  # update 2 has a hash in the manifest of update 3
    assert store.go_back(1, unverified=True).number == 1


def test_manifests_left_over_by_a_restore_that_was_stopped_are_no_witnesses(tmp_path: Path) -> None:
    store = store_with(tmp_path, 4)
    kept = {n: (tmp_path / f"manifests/{n}.json").read_bytes() for n in (2, 3)}
    first = store.go_back(1)
    for number, content in kept.items():  # as if it had been killed before it deleted them
        (tmp_path / f"manifests/{number}.json").write_bytes(content)
    commit(tmp_path, Manifest(**{**vars(first), "number": 2, "program": "q(x) :- edge(x, _)."}))
    current = store.current()
    assert current is not None and current.program == "q(x) :- edge(x, _)."
    assert store.whole() == [0, 1, 2]


@pytest.mark.parametrize("name", ["²", "007", "-1", "9" * 100, "1.5", "x"])
def test_files_with_other_names_among_the_manifests_are_left_alone(tmp_path: Path, name: str) -> None:
    store = store_with(tmp_path, 2)
    other = tmp_path / f"manifests/{name}.json"
    other.write_text("{}", encoding="utf-8")
    newest = store.current()
    assert newest is not None and newest.number == 1 and store.whole() == [0, 1] and store.next_number() == 2
    assert other.exists()


@pytest.mark.parametrize("text", ["1e400", '{"snapshot": 1e400}', "[" * 100_000, '{"snapshot": []}', "null", "\x00"])
def test_a_pointer_that_says_nothing_is_damage(tmp_path: Path, text: str) -> None:
    store = store_with(tmp_path, 2)
    (tmp_path / "CURRENT").write_text(text, encoding="utf-8")
    with pytest.raises(DamagedData, match="CURRENT"):
        store.current()
