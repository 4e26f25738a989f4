"""The checker accepts proofs and rejects every corruption of them.

What this cannot catch: a corruption of several places at once that happens to be another proof.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import holdfast
from holdfast import ProofError
from holdfast.errors import HoldfastError
from holdfast.explanations.checker import checked
from holdfast.explanations.terms import fact_text
from holdfast.language import parse
from holdfast.values import Row

from ..docs.pages import ROOT
from ..docs.test_layers import imported_parts
from .judging import explicit

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
node(x) :- edge(x, _).
node(y) :- edge(_, y).
far(x, y) :- node(x), node(y), !path(x, y).
reach(x, n) :- node(x), n = count : { path(x, _) }.
total(x, sum(y)) :- path(x, y), y > 2.
n(0).
n(x + 1) :- n(x), x < 5.
odd(x) :- n(x), !even(x).
even(x) :- n(x), x % 2 = 0.
busy(x) :- reach(x, n), (n > 2 ; far(x, 1)).
first(x, m) :- node(x), m = min y : { path(x, y) }.
"""
EDGES = [(1, 2), (2, 3), (3, 4), (4, 5), (2, 5), (6, 1)]
HOLD = ("path(1, 4)", "far(5, 1)", "reach(2, 3)", "total(1, 12)", "n(4)", "odd(3)", "busy(1)", "first(2, 3)")
ABSENT = ("path(5, 1)", "far(1, 4)", "reach(2, 7)", "n(9)", "odd(4)", "busy(7)", "path(5, _)", "total(2, 1)")

Json = dict[str, Any]


@pytest.fixture(scope="module")
def cases() -> list[tuple[Json, Any, Mapping[str, set[Row]]]]:
    kb = holdfast.from_text(RULES, facts={"edge": EDGES})
    rules, given = parse(kb.rules_text(), "<rules>"), explicit(kb)
    proofs = [kb.why(fact) for fact in HOLD]
    absences = [kb.why_not(fact) for fact in ABSENT]
    return [(json.loads(each.to_json()), rules, given) for each in (*proofs, *absences) if each is not None]


def test_proofs_and_absences_are_accepted(cases: list[Any]) -> None:
    assert [holdfast.check_proof(*case) for case in cases] == [*HOLD, *ABSENT]


def test_a_thousand_corruptions_are_rejected(cases: list[Any]) -> None:
    dice, done, used = Random(7), 0, set[str]()
    while done < 1000:
        proof, rules, given = dice.choice(cases)
        corrupt = dice.choice(CORRUPTIONS)
        wrong = deepcopy(proof)
        if not corrupt(wrong, dice) or wrong == proof:
            continue
        try:
            shown = holdfast.check_proof(wrong, rules, given)
        except ProofError:
            done += 1
            used.add(corrupt.__name__)
        else:
            pytest.fail(f"{corrupt.__name__} of a proof of {shown} is accepted: {json.dumps(wrong)}")
    assert used == {corrupt.__name__ for corrupt in CORRUPTIONS}


@pytest.mark.parametrize(
    "nonsense", ["", "{}", "[]", "7", '{"finalConclusion": "p(1)"}', '{"inferences": 1, "complete": []}']
)
def test_what_is_no_proof_is_rejected(nonsense: str) -> None:
    with pytest.raises(ProofError):
        holdfast.check_proof(nonsense, RULES, {"edge": EDGES})


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("number", date(2024, 1, 1)),
        ("float", np.float32(1.5)),
        ("float", np.int64(3)),
        ("float", Decimal("1.5")),
        ("symbol", True),
        ("any", True),
        ("any", Decimal(1)),
        ("any", datetime(2024, 1, 1, 3)),
    ],
)
def test_facts_have_all_the_forms_that_a_knowledge_base_takes(type: str, value: Any) -> None:
    rules = f".decl e(x: {type})  .decl p(x: {type})  p(x) :- e(x)."
    for facts in ({"e": [(value,)]}, {"e": {"x": [value]}}):
        kb = holdfast.from_text(rules, facts=facts)
        (row,) = kb["p"]
        fact = fact_text(("p", row))
        proof = kb.why(fact)
        assert proof is not None
        assert holdfast.check_proof(proof.to_json(), rules, facts) == fact
        absence = {"absent": fact, "inferences": [], "complete": [{"pattern": fact, "facts": []}]}
        with pytest.raises(ProofError, match="lack one"):
            holdfast.check_proof(absence, rules, facts)


