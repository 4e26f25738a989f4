"""The measurements themselves, in size small: every system that is installed gets the right number of facts.

What these tests cannot see: whether the times are fair, and whether the counts of size paper are right.  The latter are
checked whenever size paper is measured.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from bench import data, plain
from bench.command import main
from bench.engines import ENGINES
from bench.machine import describe
from bench.outcomes import Failure, Measured
from bench.processes import Limits, measure
from bench.race import Result, Series, race
from bench.rules import Atom, Different, Rule, Sum, components, read_rules
from bench.saving import save
from bench.startup import Wait
from bench.workloads import WORKLOADS, Workload

GENEROUS = Limits(seconds=120, memory=8 * 2**30)


def contests() -> Iterator[tuple[str, str, str]]:
    for workload in WORKLOADS.values():
        for engine in ENGINES.values():
            yield from ((workload.name, engine.name, variant) for variant in engine.variants(workload))


@pytest.mark.parametrize(("name", "engine", "variant"), list(contests()))
def test_the_systems_agree(name: str, engine: str, variant: str, tmp_path: Path) -> None:
    if not ENGINES[engine].installed:
        pytest.skip(f"{ENGINES[engine].package} is not installed: pip install -e '.[bench]'")
    workload = WORKLOADS[name]
    facts = workload.facts["small"]()
    data.write(workload, facts, tmp_path)
    measured = import_module(f"bench.engines.{engine}").run(workload, variant, tmp_path)
    assert measured.facts == plain.count(workload, facts) > 0


def test_the_plain_check_by_formula() -> None:
    workload = WORKLOADS["chain"]
    assert plain.count(workload, {"edge": [(n, n + 1) for n in range(30)]}) == 31 * 30 // 2
    assert workload.expected == 2_000 * 1_999 // 2


def test_rules_are_read() -> None:
    text = "p(x, z) :- q(x, 0), r(y), x != y, z = x + y.\np(x, x) :-\n    s(x)."
    assert read_rules(text) == (
        Rule(Atom("p", ("x", "z")), (Atom("q", ("x", 0)), Atom("r", ("y",)), Different("x", "y"), Sum("z", "x", "y"))),
        Rule(Atom("p", ("x", "x")), (Atom("s", ("x",)),)),
    )


@pytest.mark.parametrize("workload", list(WORKLOADS.values()), ids=lambda workload: workload.name)
def test_no_rule_is_overlooked(workload: Workload) -> None:
    assert len(workload.rules) == workload.program.count(":-")


@pytest.mark.parametrize("workload", list(WORKLOADS.values()), ids=lambda workload: workload.name)
def test_components_come_after_what_they_need(workload: Workload) -> None:
    places = {name: place for place, group in enumerate(components(workload.rules)) for name in group}
    assert set(places) == {rule.head.relation for rule in workload.rules}
    assert all(places.get(atom.relation, -1) <= places[rule.head.relation]
               for rule in workload.rules for atom in rule.atoms)


def test_what_needs_each_other_is_one_component() -> None:
    assert components(WORKLOADS["points-to"].rules) == [("hp", "vp")]


def test_a_missing_system_is_a_row_that_says_so() -> None:
    missing = replace(ENGINES["polars"], module="no_such_module")
    result = race(WORKLOADS["chain"], "small", [missing], GENEROUS, 1, print)
    assert result.series == (Series("polars", "", failure="not installed (polars)"),)
    assert result.sound


def test_a_run_is_stopped_when_it_takes_too_long(tmp_path: Path) -> None:
    assert _run(tmp_path, replace(GENEROUS, seconds=0.1)) == Failure("over 0.1 s")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory of other processes")
def test_a_run_is_stopped_when_it_takes_too_much(tmp_path: Path) -> None:
    assert _run(tmp_path, replace(GENEROUS, memory=2**20)) == Failure("over 0.000976562 GiB")


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    outcome = measure("bench.child", ["holdfast", "", "no-such-workload", str(tmp_path)], GENEROUS)
    assert outcome == Failure("failed: KeyError: 'no-such-workload'")


def _run(folder: Path, limits: Limits) -> Measured | Failure:
    workload = WORKLOADS["chain"]
    data.write(workload, workload.facts["small"](), folder)
    return measure("bench.child", ["holdfast", "", workload.name, str(folder)], limits)


COMMAND = ["--size", "small", "--runs", "1", "--workloads", "same-generation", "--engines", "holdfast", "--no-waits",
           "--no-updates"]


def test_the_command_measures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND) == 0
    assert "same-generation" in capsys.readouterr().out


def test_a_wrong_count_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(plain, "count", lambda workload, facts: 7)
    assert main(COMMAND) == 1
    assert "facts instead of 7" in capsys.readouterr().out


def test_results_are_saved(tmp_path: Path) -> None:
    ours = Series("holdfast", "", (Measured(6, 2.0, load=1.0), Measured(6, 4.0, load=1.0)))
    theirs = Series("nemo", "", (Measured(6, 8.0),))
    result = Result(WORKLOADS["chain"], 3, 6, (ours, theirs, Series("egglog", "", failure="over 9 s")))
    figures, summary = save("small", describe(), [result], [Wait("an answer", "s", (1.0, 2.0))], folder=tmp_path)
    saved = json.loads(figures.read_text(encoding="utf-8"))
    assert saved["workloads"][0]["series"][1]["ours_over_theirs"] == 0.5  # with loading: (3 + 1) / 8
    text = summary.read_text(encoding="utf-8")
    assert "| holdfast | 1.00 | 3.00 | 2.00–4.00 |" in text
    assert "- egglog: over 9 s" in text
    assert "| an answer | 1.50 s | 1.00–2.00 |" in text
