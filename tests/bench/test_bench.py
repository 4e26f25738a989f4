"""The measurements themselves, in size small: every system that is installed gets the right number of facts.

What these tests cannot see: whether the times are fair, and whether the counts of size paper are right.  The latter are
checked whenever size paper is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from bench import data, plain
from bench.command import main
from bench.engines import ENGINES, Engine
from bench.outcomes import Failure, Measured
from bench.processes import Limits, measure
from bench.race import race
from bench.results import read
from bench.rules import Atom, Different, Rule, Sum, components, read_rules
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
    assert all(
        places.get(atom.relation, -1) <= places[rule.head.relation] for rule in workload.rules for atom in rule.atoms
    )


def test_what_needs_each_other_is_one_component() -> None:
    assert components(WORKLOADS["points-to"].rules) == [("hp", "vp")]


def test_a_missing_system_is_a_row_that_says_so() -> None:
    missing = replace(ENGINES["polars"], module="no_such_module")
    [figure] = race(WORKLOADS["chain"], "small", [missing], GENEROUS, 1, print).figures
    assert (figure.system, figure.runs, figure.failure) == ("polars", (), "not installed (polars)")


def test_without_a_known_number_two_systems_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = replace(WORKLOADS["chain"], facts={"max": WORKLOADS["chain"].facts["small"]})
    monkeypatch.setitem(WORKLOADS, "chain", workload)
    numbers = {"holdfast": 7, "duckdb": 7, "egglog": 8}
    monkeypatch.setattr("bench.race.measure", lambda module, reported, limits: Measured(numbers[reported[0]], 1.0))
    ours, duckdb, egglog = (replace(ENGINES[name], module="holdfast") for name in numbers)  # nobody runs them

    def figures(*engines: Engine) -> list[str]:
        row = race(workload, "max", engines, GENEROUS, 1, print)
        return [figure.failure or figure.checked for figure in row.figures]

    assert figures(ours, duckdb, egglog) == [
        *["7 facts counted (holdfast and duckdb agree)"] * 3,
        "WRONG: 8 facts instead of 7",
    ]
    assert figures(ours, egglog) == ["no other system to check it by"] * 3


def test_a_slow_system_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.race.measure", lambda module, reported, limits: Measured(4_950, 30.0))
    [figure] = race(WORKLOADS["chain"], "small", [ENGINES["nemo"]], GENEROUS, 3, print).figures
    assert figure.runs == (30.0,)


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


COMMAND = ["--size", "small", "--runs", "1", "--engines", "holdfast"]


def test_the_command_measures_and_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="the plots need matplotlib: pip install -e '.[bench]'")
    for name in ("same-generation", "chain"):
        assert (
            main([*COMMAND, "--only", f"evaluation/{name}", "--save", "--folder", str(tmp_path), "--profiles", "1"])
            == 0
        )
        assert name in capsys.readouterr().out
    [file] = tmp_path.glob("*-small.json")
    result = read(file)
    assert [row.name.partition(":")[0] for row in result.tables[0].rows] == ["same-generation", "chain"]
    assert [(profile.table, profile.parts[0].what) for profile in result.profiles] == [("evaluation", "evaluations")]
    page = file.with_suffix(".md").read_text(encoding="utf-8")
    assert "| chain: 99 → 4,950 facts |" in page
    assert "kernel `" in page


def test_a_wrong_count_is_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(plain, "count", lambda workload, facts: 7)
    assert main([*COMMAND, "--only", "evaluation/same-generation"]) == 1
    assert "facts instead of 7" in capsys.readouterr().out


def test_nothing_of_a_name_is_said() -> None:
    assert main(["--only", "no-such-table"]) == 2
