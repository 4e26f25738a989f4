"""The engine against the oracle on forms that random programs do not have: one small program each.

What this cannot catch: how these forms go together; and readings that parser and oracle share.
"""

from __future__ import annotations

import pytest

import holdfast
from holdfast.errors import EvaluationError, ProgramError
from holdfast.language import parse, tree

from ..oracle.evaluate import Evaluation, evaluate
from ..oracle.functors import UndefinedError
from ..oracle.values import tag_row

DATA = """
e(1, 2). e(2, 3). e(3, 1). e(3, 4). e(4, 4).
w("a", 3). w("b", 1). w("c", 3). w("d", -2).
f(0.5). f(2.0). f(-1.25).
s("a", "b"). s("b", "c"). s("x", "y").
"""
CLOSURE = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). "
FORMS = {
    "witness of a maximum": "r(k, n) :- n = max v : { w(k, v) }.",
    "witness of a minimum in a group": "r(x, y, n) :- e(x, _), n = min y2 : { e(x, y2) }, e(x, y), y = n.",
    "minimum of an expression": "r(n) :- n = min (x * 10 - y) : { e(x, y) }.",
    "two aggregates": "r(x, n, m) :- e(x, _), n = count : { e(x, _) }, m = sum y : { e(x, y) }.",
    "aggregate compared": "r(x) :- e(x, _), 1 < count : { e(x, _) }.",
    "aggregate in an expression": "r(x, 2 * n + 1) :- e(x, _), n = count : { e(_, x) }.",
    "nested aggregates": "r(n) :- n = max m : { e(x, _), m = count : { e(x, _) } }.",
    "aggregate over a join": "r(n) :- n = count : { e(x, y), e(y, z), x < z }.",
    "aggregate over a negation": "r(n) :- n = count : { e(x, y), !e(y, x) }.",
    "count of nothing": "r(n) :- n = count : { e(9, _) }.",
    "sum of nothing in a group": "r(x, n) :- w(x, _), n = sum v : { w(x, v), v > 2 }.",
    "mean and median": "r(m, d) :- m = mean v : { w(_, v) }, d = median v : { w(_, v) }.",
    "sum of floats": "r(n) :- n = sum x : { f(x) }.",
    "head aggregates": "r(x, count(y), max(y)) :- e(x, y).",
    "head aggregate without a group": "r(sum(y)) :- e(x, y).",
    "range": "r(x) :- x = range(1, 5). q(x) :- x = range(5, 1, -2). t(x, y) :- e(x, _), y = range(0, x).",
    "equivalence": ".decl q(a: symbol, b: symbol) eqrel\n.decl s(a: symbol, b: symbol)\nq(x, y) :- s(x, y).",
    "negation of a disjunction": "r(x) :- e(x, _), !(e(x, 1) ; x = 2).",
    "negation of a conjunction": "r(x, y) :- e(x, y), !(x < y, y < 4).",
    "double negation": "r(x) :- e(x, _), !!e(x, x).",
    "disjunction of rules": "r(x) :- e(x, y), (y = 1 ; y = 4 ; x = 1), x != 4.",
    "a variable that some alternatives bind": "r(n, y) :- (n = 0, y = 4 ; n = 7), e(_, y). "
    "q(x) :- (e(x, y) ; w(_, x)), e(y, x).",
    "a variable that alternatives bind and others test": "r(n) :- (n = 1, y = 9 ; n = y ; n = 3), e(y, _).",
    "nested disjunction": "r(x) :- e(x, y), (x = 1 ; (y = 4, (x = 3 ; x = 9))).",
    "repeated variable": "r(x) :- e(x, x).",
    "repeated variable under negation": "r(x) :- e(x, _), !e(x, x).",
    "computed arguments": "r(x) :- e(x, x + 1). q(x) :- e(x, _), !e(x + 1, x + 2).",
    "constants only": "r(1) :- e(1, 2). r(2) :- e(2, 1). q() :- e(1, 2), !e(2, 1). t(3) :- 1 < 2.",
    "arithmetic": "r(x / 2, x % 3, x * x - 1, -x, x ^ 2, abs(-x), min(x, 2), max(x, y)) :- e(x, y).",
    "negative division": "r(v / 2, v % 2, (0 - v) / 2) :- w(_, v).",
    "bits": "r(x band y, x bor y, x bxor y, bnot x, x bshl 2, x bshr 1, x land 0, x lor 0, lnot x) :- e(x, y).",
    "float arithmetic": "r(x / 2.0, x * x, x - 0.5, -x, max(x, 0.0)) :- f(x).",
    "strings": 'r(cat(a, "-", b), strlen(a), substr(b, 0, 1)) :- s(a, b).',
    "constraints on strings": 'q(a) :- s(a, b), match("[ab]", a), contains("c", b).',
    "order of strings": 'r(a) :- s(a, _), a < "b". q(a, b) :- s(a, _), s(b, _), a >= b, a != b.',
    "negative zero": "r(to_string(-0.0), to_string(-x)) :- f(y), x = y - y.",
    "conversions": 'r(to_string(x), to_number("17") + x) :- e(x, _). q(to_float(x)) :- e(x, _).',
    "large numbers": "r(x + 9223372036854775800) :- e(x, 2). q(-9223372036854775807 - x) :- e(x, 2).",
    "characters beyond ASCII": 'r(cat("ä", "日本")). q(x) :- r(x), contains("本", x).',
    "assignment chains": "r(c) :- e(x, _), c = b * 2, b = a + 1, a = x - 1.",
    "mutual recursion": "odd(y) :- e(1, y). even(y) :- odd(x), e(x, y). odd(y) :- even(x), e(x, y).",
    "nonlinear recursion": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "negation over recursion": CLOSURE + "n(x, y) :- e(x, _), e(_, y), !p(y, x).",
    "aggregate over recursion": CLOSURE + "r(x, n) :- e(x, _), n = count : { p(x, _) }.",
    "shortest distances": "d(1, 0). d(y, n + 1) :- d(x, n), e(x, y), n < 6. "
    "r(y, m) :- d(y, _), m = min n : { d(y, n) }.",
    "explicit facts that are derived too": "e(x, z) :- e(x, y), e(y, z).",
    "several heads": "r(x), q(y, x) :- e(x, y).",
    "true and false": "r(x) :- e(x, _), true. q(x) :- e(x, _), false. t(x) :- e(x, _), (false ; x = 1).",
    "iris": '@prefix x: <http://x/> . r(x:a). r(<http://x/b>). r("a"). q(y) :- r(y), y != x:a. ',
}


