"""A call that is interrupted anywhere inside the store: what is reopened is the state that the knowledge base has."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest

import holdfast
from holdfast import HoldfastError, KnowledgeBase
from holdfast.store.opening import create_store
from holdfast.store.writing import Store
from tests.atomic.events import by_exception, shot_at
from tests.atomic.judging import key_of
from tests.atomic.scenes import Scene, scenes

SCENES = [scene for scene in scenes() if scene.name in ("dred, both", "rules", "net", "window")]


def kept(scene: Scene, folder: Path, sync: str = "os") -> KnowledgeBase:
    """The knowledge base of a scene, in a store."""
    kb = scene.opened()
    kb.attach(create_store(folder, kb.stored_as("")), lambda _: kb)
    kb.sync = sync
    return kb


def events_in_the_store(scene: Scene, folder: Path, sync: str) -> list[int]:
    """The numbers of the events that happen in the store's code."""
    kb, shot, numbers = kept(scene, folder, sync), by_exception(0), list[int]()

    def noting(frame: FrameType, event: str, argument: object) -> None:
        shot(frame, event, argument)
        if "holdfast/store/" in frame.f_code.co_filename or frame.f_code.co_filename.endswith("durable.py"):
            numbers.append(shot.met)

    sys.setprofile(noting)
    try:
        scene.action(kb)
    finally:
        sys.setprofile(None)
    kb.close()
    return sorted(set(numbers))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("rotates", [False, True])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_the_store_has_the_state(scene: Scene, rotates: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "is_due", rotates)
    sync = "os" if rotates else "full"
    events_in_the_store(scene, tmp_path / "first", sync)  # what is imported only once is behind us
    numbers = events_in_the_store(scene, tmp_path / "counted", sync)
    step = max(1, len(numbers) // 12)
    assert len(numbers) > 10
    for number in numbers[::step]:
        folder = tmp_path / f"kb{number}"
        kb = kept(scene, folder, sync)
        shot_at(by_exception(number), lambda kb=kb: scene.action(kb))  # type: ignore[misc]
        for update in scene.later if number % 2 else ():
            try:
                kb.apply(update)
            except HoldfastError as error:
                assert error.diagnostics[0].code == "E1305"
        state = kb.version, key_of(kb)
        kb.close()
        with holdfast.open(folder) as resumed:
            assert (resumed.version, key_of(resumed)) == state, f"event {number}"
