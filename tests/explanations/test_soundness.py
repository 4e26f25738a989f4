"""Whatever the checker accepts is true: corrupted proofs of random programs are rejected, or show what holds anyway.

Here the engine judges the checker; elsewhere the checker judges proofs of what the engine derived.
"""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import pytest

import holdfast
from holdfast import ProofError
from holdfast.errors import EvaluationError, HoldfastError
from holdfast.explanations.terms import fact_text
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.language import parse

from ..amounts import amount
from ..equivalence.scripts import closure_writer, graph_writer, grouped, random_script
from .judging import explicit, missing
from .test_checker import CORRUPTIONS, LOOSER, other_goal


def certificates(kb: KnowledgeBase, dice: Random) -> list[dict[str, Any]]:
    """Some proofs and absences."""
    found: list[dict[str, Any]] = []
    for name in kb.relations:
        rows = sorted(kb[name])
        for row in dice.sample(rows, min(2, len(rows))):
            found += [proof.as_json() for proof in [kb.why(fact_text((name, row)), seconds=None)] if proof]
        for row in missing(rows, dice, 2):
            found += [absent.as_json() for absent in [kb.why_not(fact_text((name, row)), seconds=None)] if absent]
    return found


def is_true(kb: KnowledgeBase, shown: dict[str, Any]) -> bool:
    """Whether the engine agrees with what a proof or a certificate shows."""
    if "absent" in shown:
        return not kb.query(shown["absent"])
    return bool(kb.query(shown["finalConclusion"]))


def test_what_is_accepted_is_true() -> None:
    rejected = accepted = seed = 0
    while rejected < amount(1_000, 50):
        seed += 1
        dice = Random(seed)
        script = random_script(dice, writer=(closure_writer if seed % 2 else graph_writer)(dice))
        try:
            kb = holdfast.from_text(script.text(script.rules), facts=grouped(script.facts))
        except HoldfastError:
            continue
        rules, given = parse(kb.rules_text(), "<rules>"), explicit(kb)
        for proof in certificates(kb, dice):
            for corrupt in (each for each in (*CORRUPTIONS, *LOOSER) if each is not other_goal):  # it knows one program
                wrong = deepcopy(proof)
                if not corrupt(wrong, dice) or wrong == proof:
                    continue
                try:
                    holdfast.check_proof(wrong, rules, given)
                except ProofError:
                    rejected += 1
                else:
                    accepted += 1
                    assert is_true(kb, wrong), (seed, corrupt.__name__, json.dumps(wrong))
    assert accepted < rejected / 20


BEST = """
.decl e(x: number)
.decl best(n: number, x: number)
.decl other(n: number)
.decl low(n: number)
best(1, max(x)) :- e(x).
best(2, max(x)) :- best(1, x).
other(n) :- n = 1, !best(n, 5).
low(n) :- best(n, x), x < 6.
"""
TOO_GOOD = {
    "absence": {"absent": "best(1, 5)", "inferences": [], "complete": []},
    "absence in a recursion": {
        "absent": "best(2, 5)",
        "inferences": [],
        "complete": [{"pattern": "best(2, _)", "facts": ["best(2, 9)"]}],
    },
    "rule": {"absent": "low(1)", "inferences": [], "complete": [{"pattern": "low(1)", "facts": []}]},
    "negation": {
        "finalConclusion": "other(1)",
        "inferences": [
            {
                "conclusion": "other(1)",
                "ruleName": "r3",
                "premises": [],
                "substitution": {"n": "1"},
                "absent": ["best(1, 5)"],
            }
        ],
        "complete": [],
    },
}


@pytest.mark.parametrize("what", TOO_GOOD)
def test_a_list_with_a_better_fact_than_there_is_shows_nothing(what: str) -> None:
    """All rules over it give nothing that is better; yet best(1, 5) holds, and low(1)."""
    proof: dict[str, Any] = deepcopy(TOO_GOOD[what])
    proof["complete"].append({"pattern": "best(1, _)", "facts": ["best(1, 9)"]})
    with pytest.raises(ProofError, match="counted on"):
        holdfast.check_proof(proof, BEST, {"e": [(3,), (5,)]})


