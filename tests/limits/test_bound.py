"""What an update of a limit relation costs: ranks keep plateaus in place, and an update that becomes dearer than
starting over is abandoned."""

from __future__ import annotations

import math
from random import Random
from types import SimpleNamespace

import pytest

import holdfast
from holdfast import Update
from holdfast.backends.memory import scratch
from holdfast.backends.protocol import Facts
from holdfast.maintenance import limits
from holdfast.maintenance.budget import AbandonedError, Budget, FullCost
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.watch import Watch

from ..amounts import some
from ..maintenance.test_budget import HERE
from .ranks import ranked
from .running import Run
from .scripts import paths_script, random_script, supporting_script

pytestmark = pytest.mark.only_in_memory("ranks are kept in memory")

LABELS = """
label(x, min(x)) :- link(x, _) ; link(_, x).
label(y, min(l)) :- label(x, l), link(x, y).
label(x, min(l)) :- label(y, l), link(x, y).
"""
ZEROS = "dist(0, 0). dist(y, min(d + w)) :- dist(x, d), edge(x, y, w)."
WIDEST = "width(0, 9). width(y, max(min(c, k))) :- width(x, c), edge(x, y, k)."


def pairs(random: Random, nodes: int, number: int) -> list[tuple[int, int]]:
    return sorted({(random.randrange(nodes), random.randrange(nodes)) for _ in range(number)})


def overdeleted(kb: holdfast.KnowledgeBase, updates: list[Update]) -> int:
    return sum(node.overdeleted for update in updates for node in kb.apply(update).figures)


@pytest.mark.parametrize("program", [LABELS, ZEROS, WIDEST], ids=["labels", "zero weights", "widest"])
def test_ranks_keep_a_plateau_in_place(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random, name = Random(5), "link" if program == LABELS else "edge"
    steps = (0, 0, 3) if program == ZEROS else (9, 9, 3)
    rows = [pair if program == LABELS else (*pair, random.choice(steps)) for pair in pairs(random, 150, 600)]
    gone = [random.sample(rows, 3) for _ in range(10)]
    updates = [update for some in gone for update in (Update(delete={name: some}), Update(insert={name: some}))]
    kb = holdfast.from_text(program, facts={name: rows})
    assert ranked(kb)
    with_ranks = overdeleted(kb, updates)
    monkeypatch.setattr(limits, "_ranks", lambda *_: None)
    without = overdeleted(holdfast.from_text(program, facts={name: rows}), updates)
    assert 20 * with_ranks < without


def test_positive_steps_need_no_look_at_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(ZEROS, facts={"edge": [(0, 1, 2), (1, 2, 1), (0, 2, 5)]})
    monkeypatch.setattr("holdfast.backends.memory.ranks.MemoryRanking.apply_ranked", None)
    kb.apply(Update(delete={"edge": [(1, 2, 1)]}))
    assert set(kb["dist"]) == {(0, 0), (1, 2), (2, 5)}


def test_abandoned_anywhere_the_state_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    dice, abandoned = Random(1), 0

    def check(self: Budget) -> None:
        nonlocal abandoned
        if dice.random() < 0.15:
            abandoned += 1
            raise AbandonedError(self._figures, 0.0, self._full)

    monkeypatch.setattr(Budget, "check", check)
    for seed in range(40):
        Run(random_script(seed)).all()
        Run(paths_script(seed)).all()
    assert abandoned > 40


def test_what_was_abandoned_is_recomputed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = [(i, i + 1, 1) for i in range(30)]
    kb = holdfast.from_text(ZEROS, facts={"edge": [*edges, (0, 20, 50)]})

    def check(self: Budget) -> None:
        if self._figures.overdeleted:
            raise AbandonedError(self._figures, 1.5, FullCost(7, 0.5))

    monkeypatch.setattr(Budget, "check", check)
    change = kb.apply(Update(delete={"edge": [(10, 11, 1)]}))
    [node] = [node for node in change.figures if node.predicates == ("dist",)]
    assert node.algorithm == "recompute"
    assert "; abandoned: " in node.why
    assert node.abandoned > 0
    assert set(kb["dist"]) == {(i, i) for i in range(11)} | {(i, 30 + i) for i in range(20, 31)}


@pytest.mark.parametrize(("seconds", "is_spent"), [(1.6, False), (1.7, True)])
def test_a_cost_that_goes_by_facts(seconds: float, is_spent: bool) -> None:
    """Twice the facts take 2 s; what is inserted does not make starting over dearer."""
    made = Budget(FullCost(100_000, 1.0, 50.0).for_facts(100.0), Figures(insertion=190_000), Watch(), HERE)
    made._stopwatch = SimpleNamespace(work=seconds)  # type: ignore[assignment]
    if is_spent:
        with pytest.raises(AbandonedError):
            made.check()
    else:
        made.check()


def test_updates_do_not_move_what_starting_over_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.maintenance.budget._SLACK", math.inf)  # a slow moment would start over
    monkeypatch.setattr("holdfast.maintenance.choose._WORTH", math.inf)
    edges = [(i, j, 1 + (i + j) % 3) for i in range(12) for j in range(12)]
    kb = holdfast.from_text(ZEROS, facts={"edge": edges})
    costs = kb._maintainer.chooser.costs
    first = costs.of(("dist",))
    assert first is not None
    assert first.facts == len(edges)
    for update in 5 * (Update(delete={"edge": edges[:20]}), Update(insert={"edge": edges[:20]})):
        [*_, figures] = kb.apply(update).figures
        assert not figures.is_anew
        assert costs.of(("dist",)) == first


def test_a_busy_machine_abandons_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made, now = Budget(FullCost(100_000, 1.0, 50.0), Figures(), Watch(), HERE), iter((0.0, 60.0))
    monkeypatch.setattr("holdfast.maintenance.watch.time.monotonic", lambda: next(now))
    made.__enter__()
    made.check()


def test_recomputed_in_new_tables_the_state_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offers that were beaten are rows of the new tables, but no facts; ranks come along."""
    monkeypatch.setattr(scratch, "ENOUGH", 0)
    brought = list[int]()
    bring_over = scratch.MemoryScratch.bring_over

    def counted(self: scratch.MemoryScratch) -> Facts:
        brought.append(sum(table.size for name, table in self.backend.tables.items() if name in self._names))
        facts = bring_over(self)
        brought[-1] -= len(facts)
        return facts

    monkeypatch.setattr(scratch.MemoryScratch, "bring_over", counted)
    for seed in range(some(60)):
        Run(random_script(seed), algorithm="recompute" if seed % 2 else "auto").all()
        Run(supporting_script(seed)).all()
    assert max(brought) > 0


def test_what_took_longer_than_starting_over_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.maintenance.choose._WORTH", 0.0)
    edges = [(i, i + 1, 1) for i in range(30)]
    kb = holdfast.from_text(ZEROS, facts={"edge": [*edges, (0, 20, 50)]})
    kb._maintainer.chooser.costs._known[("dist",)] = FullCost(40, 0.0, 60.0)
    chosen = []
    for gone in edges[10:12]:
        [*_, node] = kb.apply(Update(delete={"edge": [gone]})).figures
        chosen.append((node.algorithm, "should take" in node.why))
    assert chosen == [("limits", False), ("recompute", True)]
