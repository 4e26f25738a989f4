"""The measurements of updates, in size small.

What these tests cannot see: whether the times are fair, and whether all jobs of size paper end within their limits.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from bench import plain
from bench.graphs import weighted_dag
from bench.processes import Limits
from bench.tables import OURS, Figure
from bench.updates import closures, curve, lengths, rule_changes, streams
from bench.updates.experiments import EXPERIMENTS, Found, Lost, experiment
from bench.updates.rows import Row, Taken, Work, row
from bench.updates.tables import as_table
from bench.updates.timing import Run, WrongStateError, arrow, fingerprint
from bench.workloads import SIZES, WORKLOADS
from holdfast import Update

GENEROUS = Limits(seconds=120, memory=8 * 2**30)
needs_streams = pytest.mark.skipif(bool(streams.missing()), reason="the streams are not at ../shared/data/marking")


def once() -> Run:
    """A run whose clock starts with the test, not when the tests are collected."""
    return Run("small", runs=1, patience=600)


@pytest.mark.parametrize("job", lengths.jobs("small")[6:], ids=" ".join)
def test_edges_by_each_algorithm(job: tuple[str, ...]) -> None:
    deleted, inserted = lengths.run(job, once())
    assert deleted.name == inserted.name == job[1]
    assert deleted.work.changed == inserted.work.changed > 0
    assert len(deleted.seconds) == 1
    assert deleted.first is not None
    assert len(deleted.scratch) == 2


def test_impatience_leaves_one_update_that_is_not_set_apart() -> None:
    deleted, _ = lengths.run(("15", "auto"), Run("small", runs=9, patience=0))
    assert len(deleted.seconds) == 1
    assert deleted.first is None


@pytest.mark.parametrize("name", curve.CURVES)
def test_one_fact_updates(name: str) -> None:
    rows = curve.run((name, "0"), once())
    assert len(rows) == 4
    assert all(len(row.seconds) == 20 and row.scratch for row in rows)
    assert [row.work.changed // 20 for row in rows] == ([2, 2, 1, 1] if name == "closure" else [5, 5, 1, 1])


@needs_streams
@pytest.mark.parametrize("kind", ["p_trans", "p_seq", "track"])
def test_streams(kind: str) -> None:
    [row] = streams.run((kind, "0" if kind == "track" else "10", "auto"), once())
    assert len(row.seconds) == 5
    assert row.first


@pytest.mark.parametrize("job", closures.jobs("small"), ids=" ".join)
def test_closures(job: tuple[str, ...]) -> None:
    rows = closures.run(job, once())
    assert all(row.name.endswith(job[1]) for row in rows)
    used = {algorithm for row in rows for algorithm in row.algorithms}
    assert ("exact" in used) == (job[1] == "modules")
    assert all(row.work.changed for row in rows if "leaf" in row.name or "quarter" in row.name)


@pytest.mark.parametrize("strategy", rule_changes.STRATEGIES)
def test_rule_changes(strategy: str) -> None:
    rows = rule_changes.run(("8", strategy), once())
    assert [len(row.seconds) for row in rows if not row.hidden] == [18, 18]
    assert sum(row.hidden for row in rows) == 36


def test_the_second_data_set_has_the_papers_sizes() -> None:
    """Derived facts on chains of 50 edges, as the paper's program gives them."""
    kb = holdfast.from_text(rule_changes.program(), facts=rule_changes.chains(50))
    assert sum(len(kb[name]) for name in rule_changes.DERIVED) == 27_325


def test_a_fingerprint_tells_facts_not_their_order() -> None:
    def of(*rows: tuple[int, int], name: str = "p") -> tuple[int, int]:
        return fingerprint(holdfast.from_text(f"q(x) :- {name}(x, x).", facts={name: arrow(rows)}))

    assert of((1, 2), (3, 4)) == of((3, 4), (1, 2))
    assert len({of((1, 2), (3, 4)), of((1, 4), (3, 2)), of((2, 1), (4, 3)), of((1, 2)), of((1, 2), name="r")}) == 5


def test_deletion_by_the_plain_check() -> None:
    """The maintained number of facts, by an evaluator that shares no code with holdfast."""
    edges = weighted_dag(*lengths.GRAPHS["small"])["b"]
    kb = holdfast.from_text(lengths.LENGTHS, facts={"b": edges})
    kb.apply(Update(delete={"b": edges[::40]}))
    rest = [edge for place, edge in enumerate(edges) if place % 40]
    assert len(kb["d"]) == plain.count(WORKLOADS["sspe"], {"b": rest}) > 0


def test_a_wrong_state_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "from_scratch", lambda program, facts: (1.0, (7, 7)))
    with pytest.raises(WrongStateError, match=r"WRONG after deleting 30 edges with dred: .* instead of"):
        lengths.run(("30", "dred"), once())


def test_a_job_that_is_stopped_is_told_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_changes, "STRATEGIES", ("counters",))
    found = experiment("rules", "small", 1, Limits(0.1, GENEROUS.memory), print)
    assert found.lost == (Lost("8 counters", "8", "over 0.1 s", late=True),)
    [row] = as_table(found).rows
    assert row.figures == (Figure(OURS, "counters", failure="over 0.1 s"),)


def test_absent_streams_are_skipped_with_a_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(streams, "DATA", tmp_path / "absent")
    assert "skipped" in as_table(experiment("streams", "small", 1, GENEROUS, print)).notes[0]


def test_rows_travel_and_become_tables() -> None:
    taken = [Taken(seconds, Work(deletion=4, changed=2), ("counting",)) for seconds in (9.0, 0.001, 0.003)]
    made = row("t", "a rule added, auto", taken, [2.0], first_apart=True, facts=5)
    assert Row.from_json(json.loads(json.dumps(made.as_json()))) == made
    [table_row] = as_table(Found("rules", (made,))).rows
    auto, scratch = table_row.figures
    assert (table_row.name, auto.variant, auto.runs) == ("t: a rule added", "auto", (0.001, 0.003))
    assert (scratch.variant, scratch.runs) == ("from scratch", (2.0,))
    assert auto.counts == {"first s": 9.0, "deletion": 4, "changed": 2, "from scratch ÷": 1000}


def test_every_experiment_has_jobs_in_each_size() -> None:
    assert all(asked.jobs(size) for asked in EXPERIMENTS.values() for size in SIZES)
