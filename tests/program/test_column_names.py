"""Columns of relations without a declaration are called after the variables that stand there."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.language import parse
from holdfast.program import check


@pytest.mark.parametrize(
    ("text", "relation", "columns"),
    [
        ("path(x, y) :- edge(x, y). path(a, c) :- path(a, b), edge(b, c).", "path", ["x", "y"]),
        ("reach(y) :- edge(x, y).", "edge", ["x", "y"]),
        ("a(x) :- e(x, y). e(from, to) :- l(to, from).", "e", ["from", "to"]),  # a head before any body
        ("e(1, 2). p(x) :- e(x, _).", "e", ["x", "c2"]),
        ("e(1, 2).", "e", ["c1", "c2"]),
        ("p(x, x) :- q(x).", "p", ["x", "c2"]),
        ("p(c2, 1) :- q(c2).", "p", ["c2", "c2_"]),
        ("p(?x, ?y) :- q(?x, ?y).", "p", ["x", "y"]),
        ("p(x, count(y)) :- q(x, y).", "p", ["x", "count"]),
        ("p(n) :- n = count : { q(left, right) }.", "q", ["left", "right"]),
        (".decl p(a: number) .decl q(b: number)\np(x) :- q(x).", "q", ["b"]),
    ],
)
def test_names(text: str, relation: str, columns: list[str]) -> None:
    assert [column.name for column in check(parse(text)).relations[relation].columns] == columns


def test_tables_meet_undeclared_columns_by_position_and_dicts_by_name() -> None:
    rule = "path(y, x) :- edge(y, x)."
    assert set(holdfast.from_text(rule, facts={"edge": {"x": [1], "y": [2]}})["path"]) == {(1, 2)}
    assert set(holdfast.from_text(rule, facts={"edge": {"x": [1], "other": [2]}})["path"]) == {(1, 2)}
    assert set(holdfast.from_text(rule, facts={"edge": [{"x": 1, "y": 2}]})["path"]) == {(2, 1)}


def test_tables_meet_declared_columns_by_name() -> None:
    rule = ".decl edge(y: number, x: number) .decl path(y: number, x: number)\npath(y, x) :- edge(y, x)."
    assert set(holdfast.from_text(rule, facts={"edge": {"x": [1], "y": [2]}})["path"]) == {(2, 1)}
