"""The profile counts what rules do: instances, rows of each step, new facts; and costs no answers."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

import holdfast
from holdfast.backends.memory import counting
from holdfast.backends.memory.execution import groups
from holdfast.backends.memory.execution.run import CompiledPlan
from holdfast.cli.main import run
from holdfast.errors import UsageError
from holdfast.updates import Update

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
end(x) :- path(_, x), !edge(x, _).
reach(x, n) :- edge(x, _), n = count : { path(x, _) }.
"""
EDGES = [(n, n + 1) for n in range(20)]


@pytest.mark.parametrize("count", [20, 3000], ids=["few", "in batches"])
def test_figures_of_rules(count: int) -> None:
    edges = [(n, n % 7) for n in range(100, 100 + count)] + [(n % 7, 10 + n % 5) for n in range(35)]
    kb = holdfast.from_text(RULES, facts={"edge": edges}, modules=(), profile=True)
    profile = kb.profile()
    plain = holdfast.from_text(RULES, facts={"edge": edges}, modules=())
    assert {name: set(kb[name]) for name in kb} == {name: set(plain[name]) for name in plain}
    assert sum(rule.instances for rule in profile.rules) == kb.statistics.instances
    assert sum(rule.new_facts for rule in profile.rules if rule.rule in ("r1", "r2")) == len(kb["path"])
    assert [rule.seconds for rule in profile.rules] == sorted((r.seconds for r in profile.rules), reverse=True)
    first = next(rule for rule in profile.rules if rule.rule == "r1")
    assert [step.rows for step in first.steps] == [len(set(edges)), None]
    second = next(rule for rule in profile.rules if rule.rule == "r2" and rule.delta == "path")
    assert second.steps[-2].rows == second.instances
    assert any(step.expected is not None for rule in profile.rules for step in rule.steps)


def test_updates_count_too() -> None:
    kb = holdfast.from_text(RULES, facts={"edge": EDGES}, profile=True, modules=())
    before = sum(rule.runs for rule in kb.profile().rules)
    kb.apply(Update(insert={"edge": [(20, 21)]}))
    after = kb.profile().rules
    assert sum(rule.runs for rule in after) > before
    assert any(rule.delta == "edge" for rule in after)


POINTS_TO = """
vp(v, o) :- new(v, o).
vp(v, o) :- assign(v, w), vp(w, o).
hp(o, f, p) :- store(v, f, w), vp(v, o), vp(w, p).
vp(v, p) :- load(v, w, f), vp(w, o), hp(o, f, p).
"""


