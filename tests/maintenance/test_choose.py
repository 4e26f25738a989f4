"""What `auto` expects of DRed^w by what it has seen."""

from __future__ import annotations

from holdfast.maintenance.choose import Rates


def test_smaller_updates_tell_nothing_of_larger_ones() -> None:
    rates = Rates()
    rates.took(1, 0.02)
    assert rates.expected(1_000) == 0.0
    assert rates.expected(1) == 0.02


def test_larger_updates_tell_of_smaller_ones() -> None:
    rates = Rates()
    rates.took(1_000, 10.0)
    assert rates.expected(1_000) == 10.0
    assert rates.expected(10) == 0.1


def test_nearest_size_counts() -> None:
    rates = Rates()
    rates.took(1_000, 10.0)
    rates.took(10, 4.0)
    assert rates.expected(10) == 4.0
    assert rates.expected(900) == 9.0


def test_what_is_not_tried_is_believed_less_and_less() -> None:
    rates = Rates()
    rates.took(100, 10.0)
    before = rates.expected(100)
    for _ in range(30):
        rates.doubt(100)
    assert rates.expected(100) < 0.05 * before
    rates.doubt(100_000)  # of which nothing is known
