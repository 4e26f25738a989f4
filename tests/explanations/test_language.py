"""Every part of the language is explained: all facts of small programs have proofs, and what is near them absences."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast.explanations.terms import fact_text

from .judging import judge

PROGRAMS = {
    "rdf": """
        @prefix ex: <http://example.org/> .
        ex:knows(ex:ann, ex:bob).  ex:knows(ex:bob, ex:cleo).
        ex:name(ex:ann, "Anne"@fr).  ex:age(ex:ann, "7"^^xsd:byte).  ex:age(ex:bob, 8).
        ex:reaches(x, y) :- ex:knows(x, y).
        ex:reaches(x, z) :- ex:reaches(x, y), ex:knows(y, z).
        ex:old(x) :- ex:age(x, a), is_literal(a), !ex:name(x, _).
        ex:spoken(x, str(n)) :- ex:name(x, n).
    """,
    "records": """
        .type List = [head: number, tail: List]
        .decl list(l: List)
        .decl item(x: number)
        .decl longer(l: List)
        list([1, [2, nil]]).  list([3, nil]).
        item(x) :- list([x, _]).
        item(x) :- list([_, [x, _]]).
        longer([0, l]) :- list(l), l != nil.
    """,
    "variants": """
        .type Tree = Leaf {} | Node {left: Tree, value: number, right: Tree}
        .decl tree(t: Tree)
        .decl value(x: number)
        tree($Node($Leaf, 4, $Node($Leaf, 5, $Leaf))).
        tree(l) :- tree($Node(l, _, _)).
        tree(r) :- tree($Node(_, _, r)).
        value(x) :- tree($Node(_, x, _)).
    """,
    "equivalence": """
        .decl same(x: number, y: number) eqrel
        .decl pair(x: number, y: number)
        pair(1, 2).  pair(2, 3).  pair(5, 6).
        same(x, y) :- pair(x, y).
    """,
    "components": """
        .comp Graph { .decl edge(x: number, y: number)  .decl path(x: number, y: number)
          path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z). }
        .init g = Graph
        g.edge(1, 2).  g.edge(2, 3).
        .decl end(x: number)
        end(x) :- g.path(_, x), !g.path(x, _).
    """,
    "inline": """
        .decl q(x: number)
        .decl twice(x: number, y: number) inline
        .decl p(x: number, y: number)
        q(1).  q(2).
        twice(x, y) :- y = 2 * x.
        p(x, y) :- q(x), twice(x, y).
    """,
    "strings": """
        .decl word(w: symbol)
        .decl part(w: symbol, n: number)
        .decl shout(w: symbol)
        word("a b").  word("quo\\"te").  word("tab\\there").
        part(substr(w, 0, 1), strlen(w)) :- word(w), match(".*a.*", w).
        shout(cat(upper(w), "!")) :- word(w), !contains("q", w).
        shout(w) :- ends_with("b", w), word(w).
    """,
    "floats": """
        .decl v(x: float)
        .decl w(x: float)
        .decl s(n: float)
        .decl m(n: float)
        v(1).  v(2.5).  v(0.1).  v(0.2).
        w(x * 2 + 1) :- v(x), x > 1.
        s(sum(x)) :- v(x).
        m(y) :- y = mean x : { v(x) }.
    """,
    "numbers": """
        .decl n(x: number)
        .decl u(x: unsigned)
        .decl r(x: number, y: number)
        n(-7).  n(3).  n(0xff).
        u(18446744073709551615u).  u(7).
        r(x / 2, x % 4) :- n(x).
        r(x, y) :- n(x), y = range(0, 3), x > y.
        r(-x, x band 6) :- n(x), x < 0 ; n(x), x = 3.
        r(x, as(y, number)) :- n(x), u(y), y < 10u.
    """,
    "aggregates": """
        .decl e(x: number, y: number)
        .decl a(x: number, n: number)
        .decl b(x: number, n: number, y: number)
        .decl c(x: number, n: float)
        e(1, 5).  e(1, 7).  e(2, 7).  e(3, 3).
        a(x, n) :- e(x, _), n = sum y + 1 : { e(x, y), y > 4 }.
        a(x, count(y)) :- e(x, y), !e(y, _).
        b(x, m, k) :- e(x, _), m = max y : { e(x, y) }, k = count : { e(z, m) ; e(m, z) }.
        c(x, median(y)) :- e(x, y).
    """,
    "limits": """
        .decl road(a: symbol, b: symbol, m: number)
        .decl time(a: symbol, m: number)
        .decl via(a: symbol, b: symbol)
        .decl widest(a: symbol, n: number)
        .decl slow(a: symbol)
        road("a", "b", 3).  road("b", "c", 4).  road("a", "c", 9).  road("c", "a", 1).  road("d", "e", 2).
        time("a", 0).  time("c", 20).
        time(b, min(t + m)) :- time(a, t), road(a, b, m).
        via(b, min(a)) :- time(a, t), road(a, b, m), time(b, t + m).
        widest(a, max(m)) :- road(a, _, m).
        widest(b, max(m)) :- road(_, b, m).
        slow(a) :- road(a, _, _), !time(a, 0).
    """,
    "shared names": """
        'e'(1, 2).  'e'(1, 2, 3).  'e'(4, 5).
        p(x) :- 'e'(x, y), 'e'(x, y, _).
        q(x) :- 'e'(x, _), !'e'(x, _, _).
    """,
    "names": """
        .decl 'a1:takes'(x: number)
        .decl nothing()
        .decl something()
        'a1:takes'(1).
        nothing() :- 'a1:takes'(2).
        something() :- !nothing(), 'a1:takes'(x), x < 5.
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_of_a_program_is_explained(name: str) -> None:
    kb = holdfast.from_text(PROGRAMS[name])
    proofs, _ = judge(kb, Random(3), 8)
    assert proofs >= 2


def test_a_blank_node() -> None:
    rules = "@prefix ex: <http://example.org/> .\nex:p(x, y) :- ex:q(x, y)."
    row = (holdfast.BlankNode("b1"), holdfast.Iri("http://example.org/a"))
    kb = holdfast.from_text(rules, facts={"ex:q": [row]})
    proof = kb.why(fact_text(("<http://example.org/p>", row)))
    assert proof is not None
    assert proof.facts == ["<http://example.org/q>(<_:b1>, <http://example.org/a>)"]
    assert holdfast.check_proof(proof.to_json(), rules, {"<http://example.org/q>": [row]})


@holdfast.functor
def explained_twice(x: int) -> int:
    return 2 * x


def test_functors_that_the_checker_does_not_know() -> None:
    rules = """
    .functor explained_twice(number): number
    .decl q(s: symbol)
    .decl p(x: number)
    .decl d(x: number)
    p(@explained_twice(strlen(s))) :- q(s).
    d(year(to_date(s))) :- q(s).
    """
    kb = holdfast.from_text(rules, facts={"q": [("2026-11-16",)]})
    for name in ("p", "d"):
        ((value,),) = kb[name]
        proof = kb.why(f"{name}({value})")
        assert proof is not None
        assert proof.facts == ['q("2026-11-16")']
        with pytest.raises(holdfast.ProofError, match="does not know"):
            holdfast.check_proof(proof.to_json(), kb.rules_text(), {"q": kb["q"]})


def test_what_has_no_value_does_not_matter_where_the_rule_fails_anyway() -> None:
    rules = "p(x, y) :- q(x), r(x, y), 10 / x > y, x != 0.  s(x) :- q(x), !p(x, _)."
    kb = holdfast.from_text(rules, facts={"q": [(0,), (2,)], "r": [(2, 1), (2, 7)]})
    assert judge(kb, Random(1), 9)[0] >= 5


def test_thousands_of_members_are_folded() -> None:
    kb = holdfast.from_text("n(c) :- c = count : { e(_) }.", facts={"e": [(n,) for n in range(3000)]})
    proof = kb.why("n(3000)")
    assert proof is not None
    assert len(str(proof).splitlines()) == 11
    assert str(proof).endswith("├─ … and 2,992 more facts\n└─ count of { e(_) } is 3000")
    assert len(proof._repr_html_()) < 3000
    assert len(proof.text().splitlines()) == 2
    assert proof.size == 3001
