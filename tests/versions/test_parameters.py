"""Parameters: the same answers as with the value in the text, whatever the value is, and nothing is ever pasted."""

from __future__ import annotations

import copy
import pickle
from random import Random
from typing import Any

import pytest

import holdfast
from holdfast import BlankNode, Iri, KnowledgeBase, Literal, Record, Update
from holdfast.formats.fact_data import FactParts

PROGRAM = """
@prefix ex: <http://example.org/> .
.type List = [head: number, tail: List]
.type Colour = Red {} | Mix {a: number, b: symbol}
.decl n(x: number, y: number)
.decl u(x: unsigned, y: number)
.decl f(x: float, y: number)
.decl s(x: symbol, y: number)
.decl a(x: any, y: number)
.decl l(x: List, y: number)
.decl c(x: Colour, y: number)
.decl path(x: number, y: number)
path(x, y) :- n(x, y).
path(x, z) :- path(x, y), n(y, z).
"""
NASTY = 'x", 1), s(y, _), !s("'
FACTS: dict[str, list[tuple[Any, Any]]] = {
    "n": [(1, 2), (2, 3), (-5, 1), (2**63 - 1, 7), (-(2**63), 8)],
    "u": [(2**64 - 1, 1), (0, 2)],
    "f": [(0.5, 1), (-0.0, 2), (float("nan"), 3), (float("inf"), 4), (1.0, 5)],
    "s": [("a", 1), ("", 2), (NASTY, 3), ("ü\n\t\\", 4), ("1", 5)],
    "a": [
        ("1", 1),
        (1, 2),
        (1.0, 3),
        (Iri("http://example.org/a"), 4),
        (BlankNode("b"), 5),
        (Literal("x", None, "en"), 6),
        (Literal("2", "http://example.org/t"), 7),
    ],
    "l": [((1, (2, None)), 1), (None, 2)],
    "c": [(Record((), "Red"), 1), (Record((3, "x"), "Mix"), 2)],
}


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return holdfast.from_text(PROGRAM, FACTS)


@pytest.mark.parametrize("relation", FACTS)
def test_values_of_every_type_are_found(kb: KnowledgeBase, relation: str) -> None:
    ask, joined = kb.prepare(f"{relation}($x, y)"), kb.prepare(f"{relation}($x, y), y < 100")
    compared = kb.prepare(f"{relation}(x, y), x = $x")
    for value, number in FACTS[relation]:
        assert list(ask({"x": value})) == [(number,)]
        assert list(joined({"x": value})) == [(number,)]
        assert [row[1] for row in compared({"x": value})] == [number]
    assert list(kb.query(f"{relation}(x, $y)", {"y": 1})) == list(kb.query(f"{relation}(x, 1)"))


@pytest.mark.parametrize(
    ("relation", "value"),
    [
        ("n", 99),
        ("u", 7),
        ("f", 9.5),
        ("s", "unknown"),
        ("a", "unknown"),
        ("a", Iri("http://example.org/unknown")),
        ("a", Literal("unknown", None, "en")),
        ("l", (9, (9, None))),
        ("c", Record((4, "unknown"), "Mix")),
    ],
)
def test_values_that_no_fact_has_are_not_kept(kb: KnowledgeBase, relation: str, value: Any) -> None:
    before = len(kb._dictionary)
    assert not kb.query(f"{relation}($x, _)", {"x": value})
    assert not kb.query(f"{relation}($x, y), y < 5", {"x": value})
    assert len(kb.query(f"{relation}(_, y), !{relation}($x, y)", {"x": value})) == len({y for _, y in FACTS[relation]})
    assert list(kb.query(f"m = count : {{ {relation}($x, _) }}", {"x": value})) == [(0,)]
    assert (value, 1) not in kb[relation]
    assert len(kb._dictionary) == before


def test_a_parameter_may_be_computed_with(kb: KnowledgeBase) -> None:
    assert list(kb.query("x = $a + $b", {"a": 1, "b": 2})) == [(3,)]
    assert list(kb.query('x = cat($a, "-", $a)', {"a": "new"})) == [("new-new",)]
    assert set(kb.query("n(x, y), x > $least", {"least": 1})) == {(2, 3), (2**63 - 1, 7)}
    assert list(kb.query("path($from, $to)", {"from": 1, "to": 3})) == [()]
    assert list(kb.query("n($x, y) ; u(_, y), y > $x", {"x": 1})) == [(2,)]


def test_branches_are_no_parameters(kb: KnowledgeBase) -> None:
    assert list(kb.query("c($Red, y)")) == [(1,)]
    assert set(kb.query('c(x, y), x = $Mix(3, "x")')) == {(Record((3, "x"), "Mix"), 2)}
    assert kb.prepare("c($Red, y), n(y, $z)").parameters == ("z",)


