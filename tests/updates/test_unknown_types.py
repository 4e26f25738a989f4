"""Rules and facts of an update say the types that nothing has said before, as long as a relation is empty."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.updates import Update

PROGRAM = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
alone(x) :- node(x), !edge(x, _), !edge(_, x).
degree(x, count(y)) :- edge(x, y).
seen(1) :- edge(_, _).
"""
RULE = "far(x, y - x) :- path(x, y), y > x + 1."
EDGES = [(1, 2), (2, 3), (3, 1), (3, 4)]


def state(kb: holdfast.KnowledgeBase) -> dict[str, dict[object, tuple[int, int]]]:
    return {name: kb.counters(name) for name in kb.relations}


@pytest.mark.parametrize("given", [{"edge": EDGES}, {}])
def test_they_are_as_from_scratch(given: dict[str, list[tuple[int, int]]]) -> None:
    kb = holdfast.from_text(PROGRAM)
    without_types = kb.program
    update = Update(insert={**given, "node": [(7,)]}, add_rules=[RULE])
    expected = kb.what_if(update)
    for bad in (
        Update(insert={"edge": [(1, 2, 3)]}, add_rules=[RULE]),
        Update(insert={"edge": [(1, 0)]}, add_rules=[RULE, "d(x / y) :- edge(x, y)."]),
    ):
        with pytest.raises(HoldfastError):
            kb.apply(bad)
    assert kb.program is without_types and not any(kb.sizes().values())

    assert repr(kb.apply(update)) == repr(expected)
    for insert, delete in ((EDGES, []), ([(4, 5), (5, 4)], [(2, 3)]), ([(2, 7)], [(3, 4), (4, 5)])):
        kb.apply(Update(insert={"edge": insert}, delete={"edge": delete}))
    edges = list(kb.explicit("edge"))
    whole = holdfast.from_text(PROGRAM + RULE, {"edge": edges, "node": [(7,)]})
    assert state(kb) == state(whole)
    assert {n: r.types for n, r in kb.program.relations.items()} == {
        n: r.types for n, r in whole.program.relations.items()
    }
    kb.apply(Update(remove_rules=[RULE]))
    assert state(kb) == state(holdfast.from_text(PROGRAM, {"edge": edges, "node": [(7,)]}))
