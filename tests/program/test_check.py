"""The check as a whole: codes, warnings, queries, and programs that others wrote."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from holdfast.errors import ProgramError
from holdfast.language import parse, parse_body
from holdfast.program import check, check_query
from holdfast.program.codes import ALL_CODES
from holdfast.program.functors import FUNCTORS

from ..suites.shared_data import DATA, needs_shared_data

SOURCE = Path(__file__).parents[2] / "src" / "holdfast" / "program"
GOLDEN = Path(__file__).parents[1] / "errors" / "semantic"


def warned(text: str) -> list[str]:
    return [warning.code for warning in check(parse(text)).warnings]


def test_every_code_is_listed_used_and_has_a_golden_file() -> None:
    used = {code for path in SOURCE.glob("*.py") if path.name != "codes.py" for code in _codes(path)}
    golden = {code for path in GOLDEN.glob("*.txt") for code in _codes(path)}
    assert used == set(ALL_CODES)
    assert golden == set(ALL_CODES)


def _codes(path: Path) -> list[str]:
    return re.findall(r"\b[EW]0\d{3}\b", path.read_text(encoding="utf-8"))


def test_no_message_shows_a_made_name() -> None:
    for path in GOLDEN.glob("*.txt"):
        assert not re.search(r"\$\d|\.(agg|body)\d", path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("n(0). n(x + 1) :- n(x).", ["W0003"]),
        ("n(0). n(y) :- n(x), y = x + 1.", ["W0003"]),
        ("n(0). n(x + 1) :- n(x), x < 9.", []),
        ("n(0). n(y) :- n(x), y = x + 1, y < 9.", []),
        ("n(0). n(x + 1) :- n(x), !last(x).", []),
        ("n(0). n(x + 1) :- n(x), e(x).", []),
        ("n(0). n(x % 7) :- n(x).", []),
        ('w("a"). w(cat(x, "b")) :- w(x).', ["W0003"]),
        ("a(0). a(x) :- b(x). b(x + 1) :- a(x).", ["W0003"]),
        ("a(0). b(x + 1) :- a(x).", []),
        ("d(x, y, 1) :- e(x, y). d(x, z, n + 1) :- d(x, y, n), e(y, z).", ["W0003"]),
    ],
)
def test_warning_of_what_may_not_end(text: str, codes: list[str]) -> None:
    assert warned(text) == codes


def test_a_query_sees_types_and_names_of_its_program() -> None:
    program = check(parse('@prefix ex: <http://e.org/> .\nex:knows(ex:a, ex:b).\nage("a", 3).'))
    columns, question = check_query(parse_body("ex:knows(x, y), age(n, a), a > 1, !age(n, z)"), program)
    assert columns == ("x", "y", "n", "a")
    assert [column.type.value for column in question.relations["?"].columns] == ["any", "any", "symbol", "number"]
    assert [node.predicates for node in question.nodes] == [("?",)]
    assert [warning.code for warning in question.warnings] == ["W0002"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("edge(x)", "E0205"),
        ("egde(x, y)", "E0201"),
        ("edge(x, y), z > 1", "E0304"),
        ('edge(x, "a")', "E0403"),
        ("edge(x, y) ; edge(x, 1)", "E0301"),
        ("ex:p(x)", "E0207"),
        ("edge(x, y), z = strlenn(y)", "E0209"),
        ("n = count : { edge(x, y) }, !edge(x, x)", "E0305"),
    ],
)
def test_a_bad_query_is_refused(query: str, code: str) -> None:
    program = check(parse("edge(1, 2)."))
    with pytest.raises(ProgramError) as caught:
        check_query(parse_body(query), program)
    assert code in {diagnostic.code for diagnostic in caught.value.diagnostics}


def test_a_query_with_aggregates_brings_its_relations() -> None:
    program = check(parse("edge(1, 2). node(1)."))
    _, question = check_query(parse_body("node(x), n = count : { edge(x, y), node(y) }"), program)
    assert [node.predicates for node in question.nodes] == [("?.body1",), ("?.count1",), ("?",)]
    assert set(program.relations) < set(question.relations)


def test_every_functor_has_a_meaning() -> None:
    assert all(list(functor.signatures()) for functor in FUNCTORS.values())


def test_checking_twice_gives_the_same_program() -> None:
    text = "p(x, n) :- a(x), n = count : { e(y, _), y < x }. q(x) :- a(x), !p(x, _)."
    assert check(parse(text)) == check(parse(text))


@needs_shared_data
@pytest.mark.parametrize(
    "path",
    sorted([*DATA.glob("kb/rules/*.dl"), *DATA.glob("zodiacedge/rules/rs*.dl"), *DATA.glob("ext/deopt/**/*.dl")]),
    ids=lambda p: f"{p.parent.name}/{p.name}",
)
def test_programs_of_others_pass(path: Path) -> None:
    check(parse(path.read_text(encoding="utf-8"), path.name))


@needs_shared_data
def test_the_running_example_of_zodiacedge_is_unsafe_as_printed() -> None:
    path = DATA / "zodiacedge" / "rules" / "running_example.dl"
    with pytest.raises(ProgramError) as caught:
        check(parse(path.read_text(encoding="utf-8"), path.name))
    assert [(d.code, d.span.line) for d in caught.value.diagnostics if d.span] == [("E0301", 11)]


@needs_shared_data
def test_a_thousand_rules_are_checked_at_once() -> None:
    tree = parse((DATA / "kb" / "rules" / "relations.dl").read_text(encoding="utf-8"))
    start = time.process_time()
    check(tree)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("query", "help"),
    [
        ("pth(1, x)", "did you mean path?"),
        ("road(1, x)", "the program has path, edge"),
    ],
)
def test_a_query_learns_which_relations_there_are(query: str, help: str) -> None:
    program = check(parse("path(x, y) :- edge(x, y)."))
    with pytest.raises(ProgramError) as caught:
        check_query(parse_body(query), program)
    assert [item.help for item in caught.value.diagnostics] == [help]
