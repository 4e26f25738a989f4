"""Large hyper-nodes are recomputed in new tables; here all are, so that the same scripts show what goes wrong."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast import Update
from holdfast.backends.memory import scratch, table
from holdfast.errors import HoldfastError

from ..equivalence.checking import run
from ..equivalence.lanes import STRATEGIES, Lane
from ..equivalence.rank_check import wrong_ranks
from ..equivalence.scripts import closure_writer, random_script

pytestmark = pytest.mark.only_in_memory("only there hyper-nodes have tables")

RULES = """
path(x, y) :- edge(x, y), !closed(x).
path(x, z) :- edge(x, y), path(y, z).
"""
RING = [(i, (i + step) % 12) for i in range(12) for step in (1, 5)]


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "ENOUGH", 0)
    monkeypatch.setattr(table, "_GLANCE", 3)


@pytest.mark.parametrize("part", range(4))
def test_scripts(part: int) -> None:
    for seed in range(100 * part, 100 * part + 6):
        random = Random(seed)
        script = random_script(random, writer=closure_writer(random) if seed % 2 else None)
        try:
            lane = Lane(script, 0, "recompute or dred-ranked or dred-counting", STRATEGIES[seed % 2], modules=())
        except HoldfastError:
            continue  # the program is refused
        run(script, [lane], oracle=0)


def test_what_if_leaves_counters_and_ranks() -> None:
    kb = holdfast.from_text(RULES, facts={"edge": RING, "closed": [(3,)]}, modules=())
    before = kb.counters("path"), kb._backend.ranking.ranks("path")[1:]  # type: ignore[attr-defined]
    update = Update(delete={"edge": RING[:9], "closed": [(3,)]}, insert={"edge": [(20, 3), (5, 21)]})
    changed = kb.what_if(update, algorithm="recompute")
    assert changed.added
    assert changed.removed
    assert (kb.counters("path"), kb._backend.ranking.ranks("path")[1:]) == before  # type: ignore[attr-defined]
    assert wrong_ranks(kb) is None
    kb.apply(update, algorithm="recompute")
    assert wrong_ranks(kb) is None


def test_limit_on_facts_is_for_what_comes_of_it() -> None:
    limits = holdfast.Limits(facts=len(RING) + 1 + 144 + 10)
    kb = holdfast.from_text(RULES, facts={"edge": RING, "closed": [(3,)]}, modules=(), limits=limits)
    kb.apply(Update(delete={"edge": [RING[0]]}), algorithm="recompute")
    assert len(kb["path"]) > 0
