"""Plans as a person reads them, whole, for a few programs."""

from __future__ import annotations

import pytest

from holdfast.language import parse
from holdfast.plans import explain, explain_json
from holdfast.program import check

CLOSURE = """\
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), t(y, z).
"""
CLOSURE_PLAN = """\
hyper-node 1: t (recursive)
  r1: t(x, y) :- e(x, y).
    1. scan e(x, y): all facts
    2. derive t(x, y)
  r2, new facts of t: t(x, z) :- t(x, y), t(y, z).
    1. scan t(x, y): facts new in the last round
    2. join t(y, z) by column 1: all facts
    3. derive t(x, z)
  r2, new facts of t: t(x, z) :- t(x, y), t(y, z).
    1. scan t(y, z): facts new in the last round
    2. join t(x, y) by column 2: facts known before this round
    3. derive t(x, z)
"""

LITERALS = """\
lonely(x) :- person(x, n), !friend(x, x), n > 3, contains("a", "banana").
old(x, -y) :- person(x, a), y = a * 2 + 1, z = range(0, a, 2), z = y.
pair(x, "both \\"ways\\"") :- person(x, 1), !match("b.*", "a"), q = 10 / x, q < 3, lonely(x).
"""
LITERALS_PLAN = """\
hyper-node 2: lonely (nonrecursive)
  r1: lonely(x) :- person(x, n), !friend(x, x), n > 3, contains("a", "banana").
    1. keep if contains("a", "banana")
    2. join person(x, n) with every fact: all facts
    3. keep if !friend(x, x)
    4. keep if n > 3
    5. derive lonely(x)

hyper-node 3: old (nonrecursive)
  r2: old(x, -y) :- person(x, a), y = (a * 2) + 1, z = range(0, a, 2), z = y.
    1. scan person(x, a): all facts
    2. compute y = (a * 2) + 1
    3. for each z = range(0, a, 2)
    4. keep if z = y
    5. derive old(x, -y)

hyper-node 4: pair (nonrecursive)
  r3: pair(x, "both \\"ways\\"") :- person(x, 1), !match("b.*", "a"), q = 10 / x, q < 3, lonely(x).
    1. keep if !match("b.*", "a")
    2. join person(x, 1) by column 2: all facts
    3. compute q = 10 / x
    4. keep if q < 3
    5. join lonely(x) by column 1: all facts
    6. derive pair(x, "both \\"ways\\"")
"""

AGGREGATE = "many(x, n) :- n = count : { friend(x, _) }, person(x)."


def explained(text: str) -> str:
    return explain(check(parse(text)))


@pytest.mark.parametrize(
    ("program", "plan"), [(CLOSURE, CLOSURE_PLAN), (LITERALS, LITERALS_PLAN)], ids=["closure", "literals"]
)
def test_plan_text(program: str, plan: str) -> None:
    assert explained(program) == plan


def test_an_aggregate_is_a_step_of_its_own() -> None:
    assert "    1. group friend, take the count of each group\n" in explained(AGGREGATE)


def test_the_same_as_data() -> None:
    text = "p(x) :- e(x).\np(x) :- p(y), f(y, x)."
    [node] = explain_json(check(parse(text)))["nodes"]
    assert {key: node[key] for key in ("predicates", "recursive")} == {"predicates": ["p"], "recursive": True}
    assert [(plan["rule"], plan["delta"]) for plan in node["plans"]] == [("r1", None), ("r2", "p")]
    assert node["plans"][0] == {
        "rule": "r1",
        "text": "p(x) :- e(x).",
        "delta": None,
        "steps": ["1. scan e(x): all facts", "2. derive p(x)"],
    }


def test_a_program_without_rules_has_no_plan() -> None:
    assert explained("p(1).") == ""
