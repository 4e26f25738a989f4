"""Desugaring keeps the meaning: a naive evaluator of the core agrees with the oracle, which reads the syntax tree.

What this cannot catch: a misunderstanding that the oracle shares.  Soufflé's own answers are held against the
engine in tests/suites.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, reject, settings

from holdfast.errors import ProgramError
from holdfast.language import parse, parse_body
from holdfast.program import check, check_query
from holdfast.values import Type

from ..judges.programs import EVERYTHING, Sketch, sketches
from ..oracle.evaluate import evaluate as oracle
from ..oracle.values import coerce, tag_row
from .core_evaluator import evaluate

FACTS = """
edge(1, 2, 5). edge(2, 3, 7). edge(1, 3, 9). edge(3, 1, 1). edge(4, 4, 5).
node(1). node(2). node(3). node(4). node(5).
name(1, "one"). name(2, "two"). name(3, "three"). name(4, "two").
"""

RULES = {
    "several heads": "a(x), b(y) :- edge(x, y, _).",
    "disjunction": "a(x) :- node(x), (edge(x, _, _) ; edge(_, x, _), x > 2 ; x = 5).",
    "negated disjunction": "a(x) :- node(x), !(edge(x, _, 5) ; edge(_, x, 9)).",
    "negated conjunction": "a(x) :- node(x), !(edge(x, x, 5), x < 5).",
    "negated comparison": "a(x, y) :- edge(x, y, w), !(w < 6), !(w = 7).",
    "lonely variable in a negation": "a(x) :- node(x), !edge(x, y, _).",
    "computed argument": "a(x) :- edge(x, y, _), edge(x + 1, y - 1 + 1, _).",
    "computed argument of a negated atom": "a(x) :- node(x), !node(x + 1).",
    "range": "a(x) :- x = range(1, 9, 3). b(x, y) :- node(x), y = x + range(0, x).",
    "two aggregates over one outer variable": (
        "a(x, n, m) :- node(x), n = count : { node(y), y < x }, m = count : { edge(z, _, _), z < x }."
    ),
    "two aggregates, one over what the other takes from outside": (
        "a(x, y, n, m) :- edge(x, y, w), n = count : { node(z), z < x }, m = sum v : { edge(x, _, v), v < w }."
    ),
    "count by group": "a(x, n) :- node(x), n = count : { edge(x, _, _) }.",
    "count of wildcards": "a(n) :- n = count : { edge(_, y, _) }. b(n) :- n = count : { edge(_, _, _) }.",
    "count of a join": "a(x, n) :- node(x), n = count : { edge(x, y, _), edge(y, _, _) }.",
    "count with an outer bound": "a(x, n) :- node(x), n = count : { node(y), y < x }.",
    "count with an outer bound, then compared": "a(x) :- node(x), n = count : { node(y), y < x }, n > 1, n != x.",
    "count in a comparison": "a(x) :- node(x), 0 = count : { edge(x, _, _) }."
    " b(x) :- node(x), count : { edge(x, _, _) } > 1.",
    "count as an argument": "a(x) :- node(x), edge(_, count : { edge(x, _, _) }, _).",
    "count of nothing": "a(n) :- n = count : { edge(_, _, 100) }. b(n) :- n = sum w : { edge(_, _, w), w > 50 }.",
    "sum counts each substitution": "a(n) :- n = sum w : { edge(_, _, w) }."
    " b(x, n) :- node(x), n = sum w : { edge(_, x, w) }.",
    "sum of an expression": "a(n) :- n = sum w * 2 + x : { edge(x, _, w) }.",
    "sum equal to its group": "a(x) :- node(x), x = sum y : { edge(x, y, _) }.",
    "aggregate in an expression": "a(x, n) :- node(x), n = 1 + 2 * count : { edge(x, _, _) }.",
    "minimum by group": "a(x, m) :- node(x), m = min w : { edge(x, _, w) }.",
    "minimum of nothing": "a(m) :- m = min w : { edge(_, _, w), w > 50 }.",
    "maximum of an expression": "a(m) :- m = max (w - x) : { edge(x, _, w) }.",
    "witness": "a(x, m) :- m = max w : { edge(x, _, w) }. b(x, m) :- m = max w : { edge(x, y, w), node(y) }.",
    "witness within a group": "a(x, y, m) :- node(x), m = min w : { edge(x, y, w) }.",
    "mean and median": "a(m) :- m = mean w : { edge(_, _, w) }. b(m) :- m = median w : { edge(_, _, w) }.",
    "minimum of strings": "a(m) :- m = min s : { name(_, s) }.",
    "disjunction inside an aggregate": "a(n) :- n = count : { edge(x, 2, 5) ; edge(x, 4, 5) ; node(x), x > 4 }.",
    "negation inside an aggregate": "a(n) :- n = count : { node(x), !edge(x, _, _) }.",
    "nested aggregates": "a(n) :- n = sum c : { node(x), c = count : { edge(x, _, _) } }.",
    "nested aggregates with an outer bound": (
        "a(i, n) :- node(i), n = count : { node(x), x < max y : { node(y), y < i } }."
    ),
    "two aggregates": "a(x, n, m) :- node(x), n = count : { edge(x, _, _) }, m = count : { edge(_, x, _) }.",
    "an aggregate over another's result": "a(n, m) :- n = count : { edge(_, _, _) }, m = count : { node(x), x < n }.",
    "the same local name twice": "a(x, n, m) :- node(x), n = sum w : { edge(x, _, w) }, m = max w : { edge(_, x, w) }.",
    "head aggregates": "a(x, count(y)) :- edge(x, y, _). b(max(w), min(w)) :- edge(_, _, w)."
    " c(sum(w), x) :- edge(x, y, w), node(y).",
    "head aggregate over substitutions": "a(s, count(s)) :- name(x, s).",
    "head aggregate by an expression": 'a(x % 2, sum(w), "k") :- edge(x, y, w).',
    "head aggregate over alternatives": "a(count(x)) :- edge(x, 3, _) ; edge(3, x, _).",
    "assignments in a chain": "a(z) :- z = y * 2, y = x + 1, node(x).",
    "recursion": "p(x, y) :- edge(x, y, _). p(x, z) :- p(x, y), edge(y, z, _).",
    "true and false": "a(x) :- node(x), true. b(x) :- node(x), false. c(x) :- node(x), !false.",
    "strings": 'a(s) :- name(_, t), s = cat(t, "!"). b(s) :- name(_, s), contains("t", s), !match("tw.*", s).',
}


@pytest.mark.parametrize("name", RULES)
def test_the_core_means_what_was_written(name: str) -> None:
    tree = parse(FACTS + RULES[name])
    program = check(tree)
    visible = {n: rows for n, rows in evaluate(program).items() if not program.relations[n].auxiliary}
    found = {name: {tag_row(row) for row in rows} for name, rows in visible.items()}
    expected = oracle(tree).facts
    assert found == {name: set(expected.get(name, ())) for name in found}
    assert any(found[name] for name in found if name not in ("edge", "node", "name")) or "nothing" in name


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("a(x) :- !!edge(x, 3, _).", {(1,), (2,)}),
        ("a(x, count : { edge(x, _, _) }) :- node(x).", {(1, 2), (2, 1), (3, 1), (4, 1), (5, 0)}),
        ("a(s, count(s)) :- name(_, s).", {("one", 1), ("two", 1), ("three", 1)}),  # `_` is no variable to tell apart
        ("a(count(x)) :- node(x), x > 9.", set()),
        ("a(x), a(y) :- edge(x, y, 9).", {(1,), (3,)}),
        ("a(-2 ^ 3). a(1 + 1). a(7 / -2).", {(-8,), (2,), (-3,)}),
        ('a(cat("x", "y", "z")).', {("xyz",)}),
        ("a(x, y) :- x = 2, y = x * x.", {(2, 4)}),
    ],
)
def test_what_the_oracle_does_not_judge(rule: str, rows: set[tuple[object, ...]]) -> None:
    assert evaluate(check(parse(FACTS + rule)))["a"] == rows


@pytest.mark.parametrize(
    ("query", "columns", "rows"),
    [
        ("edge(1, y, _)", ("y",), {(2,), (3,)}),
        ('edge(x, y, w), w > 5, !name(y, "two")', ("x", "y", "w"), {(2, 3, 7), (1, 3, 9)}),
        ("node(x), !edge(x, y, _)", ("x",), {(5,)}),
        ("edge(x, x, _) ; x = 7", ("x",), {(4,), (7,)}),
        ("edge(1, 2, 5)", (), {()}),
        ("edge(2, 1, 5)", (), set()),
        ("n = count : { edge(x, _, _) }", ("n",), {(5,)}),
        ("node(x), n = sum w : { edge(x, _, w) }, n > 5", ("x", "n"), {(1, 14), (2, 7)}),
    ],
)
def test_a_query_gives_its_rows(query: str, columns: tuple[str, ...], rows: set[tuple[object, ...]]) -> None:
    program = check(parse(FACTS + "a(x) :- edge(x, _, _)."))
    names, question = check_query(parse_body(query), program)
    assert names == columns
    assert evaluate(question, below=evaluate(program))["?"] == rows


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(sketches(replace(EVERYTHING, any_columns=False)))
def test_the_core_of_random_programs_means_what_was_written(sketch: Sketch) -> None:
    tree = parse(sketch.text)
    hints = {(p.name, i): Type(name) for p in sketch.predicates for i, name in enumerate(p.types)}
    try:
        program = check(tree, hints)
    except ProgramError as error:  # an aggregate whose group only the recursion itself binds
        assert {diagnostic.code for diagnostic in error.diagnostics} == {"E0502"}
        reject()
    found = evaluate(program, sketch.facts)
    expected = oracle(tree, sketch.facts).facts
    for predicate in sketch.predicates:
        rows = {tag_row(row) for row in found[predicate.name]}
        # the oracle's sum of nothing is the integer 0, also in a column of floats that is not declared
        typed = {tuple(map(coerce, row, predicate.types)) for row in expected.get(predicate.name, ())}
        assert rows == typed, predicate.name
