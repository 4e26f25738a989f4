"""Types decide what a constant means: a whole number in the place of a float is a float, for search and checker too."""

from __future__ import annotations

import json

import pytest

import holdfast
from holdfast import ProofError
from holdfast.errors import EvaluationError

FLOATS = ".decl e(x: float)  .decl u(x: float)  "
Facts = dict[str, list[tuple[object, ...]]]
CASES: dict[str, tuple[str, Facts, list[str], list[str]]] = {  # rules, facts, what holds, what does not
    "division": (FLOATS + "u(x) :- e(x), x > 1 / 2.", {"e": [(0.3,), (0.7,)]}, ["u(0.7)"], ["u(0.3)"]),
    "equation": (FLOATS + "u(x) :- e(x), x = 1.", {"e": [(1.0,), (0.7,)]}, ["u(1)", "u(1.0)"], ["u(0.7)"]),
    "difference": (FLOATS + "u(x) :- e(x), x != 1.", {"e": [(1.0,), (0.7,)]}, ["u(0.7)"], ["u(1)"]),
    "head": (FLOATS + "u(3 / 2) :- e(_).", {"e": [(1.0,)]}, ["u(1.5)"], ["u(1)"]),
    "variables": (FLOATS + "u(x) :- e(x), y = 1, z = 2, x = y / z.", {"e": [(0.5,), (0.0,)]}, ["u(0.5)"], ["u(0)"]),
    "negation": (FLOATS + ".decl f(x: float)  u(x) :- e(x), !f(1 / 2).", {"e": [(1.0,)], "f": [(0.5,)]}, [], ["u(1)"]),
    "target": (FLOATS + "u(s) :- s = sum 1 / 2 : { e(_) }.", {"e": [(0.5,), (1.0,)]}, ["u(1)"], ["u(0)"]),
    "sum of nothing": (FLOATS + "u(1) :- s = sum x * 2 : { e(x), x > 9 }, s = 0.", {"e": [(1.0,)]}, ["u(1)"], ["u(2)"]),
    "cast": (
        ".decl n(x: number)  .decl u(x: float)  u(as(x, float) / 2) :- n(x).",
        {"n": [(3,)]},
        ["u(1.5)"],
        ["u(1)"],
    ),
    "cast back": (FLOATS + ".decl k(x: number)  k(as(x, number)) :- e(x).", {"e": [(3.7,)]}, ["k(3)"], ["k(4)"]),
    "declared type": (
        ".type W <: float  .decl n(x: number)  .decl u(x: W)  u(as(x, W) / 2) :- n(x).",
        {"n": [(3,)]},
        ["u(1.5)"],
        ["u(1)"],
    ),
    "record": (
        ".type P = [a: float, b: number]  .decl p(x: P)  .decl u(x: float)  u(x) :- p([x, 1]), x = 2.  p([2, 1]).",
        {},
        ["u(2)", "p([2, 1])"],
        ["u(1)"],
    ),
    "inferred": (
        "above(x) :- e(x, _), x > mean v : { e(v, _) }.  two(x) :- e(x, 2).  half(x / 2) :- e(x, _).",
        {"e": [(1, 2), (2, 2), (3, 5)]},
        ["above(3)", "two(1)", "half(1.5)", "e(1, 2)"],
        ["above(2)", "two(3)", "half(2)"],
    ),
    "complement": (
        ".decl e(x: unsigned)  .decl u(x: unsigned)  u(bnot x) :- e(x).  .decl n(x: number)  n(bnot x) :- n(x), x > 0.",
        {"e": [(0,), (2**63 + 1,)], "n": [(5,)]},
        ["u(18446744073709551615u)", "u(9223372036854775806)", "n(-6)"],
        ["u(0)", "n(6)"],
    ),
    "shift": (
        ".decl e(x: unsigned)  .decl u(x: unsigned)  u(x bshl 1) :- e(x), x < 99.",
        {"e": [(3,), (2**64 - 1,)]},
        ["u(6)"],
        ["u(3)"],
    ),
    "range": (
        ".decl e(x: unsigned)  .decl u(x: unsigned)  u(range(x, 2)) :- e(x).  "
        ".decl n(x: number)  n(range(3, 1)) :- e(_).",
        {"e": [(9,), (0,)]},
        ["u(0)", "u(1)", "n(3)", "n(2)"],
        ["u(9)", "u(2)", "n(1)"],
    ),
    "range of floats": (
        FLOATS + "u(range(x, 2.55, 0.3)) :- e(x).",
        {"e": [(1.05,)]},
        ["u(1.05)", "u(1.6500000000000001)", "u(1.9500000000000002)", "u(2.25)"],
        ["u(2.55)", "u(1.65)"],
    ),
    "from the facts": ("u(x) :- e(x), x > 1 / 2.", {"e": [(0.3,), (1,)]}, ["u(1)"], ["u(0.3)"]),
    "in a component": (
        ".comp C<T> { .decl e(x: T)  .decl half(x: T)  half(x / 2) :- e(x). }\n"
        ".init a = C<number>\n.init b = C<float>\na.e(3).  b.e(3).",
        {},
        ["a.half(1)", "b.half(1.5)"],
        ["a.half(2)", "b.half(1)"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_constants_have_the_type_of_their_place(name: str) -> None:
    rules, facts, holding, absent = CASES[name]
    kb = holdfast.from_text(rules, facts=facts)  # type: ignore[arg-type]
    for fact in holding:
        proof = kb.why(fact)
        assert proof is not None, fact
        holdfast.check_proof(proof.to_json(), rules, facts)  # type: ignore[arg-type]
    for fact in absent:
        absence = kb.why_not(fact)
        assert absence is not None, fact
        holdfast.check_proof(absence.to_json(), rules, facts)  # type: ignore[arg-type]


def test_a_proof_by_whole_numbers_is_false() -> None:
    rules, facts = FLOATS + "u(x) :- e(x), x > 1 / 2.", {"e": [(0.7,), (0.3,)]}
    proof = holdfast.from_text(rules, facts=facts).why("u(0.7)")  # type: ignore[arg-type]
    assert proof is not None
    assert holdfast.check_proof(proof.to_json(), rules, facts) == "u(0.7)"  # type: ignore[arg-type]
    with pytest.raises(ProofError):
        holdfast.check_proof(proof.to_json().replace("0.7", "0.3"), rules, facts)  # type: ignore[arg-type]


def test_a_component_with_complements_of_both_types_is_not_explained() -> None:
    rules = ".comp C<T> { .decl e(x: T)  .decl c(x: T)  c(bnot x) :- e(x). }"
    kb = holdfast.from_text(rules + " .init a = C<number>  .init b = C<unsigned>  a.e(3).  b.e(3).")
    for fact in ("a.c(-4)", "b.c(18446744073709551612u)"):
        with pytest.raises(EvaluationError, match="E0942"):
            kb.why(fact)


def test_the_engine_computes_functors_of_large_unsigned_numbers() -> None:
    rules, facts = ".decl e(x: unsigned)  .decl u(x: unsigned)  u(x bshru 1) :- e(x).", {"e": [(2**64 - 1,)]}
    proof = holdfast.from_text(rules, facts=facts).why("u(9223372036854775807)")
    assert proof is not None
    with pytest.raises(ProofError, match="does not know bshru"):
        holdfast.check_proof(proof.to_json(), rules, facts)


def test_rules_have_one_name_everywhere() -> None:
    """Also beside rules that are inlined, and beside one whose name another would get by its place."""
    rules = """
        .decl q(x: number)  .decl p(x: number, y: number)  .decl t(x: number)
        .decl twice(x: number, y: number) inline
        twice(x, y) :- y = 2 * x.
        p(x, y) :- q(x), twice(x, y).
        #[name("r4")] t(x) :- p(x, _).
        t(y) :- p(_, y).
    """
    kb = holdfast.from_text(rules, facts={"q": [(1,)]})
    proofs = [kb.why(fact) for fact in ("p(1, 2)", "t(1)", "t(2)")]
    assert [json.loads(proof.to_json())["inferences"][-1]["ruleName"] for proof in proofs] == ["r2", "r4", "r4'"]  # type: ignore[union-attr]
    for proof in proofs:
        for text in (rules, kb.rules_text()):
            holdfast.check_proof(proof.to_json(), text, {"q": [(1,)]})  # type: ignore[union-attr]


def test_a_sum_that_depends_on_itself_is_rejected() -> None:
    rules = "s(x, n) :- e(x), n = sum v : { s(_, v), v < 2 }.  s(0, 1)."
    with pytest.raises((ProofError, holdfast.errors.ProgramError)):
        holdfast.check_proof({"absent": "s(9, 9)", "inferences": [], "complete": []}, rules, {"e": [(1,)]})
