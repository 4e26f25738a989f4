"""What the planner knows of tables: exact where an index knows, within bounds where a sample is all there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.memory.statistics import TableStatistics
from holdfast.backends.memory.table import Table
from holdfast.plans.statistics import Guess


def table_of(facts: np.ndarray) -> Table:
    table = Table("t", facts.shape[1])
    table.intern(np.ascontiguousarray(facts))
    return table


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0, 1, 10, 500, 9_000, 30_000]), st.sampled_from([1, 5, 100, 10**9]))
def test_bounds(seed: int, size: int, high: int) -> None:
    table = table_of(np.random.default_rng(seed).integers(0, high, (size, 3)))
    statistics = TableStatistics({"t": table})
    assert statistics.size("t") == table.size
    for columns in ((0,), (1, 2), (0, 1, 2)):
        fanout = statistics.fanout("t", columns, 3)
        assert 0 <= fanout <= max(1, table.size)
        if columns == (0, 1, 2):
            assert fanout <= 1
        elif table.size:
            assert fanout >= 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3_000), st.sampled_from([2, 30, 10**6]))
def test_a_table_within_the_sample_is_known_exactly(seed: int, size: int, high: int) -> None:
    table = table_of(np.random.default_rng(seed).integers(0, high, (size, 2)))
    exact = table.size / len(np.unique(table.rows[: table.size, 1]))
    statistics = TableStatistics({"t": table})
    assert statistics.fanout("t", (1,), 2) == pytest.approx(exact)
    table.index((1,))
    assert statistics.fanout("t", (1,), 2) == pytest.approx(exact)


def test_a_large_table_is_known_about() -> None:
    random = np.random.default_rng(5)
    for high in (10, 1_000, 50_000):
        table = table_of(np.stack([random.integers(0, high, 100_000), np.arange(100_000)], axis=1))
        exact = table.size / len(np.unique(table.rows[: table.size, 0]))
        estimate = TableStatistics({"t": table}).fanout("t", (0,), 2)
        assert exact / 4 <= estimate <= 4 * exact


def test_a_sample_is_taken_anew_when_the_table_has_grown_much() -> None:
    table = table_of(np.stack([np.arange(100), np.arange(100)], axis=1))
    statistics = TableStatistics({"t": table})
    assert statistics.fanout("t", (0,), 2) == 1
    table.intern(np.stack([np.zeros(2_000, np.int64), np.arange(2_000)], axis=1))
    assert statistics.fanout("t", (0,), 2) > 10


def test_a_table_that_is_gone_is_forgotten() -> None:
    tables = {"t": table_of(np.stack([np.arange(100), np.arange(100)], axis=1))}
    statistics = TableStatistics(tables)
    statistics.fanout("t", (0,), 2)
    statistics.forget("t")
    tables["t"] = table_of(np.stack([np.zeros(100, np.int64), np.arange(100)], axis=1))
    assert statistics.fanout("t", (0,), 2) == 100


def test_whole_rows_are_as_likely_as_the_table_is_dense() -> None:
    square = np.array([(x, y) for x in range(20) for y in range(20)])
    assert TableStatistics({"t": table_of(square)}).fanout("t", (0, 1), 2) == pytest.approx(1.0)
    half = square[(square.sum(axis=1) % 2) == 0]
    assert TableStatistics({"t": table_of(half)}).fanout("t", (0, 1), 2) == pytest.approx(0.5)


def test_guesses() -> None:
    guess = Guess({"r"})
    assert guess.size("r") > guess.size("e")
    assert guess.fanout("e", (0,), 2) < guess.size("e")
    assert guess.fanout("e", (0, 1), 2) == 1
    assert guess.fanout("z", (), 0) == 1
