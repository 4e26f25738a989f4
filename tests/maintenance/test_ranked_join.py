"""Ranks that are compared while a join runs: heads and founded heads are counted as if each instance were looked at."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.backends.memory.execution import ranked_join
from holdfast.backends.memory.execution.ranked_join import RankedJoin
from holdfast.backends.memory.founded import FoundedHeads

from ..equivalence.mutants import Mutant, broken
from ..equivalence.rank_check import wrong_ranks
from .test_dred_ranked import POINTS_TO, points_to

pytestmark = pytest.mark.only_in_memory("only there joins have kernels")

EDGES = """
.decl edge(x: number, y: number)
.decl shut(x: number)
.decl path(x: number, y: number)
"""
PROGRAMS = {
    "right-linear": EDGES + "path(x, y) :- edge(x, y).  path(x, z) :- edge(x, y), path(y, z).",
    "left-linear": EDGES + "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z).",
    "quadratic": EDGES + "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), path(y, z).",
    "negation": EDGES + "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), !shut(y), edge(y, z).",
    "same generation": EDGES
    + "path(x, y) :- edge(p, x), edge(p, y), x != y.  path(x, y) :- path(p, q), edge(p, x), edge(q, y).",
    "a constant in the head": EDGES + "path(x, y) :- edge(x, y).  path(0, z) :- path(x, y), edge(y, z), path(_, z).",
}


@pytest.fixture(autouse=True)
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every join that can is counted, with little capacity, and few values have a place of their own."""
    monkeypatch.setattr(ranked_join, "WORTH", 1)
    monkeypatch.setattr(ranked_join, "FAN_OUT", 0)
    monkeypatch.setattr(ranked_join, "_OTHERS", 1e9)
    monkeypatch.setattr(ranked_join, "_CAPACITY", 2)
    monkeypatch.setattr("holdfast.backends.memory.index._FIRST_CAPACITY", 4)
    monkeypatch.setattr("holdfast.backends.memory.index._TAIL", 0.0)


def facts_of(name: str, random: Random) -> dict[str, list[tuple[int, ...]]]:
    if name == "points-to":
        return points_to(random, 30, 12)
    return {
        "edge": sorted({(random.randrange(14), random.randrange(14)) for _ in range(24)}),
        "shut": sorted({(random.randrange(14),) for _ in range(3)}),
    }


def updated(name: str, seed: int) -> None:
    """Ranks and Cw by their definition, counters and facts as an evaluation from scratch has them."""
    random = Random(seed)
    program, facts = PROGRAMS.get(name, POINTS_TO), facts_of(name, random)
    kb = holdfast.from_text(program, facts=facts, modules=())
    for _ in range(5):
        gone = {name: random.sample(rows, min(3, len(rows))) for name, rows in facts.items()}
        kb.apply(Update(delete=gone), algorithm="dred-ranked")
        check(kb, program, facts)
        kb.apply(Update(insert=gone), algorithm="dred-ranked")
        check(kb, program, facts)


def check(kb: KnowledgeBase, program: str, facts: dict[str, list[tuple[int, ...]]]) -> None:
    assert wrong_ranks(kb) is None
    again = holdfast.from_text(program, facts={name: sorted(kb.explicit(name)) for name in facts}, modules=())
    for name in {"path", "vp", "hp"} & {*kb.relations}:
        assert kb.counters(name) == again.counters(name)


@pytest.mark.parametrize("places", [6, 1 << 12], ids=["few places", "places"])
@pytest.mark.parametrize("name", [*PROGRAMS, "points-to"])
def test_ranks_and_counters_are_right(name: str, places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_join, "_PLACES", places)
    used, count = list[int](), RankedJoin.count
    monkeypatch.setattr(RankedJoin, "count", lambda *given: (used.append(1), count(*given))[1])
    for seed in range(6):
        updated(name, seed)
    assert used or name == "a constant in the head"


def test_it_is_used_where_bindings_meet_many_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    used, count = list[int](), RankedJoin.count
    monkeypatch.setattr(RankedJoin, "count", lambda *given: (used.append(len(given[1])), count(*given))[1])
    random = Random(1)
    edges = sorted({(random.randrange(150), random.randrange(150)) for _ in range(400)})
    kb = holdfast.from_text(PROGRAMS["right-linear"], facts={"edge": edges}, modules=())
    kb.apply(Update(delete={"edge": edges[::4]}), algorithm="dred-ranked")
    kb.apply(Update(insert={"edge": edges[::4]}), algorithm="dred-ranked")
    assert sum(used) > 64
    assert wrong_ranks(kb) is None


MUTANTS = [
    Mutant("joined facts have no rank", FoundedHeads._compared, "if join.joins_ranked", "if False", "right-linear"),
    Mutant("earlier facts have no rank", RankedJoin.__init__, "!= joined", "== ()", "quadratic"),
    Mutant("others are not judged", FoundedHeads._counted, "if len(others[0]):", "if False:", "left-linear"),
    Mutant("founded heads count once", FoundedHeads._counted, "grounded[is_grounded])", "NO_WEIGHTS)", "quadratic"),
    Mutant("it begins a binding again", RankedJoin.count, "m, i, cursor, is_short", "m, i, _, is_short", "quadratic"),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutants_are_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_join, "_PLACES", 6)
    monkeypatch.setattr("holdfast.backends.memory.execution.buffers.BATCH", 8)
    with broken(mutant):
        assert any(fails(mutant.policy, seed) for seed in range(20))


def fails(name: str, seed: int) -> bool:
    try:
        updated(name, seed)
    except Exception:
        return True
    return False
