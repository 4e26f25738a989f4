"""What each construct becomes, exactly.  That the forms mean the same is shown in test_meaning.py."""

from __future__ import annotations

import pytest

from holdfast.language import parse
from holdfast.program import check
from holdfast.program.show import show_rule

FORMS = {
    "p(x), q(y) :- e(x, y).": ["p(x) :- e(x, y).", "q(y) :- e(x, y)."],
    "p(x) :- a(x), (b(x) ; c(x)).": ["p(x) :- a(x), b(x).", "p(x) :- a(x), c(x)."],
    "p(x) :- a(x), !(b(x) ; c(x)).": ["p(x) :- a(x), !b(x), !c(x)."],
    "p(x) :- a(x), !(b(x), c(x)).": ["p(x) :- a(x), !b(x).", "p(x) :- a(x), !c(x)."],
    "p(x) :- a(x), !!!b(x).": ["p(x) :- a(x), !b(x)."],
    "p(x) :- !!b(x).": ["p(x) :- b(x)."],
    "p(x) :- a(x), not b(x).": ["p(x) :- a(x), !b(x)."],
    "p(x) :- a(x), !(x < 3).": ["p(x) :- a(x), x >= 3."],
    "p(x) :- a(x), !(x = 3).": ["p(x) :- a(x), x != 3."],
    "p(x) :- a(x), !b(x, y).": ["p(x) :- a(x), !b(x, _)."],
    "p(x) :- a(x), true.": ["p(x) :- a(x)."],
    "p(x) :- a(x), false.": [],
    "p(1) :- true.": ["p(1) :- true."],
    "p(x) :- a(x), b(x + 1).": ["p(x) :- a(x), _1 = x + 1, b(_1)."],
    "p(x) :- a(x), !b(x * 2).": ["p(x) :- a(x), _1 = x * 2, !b(_1)."],
    "p(x) :- a(x), b(1 + 2).": ["p(x) :- a(x), _1 = 3, b(_1)."],
    "p(x + 1) :- a(x).": ["p(x + 1) :- a(x)."],
    "p(y) :- a(x), x + 1 = y.": ["p(y) :- a(x), y = x + 1."],
    "p(x) :- a(x), x = 1.": ["p(x) :- a(x), x = 1."],
    "p(y) :- a(x), x = y.": ["p(y) :- a(x), y = x."],
    "p(x) :- a(x), x = x.": ["p(x) :- a(x), x = x."],
    "p(x) :- x = range(0, 9, 2).": ["p(x) :- x = range(0, 9, 2)."],
    "p(x) :- a(y), x = y + range(0, y).": ["p(x) :- a(y), _1 = range(0, y), x = y + _1."],
    'p(x) :- a(x), !match("b.*", x), contains("c", x).': ['p(x) :- a(x), !match("b.*", x), contains("c", x).'],
    "p(x, n) :- a(x), n = max y : { e(x, y) }.": [
        "p(x, n) :- a(x), p.max1(x, n).",
        "p.max1(x, max(y)) :- e(x, y).",
    ],
    "p(n) :- n = count : { e(_, _) }.": [
        "p(n) :- p.count1(n).",
        "p(n) :- n = 0, !p.count1(_).",
        "p.count1(count()) :- e(c1, c2).",
    ],
    "p(x, n) :- a(x), n = count : { e(y, _), y < x }.": [
        "p.body1(x, y, _1) :- a(x), e(y, _1), y < x.",
        "p(x, n) :- a(x), p.count1(x, n).",
        "p(x, n) :- a(x), n = 0, !p.count1(x, _).",
        "p.count1(x, count()) :- p.body1(x, y, c3).",
    ],
    "p(n) :- n = max x - y : { e(x, y) }.": [
        "p.body1(_1) :- e(x, y), _1 = x - y.",
        "p(n) :- p.max1(n).",
        "p.max1(max(c1)) :- p.body1(c1).",
    ],
    "p(n) :- n = sum x : { e(x, y), a(y) }.": [
        "p.body1(x, y) :- e(x, y), a(y).",
        "p(n) :- p.sum1(n).",
        "p(n) :- n = 0, !p.sum1(_).",
        "p.sum1(sum(x)) :- p.body1(x, y).",
    ],
    "p(x, n) :- n = max y : { e(x, y) }.": [
        "p(x, n) :- p.max1(n), e(x, n).",
        "p.max1(max(y)) :- e(x, y).",
    ],
    "p(x) :- a(x), q(x, 1 + min y : { e(x, y) }).": [
        "p(x) :- a(x), _2 = 1 + _1, q(x, _2), p.min1(x, _1).",
        "p.min1(x, min(y)) :- e(x, y).",
    ],
    "p(x, count(y)) :- e(x, y).": [
        "p(x, _1) :- p.count1(x, _1).",
        "p.count1(x, count()) :- e(x, y).",
    ],
    "p(x, count(y)) :- e(x, y), a(y).": [
        "p.body1(x, y) :- e(x, y), a(y).",
        "p(x, _1) :- p.count1(x, _1).",
        "p.count1(x, count()) :- p.body1(x, y).",
    ],
    'p(max(y), "k", min(y), x) :- e(x, y).': [
        'p(_1, "k", _2, x) :- p.max1(x, _1), p.min1(x, _2).',
        "p.max1(x, max(y)) :- e(x, y).",
        "p.min1(x, min(y)) :- e(x, y).",
    ],
}


