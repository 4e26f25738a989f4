"""Repairs equal brute force on small cases, and each does what it claims.

What this cannot catch: repairs with values that occur nowhere, which neither side looks for.
"""

from __future__ import annotations

import json
from itertools import combinations, product
from random import Random

import pytest

import holdfast
from holdfast.errors import HoldfastError, LimitReached, UsageError
from holdfast.explanations.hitting_sets import smallest_hitting_set
from holdfast.explanations.terms import fact_text
from holdfast.knowledge.explaining import raw
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.repair_values import ColumnValues
from holdfast.knowledge.repairs import Repairs
from holdfast.updates import Update
from holdfast.values import Row

from ..amounts import amount
from ..equivalence.scripts import closure_writer, graph_writer, grouped, random_script

Edit = tuple[bool, str, Row]
REACH = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."
POLICY = """
.decl has(u: symbol, g: symbol)
.decl grant(g: symbol, r: symbol)
.decl deny(u: symbol, r: symbol)
.decl may(u: symbol, r: symbol)
.decl rights(u: symbol, n: number)
may(u, r) :- has(u, g), grant(g, r), !deny(u, r).
rights(u, n) :- has(u, _), n = count : { may(u, _) }.
"""
PEOPLE = {"has": [("ada", "staff")], "grant": [("staff", "door"), ("boss", "safe")], "deny": [("ada", "door")]}


def applied(kb: KnowledgeBase, edits: frozenset[Edit]) -> dict[str, set[Row]] | None:
    """The facts after some edits; None if they are refused."""
    insert: dict[str, list[Row]] = {}
    delete: dict[str, list[Row]] = {}
    for inserts, name, row in edits:
        (insert if inserts else delete).setdefault(name, []).append(row)
    try:
        change = kb.what_if(Update(delete, insert))
    except HoldfastError:
        return None
    return {
        name: (set(kb[name]) - set(change.removed.get(name, ()))) | set(change.added.get(name, ()))
        for name in kb.relations
    }


def by_brute_force(kb: KnowledgeBase, name: str, row: Row, make: bool, editable: list[str], most: int) -> set[object]:
    """All smallest-by-inclusion sets of edits over the values that columns may get."""
    values = ColumnValues(kb._state, [(name, row)])
    edits: list[Edit] = []
    for relation in editable:
        there = set(kb.explicit(relation))
        edits += [(False, relation, fact) for fact in there]
        width = len(kb[relation].types)
        rows = product(*(map(raw, values.of(relation, width, place)) for place in range(width)))
        edits += [(True, relation, fact) for fact in rows if fact not in there]
    found: list[frozenset[Edit]] = []
    for size in range(most + 1):
        for some in map(frozenset, combinations(edits, size)):
            if any(smaller <= some for smaller in found):
                continue
            after = applied(kb, some)
            if after is not None and (row in after[name]) == make:
                found.append(some)
    return set(found)


def as_edits(found: Repairs) -> set[object]:
    return {
        frozenset(
            (inserts, name, tuple(row))
            for inserts, part in ((True, repair.update.insert), (False, repair.update.delete))
            for name, rows in part.items()
            for row in rows  # type: ignore[union-attr]
        )
        for repair in found
    }


def compared(seed: int, most: int) -> int:
    """Compare all repairs of some facts of a random program with brute force; gives how many were compared."""
    dice = Random(seed)
    writer = (closure_writer if seed % 2 else graph_writer)(dice)
    writer.domains["number"] = list(range(3))
    script = random_script(dice, writer=writer, most_facts=(5,))
    try:
        kb = holdfast.from_text(script.text(script.rules), facts=grouped(script.facts))
    except HoldfastError:
        return 0
    derived = sorted({rule.predicate for rule in kb.program.rules if rule.predicate in kb.relations})
    names = [name for name in derived if set(kb[name].types) == {holdfast.Type.NUMBER}]
    asked = 0
    for name in names[:2]:
        row = tuple(dice.randrange(3) for _ in kb[name].types)
        make = row not in kb[name]
        goal = {"make" if make else "unmake": [fact_text((name, row))]}
        found = kb.repair(**goal, may_insert=["e"], may_delete=["e"], limit=None, edits=most, seconds=None)  # type: ignore[arg-type]
        assert found.is_complete
        expected = by_brute_force(kb, name, row, make, ["e"], most)
        assert as_edits(found) == expected or len(next(iter(as_edits(found)), ())) > most, (seed, goal)
        asked += 1
    return asked


