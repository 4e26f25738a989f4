"""Proofs that fix a value inside a negation or an aggregate, or of what a group has: the checker rejects them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import holdfast

RULES = """
.decl e(x: number, y: number)
.decl node(x: number)
.decl headed(x: number, n: number)
.decl counted(x: number, n: number)
.decl source(x: number)
.decl first(x: number, y: number)
.decl low(x: number)
.decl near(x: number)
.decl clear(x: number)
.decl raised(x: number, n: number)
headed(x, count(y)) :- node(x), e(x, y).
counted(x, n) :- node(x), n = count : { e(x, y) }.
source(x) :- node(x), !e(x, y).
first(x, y) :- node(x), m = min y : { e(x, y) }.
low(x) :- node(x), m = min y : { e(x, y) }, y < 2.
near(x) :- node(x), e(x, range(0, 3)).
clear(x) :- node(x), m = max y : { e(x, y) }, !node(y).
raised(x, sum(y + 1)) :- node(x), e(x, y).
"""
FACTS = {"e": [(3, 2), (3, 4), (3, 5)], "node": [(3,), (4,)]}
MEMBERS = ["e(3, 2)", "e(3, 4)", "e(3, 5)"]
GIVEN = [{"conclusion": fact, "ruleName": "Asserted", "premises": []} for fact in ("node(3)", *MEMBERS)]


def proof(fact: str, rule: str, premises: list[str], absent: list[str], **values: int) -> dict[str, Any]:
    step = {
        "conclusion": fact,
        "ruleName": rule,
        "premises": premises,
        "substitution": {name: str(value) for name, value in values.items()},
        "absent": absent,
    }
    used = [given for given in GIVEN if given["conclusion"] in premises]
    return {"finalConclusion": fact, "inferences": [*used, step], "complete": []}


def absence(fact: str) -> dict[str, Any]:
    return {"absent": fact, "inferences": [], "complete": [{"pattern": fact, "facts": []}]}


FORGED = {
    "a group with one member": proof("headed(3, 1)", "r1", ["node(3)", "e(3, 2)"], [], x=3, y=2),
    "a group with the member of its value": proof("raised(3, 5)", "r8", ["node(3)", "e(3, 4)"], [], x=3, y=4),
    "a member of an aggregate": proof("counted(3, 1)", "r2", ["node(3)", "e(3, 2)"], [], x=3, n=1, y=2),
    "what a negation finds": proof("source(3)", "r3", ["node(3)"], ["e(3, 7)"], x=3, y=7),
    "what attains a minimum": proof("first(3, 4)", "r4", ["node(3)", "e(3, 4)"], [], x=3, m=4, y=4),
    "another minimum": proof("first(3, 4)", "r4", ["node(3)", *MEMBERS], [], x=3, m=2, y=4),
    "a condition on what attains it": proof("low(3)", "r5", ["node(3)", *MEMBERS], [], x=3, m=2, y=1),
    "another value of a range": absence("near(3)"),
    "a negation of anything": absence("clear(3)"),
    "a list of what was given": {**absence("clear(3)"), "complete": [{"pattern": 'e("Asserted", _)', "facts": []}]},
    "a value of no variable": proof("headed(3, 3)", "r1", ["node(3)", *MEMBERS], [], x=3, z=1),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_proof_is_rejected(name: str) -> None:
    with pytest.raises(holdfast.ProofError, match="E0940"):
        holdfast.check_proof(json.dumps(FORGED[name]), RULES, FACTS)


def test_the_true_facts_are_proved_and_the_others_absent() -> None:
    kb = holdfast.from_text(RULES, facts=FACTS)
    for fact in ("headed(3, 3)", "counted(3, 3)", "counted(4, 0)", "source(4)", "first(3, 2)", "near(3)", "clear(3)"):
        found = kb.why(fact)
        assert found is not None
        assert holdfast.check_proof(found.to_json(), RULES, FACTS) == fact
    for fact in ("headed(3, 1)", "counted(3, 1)", "source(3)", "first(3, 4)", "low(3)", "headed(4, 0)"):
        absence = kb.why_not(fact)
        assert absence is not None
        assert holdfast.check_proof(absence.to_json(), RULES, FACTS) == fact
