"""Modules of a hyper-node and its rules: which of them maintain it, and that changing sides is exact."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.errors import HoldfastError
from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.rivals import Rivals, ServedUpdate, price_of_rules, rule_seconds
from holdfast.modules import MODULES
from holdfast.plans import Planner

from ..amounts import amount
from ..equivalence.checking import run
from ..equivalence.lanes import STRATEGIES, Lane
from ..equivalence.rank_check import wrong_ranks
from ..equivalence.scripts import closure_writer, random_script

SEEN = "seen(s, y) :- source(s), cites(s, y).  seen(s, z) :- seen(s, y), cites(y, z)."
NODES = 60


def library(sources: int = 3) -> KnowledgeBase:
    cites = [(i, (i * step + 1) % NODES) for i in range(NODES) for step in (2, 3, 5)]
    return holdfast.from_text(SEEN, facts={"source": [(i,) for i in range(sources)], "cites": cites})


def seen(kb: KnowledgeBase, update: Update, **named: str) -> tuple[str, str]:
    [node] = [node for node in kb.apply(update, **named).figures if node.predicates == ("seen",)]  # type: ignore[arg-type]
    return node.algorithm, node.why


def rivals_of(kb: KnowledgeBase) -> Rivals:
    return kb._maintainer.chooser._records["seen",].rivals


# --- when sides change -----------------------------------------------------------------------------------


def test_one_update_does_not_decide() -> None:
    rivals = Rivals()
    rivals.compare(1000.0, 0.001, price=1.0)
    assert not rivals.by_rules
    rivals.compare(1000.0, 0.001, price=1.0)
    assert rivals.by_rules


def test_sides_change_when_what_was_lost_is_the_price() -> None:
    rivals, updates = Rivals(), 0
    while not rivals.by_rules:
        rivals.compare(0.110, 0.010, price=1.0)
        updates += 1
    assert updates == 11
    assert rivals.why == "it took 0.110 s where the rules should take 0.010 s"


def test_what_is_won_counts_against_what_is_lost() -> None:
    rivals = Rivals()
    for _ in range(100):
        rivals.compare(0.5, 0.1, price=1.0)
        rivals.compare(0.1, 0.5, price=1.0)
    assert not rivals.by_rules


def test_each_change_makes_the_next_dearer() -> None:
    rivals, changed, before = Rivals(), list[int](), False
    for update in range(1, 200):
        rivals.compare(0.25, 0.0, price=1.0)  # the side at hand loses
        if rivals.by_rules != before:
            changed.append(update)
            before = rivals.by_rules
    gaps = [later - earlier for earlier, later in zip([0, *changed], changed, strict=False)]
    assert gaps[:4] == [5, 9, 17, 33]


# --- what the rules should take --------------------------------------------------------------------------


def planner_of(kb: KnowledgeBase) -> Planner:
    [plan] = [plan for plan in kb._maintainer.nodes if plan.node.is_recursive]
    assert plan.allotment.services
    return plan.planner


@pytest.mark.only_in_memory("other engines have other statistics")
def test_sizes_say_what_the_rules_should_take() -> None:
    small, large = planner_of(library(2)), planner_of(library(NODES))
    few, many = price_of_rules(small), price_of_rules(large)
    assert few is not None
    assert many is not None
    assert many > 10 * few
    little, much, gone = (
        ServedUpdate("both", 1, {"cites": 1}, *changed) for changed in ((0, 5), (0, 50_000), (50_000, 0))
    )
    assert rule_seconds(small, little) < rule_seconds(small, much) < rule_seconds(small, gone)
    assert rule_seconds(small, little) <= rule_seconds(large, little)  # an edge meets all that reach its beginning


@pytest.mark.only_in_memory("other engines have other statistics")
def test_rows_of_too_many_facts_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.maintenance.rivals._MOST_FACTS", 50)
    assert price_of_rules(planner_of(library(NODES))) is None


def test_quick_updates_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> float:
        raise AssertionError

    monkeypatch.setattr("holdfast.maintenance.rivals.price_of_rules", fail)
    monkeypatch.setattr("holdfast.maintenance.rivals._UPDATE", 1e6)
    seen(library(), Update(insert={"cites": [(0, 7)]}))


# --- that it is exact ------------------------------------------------------------------------------------


def test_rules_take_over_and_give_back() -> None:
    kb = library()
    assert seen(kb, Update(insert={"cites": [(0, 7)]})) == (
        "exact",
        "transitive-closure serves all its recursive rules",
    )
    rivals = rivals_of(kb)
    rivals.by_rules, rivals.changes, rivals.why = True, 1, "it took 1.000 s where the rules should take 0.001 s"
    algorithm, why = seen(kb, Update(delete={"cites": [(0, 7)]}))
    assert algorithm == "dred-ranked"
    assert why.endswith(
        "without transitive-closure: it took 1.000 s where the rules should take 0.001 s; "
        "its ranks were not known, so it was recomputed"
    )
    algorithm, _ = seen(kb, Update(delete={"cites": [(0, 1)]}))
    assert algorithm == "dred-ranked"
    assert wrong_ranks(kb) is None
    rivals.by_rules, rivals.why = False, "the rules took 1.000 s where it should take 0.001 s"
    assert seen(kb, Update(insert={"cites": [(0, 1)]})) == (
        "exact",
        "transitive-closure serves all its recursive rules again: the rules took 1.000 s where it should take 0.001 s",
    )
    assert set(kb["seen"]) == set(library()["seen"])


def test_rules_that_took_over_are_recomputed_by_rules() -> None:
    """Else each recomputation would lose the ranks that the next deletion needs."""
    kb = library()
    seen(kb, Update(insert={"cites": [(0, 7)]}))
    rivals_of(kb).by_rules = True
    seen(kb, Update(delete={"cites": [(0, 7)]}), algorithm="recompute")
    [plan] = [plan for plan in kb._maintainer.nodes if plan.node.is_recursive]
    assert kb._maintainer.ledger.ranks_are_right(plan)
    assert wrong_ranks(kb) is None


def test_a_module_begins_again_when_rules_change() -> None:
    kb = library()
    seen(kb, Update(insert={"cites": [(0, 7)]}))
    rivals_of(kb).by_rules = True
    seen(kb, Update(delete={"cites": [(0, 7)]}))
    algorithm, _ = seen(kb, Update(add_rules=["seen(s, z) :- seen(s, y), reads(y, z)."], insert={"reads": [(1, 2)]}))
    assert algorithm in ("exact", "recompute")
    again = holdfast.from_text(
        SEEN + " seen(s, z) :- seen(s, y), reads(y, z).",
        facts={name: sorted(kb.explicit(name)) for name in ("source", "cites", "reads")},
    )
    assert set(kb["seen"]) == set(again["seen"])


@pytest.mark.parametrize("part", range(4))
def test_changed_at_any_update_the_state_is_right(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice, taken = Random(part), list[bool]()

    def note(self: Rivals, plan: NodePlan, moved: ServedUpdate, seconds: float) -> None:
        if dice.random() < 0.4:
            self.by_rules, self.changes = not self.by_rules, self.changes + 1
            taken.append(self.by_rules)

    monkeypatch.setattr(Rivals, "note", note)
    for seed in range(part * 100, part * 100 + amount(12, 1)):
        random = Random(seed)
        script = random_script(random, writer=closure_writer(random))
        try:
            lane = Lane(script, seed % 4, "auto", STRATEGIES[seed % 2], modules=MODULES)
        except HoldfastError:
            continue  # the program is refused
        run(script, [lane], oracle=0)
    assert {True, False} <= {*taken} or amount(False, True)
