"""What `auto` expects of DRed^w by what it has seen."""

from __future__ import annotations

import math

import pytest

import holdfast
from holdfast import Update
from holdfast.maintenance.algorithms import ALGORITHMS, Choice
from holdfast.maintenance.budget import FullCost
from holdfast.maintenance.choose import BOTH, DELETIONS, Request, _Record
from holdfast.maintenance.rates import Rates
from holdfast.maintenance.stratum import Figures


def test_one_size_tells_little_of_larger_ones() -> None:
    rates = Rates()
    assert rates.expected(1) == 0.0
    rates.took(1, 0.02)
    assert rates.expected(1) == pytest.approx(0.02)
    assert rates.expected(10_000) == pytest.approx(0.02 * 10_000**0.8)


def test_seconds_between_two_sizes_are_a_power_of_the_facts() -> None:
    rates = Rates()
    rates.took(10, 0.02)
    rates.took(1_000, 1.0)
    assert rates.expected(100) == pytest.approx(0.02 * 10 ** (math.log10(50) / 2))


@pytest.mark.parametrize("seconds", [0.02, 1.0, 50.0])
def test_two_sizes_do_not_tell_how_the_seconds_grow_beyond_them(seconds: float) -> None:
    """One single deletion may take a thousand times what another takes."""
    rates = Rates()
    rates.took(10, 0.02)
    rates.took(1_000, seconds)
    assert rates.expected(10_000) == pytest.approx(seconds * 10**0.8)


def test_larger_updates_tell_of_smaller_ones() -> None:
    rates = Rates()
    rates.took(1_000, 10.0)
    assert rates.expected(1_000) == pytest.approx(10.0)
    assert rates.expected(10) == pytest.approx(0.1)


def test_what_was_measured_counts_in_its_size() -> None:
    rates = Rates()
    rates.took(1_000, 10.0)
    rates.took(10, 4.0)
    assert rates.expected(10) == pytest.approx(4.0)
    assert 4.0 < rates.expected(900) < 10.0


def test_what_is_not_tried_is_believed_less_and_less() -> None:
    rates = Rates()
    rates.took(100, 10.0)
    before = rates.expected(100)
    for _ in range(30):
        rates.doubt(100)
    assert rates.expected(100) < 0.05 * before
    rates.doubt(100_000)  # of which nothing is known


def test_starting_over_takes_more_after_insertions() -> None:
    record = _Record()
    assert record.starting_over("deletions", 10, 2.0) == 2.0
    record.took(Figures(given=10, deletes=True, is_anew=True), "dred-ranked", 0.5)
    record.took(Figures(given=10, inserts=True, is_anew=True), "recompute", 3.0)
    assert record.starting_over("deletions", 100, 2.0) == 2.0  # one of them tells nothing of another
    record.needs_ranks = False  # where each fact has one derivation, it tells something
    assert record.starting_over("deletions", 100, 2.0) == pytest.approx(1.0)
    assert record.starting_over("deletions", 100, 0.1) == pytest.approx(0.1)
    assert record.starting_over("deletions", 1, 2.0) == 2.0  # who deletes less leaves more
    assert record.starting_over("insertions", 100, 2.0) == pytest.approx(3.0)
    assert record.starting_over("both", 100, 2.0) == 2.0


def test_starting_over_takes_what_it_took_with_as_many_facts() -> None:
    record = _Record()
    record.note_size(1_000, FullCost(100_000, 5.0))
    record.note_size(500, FullCost(20_000, 2.0))
    assert record.starting_over("both", 100, 2.0, 980) == 5.0
    assert record.starting_over("both", 100, 2.0, 900) == 2.0
    assert record.starting_over("both", 100, 6.0, 980) == 6.0
    assert record.starting_over("deletions", 100, 2.0, 980) == 2.0


def test_insertions_that_visit_less_than_starting_over_are_not_replaced_by_it() -> None:
    """What starting over takes is known of the facts before an insertion, and says little of those after it."""
    record, full = _Record(), FullCost(10_000, 0.005)
    assert not record.visits_less("dred-ranked", full)  # nothing is known
    record.took(Figures(given=3, inserts=True, insertion=100_000), "dred-ranked", 0.06)  # 0.6 µs an instance, not 0.5
    assert record.visits_less("dred-ranked", full)
    assert not record.visits_less("dred-counting", full)
    record.took(Figures(given=3, inserts=True, insertion=100_000), "dred-counting", 0.5)
    assert not record.visits_less("dred-counting", full)
    record.took(Figures(given=1, inserts=True, insertion=1_000), "dred-ranked", 0.1)  # in many rounds
    assert record.visits_less("dred-ranked", full)
    for few in (Figures(given=3, inserts=True, insertion=10), Figures(given=3, deletes=True, insertion=100_000)):
        record.took(few, "dred-counting", 1e-9)
    assert not record.visits_less("dred-counting", full)


