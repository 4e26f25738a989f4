"""An update that becomes dearer than starting over is abandoned, wherever it is, and its hyper-node is recomputed."""

from __future__ import annotations

import time
from random import Random
from types import SimpleNamespace

import pytest

import holdfast
from holdfast import Update
from holdfast.errors import HoldfastError
from holdfast.maintenance.budget import AbandonedError, Budget, FullCost
from holdfast.maintenance.stratum import Figures, Phase, Stratum
from holdfast.maintenance.watch import Watch
from holdfast.modules import MODULES

from ..amounts import amount
from ..equivalence.checking import run
from ..equivalence.lanes import STRATEGIES, Lane
from ..equivalence.scripts import closure_writer, random_script

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""
RING = [(i, (i + step) % 12) for i in range(12) for step in (1, 5)]


def budget(full: FullCost, figures: Figures, seconds: float, *, is_elsewhere: bool = False) -> Budget:
    made = Budget(full, figures, Watch(), is_elsewhere=is_elsewhere)
    made._stopwatch = SimpleNamespace(work=seconds)  # type: ignore[assignment]
    return made


def is_spent(made: Budget) -> bool:
    try:
        made.check()
    except AbandonedError:
        return True
    return False


def is_spent_after(full: FullCost, figures: Figures, seconds: float) -> bool:
    return is_spent(budget(full, figures, seconds))


BOUND = [  # of 100,000 instances and one second: what was visited, the seconds that took, and whether that is too much
    (Figures(), 1.0, True),  # a large join, which counts at its end
    (Figures(), 0.8, False),
    (Figures(deletion=60_000), 0.45, True),  # 40,000 are left
    (Figures(deletion=60_000), 0.3, False),
    (Figures(backward=900_000), 0.8, False),  # many instances in little time
    (Figures(insertion=300_000), 3.2, False),  # starting over would visit them too
    (Figures(insertion=300_000), 3.3, True),
    (Figures(deletion=60_000, has_deleted=True), 0.41, False),  # most of the work is done
    (Figures(deletion=60_000, has_deleted=True), 0.43, True),
]


@pytest.mark.parametrize(("figures", "seconds", "expected"), BOUND)
def test_seconds_count_as_the_instances_say(figures: Figures, seconds: float, expected: bool) -> None:
    assert is_spent_after(FullCost(100_000, 1.0), figures, seconds) == expected


@pytest.mark.parametrize("algorithm", ["dred", "dred-counting", "dred-ranked", "backward-forward-counting"])
def test_every_algorithm_says_when_it_has_deleted(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While facts are overdeleted it is not true; the insertions of this update come last."""
    seen = list[tuple[bool, bool]]()

    def counted(self: Stratum, instances: int, phase: Phase | None = None) -> None:
        seen.append((self.figures.has_deleted, self.phase == "insertion"))

    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())
    monkeypatch.setattr(Stratum, "count", counted)
    kb.apply(Update(delete={"edge": RING[:3]}, insert={"edge": [(0, 3)]}), algorithm=algorithm)
    assert {*seen} == {(False, False), (True, True)}


def test_small_hyper_nodes_are_not_worth_a_change_of_mind() -> None:
    assert not is_spent(budget(FullCost(10, 0.0001), Figures(deletion=500), 0.015))


def test_what_comes_and_goes_leaves_no_cost() -> None:
    """Or the estimate would grow with the number of updates, and so would what it decides."""
    for instances in (100, 9_999, 10_000, 100_000):
        first = full = FullCost(instances, 0.001)
        for _ in range(100):
            full = full.after(Figures(insertion=5_000)).after(Figures(deletion=5_000))
        assert (full.instances, full.seconds) == (first.instances, pytest.approx(first.seconds))


def test_an_update_costs_at_most_twice_starting_over() -> None:
    for seconds in (0.6, 1.0, 10.0):
        assert is_spent(budget(FullCost(100_000, seconds), Figures(), seconds))


def test_a_busy_machine_abandons_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes on while the process waits."""
    made = Budget(FullCost(100_000, 1.0), Figures(), Watch())
    monkeypatch.setattr("holdfast.maintenance.watch.time.process_time", lambda: 0.0)
    later = time.monotonic() + 60.0
    with made:
        monkeypatch.setattr("holdfast.maintenance.watch.time.monotonic", lambda: later)
        assert not is_spent(made)


def test_other_threads_abandon_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Budget(FullCost(100_000, 60.0), Figures(), Watch())
    with made:
        monkeypatch.setattr("holdfast.maintenance.watch.time.process_time", lambda: 1e9)
        assert not is_spent(made)


def test_cost_of_starting_over_follows_the_instances() -> None:
    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())
    costs, node = kb._maintainer.chooser.costs, ("path",)
    first = costs.of(node)
    assert first is not None
    kb.what_if(Update(delete={"edge": RING[:5]}))
    assert costs.of(node) == first
    kb.apply(Update(delete={"edge": RING[:5]}), algorithm="dred-ranked")
    left = costs.of(node)
    again = holdfast.from_text(RULES, facts={"edge": RING[5:]}, modules=())
    expected = again._maintainer.chooser.costs.of(node)
    assert left is not None
    assert expected is not None
    assert left.instances == expected.instances < first.instances


