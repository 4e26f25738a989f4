"""Printing and parsing undo each other.

What these tests cannot catch: a construct that both the printer and the parser misread in the same way; the
shapes in test_parse.py hold those fixed by hand.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.language import format_source, parse, parse_body, show, tree
from holdfast.language.parser import parse_with_comments
from holdfast.language.printer import show_formula
from tests.language import trees

_LARGE = [HealthCheck.too_slow, HealthCheck.data_too_large]
unhurried = settings(deadline=None, max_examples=100, suppress_health_check=_LARGE)


@unhurried
@given(trees.programs())
def test_parsing_what_was_printed_gives_the_same_tree(program: tree.Program) -> None:
    assert parse(show(program)) == program


@unhurried
@given(trees.formulas())
def test_a_query_comes_back_as_it_was(formula: tree.Formula) -> None:
    assert parse_body(show_formula(formula)) == formula


@unhurried
@given(trees.programs())
def test_formatting_a_printed_program_changes_nothing(program: tree.Program) -> None:
    assert format_source(show(program)) == show(program)


_comments = st.sampled_from(["// c", "/* c */", "/* c\n   d */", "% c", "//", ""])


@st.composite
def commented(draw: st.DrawFn) -> str:
    """A printed program with comments and blank lines between its lines and behind them."""
    lines = show(draw(trees.programs())).split("\n")
    text = ""
    for line in lines:
        above, behind = draw(_comments), draw(_comments)
        text += draw(st.sampled_from(["", "\n", "\n\n\n"])) + (above + "\n" if above else "") + line
        text += ("  " + behind if behind else "") + "\n"
    return text


@unhurried
@given(commented())
def test_formatting_keeps_program_and_comments_and_is_idempotent(text: str) -> None:
    once = format_source(text)
    program, comments = parse_with_comments(text)
    again, kept = parse_with_comments(once)
    assert again == program
    assert sorted(comment.text for comment in kept) == sorted(comment.text for comment in comments)
    assert format_source(once) == once


def test_every_kind_of_node_is_drawn() -> None:
    kinds = {kind for kind in vars(tree).values() if isinstance(kind, type) and issubclass(kind, tree.Node)}
    seen: set[type] = set()

    @settings(deadline=None, max_examples=300, database=None, derandomize=True, suppress_health_check=_LARGE)
    @given(trees.programs())
    def draw(program: tree.Program) -> None:
        for item in program.items:
            _collect(item, seen)

    draw()
    assert kinds - {tree.Node} <= seen


def _collect(node: Any, seen: set[type]) -> None:
    if isinstance(node, tuple):
        for each in node:
            _collect(each, seen)
    elif isinstance(node, tree.Node):
        seen.add(type(node))
        for part in fields(node):
            _collect(getattr(node, part.name), seen)