@pytest.mark.parametrize("facts", [{"f": [(1,)]}, {"e": [(1, 2)]}, {"e": [("1",)]}, {"e": [(1.0,)]}])
def test_facts_that_fit_no_relation_are_refused(facts: dict[str, Any]) -> None:
    rules = ".decl e(x: number)  .decl p(x: number)  p(x) :- e(x)."
    absence = {"absent": "p(1)", "inferences": [], "complete": [{"pattern": "p(1)", "facts": []}]}
    with pytest.raises(HoldfastError, match=r"E0901|E0605|E0606"):
        holdfast.check_proof(absence, rules, facts)


def test_facts_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    kb = holdfast.from_text(RULES, facts=tmp_path)
    proof = kb.why("path(1, 3)")
    assert proof is not None
    assert holdfast.check_proof(proof.to_json(), RULES, tmp_path) == "path(1, 3)"


def test_a_proof_in_circles_is_rejected() -> None:
    rules, step = "p(x) :- q(x).  q(x) :- p(x).", {"substitution": {"x": "1"}}
    inferences = [
        {"conclusion": "p(1)", "ruleName": "r1", "premises": ["q(1)"], **step},
        {"conclusion": "q(1)", "ruleName": "r2", "premises": ["p(1)"], **step},
        {"conclusion": "p(1)", "ruleName": "r1", "premises": ["q(1)"], **step},
    ]
    with pytest.raises(ProofError):
        holdfast.check_proof({"finalConclusion": "p(1)", "inferences": inferences, "complete": []}, rules, {})


def test_negation_in_circles_is_rejected() -> None:
    rules = "p(x) :- e(x), !q(x).  q(x) :- e(x), !p(x)."
    complete = [{"pattern": "q(1)", "facts": []}, {"pattern": "p(1)", "facts": ["p(1)"]}]
    inference = {
        "conclusion": "p(1)",
        "ruleName": "r1",
        "premises": ["e(1)"],
        "substitution": {"x": "1"},
        "absent": ["q(1)"],
    }
    proof = {
        "finalConclusion": "p(1)",
        "inferences": [{"conclusion": "e(1)", "ruleName": "Asserted", "premises": []}, inference],
        "complete": complete,
    }
    with pytest.raises(ProofError, match="negation inside a cycle"):
        checked(proof, parse(rules, ""), {"e": [(1,)]})


def test_it_shares_nothing_with_the_engine_and_the_search() -> None:
    seen: set[str] = set()
    waiting = ["holdfast.explanations.checker"]
    while waiting:
        name = waiting.pop()
        module = name if source_of(name) else name.rpartition(".")[0]
        if module not in seen and (path := source_of(module)) is not None:
            seen.add(module)
            waiting += [name for name, _ in imported_parts(ast.parse(path.read_text(encoding="utf-8")))]
    parts = {".".join(module.split(".")[1:3]) for module in seen if module.count(".") > 1}
    own = {f"explanations.{name}" for name in ("checker", "conditions", "scope", "terms", "written_rules")}
    assert {part for part in parts if part.partition(".")[0] not in ("language", "values", "program")} == own


def source_of(module: str) -> Path | None:
    """The file of a module or of a package other than the root."""
    path = ROOT / "src" / module.replace(".", "/")
    found = (path.with_suffix(".py"), path / "__init__.py")
    return next((each for each in found if each.is_file() and module != "holdfast"), None)


