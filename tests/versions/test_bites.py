"""The tests of versions notice what they are for: each of these mutants makes a snapshot or a reader wrong."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

import holdfast
from holdfast.backends.memory.frozen import FrozenRelation, ReadTable
from holdfast.backends.memory.reading import CommittedFacts, PinnedVersion

from .worlds import opened, state_of, step

pytestmark = pytest.mark.only_in_memory("Spark keeps no versions")


def script(seed: int) -> None:
    """Snapshots beside updates; raises AssertionError, or anything else, if one is wrong."""
    dice = Random(seed)
    kb = opened(dice, modules=False)
    kept = []
    for _ in range(12):
        snapshot = kb.snapshot()
        kept.append((snapshot, state_of(kb)))
        x = dice.randrange(9)
        assert set(kb.query(f"path({x}, y)")) == {(b,) for a, b in kb["path"] if a == x}
        assert all(row in kb["edge"] for row in kb["edge"])
        step(dice, kb)
        fresh = kb.snapshot()
        assert fresh.sizes() == {name: len(rows) for name, rows in state_of(fresh)[2].items()}
        derived = holdfast.from_text(kb.rules_text(), {name: list(kb.explicit(name)) for name in ("edge", "label")})
        assert {name: set(kb[name]) for name in ("path", "hop")} == {
            name: set(derived[name]) for name in ("path", "hop")
        }
        for snapshot, state in kept:
            assert state_of(snapshot) == state


def no_flips(self: CommittedFacts, name: str, _flip: object) -> None:
    """A commit does not notify readers."""


def taken_over(self: FrozenRelation, size: int) -> FrozenRelation:
    """The next version takes a status array that a snapshot has."""
    self.is_shared, self.pins = False, 0
    return _NEXT(self, size)


def kept_unmarked(self: PinnedVersion, name: str, relation: FrozenRelation) -> None:
    """The next version does not know that a snapshot has it."""
    self._kept[name] = relation


def never_extended(self: ReadTable, key: tuple[int, ...], size: int) -> object:
    """An index stays as it was built first."""
    return self._indexes[key] if key in self._indexes else _INDEX(self, key, size)


_NEXT, _INDEX = FrozenRelation.next, ReadTable.index
MUTANTS: tuple[tuple[type, str, Callable[..., object]], ...] = (
    (CommittedFacts, "_capture", lambda self, name: None),
    (CommittedFacts, "_note", no_flips),
    (FrozenRelation, "next", taken_over),
    (PinnedVersion, "keep", kept_unmarked),
    (ReadTable, "index", never_extended),
)


def test_the_script_is_right() -> None:
    for seed in range(3):
        script(seed)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant[1])
def test_a_mutant_is_noticed(mutant: tuple[type, str, Callable[..., object]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*mutant)
    with pytest.raises(AssertionError):
        for seed in range(6):
            script(seed)
