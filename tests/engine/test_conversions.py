"""Strings as numbers, in facts of the text (folded by the checker) and over columns (computed by the engine)."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.errors import DataError, EvaluationError

NUMBERS = {"10": 10, "-10": -10, "0xcafe": 0xCAFE, "-0xBEEF": -0xBEEF, "0b100": 4, "-0b100": -4, "+7": 7, " 7 ": 7}
MISTAKES = {
    "zwei": "is not a number",
    "1_000": "is not a number",
    "": "is not a number",
    "1.5": "is not an integer",
    "9223372036854775808": "is out of range for a 64-bit number",
    "٣": "is not a number",
}


@pytest.mark.parametrize("text", NUMBERS)
def test_to_number(text: str) -> None:
    assert list(holdfast.from_text(f'p(to_number("{text}")).')["p"]) == [(NUMBERS[text],)]
    assert list(holdfast.from_text(f's("{text}"). p(to_number(x)) :- s(x).')["p"]) == [(NUMBERS[text],)]


@pytest.mark.parametrize("text", MISTAKES)
def test_what_is_no_number_is_said_in_our_words(text: str) -> None:
    for program in (f'p(to_number("{text}")).', f's("{text}"). p(to_number(x)) :- s(x).'):
        with pytest.raises(holdfast.HoldfastError, match=f'"{text}" {MISTAKES[text]}'):
            holdfast.from_text(program)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('to_unsigned("18446744073709551615")', 2**64 - 1),
        ("to_unsigned(2.5)", 2),
        ('to_float("1e3")', 1000.0),
        ('to_float("  .5")', 0.5),
        ("to_number(-2.5)", -2),
        ("to_float(3)", 3.0),
    ],
)
def test_other_conversions(expression: str, value: object) -> None:
    assert list(holdfast.from_text(f"p({expression}).")["p"]) == [(value,)]
    argument = expression[expression.index("(") + 1 : -1]
    rule = f"s({argument}). p({expression.replace(argument, 'x')}) :- s(x)."
    assert list(holdfast.from_text(rule)["p"]) == [(value,)]


@pytest.mark.parametrize("expression", ["ftoi(1.0e300)", "10.0 ^ 400.0", "(0.0 - 1.0) ^ 0.5", 'to_float("x")'])
def test_no_message_of_python_reaches_the_user(expression: str) -> None:
    with pytest.raises(holdfast.HoldfastError) as caught:
        holdfast.from_text(f"p({expression}).")
    text = str(caught.value)
    assert f"{expression} has no value" in text
    assert not any(word in text for word in ("literal", "convert", "math ", "000000"))


@pytest.mark.parametrize(("base", "value"), [(2, 0), (1, 1), (-1, -1)])
def test_a_negative_power_of_an_integer_is_cut_towards_zero_in_constants_and_in_rules(base: int, value: int) -> None:
    assert list(holdfast.from_text(f"p(({base}) ^ -1).")["p"]) == [(value,)]
    assert list(holdfast.from_text(f"s(-1). p(({base}) ^ x) :- s(x).")["p"]) == [(value,)]


ANY_FIELDS = """
.type R = [f: any]
.type T = Some {f: any} | Plain {f: unsigned}
.decl u(x: unsigned)
.decl r(x: R)
.decl t(x: T)
"""


@pytest.mark.parametrize("head", ["r([x])", "t($Some(x))"])
def test_a_field_of_type_any_has_the_range_of_number(head: str) -> None:
    largest = 2**63 - 1
    kb = holdfast.from_text(f"{ANY_FIELDS} {head} :- u(x).", {"u": [(3,), (largest,)]})
    made = set(kb[head[0]])
    assert {row[0].fields for row in made} == {(3,), (largest,)}
    with pytest.raises(EvaluationError, match=r"E0701.*9223372036854775808 does not fit type number"):
        kb.apply(holdfast.Update(insert={"u": [(2**63,)]}))
    assert (set(kb[head[0]]), set(kb["u"])) == (made, {(3,), (largest,)})
    fact = head.replace("x", "3")
    assert holdfast.check_proof(kb.why(fact).to_json(), kb.rules_text(), {"u": [(3,), (largest,)]}) == fact  # type: ignore[union-attr]


def test_a_field_of_type_unsigned_has_its_own_range() -> None:
    kb = holdfast.from_text(f"{ANY_FIELDS} t($Plain(x)) :- u(x).", {"u": [(2**64 - 1,)]})
    assert [row[0].fields for row in kb["t"]] == [(2**64 - 1,)]


def test_a_record_of_python_has_the_range_of_number_too() -> None:
    with pytest.raises(DataError, match=r"E0606.*is not between"):
        holdfast.from_text(ANY_FIELDS, {"r": [(holdfast.Record((2**63,)),)]})