def test_repairs_equal_brute_force() -> None:
    assert sum(compared(seed, 2) for seed in range(1, 1 + amount(24, 1))) >= amount(20, 0)


def test_ways_to_give_a_right() -> None:
    kb = holdfast.from_text(POLICY, facts=PEOPLE)
    found = kb.repair(make=['may("ada", "safe")'])
    assert {repair.inserts for repair in found if repair.size == 1} == {
        ('has("ada", "boss")',),
        ('grant("staff", "safe")',),
    }
    assert all(("ada", "safe") in repair.change.added["may"] for repair in found)
    assert found[0].side_effects <= found[1].side_effects


def test_a_denial_has_to_go() -> None:
    kb = holdfast.from_text(POLICY, facts=PEOPLE)
    [repair] = kb.repair(make=['may("ada", "door")'], edits=1)
    assert (repair.inserts, repair.deletes) == ((), ('deny("ada", "door")',))
    assert repair.side_effects == 2  # the count of her rights
    assert str(repair).splitlines()[0] == 'delete deny("ada", "door")'
    assert not kb.repair(make=['may("ada", "door")'], may_delete=[], edits=1)


def test_a_count_can_be_repaired() -> None:
    kb = holdfast.from_text(POLICY, facts=PEOPLE)
    found = kb.repair(make=['rights("ada", 1)'], edits=1)
    assert ('deny("ada", "door")',) in [repair.deletes for repair in found]
    assert ('has("ada", "boss")',) in [repair.inserts for repair in found]


@pytest.mark.parametrize(
    ("rules", "fact", "expected"),
    [
        ("w(a, m) :- m = max b : { e(a, b) }.", "w(2, 3)", "delete e(1, 5)"),
        ("w(a, m) :- m = max b : { e(a, b) }, a > 1.", "w(2, 3)", "delete e(1, 5)"),
        ("w(m) :- m = min b : { e(a, b), a > 1 }.", "w(3)", "delete e(3, 1)"),
        ("w(a, m) :- f(a), m = max b : { e(a, b) }.  f(2).", "w(2, 7)", "insert e(2, 7)"),
    ],
)
def test_what_a_minimum_or_maximum_ranges_over(rules: str, fact: str, expected: str) -> None:
    """All facts, not only those with the values that are wanted of what attains it."""
    kb = holdfast.from_text(rules, facts={"e": [(1, 2), (1, 5), (2, 3), (3, 1)]})
    assert expected in [str(repair).splitlines()[0] for repair in kb.repair(make=[fact], limit=None)]


def test_sums_in_recursion() -> None:
    """A state in which a sum supports itself has no proofs; a repair that leads through none is still found."""
    rules = """
        control(x, y) :- total(x, y, n), n > 50.
        total(x, y, sum(n)) :- held(x, y, z, n).
        held(x, y, x, n) :- own(x, y, n).
        held(x, y, z, n) :- control(x, z), own(z, y, n).
    """
    kb = holdfast.from_text(rules, facts={"own": [("a", "b", 60), ("a", "c", 30), ("b", "c", 25)]})
    assert kb.why('control("a", "c")') is not None
    found = kb.repair(unmake=['control("a", "c")'], edits=1, may_insert=(), limit=None)
    assert {repair.deletes for repair in found} == {
        (f"own({fact})",) for fact in ('"a", "b", 60', '"a", "c", 30', '"b", "c", 25')
    }
    assert kb.repair(unmake=['control("a", "c")'])


