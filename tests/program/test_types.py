"""Types: what is inferred, how constants adapt, what declared types allow."""

from __future__ import annotations

import pytest

from holdfast.errors import ProgramError
from holdfast.language import parse
from holdfast.program import check
from holdfast.program.model import Apply, Const
from holdfast.values import Iri, Literal, Type

N, U, F, S, A = Type.NUMBER, Type.UNSIGNED, Type.FLOAT, Type.SYMBOL, Type.ANY


def types(text: str, hints: dict[tuple[str, int], Type] | None = None) -> dict[str, tuple[Type, ...]]:
    return {name: relation.types for name, relation in check(parse(text), hints).relations.items()}


def codes(text: str) -> set[str]:
    with pytest.raises(ProgramError) as caught:
        check(parse(text))
    return {diagnostic.code for diagnostic in caught.value.diagnostics}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p(1). q(x) :- p(x).", {"p": (N,), "q": (N,)}),
        ('p(1.5, "a", 2u, <http://e.org/a>).', {"p": (F, S, U, A)}),
        ("p(1). p(2.5).", {"p": (F,)}),
        ("q(x) :- p(x).", {"p": (A,), "q": (A,)}),
        ("q(x) :- p(x), x > 3.", {"p": (N,), "q": (N,)}),
        ("q(x) :- p(x, y), x < y.", {"p": (N, N), "q": (N,)}),
        ('q(x) :- p(x), x != "a".', {"p": (S,), "q": (S,)}),
        ("q(x + 1) :- p(x).", {"p": (N,), "q": (N,)}),
        ("q(x * 1.5) :- p(x).", {"p": (F,), "q": (F,)}),
        ("q(strlen(x)) :- p(x).", {"p": (S,), "q": (N,)}),
        ("q(to_string(x)) :- p(x), x < 2.", {"p": (N,), "q": (S,)}),
        ('q(x) :- p(x), r(x). r(<http://e.org/a>). p("a").', {"p": (A,), "q": (A,), "r": (A,)}),
        ('<http://e.org/p>(1). <http://e.org/p>("a").', {"<http://e.org/p>": (A,)}),
        ("q(x) :- x = range(1, 3).", {"q": (N,)}),
        ("q(x) :- p(x), x != y, r(y). r(2.5).", {"p": (F,), "q": (F,), "r": (F,)}),
    ],
)
def test_inferred(text: str, expected: dict[str, tuple[Type, ...]]) -> None:
    found = types(text)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("function", "result"), [("count", N), ("sum", F), ("min", F), ("max", F), ("mean", F), ("median", F)]
)
def test_result_of_an_aggregate(function: str, result: Type) -> None:
    target = "" if function == "count" else "x"
    assert types(f"p(1.5). q(n) :- n = {function} {target} : {{ p(x) }}.")["q"] == (result,)


@pytest.mark.parametrize(
    ("text", "hint", "expected"),
    [
        ("q(x) :- p(x).", S, S),
        ("q(x) :- p(x), x > 3.", F, F),
        ("q(x) :- p(x), x > 3.", A, N),
        ("q(x) :- p(x), x > 3.", S, N),
        ("q(x) :- p(x), p(y), x < y.", S, S),
        ("q(x + 1) :- p(x).", S, N),
        ("q(x + 1) :- p(x).", F, F),
        ("q(x) :- p(x), x != 3.", A, A),
        ('q(x) :- p(x), x != "a".', N, S),
        ("q(strlen(x)) :- p(x).", N, S),
        (".decl p(x: symbol) .decl q(x: symbol) q(x) :- p(x).", N, S),
    ],
)
def test_hints_decide_only_what_the_program_leaves_open(text: str, hint: Type, expected: Type) -> None:
    assert types(text, {("p", 0): hint})["p"] == (expected,)


def test_numbers_adapt_to_their_column() -> None:
    text = '.decl p(f: float, u: unsigned, a: any, n: number)\np(5, 5, 5, 0x1F).\np(-1, 0b11, "s", -2).'
    program = check(parse(text))
    assert program.facts["p"] == ((5.0, 5, 5, 31), (-1.0, 3, "s", -2))
    assert [type(value) for value in program.facts["p"][0]] == [float, int, int, int]


def test_rdf_constants() -> None:
    text = '@prefix ex: <http://e.org/> .\np(ex:a). p("chat"@fr). p("1"^^xsd:integer). p("1"^^xsd:byte). p("s").\n'
    byte = Literal("1", "http://www.w3.org/2001/XMLSchema#byte")
    values = [value for (value,) in check(parse(text)).facts["p"]]
    assert values == [Iri("http://e.org/a"), Literal("chat", None, "fr"), 1, byte, "s"]


def test_facts_are_kept_once() -> None:
    assert check(parse("p(1). p(2). p(1).")).facts == {"p": ((1,), (2,))}


def test_casts() -> None:
    text = """
    .type T <: number
    .decl n(x: number) .decl t(x: T) .decl f(x: float)
    t(as(x, T)) :- n(x).
    f(as(x, float)) :- n(x).
    """
    first, second = check(parse(text)).rules
    assert not isinstance(first.arguments[0], Apply)
    assert isinstance(second.arguments[0], Apply) and second.arguments[0].function == "itof"


def test_constant_expressions_are_folded() -> None:
    [rule] = check(parse("q(x, 2 * 3 - 1) :- p(x), x != -(2 ^ 3).")).rules
    assert rule.arguments[1] == Const(5, N)


SUBTYPES = """
.type City <: symbol
.type Town <: City
.type Person <: symbol
.type Place = City | Person
.decl town(x: Town) .decl city(x: City) .decl person(x: Person) .decl place(x: Place) .decl word(x: symbol)
.decl thing(x: any)
"""


@pytest.mark.parametrize(
    "rule",
    [
        "city(x) :- town(x).",
        "word(x) :- town(x).",
        "place(x) :- city(x).",
        "place(x) :- town(x).",
        "town(x) :- town(x), city(x).",
        "city(x) :- place(x), city(x).",
        "thing(x) :- city(x).",
        "thing(x) :- place(x).",
        "person(x) :- person(x), !city(x).",
        'city("Ulm").',
        "city(x) :- x = y, city(y).",
    ],
)
def test_allowed_by_declared_types(rule: str) -> None:
    check(parse(SUBTYPES + rule))


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("town(x) :- city(x).", "E0402"),
        ("city(x) :- word(x).", "E0402"),
        ("city(x) :- place(x).", "E0402"),
        ("city(x) :- thing(x).", "E0402"),
        ("word(x) :- city(x), person(x).", "E0401"),
        ("word(x) :- city(x), person(y), x != y.", "E0407"),
        ("word(y) :- city(x), person(y), x = y.", "E0407"),
        ("person(y) :- city(x), y = x.", "E0402"),
        ("word(1).", "E0403"),
    ],
)
def test_refused_by_declared_types(rule: str, code: str) -> None:
    assert codes(SUBTYPES + rule) == {code}


def test_an_alias_is_the_same_type() -> None:
    check(parse(".type T = number\n.decl p(x: T) .decl q(x: number)\np(x) :- q(x).\nq(x) :- p(x), q(x)."))
