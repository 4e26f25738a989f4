"""`holdfast query -P`: values are read by the types that the query needs, and never become part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import holdfast

PROGRAM = """\
.type List = [head: number, tail: List]
.decl n(x: number, y: symbol)
.decl f(x: float, y: symbol)
.decl a(x: any, y: symbol)
.decl l(x: List, y: symbol)
n(1, "one"). n(-31, "less"). f(0.5, "half"). a("x", "text"). a(1, "number"). l([1, nil], "list").
n(7, "x\\"), n(y, _), !n(_, \\"y").
"""


@pytest.fixture
def program() -> Path:
    Path("p.dl").write_text(PROGRAM, encoding="utf-8")
    return Path("p.dl")


@pytest.mark.parametrize(
    ("query", "value", "found"),
    [
        ("n($v, y)", "1", "one"),
        ("n($v, y)", "-0x1F", "less"),
        ("f($v, y)", "0.5", "half"),
        ("a($v, y)", "x", "text"),
        ("a($v, y)", "1", "number"),
        ("l($v, y)", "[1, nil]", "list"),
        ("n(y, $v)", "one", "1"),
        ("n(y, $v)", 'x"), n(y, _), !n(_, "y', "7"),
        ("n(y, $v)", "a=b", ""),
    ],
)
def test_values_by_type(program: Path, query: str, value: str, found: str) -> None:
    result = holdfast("query", program, query, "-P", f"v={value}")
    assert (result.code, result.out.strip()) == (0, found), result.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "no value for $v"),
        (("-P", "v"), "not a parameter with a value"),
        (("-P", "v=one"), "one is not a number"),
        (("-P", "v=1", "-P", "w=1"), "no parameter w"),
    ],
)
def test_wrong_parameters(program: Path, options: tuple[str, ...], words: str) -> None:
    result = holdfast("query", program, "n($v, y)", *options)
    assert result.code == 2 and words in result.err
