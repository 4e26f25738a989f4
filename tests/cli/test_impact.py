"""impact: the directly impacted hyper-nodes, the plan, the facts; and nothing is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import holdfast

CHAIN = """\
a(x) :- e(x, _).
b(x) :- a(x), !stop(x).
c(n) :- n = count : { b(_) }.
d(x) :- e(_, x).
e(1, 2). e(2, 3). stop(2).
"""


@pytest.fixture
def chain() -> Path:
    Path("chain.dl").write_text(CHAIN, encoding="utf-8")
    return Path("chain.dl")


def test_the_plan_is_what_can_be_reached(chain: Path) -> None:
    result = holdfast("impact", chain, "--add", "b(x) :- d(x).")
    assert result.code == 0
    assert result.out.splitlines()[:3] == [
        "execution plan, directly impacted hyper-nodes marked by *",
        "  1. * b: r5 is added",
        "  2.   c",
    ]


def test_the_facts_that_would_change_are_shown(chain: Path) -> None:
    out = holdfast("impact", chain, "--add", "b(x) :- d(x).").out
    assert out.splitlines()[4:] == [
        "b: 2 facts would be added",
        "  + 2",
        "  + 3",
        "c: 1 fact would be added",
        "  + 3",
        "c: 1 fact would be removed",
        "  - 1",
    ]


def test_many_facts_are_counted(chain: Path) -> None:
    out = holdfast("impact", chain, "--add", "many(x) :- x = range(0, 9).").out
    assert "many: 9 facts would be added" in out
    assert "  + … and 4 more" in out


def test_a_recursion_that_appears_and_one_that_goes(reach: Path) -> None:
    out = holdfast("impact", reach, "-F", "facts", "--remove", "r2").out
    assert "1. * path: r2 is removed; is no longer recursive" in out
    out = holdfast("impact", reach, "-F", "facts", "--add", "edge(x, y) :- path(y, x), y > 3.").out
    assert "1. * path, edge: r3 is added; merges or splits" in out


def test_several_changes_at_once(chain: Path) -> None:
    out = holdfast("impact", chain, "--remove", "r4", "--remove", "a(x) :- e(x, _).", "--add", "a(x) :- e(_, x).").out
    assert "  1. * a: r1 is removed; r5 is added" in out
    assert "* d: r4 is removed" in out


def test_a_change_that_changes_nothing(chain: Path) -> None:
    result = holdfast("impact", chain, "--remove", "r4", "--add", "d(x) :- e(_, x).")
    assert (result.code, result.out.splitlines()[-1]) == (0, "no fact would change")
    assert "nothing: the rules stay the same" in result.out


def test_json(chain: Path) -> None:
    found = holdfast("impact", chain, "--remove", "r2", "--json").json
    assert found["ok"] is True
    assert ["b"] in found["direct"]
    shown = [(node["predicates"], node["direct"]) for node in found["plan"] if not node["auxiliary"]]
    assert shown == [(["b"], True), (["c"], False)]
    assert found["removed"]["b"]["rows"] == [[1]]
    assert found["added"]["c"]["rows"] == [[0]]


def test_a_change_that_is_refused_names_the_cycle(chain: Path) -> None:
    result = holdfast("impact", chain, "--add", "stop(x) :- b(x).")
    assert result.code == 2
    assert "negation inside a cycle: b -> !stop -> b" in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("words", "code"),
    [([], "E0010"), (["--remove", "r9"], "E0911"), (["--add", "p(x) :-"], "E0101"), (["--add", "p(1)."], "E0910")],
)
def test_what_cannot_be_looked_at(words: list[str], code: str, chain: Path) -> None:
    result = holdfast("impact", chain, *words)
    assert (result.code, f"error[{code}]" in result.err) == (2, True)


def test_facts_as_well_as_rules(chain: Path) -> None:
    out = holdfast("impact", chain, "--insert", "e(7, 8)", "--delete", "stop(2)", "--delete", "stop(9)").out
    direct = [line.split()[-1] for line in out.splitlines() if "* " in line]
    assert direct == ["e", "stop"]
    assert "b: 2 facts would be added" in out and "stop: 1 fact would be removed" in out
    both = holdfast("impact", chain, "--insert", "e(7, 8)", "--add", "far(x) :- e(x, 8).").out
    assert "far: 1 fact would be added\n  + 7" in both


@pytest.mark.parametrize(
    ("change", "code"),
    [(("--insert", "e(x, 8)"), "E0941"), (("--delete", "q(1)"), "E0901"), (("--insert", 'e("a", 8)'), "E0941")],
)
def test_facts_that_are_not_facts(chain: Path, change: tuple[str, str], code: str) -> None:
    result = holdfast("impact", chain, *change)
    assert result.code == 2 and f"error[{code}]" in result.err