@pytest.mark.parametrize("algorithm", ["dred", "dred-ranked", "backward-forward"])
def test_plans_by_groups_have_the_same_figures(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Random(4)
    facts = {
        "new": [(dice.randrange(60), n) for n in range(40)],
        "assign": [(dice.randrange(60), dice.randrange(60)) for _ in range(70)],
        "load": [(dice.randrange(60), dice.randrange(60), dice.randrange(3)) for _ in range(12)],
        "store": [(dice.randrange(60), dice.randrange(3), dice.randrange(60)) for _ in range(12)],
    }
    found, by_groups = [], list[bool]()
    expanded = groups.GroupedPlan._expanded
    monkeypatch.setattr(groups.GroupedPlan, "_expanded", lambda *all: by_groups.append(True) or expanded(*all))
    for enough in (2, 1 << 40):
        monkeypatch.setattr(groups, "_ENOUGH", enough)
        kb = holdfast.from_text(POINTS_TO, facts=facts, modules=(), profile=True)
        for at in range(0, 40, 10):
            kb.apply(Update(delete={"new": facts["new"][at : at + 10]}), algorithm=algorithm)
        found.append([rule | {"seconds": 0} for rule in kb.profile().as_json()["rules"]])
        assert bool(by_groups) == (enough < 1 << 40)
        by_groups.clear()
    as_text = [sorted(json.dumps(rule) for rule in rules) for rules in found]
    assert as_text[0] == as_text[1]


def test_ranked_updates_count_instances_and_time() -> None:
    edges = [(n, m) for n in range(12) for m in range(12) if n != m]
    kb = holdfast.from_text(RULES, facts={"edge": edges}, profile=True, modules=())
    before = {(rule.text, rule.delta): rule for rule in kb.profile().rules}
    change = kb.apply(Update(delete={"edge": [(0, n) for n in range(1, 12)]}), algorithm="dred-ranked")
    assert change
    for rule in kb.profile().rules:
        old = before.get((rule.text, rule.delta))
        runs, instances = (0, 0) if old is None else (old.runs, old.instances)
        assert (rule.runs == runs) == (old is not None and rule.seconds == old.seconds)
        assert rule.instances >= instances
        assert not rule.steps[:-1] or rule.steps[-2].rows == rule.instances


def test_limit_relations_and_large_recomputation() -> None:
    rules = "d(0, min(0)) :- edge(0, _, _).  d(y, min(k + w)) :- d(x, k), edge(x, y, w)."
    kb = holdfast.from_text(rules, facts={"edge": [(n, n + 1, 1) for n in range(30)]}, profile=True)
    assert sum(rule.instances for rule in kb.profile().rules if rule.rule == "r2") >= 30


ACCESS = """
may(u, d) :- member(u, g), grant(g, d), u != d.
open(u, d) :- may(u, d), !blocked(u).
guest(u) :- member(u, g), !grant(g, _).
near(u, v) :- open(u, d), open(v, d), u < v.
"""


def test_a_few_changed_facts_have_the_same_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Random(5)
    member = sorted({(dice.randrange(30), dice.randrange(9)) for _ in range(60)})
    facts = {"member": member, "grant": [(g, d) for g in range(7) for d in range(g)], "blocked": [(1,), (2,)]}
    updates = [dice.sample(member, 3) for _ in range(30)]
    found, quick = [], list[bool]()
    few = CompiledPlan.few
    monkeypatch.setattr(CompiledPlan, "few", lambda *all: quick.append(True) or few(*all))
    for most in (256, -1):
        monkeypatch.setattr(counting, "_FEW", most)
        kb = holdfast.from_text(ACCESS, facts=facts, profile=True)
        for rows in updates:
            kb.apply(Update(delete={"member": rows, "blocked": [(1,)]}))
            kb.apply(Update(insert={"member": rows, "blocked": [(1,)]}))
        found.append([rule | {"seconds": 0} for rule in kb.profile().as_json()["rules"]])
        assert bool(quick) == (most > 0)
        quick.clear()
    as_text = [sorted(json.dumps(rule) for rule in rules) for rules in found]
    assert as_text[0] == as_text[1]


def test_forms_of_a_profile() -> None:
    kb = holdfast.from_text(RULES, facts={"edge": EDGES}, profile=True, modules=())
    profile = kb.profile()
    assert "r2, from changed facts of path: path(x, z) :- path(x, y), edge(y, z)." in str(profile)
    assert "hyper-nodes, when the program was evaluated" in str(profile)
    found = json.loads(profile.to_json())
    assert {"rule", "instances", "heads", "newFacts", "seconds", "steps"} <= found["rules"][0].keys()
    page = profile.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert "http" not in page
    assert "&lt;" in holdfast.from_text("p(x) :- q(x), x < 3.", facts={"q": [(1,)]}, profile=True).profile().to_html()


def test_a_module_is_named() -> None:
    profile = holdfast.from_text(RULES, facts={"edge": EDGES}, profile=True).profile()
    assert "path: 1 round, 20 instances, 210 facts; the module transitive-closure derives" in str(profile)
    assert [node["modules"] for node in profile.as_json()["nodes"] if "path" in node["predicates"]] == [
        ["transitive-closure"]
    ]


def test_without_a_profile_there_is_none() -> None:
    with pytest.raises(UsageError, match="E0945"):
        holdfast.from_text(RULES, facts={"edge": EDGES}).profile()


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "reach.dl"
    program.write_text(RULES + " ".join(f"edge{edge}." for edge in EDGES))
    assert run(["run", str(program), "--profile", "--no-module", "all"]) == 0
    assert "r2, from changed facts of path" in capsys.readouterr().out
    for name, start in (("p.html", "<!DOCTYPE"), ("p.json", "{"), ("p.txt", "0.")):
        assert run(["run", str(program), "--profile-to", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().startswith(start)
    capsys.readouterr()
    assert run(["run", str(program), "--profile", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["profile"]["rules"]
    assert run(["run", str(program), "--profile-to", str(program)]) == 2


def test_plans_for_real_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "join.dl"
    program.write_text(
        ".decl a(x: number)\n.decl b(x: number)\n.input a\n.input b\n.decl c(x: number)\nc(x) :- a(x), b(x).\n"
    )
    for large, small in (("a", "b"), ("b", "a")):
        facts = tmp_path / large
        facts.mkdir()
        (facts / f"{large}.facts").write_text("".join(f"{n}\n" for n in range(3000)))
        (facts / f"{small}.facts").write_text("1\n2\n")
        assert run(["plan", str(program), "-F", str(facts)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert f"    1. scan {small}(x): all facts  (about 2 rows)" in lines
    assert run(["plan", str(program), "-F", str(facts), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"][-1]["plans"][0]["expectedRows"][0] == 2


def test_windows_count_too() -> None:
    kb = holdfast.from_text(RULES, facts={"edge": EDGES}, profile=True, modules=())
    before = {(rule.text, rule.delta): rule.runs for rule in kb.profile().rules}
    kb.apply_all([Update(insert={"edge": [(n, n + 1)]}) for n in range(100, 108)])
    grown = [r for r in kb.profile().rules if r.rule == "r2" and r.runs > before.get((r.text, r.delta), 0)]
    assert grown
    assert sum(rule.instances for rule in grown) > 0