CONTROL = """
controls(x, x) :- company(x).
controls(x, y) :- share(x, y, n), n > 50.
share(x, y, sum(v)) :- controls(x, z), owns(z, y, v).
"""


def test_a_sum_that_supports_itself_is_proved_by_stages() -> None:
    company, owns = [("a",), ("b",)], [("a", "b", 60), ("b", "b", 10)]
    kb = holdfast.from_text(CONTROL, {"company": company, "owns": owns})
    for fact in ('share("a", "b", 70)', 'controls("a", "b")'):
        proof = kb.why(fact)
        assert proof is not None
        assert 'share("a", "b", 60) or more  by r3' in str(proof)
        assert holdfast.check_proof(proof.to_json(), CONTROL, {"company": company, "owns": owns}) == fact
        with pytest.raises(EvaluationError, match="E0942"):
            kb.supports(fact)
        assert "r3: controls" in str(kb.why(fact, ways="all"))
        assert kb.why_not(fact) is None
        assert 'delete owns("a", "b", 60)' in str(kb.repair(unmake=[fact]))
    change = kb.apply(holdfast.Update(delete={"owns": owns[1:]}))
    assert "the update deleted owns" in str(change.why('share("a", "b", 70)'))
    absence = kb.why_not('share("a", "b", 70)')
    assert absence is not None
    assert (
        holdfast.check_proof(absence.to_json(), CONTROL, {"company": company, "owns": owns[:1]})
        == absence.as_json()["absent"]
    )


def bound_proof() -> dict[str, Any]:
    """A proof with a lower bound, which counts on 60 of the 70 shares."""
    owns = [("a", "b", 60), ("b", "b", 10), ("b", "c", 0)]
    kb = holdfast.from_text(CONTROL + "big(y, s) :- share(_, y, s), s > 9.\n", {"company": [("a",)], "owns": owns})
    proof = kb.why('big("b", 70)')
    assert proof is not None
    return proof.as_json()


def misused(proof: dict[str, Any], how: str) -> dict[str, list[tuple[Any, ...]]]:
    """Change a proof; gives the facts for it."""
    owns: list[tuple[Any, ...]] = [("a", "b", 60), ("b", "b", 10), ("b", "c", 0)]
    steps = {each["conclusion"]: each for each in proof["inferences"]}
    bound, last = steps['share("a", "b", 60)'], steps['big("b", 70)']
    match how:
        case "no rule of the recursion":
            last |= {
                "conclusion": 'big("b", 60)',
                "premises": ['share("a", "b", 60)'],
                "substitution": {"y": '"b"', "s": "60"},
            }
            proof["finalConclusion"] = 'big("b", 60)'
        case "the end":
            proof["inferences"] = proof["inferences"][: proof["inferences"].index(bound) + 1]
            proof["finalConclusion"] = bound["conclusion"]
        case "not said":
            del bound["lowerBound"]
        case "too high":
            bound["conclusion"] = 'share("a", "b", 65)'
        case "of another relation":
            steps['controls("a", "b")'] |= {"lowerBound": True, "conclusion": 'controls("a", "c")'}
        case "of what is proved later":
            bound["premises"] += ['controls("a", "b")', 'owns("b", "b", 10)']
            bound["conclusion"] = 'share("a", "b", 70)'
        case "with a negative number":
            owns[2] = ("b", "b", -20)
    return {"company": [("a",)], "owns": owns}


def test_lower_bounds_are_not_misused() -> None:
    rules = CONTROL + "big(y, s) :- share(_, y, s), s > 9.\n"
    proof = bound_proof()
    assert holdfast.check_proof(proof, rules, misused(proof, "not at all")) == 'big("b", 70)'
    for how, says in (
        ("no rule of the recursion", "does not follow by"),
        ("the end", "is a lower bound"),
        ("not said", "not the best"),
        ("too high", "does not follow"),
        ("of another relation", "does not follow|counted on"),
        ("of what is proved later", "not proved before"),
        ("with a negative number", "negative"),
    ):
        wrong = bound_proof()
        with pytest.raises(ProofError, match=says):
            holdfast.check_proof(wrong, rules, misused(wrong, how))
