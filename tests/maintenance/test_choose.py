"""What `auto` expects of DRed^w by what it has seen."""

from __future__ import annotations

import math

import pytest

import holdfast
from holdfast import Update
from holdfast.maintenance.choose import _Record
from holdfast.maintenance.rates import Rates
from holdfast.maintenance.stratum import Figures


def test_one_size_tells_little_of_larger_ones() -> None:
    rates = Rates()
    assert rates.expected(1) == 0.0
    rates.took(1, 0.02)
    assert rates.expected(1) == pytest.approx(0.02)
    assert rates.expected(10_000) == pytest.approx(2.0)  # as the root of the facts


def test_two_sizes_tell_how_the_seconds_grow() -> None:
    rates = Rates()
    rates.took(10, 0.02)
    rates.took(1_000, 1.0)
    slope = math.log10(50) / 2
    assert rates.expected(10_000) == pytest.approx(10**slope)
    assert rates.expected(100) == pytest.approx(0.02 * 10**slope)


@pytest.mark.parametrize(("seconds", "expected"), [(0.02, 0.02 * 10**0.5), (50.0, 500.0)])
def test_seconds_grow_at_most_with_the_facts(seconds: float, expected: float) -> None:
    rates = Rates()
    rates.took(10, 0.02)
    rates.took(1_000, seconds)
    assert rates.expected(10_000) == pytest.approx(expected)


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


def test_starting_over_takes_less_after_deletions_and_more_after_insertions() -> None:
    record = _Record()
    assert record.starting_over("deletions", 10, 2.0) == 2.0
    record.took(Figures(given=10, deletes=True, is_anew=True), "dred-ranked", 0.5)
    record.took(Figures(given=10, inserts=True, is_anew=True), "recompute", 3.0)
    assert record.starting_over("deletions", 100, 2.0) == pytest.approx(0.5)
    assert record.starting_over("deletions", 100, 0.1) == 0.1
    assert record.starting_over("deletions", 1, 2.0) == 2.0  # who deletes less leaves more
    assert record.starting_over("insertions", 100, 2.0) == pytest.approx(3.0)
    assert record.starting_over("both", 100, 2.0) == 2.0


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
def test_ranks_that_keep_facts_stay() -> None:
    ring = [(i, (i + step) % 30) for i in range(30) for step in (1, 7)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": ring}, modules=())
    kb._maintainer.chooser.costs.forget()
    for edge in ring[:6]:
        assert used(kb, Update(delete={"edge": [edge]})) == ["dred-ranked"]
        assert used(kb, Update(insert={"edge": [edge]})) == ["dred-ranked"]
