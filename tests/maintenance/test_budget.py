"""An update that becomes dearer than starting over is abandoned, wherever it is, and its hyper-node is recomputed."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast import Update
from holdfast.errors import HoldfastError
from holdfast.maintenance.budget import AbandonedError, Budget, FullCost
from holdfast.maintenance.stratum import Figures
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


def budget(full: FullCost, figures: Figures, seconds: float, monkeypatch: pytest.MonkeyPatch) -> Budget:
    made, now = Budget(full, figures, Watch()), iter((0.0, seconds))
    monkeypatch.setattr("holdfast.maintenance.budget.time.monotonic", lambda: next(now))
    made.__enter__()
    return made


@pytest.mark.parametrize(
    ("figures", "seconds", "is_spent"),
    [
        (Figures(), 1.1, True),
        (Figures(), 1.0, False),
        (Figures(deletion=60_000), 1.1, True),
        (Figures(deletion=60_000), 0.9, False),  # 40,000 are left, but it would have had to look at all of them
        (Figures(backward=900_000), 0.9, False),  # many instances in little time
        (Figures(insertion=300_000), 3.9, False),  # starting over would look at them too
        (Figures(insertion=300_000), 4.1, True),
    ],
)
def test_seconds_count_as_the_instances_say(
    figures: Figures, seconds: float, is_spent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = budget(FullCost(100_000, 1.0), figures, seconds, monkeypatch)
    if is_spent:
        with pytest.raises(AbandonedError):
            made.check()
    else:
        made.check()


def test_small_hyper_nodes_are_not_worth_a_change_of_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    budget(FullCost(10, 0.0001), Figures(deletion=500), 0.04, monkeypatch).check()


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


def test_what_was_abandoned_is_expected_to_be_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(RULES, facts={"edge": RING}, modules=())
    chooser = kb._maintainer.chooser
    chooser.costs._known["path",] = FullCost(20_000, 0.1)

    def check(self: Budget) -> None:
        raise AbandonedError(self._figures, 1.5, FullCost(7, 0.5))

    monkeypatch.setattr(Budget, "check", check)
    kb.apply(Update(delete={"edge": [RING[0]]}))
    chooser._records["path",].deletions.took(1, 30.0)
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