# --- corruptions: each changes what is claimed ---------------------------------------------------------


def _some(proof: Json, dice: Random) -> Json | None:
    derived = [each for each in proof["inferences"] if each["ruleName"] != "Asserted"]
    return dice.choice(derived) if derived else None


def other_conclusion(proof: Json, dice: Random) -> bool:
    each = _some(proof, dice)
    return each is not None and _changed(each, "conclusion", dice)


def other_final_conclusion(proof: Json, dice: Random) -> bool:
    return "finalConclusion" in proof and _changed(proof, "finalConclusion", dice)


def other_rule(proof: Json, dice: Random) -> bool:
    each = _some(proof, dice)
    if each is None:
        return False
    each["ruleName"] = dice.choice(
        [f"r{n}" for n in range(1, 14) if f"r{n}" != each["ruleName"]] + ["Asserted", "r99", ""]
    )
    return True


def lost_premise(proof: Json, dice: Random) -> bool:
    each = _some(proof, dice)
    return bool(each and each["premises"] and each["premises"].pop(dice.randrange(len(each["premises"]))))


def other_premise(proof: Json, dice: Random) -> bool:
    each = _some(proof, dice)
    if not each or not each["premises"] or each["ruleName"] in ("r3", "r4"):  # node(x) :- edge(x, _) takes any edge
        return False
    place = dice.randrange(len(each["premises"]))
    new = dice.choice([i["conclusion"] for i in proof["inferences"]] + ["edge(7, 8)", "path(9, 9)"])
    each["premises"][place], same = new, new in each["premises"]
    return not same


def other_value(proof: Json, dice: Random) -> bool:
    each = _some(proof, dice)
    if not each or not each["substitution"]:
        return False
    name = dice.choice(sorted(each["substitution"]))
    each["substitution"][name] = _moved(each["substitution"][name], dice.choice((-1, 1, 7)))
    return True


def lost_value(proof: Json, dice: Random) -> bool:
    each = _some(proof, dice)
    return bool(each and each["substitution"] and each["substitution"].popitem())


def added_value(proof: Json, dice: Random) -> bool:
    """A value for a variable that only a negation or an aggregate mentions, or for none."""
    each = _some(proof, dice)
    if each is None:
        return False
    names = {*re.findall(r"\b[a-z]\w*\b(?![(\w])", each["rule"]), "zz"} - each["substitution"].keys()
    each["substitution"][dice.choice(sorted(names))] = str(dice.randrange(7))
    return True


def lost_inference(proof: Json, dice: Random) -> bool:
    return bool(proof["inferences"] and proof["inferences"].pop(dice.randrange(len(proof["inferences"]))))


def invented_fact(proof: Json, dice: Random) -> bool:
    given = [each for each in proof["inferences"] if each["ruleName"] == "Asserted"]
    return bool(given) and _changed(dice.choice(given), "conclusion", dice)


def lost_list(proof: Json, dice: Random) -> bool:
    return bool(proof["complete"] and proof["complete"].pop(dice.randrange(len(proof["complete"]))))


def fact_lost_from_list(proof: Json, dice: Random) -> bool:
    full = [each for each in proof["complete"] if each["facts"]]
    return bool(full and (facts := dice.choice(full)["facts"]) and facts.pop(dice.randrange(len(facts))))


def other_pattern(proof: Json, dice: Random) -> bool:
    return bool(proof["complete"]) and _changed(dice.choice(proof["complete"]), "pattern", dice)


def useless_list(proof: Json, dice: Random) -> bool:
    proof["complete"].append({"pattern": f"path({dice.randrange(100, 200)}, _)", "facts": []})
    return True


def fact_added_to_list(proof: Json, dice: Random) -> bool:
    full = [each for each in proof["complete"] if each["facts"]]
    if not full:
        return False
    facts = dice.choice(full)["facts"]
    facts.append(dice.choice(facts))
    return _changed(facts, -1, dice)


