"""The social network of the Transformation Tool Contest 2018 (data/ext/ttc2018): 126 answers after real changes.

What this cannot catch: deletions, of which these changes have none, and scores that are wrong but in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import holdfast
from holdfast.updates import Update
from holdfast.values import Row

from ..amounts import amount
from .shared_data import DATA, needs_shared_data, read_text
from .streams import OTHERS

pytestmark = [needs_shared_data, pytest.mark.sampled(3)]
FOLDER = DATA / "ext" / "ttc2018"
SIZES = ("1", "4", "16")
PROGRAM = """
.decl post(id: number, time: symbol)
.decl comment(id: number, time: symbol, parent: number)
.decl likes(user: number, comment: number)
.decl friends(one: number, other: number)

// Q1: ten points for each comment below a post at any depth, one for each like of these
.decl below(post: number, comment: number)
below(p, c) :- post(p, _), comment(c, _, p).
below(p, c) :- below(p, d), comment(c, _, d).
.decl q1(post: number, time: symbol, score: number)
q1(p, t, 10 * n + m) :- post(p, t), n = count : { below(p, _) }, m = count : { below(p, c), likes(_, c) }.

// Q2: the squared sizes of the components of a comment's likers under friendship, added up
.decl together(comment: number, one: number, other: number)
together(c, u, u) :- likes(u, c).
together(c, u, w) :- together(c, u, v), friends(v, w), likes(w, c).
together(c, u, w) :- together(c, u, v), friends(w, v), likes(w, c).
.decl first(comment: number, user: number, first: number)
first(c, u, min(v)) :- together(c, u, v).
.decl component(comment: number, first: number, size: number)
component(c, f, count(u)) :- first(c, u, f).
.decl q2(comment: number, time: symbol, score: number)
q2(c, t, s) :- comment(c, t, _), s = sum n * n : { component(c, _, n) }.
"""


def fact(relation: str, cells: list[str]) -> tuple[str, Row] | None:
    """One line of a file; a text may hold the separator, so columns are counted from both ends."""
    match relation:
        case "posts":
            return "post", (int(cells[0]), cells[1])
        case "comments":
            return "comment", (int(cells[0]), cells[1], int(cells[-1]))
        case "likes" | "friends":
            return relation, (int(cells[0]), int(cells[1]))
    return None  # users have names, which no query asks for


def grouped(facts: Iterator[tuple[str, Row] | None]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for one in facts:
        if one is not None:
            found.setdefault(one[0], []).append(one[1])
    return found


def initial(size: str) -> dict[str, list[Row]]:
    files = {path.name.split("-")[1]: path for path in (FOLDER / size).glob("csv-*-initial.csv*")}
    return grouped(
        fact(relation, line.split("|"))
        for relation, path in files.items()
        for line in read_text(path).split("\n")
        if line
    )


def change(size: str, number: int) -> dict[str, list[Row]]:
    path = next((FOLDER / size).glob(f"change{number:02}.csv*"))
    lines = [line.split("|") for line in read_text(path).split("\n") if line]
    return grouped(fact(cells[0].lower(), cells[1:]) for cells in lines)


def best(kb: holdfast.KnowledgeBase, query: str) -> str:
    """The three best, ties by later time first."""
    later_first = sorted(kb[query], key=lambda row: row[1], reverse=True)
    return "|".join(str(row[0]) for row in sorted(later_first, key=lambda row: -row[2])[:3])


def answers() -> dict[tuple[str, str, int], str]:
    path = FOLDER / "expected.csv"
    lines = read_text(path).splitlines()[1:] if path.exists() else []
    cells = [[cell.strip('"') for cell in line.split(";")] for line in lines]
    return {(query, size, int(number)): answer for query, size, number, _, answer in cells}


ANSWERS = answers()


@pytest.mark.parametrize(("size", "algorithm"), [(size, "auto") for size in SIZES] + list(zip(SIZES, OTHERS)))  # noqa: B905
def test_answers_after_every_change(size: str, algorithm: str) -> None:
    kb = holdfast.from_text(PROGRAM, facts=initial(size))
    for number in range(amount(21, 4)):
        if number:
            kb.apply(Update(insert=change(size, number)), algorithm=algorithm)
        for query in ("q1", "q2"):
            assert best(kb, query) == ANSWERS[query.upper(), size, number], (query, number)


@pytest.mark.parametrize("algorithm", ["auto", "dred"])
def test_changes_taken_back_lead_back(algorithm: str) -> None:
    kb = holdfast.from_text(PROGRAM, facts=initial("1"))
    before = {name: set(rows) for name, rows in kb.relations.items()}
    last = amount(20, 2)
    for number in range(1, last + 1):
        kb.apply(Update(insert=change("1", number)), algorithm=algorithm)
    for number in range(last, 0, -1):
        kb.apply(Update(delete=change("1", number)), algorithm=algorithm)
        if number > 1:
            assert best(kb, "q1") == ANSWERS["Q1", "1", number - 1]
    assert {name: set(rows) for name, rows in kb.relations.items()} == before


def test_there_are_126_answers() -> None:
    assert len(ANSWERS) == 126
