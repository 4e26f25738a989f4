"""`auto` recomputes a hyper-node without recursion when most of what its rules read has gone."""

from __future__ import annotations

import pytest

import holdfast
from holdfast import Update
from holdfast.maintenance import choose, walk

RULES = "p(x, z) :- a(x, y), b(y, z).\nq(x, count(z)) :- p(x, z), !a(z, x).\n"
FACTS = {"a": [(x, x % 7) for x in range(90)], "b": [(y, z) for y in range(7) for z in range(4)]}


@pytest.mark.parametrize(("gone", "algorithm"), [(20, "counting"), (80, "recompute")])
def test_most_facts_go(gone: int, algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (choose, walk):
        monkeypatch.setattr(module, "MANY_GONE", 10)
    kb = holdfast.from_text(RULES, facts=FACTS)
    change = kb.apply(Update(delete={"a": FACTS["a"][:gone]}, insert={"b": [(0, 99)]}))
    right = holdfast.from_text(RULES, facts={"a": FACTS["a"][gone:], "b": [*FACTS["b"], (0, 99)]})
    assert {name: set(view) for name, view in kb.relations.items()} == {
        name: set(view) for name, view in right.relations.items()
    }
    assert all(kb.counters(name) == right.counters(name) for name in ("p", "q"))
    [node] = [node for node in change.figures if node.predicates == ("p",)]
    assert node.algorithm == algorithm