def other_fact_in_list(proof: Json, dice: Random) -> bool:
    full = [each for each in proof["complete"] if each["facts"]]
    return bool(full and (facts := dice.choice(full)["facts"]) and _changed(facts, dice.randrange(len(facts)), dice))


def other_absence(proof: Json, dice: Random) -> bool:
    some = [each for each in proof["inferences"] if each.get("absent")]
    return bool(some) and bool(dice.choice(some)["absent"].pop())


def other_goal(proof: Json, dice: Random) -> bool:
    if "absent" not in proof:
        return False
    proof["absent"] = dice.choice(HOLD)
    return True


def other_rule_text(proof: Json, dice: Random) -> bool:
    each = _some(proof, dice)
    return each is not None and bool(each.update(rule=each["rule"].replace(" :- ", " :- p(_), ")) or True)


def other_types(proof: Json, dice: Random) -> bool:
    """Some of the values that an inference gives variables as floats or integers, where they are the other."""
    each = _some(proof, dice)
    for name, text in each["substitution"].items() if each else ():
        if dice.random() < 0.7:
            each["substitution"][name] = text.removesuffix(".0") if "." in text else f"{text}.0"  # type: ignore[index]
    return True


def other_digits(proof: Json, dice: Random) -> bool:
    """A float of a derived fact, in the last digits, and wherever it is an inference's own."""
    each = _some(proof, dice)
    floats = re.findall(r"-?\d+\.\d+", each["conclusion"]) if each else ()
    if not each or not floats:
        return False
    old = dice.choice(floats)
    new = repr(math.nextafter(float(old), dice.choice((-math.inf, math.inf))))
    for holder, key in (*((each["substitution"], name) for name in each["substitution"]), (each, "conclusion")):
        holder[key] = holder[key].replace(old, new)
    if each is proof["inferences"][-1] and "finalConclusion" in proof:
        proof["finalConclusion"] = each["conclusion"]
    return True


def other_relation(proof: Json, dice: Random) -> bool:
    """A fact or a pattern of another relation, or of a relation that the program lacks."""
    facts = [text for each in proof["inferences"] for text in (each["conclusion"], *each["premises"])]
    names = [text.partition("(")[0] for text in facts] + ["zz"]
    places: list[tuple[Any, Any]] = [(each, "conclusion") for each in proof["inferences"]]
    places += [(proof, key) for key in ("absent", "finalConclusion") if key in proof] * (1 + len(places))
    for each in proof["complete"]:
        places += [(each, "pattern"), *((each["facts"], i) for i in range(len(each["facts"])))]
    holder, key = dice.choice(places)
    holder[key] = f"{dice.choice(names)}({holder[key].partition('(')[2]}"
    return True


CORRUPTIONS: tuple[Callable[[Json, Random], bool], ...] = (
    other_conclusion,
    other_final_conclusion,
    other_rule,
    lost_premise,
    other_premise,
    other_value,
    lost_value,
    added_value,
    lost_inference,
    invented_fact,
    lost_list,
    fact_lost_from_list,
    other_pattern,
    useless_list,
    other_absence,
    other_goal,
    other_rule_text,
    other_types,
)


LOOSER = (fact_added_to_list, other_fact_in_list, other_digits, other_relation)
"""What of these is accepted must be true: a list may have more than there is, where nothing counts on it."""


def _changed(holder: Any, key: Any, dice: Random) -> bool:
    """Another number in a fact."""
    name, _, inside = holder[key].rstrip(")").partition("(")
    values = inside.split(", ")
    place = dice.randrange(len(values))
    values[place] = "9" if values[place] == "_" else _moved(values[place], dice.choice((-1, 1, 50)))
    holder[key] = f"{name}({', '.join(values)})"
    return True


def _moved(text: str, by: int) -> str:
    """Another number of the same type."""
    return repr(float(text) + by) if "." in text else str(int(text) + by)
