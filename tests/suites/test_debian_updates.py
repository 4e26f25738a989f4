"""Debian's 147 uploads (data/ext/debian) on the closure of its dependencies, 3.9 million pairs, against evaluation from
scratch after all of them; and all uploads taken back again, which must lead back to where they began.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import holdfast
from holdfast.updates import Update
from holdfast.values import Row, Type

from .shared_data import DATA, needs_shared_data, read_text

pytestmark = [needs_shared_data, pytest.mark.only_in_memory("it looks into the tables of the memory engine")]
FOLDER = DATA / "ext" / "debian"
WIDTHS = {"package": 3, "depends": 6, "provides": 3, "conflicts": 5}
PROGRAM = """
.decl package(name: symbol, version: symbol, source: symbol)
.decl depends(package: symbol, kind: symbol, group: symbol, target: symbol, operator: symbol, version: symbol)
.decl provides(package: symbol, virtual: symbol, version: symbol)
.decl conflicts(package: symbol, kind: symbol, target: symbol, operator: symbol, version: symbol)
.decl edge(package: symbol, target: symbol)
edge(p, t) :- depends(p, "pre", _, t, _, _).
edge(p, t) :- depends(p, "dep", _, t, _, _).
.decl reach(package: symbol, target: symbol)
reach(p, t) :- edge(p, t).
reach(p, t) :- reach(p, m), edge(m, t).
.decl absent(target: symbol)
absent(t) :- edge(_, t), !package(t, _, _), !provides(_, t, _).
.decl needs_absent(package: symbol)
needs_absent(p) :- absent(t), reach(p, t).
.decl at_odds(package: symbol, target: symbol)
at_odds(p, t) :- conflicts(p, _, t, _, _), reach(p, t).
.decl fan(package: symbol, targets: number)
fan(p, count(t)) :- edge(p, t).
"""
Facts = dict[str, list[Row]]


@cache
def uploads() -> list[tuple[Facts, Facts]]:
    """For each upload what it takes away and what it adds; empty last columns are kept."""
    found: list[tuple[Facts, Facts]] = []
    for mark, *cells in (line.split("\t") for line in read_text(FOLDER / "updates.tsv.gz").split("\n") if line):
        if mark == "@":
            found.append(({}, {}))
        else:
            row = (*cells[1:], *[""] * (WIDTHS[cells[0]] - len(cells) + 1))
            found[-1][mark == "+"].setdefault(cells[0], []).append(row)
    return found


@cache
def first_facts() -> dict[str, set[Row]]:
    return {
        name: {tuple(line.split("\t")) for line in read_text(FOLDER / f"{name}.tsv.gz").split("\n") if line}
        for name in WIDTHS
    }


def facts_after(number: int) -> Facts:
    facts = {name: set(rows) for name, rows in first_facts().items()}
    for delete, insert in uploads()[:number]:
        for name, rows in delete.items():
            facts[name] -= set(rows)
        for name, rows in insert.items():
            facts[name] |= set(rows)
    return {name: list(rows) for name, rows in facts.items()}


def numbered(kb: holdfast.KnowledgeBase, name: str) -> tuple[list[str], list[np.ndarray]]:
    """A relation of symbols as the symbols that occur, in order, and a number for each of its rows, with its counters.

    Millions of rows are not made Python tuples for this; each knowledge base has codes of its own.
    """
    kb._maintainer.counted()  # also writes out what is only known to a module
    ids = kb._backend.materialisation.ids(name)
    rows = kb._backend.tables[name].rows[ids]
    codes = np.flatnonzero(np.bincount(rows.reshape(-1)))  # ids in the dictionary: small numbers
    symbols = np.array([row[0] for row in kb._dictionary.decode_rows(codes[:, None], (Type.SYMBOL,))], dtype=object)
    order = np.argsort(symbols)
    rank = np.empty(codes[-1] + 1, np.int64)
    rank[codes[order]] = np.arange(len(order))
    pairs = rank[rows]
    numbers = pairs[:, 0] * len(order) + pairs[:, -1]
    sorting = np.argsort(numbers)
    counters = [counter.of(name)[ids][sorting] for counter in (kb._backend.nonrecursive, kb._backend.recursive)]
    return symbols[order].tolist(), [numbers[sorting], *counters]


def snapshot(kb: holdfast.KnowledgeBase) -> dict[str, tuple[object, list[np.ndarray]]]:
    large = {name: numbered(kb, name) for name in ("reach", "edge")}
    return large | {name: (kb.counters(name), []) for name in ("absent", "needs_absent", "at_odds", "fan")}


def agree(kb: holdfast.KnowledgeBase, expected: dict[str, tuple[object, list[np.ndarray]]]) -> None:
    for name, (values, numbers) in snapshot(kb).items():
        assert values == expected[name][0], name
        for one, other in zip(numbers, expected[name][1], strict=True):
            assert np.array_equal(one, other), name


def test_uploads_and_back() -> None:
    kb = holdfast.from_text(PROGRAM, facts=facts_after(0))
    assert (len(uploads()), len(kb["reach"])) == (147, 3_854_089)
    first = snapshot(kb)
    for number, (delete, insert) in enumerate(uploads(), 1):
        kb.apply(Update(delete, insert))
        if number == 147:
            agree(kb, snapshot(holdfast.from_text(PROGRAM, facts=facts_after(number))))
    for delete, insert in reversed(uploads()):
        kb.apply(Update(delete=insert, insert=delete))
    agree(kb, first)
