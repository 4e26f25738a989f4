"""Random programs and updates of facts and rules: a store that is reopened anywhere is exactly what it was."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import holdfast
from holdfast import HoldfastError, KnowledgeBase, Update
from tests.equivalence.runs import KINDS, Kind
from tests.equivalence.scripts import Script, Step, grouped

from .test_store import whole

SEEDS = 6


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_store_is_the_knowledge_base_without_one(kind: Kind, tmp_path: Path) -> None:
    steps = 0
    for seed in range(SEEDS):
        steps += compared(kind.script(seed), tmp_path / str(seed), Random(seed))
    assert steps > 3 * SEEDS


def compared(script: Script, folder: Path, chance: Random) -> int:
    """Run a script with and without a store; gives the number of updates that were not refused."""
    text, facts = script.text(script.rules), grouped(script.facts)
    try:
        plain, kept = holdfast.from_text(text, facts), holdfast.from_text(text, facts, store=folder)
    except HoldfastError:
        return 0
    kept.sync = "os"
    applied = 0
    for step in script.steps:
        outcomes = [_applied(kb, step) for kb in (plain, kept)]
        assert outcomes[0] == outcomes[1]
        applied += outcomes[0] is None
        if chance.random() < 0.3:
            kept = _reopened(kept, folder, chance)
        assert whole(kept) == whole(plain)
    kept = _reopened(kept, folder, chance)
    assert whole(kept) == whole(plain)
    kept.close()
    return applied


def _applied(kb: KnowledgeBase, step: Step) -> str | None:
    """The code of the error, if the update is refused."""
    added, removed = (tuple(map(str, rules)) for rules in (step.add, step.remove))
    try:
        kb.apply(Update(grouped(step.delete), grouped(step.insert), added, removed))
    except HoldfastError as error:
        return error.diagnostics[0].code
    return None


def _reopened(kb: KnowledgeBase, folder: Path, chance: Random) -> KnowledgeBase:
    if chance.random() < 0.5:
        kb.compact()
    kb.close()
    kb = holdfast.open(folder)
    kb.sync = "os"
    return kb
