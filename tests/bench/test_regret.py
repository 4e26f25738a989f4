"""The table of regrets: every algorithm does every update, and all end in the same state."""

from __future__ import annotations

from math import inf

import pytest

from bench import regret
from bench.regret import AUTO, FIXED, Case, _shown, cases_of, compared, lines, sizes_of, total
from bench.tables import OURS, WRONG, Figure, PaperTable, Row
from bench.workloads import WORKLOADS
from holdfast import Change, KnowledgeBase, Update
from holdfast.errors import Diagnostic, LimitReached

pytestmark = pytest.mark.only_in_memory("benchmarks are of the memory engine")


def test_every_algorithm_does_every_update() -> None:
    evaluation, cases = cases_of(WORKLOADS["same-generation"], "small")
    facts = len(WORKLOADS["same-generation"].facts["small"]()["par"])
    expected = {(kind, size) for kind in regret.KINDS for size in sizes_of(facts)}
    assert {(case.kind, case.facts) for case in cases} == expected
    assert all(set(case.seconds) == {*FIXED, AUTO} for case in cases)
    assert len(list(lines("same-generation", evaluation, cases))) == len(cases) + 5
    assert total(cases).startswith("auto ")


def test_regret_is_over_the_best_fixed_choice() -> None:
    case = Case("delete", 10, {"dred": 3.0, "recompute": 1.0, "dred-ranked": 2.0, AUTO: 1.5})
    assert case.best == "recompute"
    assert case.regret == 1.5


def test_sizes() -> None:
    assert sizes_of(50_000) == [1, 10, 100, 500, 1_000, 5_000]
    assert sizes_of(80) == [1, 8]


def test_an_algorithm_that_is_too_slow_is_stopped_and_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its updates are done by `recompute`, and all others see the same states."""
    applied = list[tuple[str, int]]()

    def apply(self: KnowledgeBase, update: Update, *, algorithm: str) -> Change:
        size = sum(map(len, (update.delete or update.insert).values()))
        applied.append((algorithm, size))
        if algorithm == "dred" and update.delete and size >= 3:
            raise LimitReached(Diagnostic("E0803", "too slow"))
        return whole(self, update, algorithm=algorithm)

    whole = KnowledgeBase.apply
    monkeypatch.setattr(KnowledgeBase, "apply", apply)
    _, cases = cases_of(WORKLOADS["tc-random"], "small", ("recompute", "dred"))
    slow = {(case.kind, case.facts): case.seconds["dred"] for case in cases}
    assert slow["delete", 1] < inf
    assert slow["delete", 10] == slow["delete", 30] == slow["mixed", 30] == inf
    assert slow["insert", 30] < inf
    assert sum(algorithm == "dred" and size >= 10 for algorithm, size in applied) < 12
    assert _shown(inf) == "> 5 evaluations"


def figure(variant: str, *runs: float, facts: int = 7, failure: str = "") -> Figure:
    return Figure(OURS, variant, runs=runs, counts={"facts": facts}, failure=failure)


def test_the_report_says_how_auto_compares() -> None:
    row = Row("delete 10", (figure("dred", failure="stopped"), figure("recompute", 1.0), figure(AUTO, 1.5)), 10)
    table = compared(PaperTable("regret/x", "", "", "", (row,)))
    assert [found.counts.get("times the best") for found in table.rows[0].figures] == [None, None, 1.5]
    assert table.notes == ("auto 1.50 s, best fixed choice for each 1.00 s: 1.50 times; worst 1.50 times (delete 10)",)


def test_algorithms_that_disagree_are_wrong() -> None:
    row = Row("delete 10", (figure("recompute", 1.0, facts=8), figure(AUTO, 1.5)), 10)
    table = compared(PaperTable("regret/x", "", "", "", (row,)))
    assert all(found.failure.startswith(WRONG) for found in table.rows[0].figures)
