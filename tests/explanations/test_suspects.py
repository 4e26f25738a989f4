"""Why-not names the likely mistake first: each kind by itself, and seeded mistakes of all kinds."""

from __future__ import annotations

import json

import pytest

import holdfast
from bench.mistakes import ANSWERS, MISTAKES, measured, spoilt
from holdfast.explanations.absence import Absence

from ..amounts import amount

RULES = """
.decl has_role(user: symbol, role: symbol)
.decl grant(role: symbol, what: symbol)
.decl deny(user: symbol, what: symbol)
.decl age(user: symbol, years: number)
.decl may(user: symbol, what: symbol)
.decl adult(user: symbol)
may(u, w) :- has_role(u, r), grant(r, w), !deny(u, w).
adult(u) :- may(u, _), age(u, n), n >= 18.
"""
ROLES = [("ada", "admin"), ("ben", "editor"), ("cleo", "reader"), ("dan", "reader")]
ROLES += [("eve", "guest"), ("fay", "guest"), ("gus", "reader")]
GRANTS = [("admin", "payroll"), ("editor", "handbook"), ("reader", "handbook"), ("admin", "handbook")]
AGES = [("ada", 44), ("ben", 17), ("cleo", 20)]


def absence(fact: str, **changed: object) -> Absence:
    facts = {"has_role": ROLES, "grant": GRANTS, "deny": [], "age": AGES, **changed}
    found = holdfast.from_text(RULES, facts=facts).why_not(fact)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("fact", "changed", "kind", "text"),
    [
        ('may("ada", "payroll")', {"deny": [("ada", "payroll")]}, "blocks", 'deny("ada", "payroll") holds'),
        ('adult("ben")', {}, "fails", "r2 requires n >= 18, which fails with n = 17"),
        (
            'may("ben", "handbook")',
            {"has_role": [("bben", "editor"), *ROLES[:1], *ROLES[2:]]},
            "misspelt",
            'has_role("bben", "editor") may be misspelt: has_role("ben", "editor") would do',
        ),
        ('may("ben", "handbook")', {"has_role": [*ROLES[:1], *ROLES[2:]]}, "missing", 'there is no has_role("ben", _)'),
        (
            'may("ben", "handbook")',
            {"has_role": [("editor", "ben"), *ROLES[:1], *ROLES[2:], ("ben", "guest")]},
            "swapped",
            'has_role("editor", "ben") may have its values in the wrong columns',
        ),
        (
            'may("ben", "handbook")',
            {"has_role": [("ben", "EDITOR"), ("hal", "editor"), *ROLES[:1], *ROLES[2:]]},
            "misspelt",
            'has_role("ben", "EDITOR") may be misspelt: has_role("ben", "editor") would do',
        ),
        (
            'may("cleo", "handbook")',
            {"has_role": [("lceo", "reader"), *ROLES[:2], *ROLES[3:]]},  # two letters exchanged
            "misspelt",
            'has_role("lceo", "reader") may be misspelt: has_role("cleo", "reader") would do',
        ),
        (
            'adult("cleo")',
            {"age": [*AGES[:2], ("dan", 20), ("dan", 31), ("eve", 19), ("fay", 50), ("gus", 44)]},
            "instead",
            'age("dan", 20) and age("dan", 31) may be wrong: age("cleo", _) instead would do',
        ),
        ('may("ben", "payroll")', {}, "missing", 'there is no grant("editor", "payroll")'),
    ],
)
def test_the_first_answer(fact: str, changed: dict[str, object], kind: str, text: str) -> None:
    found = absence(fact, **changed)
    assert (found.suspects[0].kind, text in found.suspects[0].text) == (kind, True), found
    assert f"  likely causes:\n    1. {found.suspects[0].text}" in str(found)
    assert json.loads(found.to_json())["suspects"][0]["kind"] == kind


def test_a_fact_that_has_the_place_of_another() -> None:
    found = absence('may("ben", "payroll")')
    (instead,) = [each for each in found.suspects if each.kind == "instead"]
    assert instead.text == 'has_role("ben", "editor") may be wrong: has_role("ben", "admin") instead would do'


def test_a_swapped_fact_of_which_a_column_is_not_known() -> None:
    towns = [("Bergen", "rope", 36), ("Dale", "salt", 9), ("Gol", "rope", 7), ("paint", "Dale", 29)]
    kb = holdfast.from_text("served(t, g) :- stock(t, g, n), n > 2.", facts={"stock": towns})
    found = kb.why_not('served("Dale", "paint")')
    assert found is not None
    text = 'stock("paint", "Dale", 29) may have its values in the wrong columns: stock("Dale", "paint", _) would do'
    assert (found.suspects[0].kind, found.suspects[0].text) == ("swapped", text)


def test_forms_of_an_absence() -> None:
    found = absence('may("ben", "payroll")')
    assert "<details" in found._repr_html_()
    dot = found.to_dot()
    assert 'may(\\"ben\\", \\"payroll\\")' in dot
    assert "->" in dot


def test_nothing_is_said_where_nothing_is_known() -> None:
    kb = holdfast.from_text("p(x) :- q(x, y), y > 3.  q(1, 2).")
    assert [each.kind for each in kb.why_not("p(1)").suspects][:1] == ["fails"]  # type: ignore[union-attr]
    assert kb.why_not("p(9)") is not None


def test_seeded_mistakes_are_among_the_first_answers() -> None:
    cases = measured(spoilt, amount(MISTAKES // 3, 5))
    found = sum(case.is_named(ANSWERS) for case in cases)
    assert found >= 0.9 * len(cases)
