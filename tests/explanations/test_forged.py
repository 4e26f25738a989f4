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


TYPED = """
.decl g(z: number, x: float, y: float)
.decl half(z: number)
.decl greatest(x: float)
.decl c(x: unsigned)
.decl down(x: unsigned)
half(z) :- g(z, x, y), x / y < 0.25.
greatest(x) :- x = max y : { g(_, _, y) }.
down(x) :- c(y), x = range(y, 1).
"""
TYPED_FACTS = {"g": [(1, 1.0, 2.0), (2, 0.0, 0.1 + 0.2)], "c": [(9,)]}
G = [
    {"conclusion": fact, "ruleName": "Asserted", "premises": []}
    for fact in ("g(1, 1.0, 2.0)", "g(2, 0.0, 0.30000000000000004)", "c(9)")
]


def typed(fact: str, rule: str, given: list[Any], **values: str) -> dict[str, Any]:
    premises = [each["conclusion"] for each in given]
    step = {"conclusion": fact, "ruleName": rule, "premises": premises, "substitution": values}
    return {"finalConclusion": fact, "inferences": [*given, step], "complete": []}


ILL_TYPED = {
    "integers for floats": typed("half(1)", "r1", [G[0]], z="1", x="1", y="2"),
    "a float beside the greatest": typed("greatest(1.9999999999999998)", "r2", G[:2], x="1.9999999999999998"),
    "unsigned numbers that count down": typed("down(8)", "r3", [G[2]], x="8", y="9"),
}


@pytest.mark.parametrize("name", ILL_TYPED)
def test_values_of_other_types_are_rejected(name: str) -> None:
    with pytest.raises(holdfast.ProofError, match="does not follow"):
        holdfast.check_proof(ILL_TYPED[name], TYPED, TYPED_FACTS)


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
    "a relation that the program lacks": {"absent": "nodes(3)", "inferences": [], "complete": []},
    "an internal relation": {"absent": "'headed.count#1'(3, 1)", "inferences": [], "complete": []},
    "a string that is a number": {"absent": 'node("3")', "inferences": [], "complete": []},
    "a float that is a number": absence("near(3.0)"),
    "a record that is a number": absence("near([3])"),
    "facts of another relation in a list": {
        **absence("near(7)"),
        "complete": [{"pattern": "near(_)", "facts": ["node(0)", "node(1)", "node(2)"]}],
    },
    "a value of no variable": proof("headed(3, 3)", "r1", ["node(3)", *MEMBERS], [], x=3, z=1),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_proof_is_rejected(name: str) -> None:
    with pytest.raises(holdfast.ProofError, match="E0940"):
        holdfast.check_proof(json.dumps(FORGED[name]), RULES, FACTS)


def test_the_text_of_a_rule_is_that_of_the_program() -> None:
    proof = holdfast.from_text(RULES, facts=FACTS).why("headed(3, 3)")
    assert proof is not None
    text = proof.to_json()
    with pytest.raises(holdfast.ProofError, match="does not follow"):
        holdfast.check_proof(text.replace("node(x), e(x, y)", "e(x, y)"), RULES, FACTS)


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
