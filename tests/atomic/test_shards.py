"""Updates on shards, interrupted: the old state or the new one, on every shard and in every copy.

What this cannot catch: exceptions inside of Python's own locks and queues, which no program that uses them survives.
"""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

import holdfast

from . import events
from .scenes import Scene, scenes
from .sweep import KINDS, sampled, sweep

pytestmark = pytest.mark.only_in_memory("opens its own engine")
LOCKS = ("/threading.py", "/concurrent/futures/thread.py", "/concurrent/futures/_base.py", "/parted/exchange.py")
SOME = [scene for scene in scenes() if scene.name in ("dred-ranked, both", "rules", "words", "query")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scene", SOME, ids=lambda scene: scene.name)
def test_an_interrupted_update_on_shards(scene: Scene, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "GUARDS", events.GUARDS + LOCKS)
    for name in ("from_text", "open"):
        monkeypatch.setattr(holdfast, name, partial(getattr(holdfast, name), engine="parted[2]"))
    numbers = sampled(scene, kind, inside=2, outside=3, dice=Random(f"{scene.name}{kind}"))
    assert sweep(scene, kind, numbers) >= 1  # the events of a call differ: threads take turns


def test_there_are_scenes() -> None:
    assert len(SOME) == 4