@pytest.mark.only_in_memory("other engines keep no ranks")
@pytest.mark.parametrize(("each", "expected"), [(1e-7, "dred-ranked"), (1e-3, "recompute")])
def test_a_large_insertion_is_chosen_by_what_an_instance_takes(each: float, expected: str) -> None:
    ring = [(i, (i + step) % 40) for i in range(40) for step in (1, 7)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": ring[:40]}, modules=())
    chooser, plan = kb._maintainer.chooser, kb._maintainer.nodes[-1]
    chooser.costs.restore({plan.node.predicates: FullCost(10_000, 0.01)})
    record = chooser._records.setdefault(plan.node.predicates, _Record())
    record.took(Figures(given=40, inserts=True, insertion=100_000), "dred-ranked", each * 100_000)
    record.took(Figures(given=40, inserts=True), "dred-ranked", 100.0)  # much more than starting over
    assert used(kb, Update(insert={"edge": ring[40:]})) == [expected]
    assert set(kb["path"]) == {(x, y) for x in range(40) for y in range(40)}


def test_facts_that_come_back_take_what_they_took() -> None:
    record, most, left = _Record(), FullCost(100_000, 0.1), FullCost(20_000, 0.02)
    record.took(Figures(given=3, inserts=True, insertion=100_000), "dred-ranked", 0.2)  # 2 µs an instance
    record.note_size(1_000, most)
    assert record.refills("dred-ranked", 1_000, 0, most) is None, "nothing comes"
    assert record.refills("dred-ranked", 500, 100, left) is None, "there were never so few"
    assert record.refills("dred-ranked", 500, 600, left) is None, "there were never so many"
    assert record.refills("dred-counting", 500, 500, left) is None, "it has inserted nothing yet"
    assert record.refills("dred-ranked", 500, 480, left) == pytest.approx((0.16, 0.1))
    record.note_size(2_000, left)
    assert record.refills("dred-ranked", 500, 1_500, FullCost(30_000, 0.02)) == (0.0, 0.02), "of the most facts"


@pytest.mark.only_in_memory("other engines keep no ranks")
@pytest.mark.parametrize(("each", "expected"), [(1e-7, "dred-ranked"), (1e-4, "recompute")])
def test_facts_come_back_by_what_an_instance_takes(each: float, expected: str) -> None:
    ring = [(i, (i + step) % 40) for i in range(40) for step in (1, 7)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": ring}, modules=())
    chooser, plan = kb._maintainer.chooser, kb._maintainer.nodes[-1]
    chooser.costs.restore({plan.node.predicates: FullCost(3_200, 0.01)})
    used(kb, Update(delete={"edge": ring[1::2]}))  # which is seen with all facts
    chooser.costs.restore({plan.node.predicates: FullCost(1_600, 100.0)})  # or nothing would be dearer
    record = chooser._records[plan.node.predicates]
    record.took(Figures(given=40, inserts=True, insertion=100_000), "dred-ranked", each * 100_000)
    assert used(kb, Update(insert={"edge": ring[1::2]})) == [expected]
    assert len(kb["path"]) == 1_600


CLOSURE = "path(x, y) :- edge(x, y).  path(x, z) :- edge(x, y), path(y, z)."


def used(kb: holdfast.KnowledgeBase, update: Update) -> list[str]:
    return [node.algorithm for node in kb.apply(update).figures if node.predicates == ("path",)]


@pytest.mark.only_in_memory("other engines keep no ranks")
def test_ranks_that_keep_no_fact_are_done_without_until_they_are_missed() -> None:
    chain = [(i, i + 1) for i in range(60)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": chain}, modules=())
    kb._maintainer.chooser.costs.forget()  # or time decides
    seen = []
    for edge in (30, 20, 40, 10):
        seen += used(kb, Update(delete={"edge": [chain[edge]]})) + used(kb, Update(insert={"edge": [chain[edge]]}))
    assert seen == ["dred-ranked"] * 3 + ["dred-counting"] * 5
    detours = [(i, i + 2) for i in range(0, 58, 2)] + [(59, 0)]
    used(kb, Update(insert={"edge": detours}))
    assert used(kb, Update(delete={"edge": [chain[30]]})) == ["dred-counting"]  # and most of it comes back
    assert used(kb, Update(delete={"edge": [chain[20]]})) == ["dred-ranked"]
    assert len(kb["path"]) == len(holdfast.from_text(CLOSURE, facts={"edge": kb.explicit("edge")}, modules=())["path"])


@pytest.mark.only_in_memory("other engines keep no ranks")
@pytest.mark.parametrize(
    ("length", "shortcuts", "expected"), [(60, 0, "counting"), (60, 30, "ranked"), (10, 0, "ranked")]
)
def test_ranks_are_done_without_where_each_fact_has_one_derivation(length: int, shortcuts: int, expected: str) -> None:
    chain = [(i, i + 1) for i in range(length)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": chain + [(i, i + 2) for i in range(shortcuts)]}, modules=())
    costs, node = kb._maintainer.chooser.costs, ("path",)
    known = costs.of(node)
    assert known is not None
    costs.restore({node: FullCost(known.instances, 100.0)})  # or time decides
    assert used(kb, Update(delete={"edge": [chain[length // 2]]})) == [f"dred-{expected}"]


@pytest.mark.only_in_memory("other engines keep no ranks")
@pytest.mark.parametrize(("seconds", "expected"), [(0.25, "dred-counting"), (0.3, "recompute")])
def test_on_a_chain_ten_deletions_take_little_more_than_one(seconds: float, expected: str) -> None:
    """0.8 of starting over is 0.8; ten take the square root of ten as long as one."""
    kb = holdfast.from_text(CLOSURE, facts={"edge": [(i, i + 1) for i in range(100)]}, modules=())
    chooser, plan = kb._maintainer.chooser, kb._maintainer.nodes[-1]
    chooser.costs.restore({plan.node.predicates: FullCost(5_000, 1.0)})
    request = Request(Choice(), deleted=1, is_ranked=True)
    assert chooser.chosen(plan, request, kb._backend)[0].name == "dred-counting"
    record = chooser._records[plan.node.predicates]
    record.rates("dred-counting", DELETIONS).took(1, seconds)
    assert chooser.chosen(plan, Request(Choice(), deleted=10, is_ranked=True), kb._backend)[0].name == expected
    record.rates("dred-counting", BOTH).took(2, seconds)  # what is inserted is not mostly the same
    both = Request(Choice(), deleted=10, inserted=10, is_ranked=True)
    assert chooser.chosen(plan, both, kb._backend)[0].name == "recompute"
    chooser.gave_up(
        plan, ALGORITHMS["dred-counting"], Figures(algorithm="dred-counting", given=100, deletes=True, work=0.8)
    )
    assert record.tried["dred-counting", DELETIONS].expected(100, 0.5) == pytest.approx(max(1.2, 10 * seconds))


@pytest.mark.only_in_memory("other engines keep no ranks")
@pytest.mark.parametrize(("seconds", "expected"), [(0.5, "dred-ranked"), (0.8, "recompute")])
def test_an_update_is_tried_unless_one_of_its_size_was_dearer_than_starting_over(seconds: float, expected: str) -> None:
    ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 7)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": ring}, modules=())
    chooser, plan = kb._maintainer.chooser, kb._maintainer.nodes[-1]
    chooser.costs.restore({plan.node.predicates: FullCost(1_000, 1.0)})
    request = Request(Choice(), deleted=1)
    assert chooser.chosen(plan, request, kb._backend)[0].name == "dred-ranked"
    chooser.gave_up(plan, ALGORITHMS["dred-ranked"], Figures(given=1, deletes=True, work=seconds))
    assert chooser.chosen(plan, request, kb._backend)[0].name == expected
    many = Request(Choice(), deleted=1_000)
    assert chooser.chosen(plan, many, kb._backend)[0].name == "recompute"
    mixed = Request(Choice(), deleted=1, inserted=1)
    assert chooser.chosen(plan, mixed, kb._backend)[0].name == "dred-ranked"  # of that kind nothing is known


@pytest.mark.only_in_memory("other engines keep no ranks")
def test_ranks_that_keep_facts_stay() -> None:
    ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 7)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": ring}, modules=())
    kb._maintainer.chooser.costs.forget()
    for edge in ring[:6]:
        assert used(kb, Update(delete={"edge": [edge]})) == ["dred-ranked"]
        assert used(kb, Update(insert={"edge": [edge]})) == ["dred-ranked"]
