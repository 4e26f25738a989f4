"""The log of commits: what is in it, replayed, is the state, wherever a call was cut short.

A log here is a list; what a disk may do to one is the concern of a store.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.knowledge.materialisation import Commit

from .events import shot_at
from .judging import judge, key_of
from .scenes import LATER, REACH, RULES, WINDOW, Scene, by_window, scenes
from .sweep import KINDS, sampled

FACTS = {"edge": [(0, 1), (1, 2), (2, 0), (2, 3)], "bad": [(9,)]}
LOGGED = ("dred, both", "rules", "net", "all at once", "window", "stream of windows", "stream with marks", "closure")
ONE = Update(insert={"edge": [(3, 4)]})


class Log:
    """The commits of a knowledge base; one with the version of another replaces it."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.commits: list[Commit] = []
        kb._state.log = self

    def __call__(self, commit: Commit) -> None:
        first = commit.version - len(commit.updates)
        self.commits = [*(other for other in self.commits if other.version <= first), commit]

    def replayed(self, kb: KnowledgeBase, version: int) -> KnowledgeBase:
        for update in (update for commit in self.commits if commit.version <= version for update in commit.updates):
            kb.apply(update)
        return kb


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # as in test_interrupts.py
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scene", [s for s in scenes() if s.name in LOGGED], ids=lambda scene: scene.name)
def test_what_is_logged_is_the_state(scene: Scene, kind: str) -> None:
    for number in sampled(scene, kind, inside=4, outside=4):
        kb = scene.opened()
        log = Log(kb)
        shot_at(KINDS[kind](number), lambda kb=kb: scene.action(kb))  # type: ignore[misc]
        for update in scene.later:
            kb.apply(update)
        assert key_of(log.replayed(scene.opened(), kb._state.version)) == key_of(kb), f"{kind} at event {number}"


@pytest.mark.parametrize(
    ("act", "versions"),
    [
        (lambda kb: kb.apply(ONE), [1]),
        (lambda kb: kb.apply(RULES), [1]),
        (lambda kb: kb.apply(Update()), [1]),
        (lambda kb: kb.apply_net(WINDOW), [4]),
        (lambda kb: kb.apply_all(WINDOW), [4]),
        (by_window(*WINDOW), [1, 2, 3, 4]),
        (lambda kb: list(kb.stream(WINDOW, lookahead="marks")), [1, 2, 3, 4]),
        (lambda kb: (kb.what_if(ONE), kb.impact(RULES), kb.query("reach(x, y)"), kb.counters("reach")), []),
    ],
    ids=["facts", "rules", "nothing", "net", "at once", "window", "stream", "reading"],
)
def test_each_commit_is_logged_before_it_happens(act: Callable[[KnowledgeBase], object], versions: list[int]) -> None:
    kb = holdfast.from_text(REACH, FACTS)
    log, seen = Log(kb), list[bool]()

    def logged(commit: Commit) -> None:
        log(commit)
        before = log.replayed(holdfast.from_text(REACH, FACTS), commit.version - 1)
        seen.append(len(commit.updates) > 1 or key_of(kb) == key_of(before))

    kb._state.log = logged
    act(kb)
    assert [commit.version for commit in log.commits] == versions and all(seen)
    assert kb._state.version == (versions[-1] if versions else 0)


@pytest.mark.parametrize(
    "act",
    [
        lambda kb: kb.apply(ONE),
        lambda kb: kb.apply(RULES),
        lambda kb: kb.apply_net(WINDOW),
        lambda kb: kb.apply_all(WINDOW),
        by_window(*WINDOW),
        lambda kb: list(kb.stream(WINDOW, lookahead="marks")),
    ],
    ids=["facts", "rules", "net", "at once", "window", "stream"],
)
def test_what_cannot_be_logged_does_not_happen(act: Callable[[KnowledgeBase], object]) -> None:
    kb = holdfast.from_text(REACH, FACTS)
    before = key_of(kb)

    def full(_: Commit) -> None:
        raise OSError("no space left on device")

    kb._state.log = full
    with pytest.raises(OSError, match="no space"):
        act(kb)
    assert key_of(kb) == before and kb._state.version == 0
    kb._state.log = None
    judge(kb, LATER)
    assert kb._state.version == len(LATER)
