"""Images of shards: what is mapped is what was there, and only where it can be believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.backends.spark_parted import images, recording
from holdfast.backends.spark_parted.images import image_folder
from holdfast.backends.spark_parted.links import JobKey
from holdfast.backends.spark_parted.task import TaskSettings
from tests.equivalence.reference import counters_of

from .test_shards import CLOSURE, backend_of
from .threads import Workers

pytestmark = pytest.mark.only_in_memory("has its own engine")
EDGES = [(n, n + 1) for n in range(40)]
CUT = holdfast.Update(delete={"edge": [(7, 8), (20, 21)]}, insert={"edge": [(3, 30)]})
JOINED = holdfast.Update(insert={"edge": [(7, 8), (40, 0)]})


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that are entered row by row, in the order in which they are."""
    found, take_up = list[str](), recording.RecordedShard._take_up

    def taking(self: recording.RecordedShard, about: Any, arrays: Any) -> None:
        found.extend(name for name, _ in about["tables"])
        take_up(self, about, arrays)

    monkeypatch.setattr(recording.RecordedShard, "_take_up", taking)
    return found


def opened(direct: Workers) -> holdfast.KnowledgeBase:
    return holdfast.from_text(CLOSURE, {"edge": EDGES}, engine=direct.engine(2), modules=())


def agree(kb: holdfast.KnowledgeBase, *updates: holdfast.Update) -> bool:
    """Whether a knowledge base is as one in memory after some updates."""
    expected = holdfast.from_text(CLOSURE, {"edge": EDGES}, modules=())
    for update in updates:
        expected.apply(update)
    return counters_of(kb) == counters_of(expected)


def test_a_mapped_shard_has_facts_indexes_and_counters(direct: Workers, read: list[str]) -> None:
    kb = opened(direct)
    kb.apply(CUT)
    backend_of(kb).crew.save_images()
    direct.lose_memory()
    assert agree(kb, CUT)
    kb.apply(JOINED)
    assert agree(kb, CUT, JOINED)
    assert not read


def test_records_after_the_image_are_repeated(direct: Workers, read: list[str]) -> None:
    kb = opened(direct)
    backend_of(kb).crew.save_images()
    kb.apply(CUT)
    direct.lose_memory()
    assert agree(kb, CUT)
    assert read


def test_a_shard_that_passes_over_a_record_is_found_out(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    mapped = recording.RecordedShard._mapped
    monkeypatch.setattr(recording.RecordedShard, "_mapped", lambda self, names: bool(mapped(self, names)) * len(names))
    kb = opened(direct)
    backend_of(kb).crew.save_images()
    kb.apply(CUT)
    direct.lose_memory()
    assert not agree(kb, CUT)


def test_the_capacity_of_a_mapped_table_is_its_own(direct: Workers, read: list[str]) -> None:
    """The arrays of an image lie side by side: what fills the capacity of one must not touch the next."""
    program = ".decl e(x: number, y: number)\n.decl f(x: number, y: number)\nf(y, x) :- e(x, y).\n"
    rows = [(n, n * n) for n in range(3_500)]
    kb = holdfast.from_text(program, engine=direct.engine(1))
    backend_of(kb).crew.save_images()
    direct.lose_memory()
    for begin in range(0, len(rows), 700):
        kb.apply(holdfast.Update(insert={"e": rows[begin : begin + 700]}))
    assert set(kb["e"]) == set(rows)
    assert set(kb["f"]) == {(y, x) for x, y in kb["e"]}
    assert not read


def test_a_mapped_image_is_not_changed(direct: Workers) -> None:
    kb = opened(direct)
    crew = backend_of(kb).crew
    crew.save_images()
    direct.lose_memory()
    before = {path: path.read_bytes() for path in Path(crew._settings.folder).glob("image-*")}
    assert len(before) == 2
    kb.apply(CUT)
    assert before == {path: path.read_bytes() for path in before}


def test_an_image_that_another_shard_is_writing_stays(direct: Workers) -> None:
    kb = opened(direct)
    crew = backend_of(kb).crew
    folder, boot = Path(crew._settings.folder), images._BOOT.read_text(encoding="ascii").strip()
    writing, left = (folder / f".image-base-1-abc-{boot}-{shard}-77" for shard in (0, 1))
    for path in (writing, left):
        path.touch()
    [one] = [shard for shard in direct.shards_of(crew._settings.knowledge_base) if shard.number == 1]
    one.do_image(str(crew._committed.base))
    assert writing.exists()  # shard 1 has written one of version 1
    assert not left.exists()


def test_an_image_of_another_run_of_the_machine_is_not_used(
    direct: Workers, read: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kb = opened(direct)
    backend_of(kb).crew.save_images()
    direct.lose_memory()
    (tmp_path / "boot").write_text("another")
    monkeypatch.setattr(images, "_BOOT", tmp_path / "boot")
    assert agree(kb)
    assert read


def test_nothing_is_written_in_the_middle_of_an_update(direct: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = opened(direct)
    crew = backend_of(kb).crew
    monkeypatch.setattr(type(crew), "obey", _saving(type(crew).obey))
    kb.apply(CUT)
    direct.lose_memory()
    assert agree(kb, CUT)


def _saving(obey: Any) -> Any:
    def obeying(self: Any, commands: Any) -> Any:
        self.save_images()
        return obey(self, commands)

    return obeying


def test_on_a_cluster_images_of_closed_knowledge_bases_go(tmp_path: Path) -> None:
    def made(name: str) -> Path | None:
        base = tmp_path / f"base-{name}"
        base.mkdir()
        settings = TaskSettings(("", 0), JobKey(b""), name, False, str(base), str(tmp_path / "local"))
        found = image_folder(settings)
        return None if found is None else Path(found)

    first, second = made("a"), made("b")
    assert first is not None and first.is_dir() and second is not None and second.is_dir()
    (tmp_path / "base-a").rmdir()
    made("c")
    assert not first.exists() and second.is_dir()


def test_a_folder_that_others_can_write_to_has_no_images(tmp_path: Path) -> None:
    settings = TaskSettings(("", 0), JobKey(b""), "a", False, str(tmp_path), str(tmp_path / "local"))
    folder = image_folder(settings)
    assert folder is not None
    Path(folder).parent.chmod(0o777)
    assert image_folder(settings) is None