@pytest.mark.parametrize("text", FORMS)
def test_core_form(text: str) -> None:
    program = check(parse(text))
    found = [show_rule(rule, program.relations) for rule in (*program.rules, *program.aggregates)]
    assert found == FORMS[text]


def test_what_binds_a_group_is_not_taken_from_the_recursion_if_the_rest_does() -> None:
    text = "p(0, 0). p(x, n) :- p(y, _), e(y, x), !f(y, x), n = count : { q(z), z < x }."
    program = check(parse(text))
    assert show_rule(program.rules[0], program.relations) == "p.body1(x, z) :- e(y, x), !f(y, x), q(z), z < x."


def test_equivalence_relation_gets_its_rules() -> None:
    program = check(parse(".decl s(a: number, b: number) eqrel"))
    assert {rule.name: show_rule(rule, program.relations) for rule in program.rules} == {
        "s.symmetric": "s(y, x) :- s(x, y).",
        "s.transitive": "s(x, z) :- s(x, y), s(y, z).",
        "s.reflexive": "s(x, x) :- s(x, y).",
    }


def test_equal_aggregates_share_a_relation() -> None:
    program = check(parse("p(n) :- n = max x : { e(x, _) }. q(m) :- m = max y : { e(y, _) }."))
    assert [aggregate.predicate for aggregate in program.aggregates] == ["p.max1"]


def test_an_auxiliary_name_does_not_meet_one_of_the_users() -> None:
    program = check(parse("p(n) :- n = max x : { e(x, _) }. q(x) :- 'p.max1'(x)."))
    assert [aggregate.predicate for aggregate in program.aggregates] == ["p.max2"]
    assert not program.relations["p.max1"].auxiliary


def test_rule_names() -> None:
    text = 'e(1, 2).\np(x, y) :- e(x, y).\n#[name("step")]\np(x, z) :- p(x, y), e(y, z).\nq(x), r(x) :- p(x, _).\n'
    assert [rule.name for rule in check(parse(text)).rules] == ["r1", "step", "r3", "r3"]


def test_a_given_name_keeps_its_rule_apart() -> None:
    program = check(parse('p(x) :- e(x).\n#[name("r1")]\nq(x) :- e(x).'))
    assert [rule.name for rule in program.rules] == ["r1'", "r1"]


def test_names_in_rdf() -> None:
    text = "@prefix ex: <http://e.org/> .\nex:p(x) :- <http://e.org/q>(x, ex:a), 'ex:r'(x).\n"
    program = check(parse(text))
    assert {name: relation.display for name, relation in program.relations.items()} == {
        "<http://e.org/p>": "ex:p",
        "<http://e.org/q>": "<http://e.org/q>",
        "ex:r": "'ex:r'",
    }
    assert program.prefixes["ex"] == "http://e.org/" and "rdf" in program.prefixes


def test_directives_are_kept_with_their_relation() -> None:
    program = check(parse('e(1).\n.input e(delimiter=",")\n.output e\n.limitsize e(n=3)'))
    assert [(io.kind, dict(io.parameters)) for io in program.relations["e"].io] == [
        ("input", {"delimiter": ","}),
        ("output", {}),
        ("limitsize", {"n": "3"}),
    ]


def test_a_test_functor_without_a_relation_of_that_name() -> None:
    program = check(parse("p(x) :- e(x), is_iri(x). q(x) :- e(x), !is_blank(x)."))
    assert [show_rule(rule, program.relations) for rule in program.rules] == [
        "p(x) :- e(x), is_iri(x).",
        "q(x) :- e(x), !is_blank(x).",
    ]
    assert "is_iri" not in program.relations
