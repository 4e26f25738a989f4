"""Plans that run by groups of the changed facts give what each fact by itself gives."""

from __future__ import annotations

import math
from random import Random

import pytest

import holdfast
from holdfast import Update
from holdfast.backends.memory.arrays import Rows
from holdfast.backends.memory.execution import buffers, groups
from holdfast.backends.memory.execution.groups import GroupedPlan
from holdfast.backends.memory.execution.ranked_join import Highest
from holdfast.backends.memory.execution.views import ReadViews

from ..equivalence.mutants import Mutant, broken
from .test_dred_ranked import POINTS_TO, points_to
from .test_ranked_join import check

pytestmark = pytest.mark.only_in_memory("only there plans run by groups")

HEADS = """
.decl edge(x: number, y: number)
.decl shut(x: number)
.decl p(x: number, y: number, z: number)
p(x, y, z) :- edge(x, y), edge(y, z).
p(0, x + 1, w) :- p(x, y, w), edge(y, z), edge(x, z), x < 9.
p(x, w, v) :- p(x, y, w), edge(y, z), p(x, z, v), !shut(z), p(z, y, 1).
"""
PROGRAMS = {"points-to": POINTS_TO, "constants and functors in the head": HEADS}


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few facts are enough, batches are small, and no order of joins is too dear to begin with the changed facts."""
    monkeypatch.setattr(groups, "_ENOUGH", 1)
    monkeypatch.setattr("holdfast.plans.order._COVER", 1e6)


def updated(name: str, seed: int) -> None:
    """Ranks and Cw by their definition, counters and facts as an evaluation from scratch has them."""
    random, program = Random(seed), PROGRAMS[name]
    facts = points_to(random, 30, 12) if name == "points-to" else graph(random)
    kb = holdfast.from_text(program, facts=facts, modules=())
    for algorithm in ("dred-ranked", "dred-ranked", "dred-counting", "backward-forward-counting", "dred-ranked"):
        gone = {relation: random.sample(rows, min(3, len(rows))) for relation, rows in facts.items()}
        kb.apply(Update(delete=gone), algorithm=algorithm)
        check(kb, program, facts)
        kb.apply(Update(insert=gone), algorithm=algorithm)
        check(kb, program, facts)


def graph(random: Random) -> dict[str, list[tuple[int, ...]]]:
    edges = {(random.randrange(10), random.randrange(10)) for _ in range(30)}
    return {"edge": [*sorted(edges)], "shut": [(random.randrange(10),)]}


@pytest.mark.parametrize("batch", [2, 1 << 14])
@pytest.mark.parametrize("name", PROGRAMS)
def test_ranks_and_counters_are_right(name: str, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "BATCH", batch)
    sizes, expanded = list[int](), GroupedPlan._expanded

    def counted(self: GroupedPlan, views: ReadViews, changed: Rows, highest: Highest) -> object:
        sizes.append(len(changed))
        return expanded(self, views, changed, highest)

    monkeypatch.setattr(GroupedPlan, "_expanded", counted)
    for seed in range(4):
        updated(name, seed)
    assert sizes
    assert max(sizes) > 1


def test_few_facts_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_ENOUGH", math.inf)
    monkeypatch.setattr(GroupedPlan, "run", lambda *_: 1 // 0)
    updated("points-to", 1)


_RANKS = "above[begin:end], ranks"
MUTANTS = [
    Mutant("a group has one fact", GroupedPlan._expanded, "np.diff(np.r_[starts, len(changed)])", "1 + 0 * starts", ""),
    Mutant("the facts of a group have no rank", GroupedPlan._expanded, _RANKS, "above[begin:end], 0 * ranks", ""),
    Mutant("the other facts have no rank", GroupedPlan._expanded, _RANKS, "0 * above[begin:end], ranks", ""),
    Mutant(
        "a group has the facts of another",
        GroupedPlan._expanded,
        "changed, self._own",
        "changed[::-1].copy(), self._own",
        "",
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_mutants_are_caught(mutant: Mutant) -> None:
    with broken(mutant):
        assert any(fails(name, seed) for seed in range(5) for name in PROGRAMS)


def fails(name: str, seed: int) -> bool:
    try:
        updated(name, seed)
    except Exception:
        return True
    return False