def test_choice_says_when_and_why_a_run_was_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())

    def check(self: Budget) -> None:
        if self._figures.deletion:
            raise AbandonedError(self._figures, 1.5, FullCost(7, 0.5))

    monkeypatch.setattr(Budget, "check", check)
    change = kb.apply(Update(delete={"edge": [RING[0]]}))
    [node] = [node for node in change.figures if node.predicates == ("path",)]
    assert node.algorithm == "recompute"
    assert "; abandoned: " in node.why
    assert node.why.endswith("instances and 1.50 s; starting over takes 7 and 0.50 s")
    assert node.abandoned > 0
    assert node.instances == node.abandoned + node.insertion


@pytest.mark.only_in_memory("other engines have other bounds")
def test_an_update_that_only_inserts_is_not_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting over would visit what it visits; what an evaluation of fewer facts took says little."""
    asked = list[Figures]()
    monkeypatch.setattr(Budget, "check", lambda self: asked.append(self._figures))
    negating = "far(x, y) :- edge(x, y), !bad(y).  far(x, z) :- far(x, y), edge(y, z)."
    kb = holdfast.from_text(RULES + negating, facts={"edge": RING, "bad": [(1,)]}, modules=())
    kb.apply(Update(insert={"edge": [(3, 17), (17, 4)]}))
    assert {figures.predicates for figures in asked} == {("far",)}  # where an insertion may take away
    kb.apply(Update(delete={"edge": [(3, 17)]}))
    assert {figures.predicates for figures in asked} == {("far",), ("path",)}


def test_what_was_abandoned_is_expected_to_be_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())
    chooser = kb._maintainer.chooser
    chooser.costs._known["path",] = FullCost(20_000, 0.1)

    def check(self: Budget) -> None:
        raise AbandonedError(self._figures, 1.5, FullCost(7, 0.5))

    monkeypatch.setattr(Budget, "check", check)
    kb.apply(Update(delete={"edge": [RING[0]]}))
    chooser._records["path",].rates("dred-ranked", "deletions").took(1, 30.0)
    change = kb.apply(Update(delete={"edge": [RING[1]]}))
    [node] = [node for node in change.figures if node.predicates == ("path",)]
    assert (node.algorithm, node.abandoned) == ("recompute", 0)
    assert "starting over" in node.why


@pytest.mark.parametrize("part", range(4))
def test_abandoned_anywhere_the_state_is_right(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice, abandoned = Random(part), 0

    def check(self: Budget) -> None:
        nonlocal abandoned
        if dice.random() < 0.15:
            abandoned += 1
            raise AbandonedError(self._figures, 0.0, self._full)

    monkeypatch.setattr(Budget, "check", check)
    for seed in range(part * 100, part * 100 + amount(8, 1)):
        random = Random(seed)
        with_modules = seed % 4 == 0
        script = random_script(random, writer=closure_writer(random) if seed % 2 else None)
        try:
            modules = MODULES if with_modules else ()
            lane = Lane(script, 0, "auto or dred-ranked or dred-counting", STRATEGIES[seed % 2], modules=modules)
        except HoldfastError:
            continue  # the program is refused
        run(script, [lane], oracle=0)
    assert abandoned or amount(False, True)


def test_time_alone_abandons_nothing_that_others_do() -> None:
    full = FullCost(100_000, 1.0)
    assert not is_spent(budget(full, Figures(), 50.0, is_elsewhere=True))
    assert is_spent(budget(full, Figures(deletion=60_000), 50.0, is_elsewhere=True))
