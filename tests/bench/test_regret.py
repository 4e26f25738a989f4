"""The table of regrets: every algorithm does every update, and all end in the same state."""

from __future__ import annotations

import pytest

from bench import regret
from bench.regret import AUTO, FIXED, Case, measure, sizes_of, table, total
from bench.workloads import WORKLOADS

pytestmark = pytest.mark.only_in_memory("benchmarks are of the memory engine")


def test_every_algorithm_does_every_update() -> None:
    evaluation, cases = measure(WORKLOADS["same-generation"], "small")
    facts = len(WORKLOADS["same-generation"].facts["small"]()["par"])
    expected = {(kind, size) for kind in regret.KINDS for size in sizes_of(facts)}
    assert {(case.kind, case.facts) for case in cases} == expected
    assert all(set(case.seconds) == {*FIXED, AUTO} for case in cases)
    lines = list(table("same-generation", evaluation, cases))
    assert len(lines) == len(cases) + 5
    assert total(cases).startswith("auto ")


def test_regret_is_over_the_best_fixed_choice() -> None:
    case = Case("delete", 10, {"dred": 3.0, "recompute": 1.0, "dred-ranked": 2.0, AUTO: 1.5})
    assert case.best == "recompute"
    assert case.regret == 1.5


def test_sizes() -> None:
    assert sizes_of(50_000) == [1, 10, 100, 500, 1_000, 5_000]
    assert sizes_of(80) == [1, 8]