@pytest.mark.parametrize(
    ("query", "values", "code"),
    [
        ("n($x, y)", {}, "E0950"),
        ("n($x, y)", None, "E0950"),
        ("n($x, y)", {"x": 1, "y": 2}, "E0950"),
        ("n(x, y)", {"x": 1}, "E0950"),
        ("n($x, y)", {"$x": 1}, "E0950"),
        ("n($x, y)", {"x": "1"}, "E0951"),
        ("n($x, y)", {"x": 1.5}, "E0951"),
        ("n($x, y)", {"x": 2**63}, "E0951"),
        ("n($x, y)", {"x": None}, "E0951"),
        ("u($x, y)", {"x": -1}, "E0951"),
        ("s($x, y)", {"x": 1}, "E0951"),
        ("a($x, y)", {"x": object()}, "E0951"),
        ("l($x, y)", {"x": (1, 2, 3)}, "E0951"),
        ("c($x, y)", {"x": Record((1,), "Mix")}, "E0951"),
        ("n($x, y)", [1], "E0926"),
        ("n($x, y), s($x, y)", {"x": 1}, "E0401"),
        ("m($x)", {"x": 1}, "E0201"),
    ],
)
def test_wrong_parameters_are_refused_without_a_trace(kb: KnowledgeBase, query: str, values: Any, code: str) -> None:
    before = len(kb._dictionary)
    with pytest.raises(holdfast.HoldfastError) as caught:
        kb.query(query, values)
    assert caught.value.diagnostics[0].code == code
    assert len(kb._dictionary) == before


def test_a_prepared_query_follows_updates_and_rules() -> None:
    kb = holdfast.from_text("p(x, y) :- e(x, y).", {"e": [(1, 2)]})
    ask, all_of = kb.prepare("p($x, y)"), kb.prepare("p(x, y), e(_, x)")
    assert (list(ask({"x": 1})), list(all_of())) == ([(2,)], [])
    kb.apply(Update(insert={"e": [(2, 3)]}))
    assert (list(ask({"x": 2})), list(all_of())) == ([(3,)], [(2, 3)])
    kb.apply(Update(add_rules=["p(y, x) :- e(x, y)."]))
    assert set(ask({"x": 2})) == {(3,), (1,)}
    assert (ask.parameters, ask.columns) == (("x",), ("y",))
    kb.apply(Update(remove_rules=["r1", "p(y, x) :- e(x, y)."]))
    with pytest.raises(holdfast.HoldfastError):
        ask({"x": 2})


@pytest.mark.parametrize("seed", range(3))
def test_a_parameter_is_as_good_as_the_value_in_the_text(seed: int) -> None:
    dice = Random(seed)
    rows = {(dice.randrange(9), dice.randrange(9)) for _ in range(30)}
    kb = holdfast.from_text(PROGRAM, {"n": sorted(rows)})
    texts = [
        "n({x}, y)",
        "n(y, {x})",
        "path({x}, y), !n({x}, y)",
        "path({x}, {x})",
        "path(y, {x}), y != {x}",
        "n({x}, _)",
        "n({x}, {y})",
        "n(a, a), a < {x}",
        "k = count : {{ path({x}, _) }}",
        "k = sum z : {{ path({x}, z), z != {y} }}",
        "path({x}, a) ; n(a, {y})",
    ]
    for text in texts:
        ask = kb.prepare(text.format(x="$x", y="$y") if "{y}" in text else text.format(x="$x"))
        for _ in range(8):
            x, y = dice.randrange(10), dice.randrange(10)
            values = {"x": x, "y": y} if "{y}" in text else {"x": x}
            plain = kb.query(text.format(x=x, y=y))
            assert set(ask(values)) == set(plain), (text, values)
            assert ask(values).columns == plain.columns and ask(values).types == plain.types


def test_updates_are_values() -> None:
    update = Update(insert={"n": [(1, 2)]}, remove_rules="r1", note={"who": "ann"})
    for other in (pickle.loads(pickle.dumps(update)), copy.copy(update), copy.deepcopy(update)):
        assert other == update


def test_nothing_that_lives_in_one_process_is_pickled(kb: KnowledgeBase) -> None:
    view, watch = kb["n"], kb.watch("n(1, x)")
    for thing in (kb, kb.snapshot(), view, kb.prepare("n(1, x)"), watch):
        with pytest.raises(TypeError) as caught:
            pickle.dumps(thing)
        assert isinstance(caught.value, holdfast.HoldfastError) and caught.value.diagnostics[0].code == "E0952"
    for thing in (kb, kb.snapshot(), watch):
        for copied in (copy.copy, copy.deepcopy):
            with pytest.raises(holdfast.HoldfastError):
                copied(thing)
    assert copy.copy(view) is view and copy.deepcopy(view) is view
    watch.close()


def test_a_change_is_its_own_copy_and_its_inverse_can_be_sent_elsewhere() -> None:
    kb = holdfast.from_text("two(x, z) :- edge(x, y), edge(y, z).", facts={"edge": [("a", "b"), ("b", "c")]})
    change = kb.apply(Update(delete={"edge": [("a", "b")]}, insert={"edge": [("c", "d")]}))
    for kept in (change, kb.impact(Update(delete={"edge": [("b", "c")]}))):
        assert copy.copy(kept) == copy.deepcopy(kept) == kept
        with pytest.raises(holdfast.HoldfastError) as caught:
            pickle.dumps(kept)
        assert caught.value.diagnostics[0].code == "E0952"
    assert copy.deepcopy(change) is change
    inverse = pickle.loads(pickle.dumps(change.inverse()))
    assert inverse.insert == {"edge": [("a", "b")]} and inverse.delete == {"edge": [("c", "d")]}
    with kb.update() as u:
        u.insert("edge", kb["two"])  # a view
    parts = pickle.loads(pickle.dumps(Update(insert={"edge": FactParts((kb["edge"], [("x", "y")]))})))
    assert set(parts.insert["edge"].parts[0]) == set(kb["edge"])
    kb.apply(inverse)
    assert set(kb["edge"]) == {("a", "b"), ("b", "c"), ("b", "d")}