def mentioned(text: str) -> str:
    """The data that the form uses, as facts of the text."""
    return "\n".join(
        fact
        for line in DATA.splitlines()
        for fact in line.replace(". ", ".\n").splitlines()
        if f"{fact.split('(')[0]}(" in text
    )


@pytest.mark.parametrize("form", FORMS)
def test_form(form: str) -> None:
    text = f"{FORMS[form]}\n{mentioned(FORMS[form])}"
    expected = evaluate(parse(text)).facts
    kb = holdfast.from_text(text)
    assert {name: {tag_row(row) for row in kb[name]} for name in kb.relations} == {
        name: set(expected.get(name, ())) for name in kb.relations
    }
    assert any(expected[name] for name in heads(parse(text)))


def heads(program: tree.Program) -> set[str]:
    evaluation = Evaluation(program)
    return {evaluation.name(head.name) for head, _ in evaluation.rules}


@pytest.mark.parametrize(
    "rule",
    [
        "r(x / y) :- p(x, y).",
        "r(x % y) :- p(x, y).",
        "r(x * 4611686018427387904) :- p(x, _).",
        "r(x + 9223372036854775807) :- p(x, _).",
        "r(-9223372036854775807 - x) :- p(x, _).",
        "r(n) :- n = sum v : { q(v) }.",
    ],
)
def test_what_has_no_value_is_an_error(rule: str) -> None:
    facts: dict[str, list[tuple[int, ...]]] = {"p": [(2, 0), (3, 1)], "q": [(2**62,), (2**62 + 1,)]}
    facts = {name: rows for name, rows in facts.items() if f"{name}(" in rule}
    with pytest.raises(UndefinedError):
        evaluate(parse(rule), facts)
    with pytest.raises((EvaluationError, ProgramError)):
        holdfast.from_text(rule, facts=facts)


def test_integers_floats_and_strings_meet_in_one_column() -> None:
    text = ".decl p(x: any)\n.decl q(x: any)\nq(x) :- p(x)."
    kb = holdfast.from_text(text, facts={"p": [(1,), (1.0,), ("1",), (1,)]})
    assert {tag_row(row) for row in kb["q"]} == {tag_row((value,)) for value in (1, 1.0, "1")}
    assert len(kb["q"]) == 3
