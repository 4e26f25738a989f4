"""Heads that are alike go as one row with a number."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.backends.parted import rounds
from holdfast.backends.parted.rounds import HeadSums, distinct_share

pytestmark = pytest.mark.only_in_memory("opens no program")
batches = st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1), min_size=1, max_size=4)


def taken(sums: HeadSums) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for rows in sums.taken():
        assert 0 < rows[:, -1].min() <= rows[:, -1].max() <= rounds._MOST
        for *row, times in rows.tolist():
            found[tuple(row)] += times
    return found


@given(batches, batches)
def test_every_head_as_often_as_it_was_emitted(
    first: list[list[tuple[int, int]]], then: list[list[tuple[int, int]]]
) -> None:
    sums = HeadSums(2)
    for turn in (first, then):
        for batch in turn:
            sums.add(np.array(batch, np.int64))
        assert taken(sums) == Counter(row for batch in turn for row in batch)
        assert not taken(sums)


def test_a_number_is_not_larger_than_a_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_MOST", 3)
    sums = HeadSums(1)
    sums.add(np.array([[1]] * 8 + [[2]] * 3 + [[3]], np.int64))
    assert taken(sums) == {(1,): 8, (2,): 3, (3,): 1}


def test_the_first_heads_show_whether_many_are_alike() -> None:
    assert distinct_share(np.arange(4_000).reshape(-1, 1)) == 1
    assert distinct_share(np.zeros((4_000, 2), np.int64)) < 0.01
