"""On shards, which keep facts in another order, explanations are those of the memory engine, to the letter."""

from __future__ import annotations

import pytest

import holdfast

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
end(x) :- path(_, x), !edge(x, _).
ends(c) :- c = count : { end(_) }.
far(y, min(1)) :- edge(0, y).
far(y, min(n + 1)) :- far(x, n), edge(x, y).
"""
EDGES = [(10 * chain + n, 10 * chain + n + 1) for chain in range(4) for n in range(5)]


@pytest.mark.only_in_memory("compares engines of its own")
def test_the_same_explanations_on_shards() -> None:
    here, there = (
        holdfast.from_text(RULES, facts={"edge": EDGES}, engine=e, modules=()) for e in ("memory", "parted[2]")
    )
    for update in (None, holdfast.Update(insert={"edge": [(5, 10)]}, delete={"edge": [(22, 23)]})):
        if update is not None:
            changes = [kb.apply(update) for kb in (here, there)]
            for fact in ("path(1, 15)", "end(22)", "end(5)", "path(21, 24)", "far(15, 10)"):
                one, other = (change.why(fact) for change in changes)
                assert str(one) == str(other), fact
        for fact in ("path(30, 34)", "end(35)", "ends(4)", "far(3, 3)"):
            proofs = [kb.why(fact) for kb in (here, there)]
            assert proofs[0] is not None
            assert proofs[0].to_json() == proofs[1].to_json(), fact  # type: ignore[union-attr]
        for fact in ("path(4, 1)", "ends(9)", "end(3)", "far(2, 7)", "path(15, _)"):
            absences = [kb.why_not(fact) for kb in (here, there)]
            assert absences[0] is not None
            assert absences[0].to_json() == absences[1].to_json(), fact  # type: ignore[union-attr]
            assert str(absences[0]) == str(absences[1])
    assert str(here.supports("path(30, 34)")) == str(there.supports("path(30, 34)"))
