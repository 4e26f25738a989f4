"""227 real edits of the ontology psi-ms (data/ext/obo), against evaluation from scratch after every tenth of them."""

from __future__ import annotations

from functools import cache

import pytest

import holdfast
from holdfast.updates import Update
from holdfast.values import Row

from ..amounts import amount
from .shared_data import DATA, needs_shared_data, read_text
from .streams import OTHERS

pytestmark = needs_shared_data
FILE = DATA / "ext" / "obo" / "psi-ms.tsv.gz"
PROGRAM = """
.decl term(id: symbol)
.decl is_a(sub: symbol, sup: symbol)
.decl rel(sub: symbol, property: symbol, object: symbol)
.decl obsolete(id: symbol)
.decl up(x: symbol, y: symbol)
up(x, y) :- is_a(x, y).
up(x, y) :- rel(x, "part_of", y).
up(x, z) :- up(x, y), up(y, z).
.decl root(x: symbol)
root(x) :- term(x), !up(x, _), !obsolete(x).
.decl dangling(x: symbol, y: symbol)
dangling(x, y) :- up(x, y), !term(y).
.decl below(y: symbol, n: number)
below(y, count(x)) :- up(x, y).
.decl cycle(x: symbol)
cycle(x) :- up(x, x).
"""
Facts = dict[str, list[Row]]


@cache
def edits() -> list[tuple[Facts, Facts]]:
    """For each commit what it takes away and what it adds."""
    found: list[tuple[Facts, Facts]] = []
    for mark, *cells in (line.split("\t") for line in read_text(FILE).splitlines()):
        if mark == "@":
            found.append(({}, {}))
        else:
            found[-1][mark == "+"].setdefault(cells[0], []).append(tuple(cells[1:]))
    return found


def explicit(number: int) -> dict[str, set[Row]]:
    facts: dict[str, set[Row]] = {}
    for delete, insert in edits()[:number]:
        for name, rows in delete.items():
            facts[name] -= set(rows)
        for name, rows in insert.items():
            facts.setdefault(name, set()).update(rows)
    return facts


def states(kb: holdfast.KnowledgeBase) -> dict[str, object]:
    return {name: (set(rows), kb.counters(name)) for name, rows in kb.relations.items()}


@pytest.mark.parametrize("algorithm", ["auto", *OTHERS])
def test_edits(algorithm: str) -> None:
    """From scratch after every tenth edit for `auto`, and after every fiftieth for the others."""
    kb = holdfast.from_text(PROGRAM)
    assert len(edits()) == 227
    last = amount(227, 6)
    for number, (delete, insert) in enumerate(edits()[:last], 1):
        kb.apply(Update(delete, insert), algorithm=algorithm)
        if number % (10 if algorithm == "auto" else 50) == 0 or number == last:
            scratch = holdfast.from_text(PROGRAM, facts={name: sorted(rows) for name, rows in explicit(number).items()})
            assert states(kb) == states(scratch), number
    assert last < 227 or len(kb["up"]) == 22_455
