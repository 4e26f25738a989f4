"""Relations that rules read and nothing fills: warned of once, and not where facts are yet to come."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast


def warnings_of(text: str, facts: Path | dict[str, list[tuple[int, int]]] | None = None) -> list[tuple[str, str]]:
    return [(found.code, found.message) for found in holdfast.from_text(text, facts).program.warnings]


def test_all_are_named_in_one_warning() -> None:
    found = warnings_of("p(1, 2). q(x) :- p(x, _), a(x), !b(x). q(x) :- a(x), n = count : { c(x, _) }, n > 1.")
    assert found == [("W0018", "nothing fills a, b, c: no rules, facts, .input or files")]


def test_many_are_counted() -> None:
    body = ", ".join(f"a{n}(x)" for n in range(9))
    [(code, message)] = warnings_of(f"p(1). q(x) :- p(x), {body}.")
    assert (code, "a0, a1, a2, a3, a4 and 4 more" in message) == ("W0018", True)


@pytest.mark.parametrize(
    "text",
    [
        "q(x) :- a(x).",  # all facts come later
        "@prefix ex: <http://example.org/> . p(1). q(x) :- p(x), ex:a(x).",
        "p(1). q(x) :- p(x), a(x). a(x) :- p(x), x > 7.",
        "p(1). a(2). q(x) :- p(x), a(x).",
    ],
)
def test_what_is_not_doubted(text: str) -> None:
    assert [found for found in warnings_of(text) if found[0] == "W0018"] == []


def test_a_file_fills_and_an_empty_one_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("")
    (tmp_path / "p.csv").write_text("1\n")
    assert warnings_of("q(x) :- p(x), a(x).", tmp_path) == []
    assert [code for code, _ in warnings_of("q(x) :- p(x), a(x), b(x).", tmp_path)] == ["W0018"]
    declared = ".decl b(x: number)\n.decl q(x: number)\nq(x) :- b(x)."
    assert [code for code, _ in warnings_of(declared, tmp_path)] == ["W0018"]


def test_capitals_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "edge.csv").write_text("1,2\n")
    assert warnings_of("path(x, y) :- Edge(x, y).", tmp_path) == [
        ("W0008", f"{tmp_path.as_posix()}/edge.csv is not read: the relation is named Edge")
    ]
    assert [code for code, _ in warnings_of("path(x, y) :- edge(x, y), Edge(x, y).", tmp_path)] == ["W0007"]


def test_facts_of_python_may_come_later() -> None:
    assert warnings_of("q(x, y) :- p(x, y), a(x, y).", {"p": [(1, 2)]}) == []
