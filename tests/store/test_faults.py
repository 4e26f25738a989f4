"""A sample of the fault campaign, whose whole is `make test-faults`."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.store.writing import Store

from .damage import damages
from .faults import KINDS, calls, crashes, errors
from .histories import history
from .kills import killed

ACTIONS = history(14, seed=3)


def test_every_kind_of_call_is_in_the_sample(tmp_path: Path) -> None:
    assert {action.way for action in history(40, seed=3)} >= {"apply", "net", "all", "window", "stream", "rules"}
    names = {"create", "write", "sync", "truncate", "sync folder", "replace", "unlink", "mkdir", "rmdir"}
    assert set(calls(ACTIONS, tmp_path)) == names


def test_a_crash_before_any_call_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert crashes(ACTIONS, tmp_path, lambda _: True) > 200


def test_a_crash_while_the_cache_is_written_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "worth_caching", 0.0)
    number = len(calls(ACTIONS, tmp_path))
    assert crashes(ACTIONS, tmp_path, lambda call: call % 7 == 0) > number // 7
    errors(ACTIONS, tmp_path, range(3, number, 40), ["full", "full for good"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_fails_leaves_the_last_commit(kind: str, tmp_path: Path) -> None:
    places = range(KINDS.index(kind), len(calls(ACTIONS, tmp_path)), 6)
    seen = errors(ACTIONS, tmp_path, places, [kind])
    assert kind == "short" or "E1304" in seen


def test_damage_is_noticed_or_harmless(tmp_path: Path) -> None:
    found = list(damages(tmp_path, 150, seed=1))
    assert sum(each.endswith("damaged") for each in found) > 100


def test_a_process_that_is_killed_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    assert killed(tmp_path / "kb", seed=1, rounds=2) > 0