def test_making_and_unmaking_at_once() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2), (2, 3), (2, 4)]})
    found = kb.repair(make=["path(1, 4)"], unmake=["path(1, 3)"], may_insert=())
    assert [repair.deletes for repair in found] == [("edge(2, 3)",)]
    assert kb.repair(make=["path(1, 2)"])[0].size == 0
    assert "nothing has to change" in str(kb.repair(make=["path(1, 2)"]))


def test_a_cut_of_many_edges() -> None:
    edges = [(0, n) for n in range(1, 8)] + [(n, 9) for n in range(1, 8)]
    kb = holdfast.from_text(REACH, facts={"edge": edges})
    found = kb.repair(unmake=["path(0, 9)"], may_insert=())
    assert found[0].size == 7
    assert not found.is_complete
    assert (0, 9) in found[0].change.removed["path"]


def least_cut(edges: set[tuple[int, int]], start: int, end: int) -> int:
    """The number of edges of a smallest cut, by ways that share no edge."""
    left, number = set(edges), 0
    while True:
        came: dict[int, int] = {}
        waiting = [start]
        for here in waiting:
            for there in {y for x, y in left if x == here} - came.keys() - {start}:
                came[there] = here
                waiting.append(there)
        if end not in came:
            return number
        number, here = number + 1, end
        while here != start:
            left = (left - {(came[here], here)}) | {(here, came[here])}
            here = came[here]


def test_cuts_are_the_smallest() -> None:
    compared = 0
    for seed in range(amount(12, 1)):
        dice = Random(seed)
        edges = {(dice.randrange(9), dice.randrange(9)) for _ in range(34)}
        edges = {(x, y) for x, y in edges if x != y and (y, x) not in edges}  # so that ways back are not edges
        wanted = least_cut(edges, 0, 8)
        if wanted < 2:
            continue
        kb = holdfast.from_text(REACH, facts={"edge": sorted(edges)})
        found = kb.repair(unmake=["path(0, 8)"], may_insert=(), edits=1, seconds=None)
        assert found[0].size == wanted, seed
        compared += 1
    assert compared >= amount(3, 0)


def test_smallest_hitting_sets_equal_brute_force() -> None:
    for seed in range(200):
        dice = Random(seed)
        sets = [frozenset(dice.sample(range(8), dice.randint(1, 4))) for _ in range(dice.randint(0, 9))]
        sizes = (n for n in range(9) for some in combinations(range(8), n) if all(each & {*some} for each in sets))
        found, is_smallest = smallest_hitting_set(sets)
        assert is_smallest
        assert all(each & found for each in sets)
        assert len(found) == next(sizes)


def test_json_and_errors() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2), (3, 4)]})
    first = json.loads(kb.repair(make=["path(1, 4)"], limit=3).to_json())["repairs"][0]
    assert first == {"insert": ["edge(1, 4)"], "delete": [], "sideEffects": 0, "alsoAdded": [], "alsoRemoved": []}
    with pytest.raises(UsageError, match="E0944"):
        kb.repair()
    with pytest.raises(UsageError, match="E0944"):
        kb.repair(make=["path(1, 4)"], unmake=["path(1, 4)"])
    with pytest.raises(UsageError, match="E0941"):
        kb.repair(make=["path(1, x)"])
    with pytest.raises(UsageError, match="E0901"):
        kb.repair(make=["path(1, 4)"], may_insert=["way"])
    with pytest.raises(UsageError, match="E0926"):
        kb.repair(make="path(1, 4)")
    with pytest.raises(LimitReached, match="E0806"):
        kb.repair(make=["path(1, 4)"], seconds=0)
    before = {name: set(kb[name]) for name in kb.relations}
    kb.repair(make=["path(4, 1)"])
    assert {name: set(kb[name]) for name in kb.relations} == before
