"""What `auto` expects of DRed^w by what it has seen."""

from __future__ import annotations

import math

import pytest

from holdfast.maintenance.choose import Rates, _Record
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
    record.took(Figures(given=10, deletes=True, is_anew=True), 0.5)
    record.took(Figures(given=10, inserts=True, is_anew=True), 3.0)
    assert record.starting_over("deletions", 100, 2.0) == pytest.approx(0.5)
    assert record.starting_over("deletions", 100, 0.1) == 0.1
    assert record.starting_over("deletions", 1, 2.0) == 2.0  # who deletes less leaves more
    assert record.starting_over("insertions", 100, 2.0) == pytest.approx(3.0)
    assert record.starting_over("both", 100, 2.0) == 2.0
