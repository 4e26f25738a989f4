"""Changes as values: JSON, inverses, undo; and calls from asyncio."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random

import pytest

import holdfast
from holdfast import Iri, Update

from .worlds import opened, state_of, update

RULES = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."


@pytest.mark.only_in_memory("Spark keeps no versions")
@pytest.mark.parametrize("seed", range(10))
def test_undoing_everything_leads_back(seed: int) -> None:
    dice = Random(seed)
    kb = opened(dice, modules=bool(seed % 2))
    states, changes = [state_of(kb)[2:]], []
    rules = [sorted(kb.rules_text().splitlines())]
    for _ in range(12):
        changes.append(kb.apply(update(dice, kb)))
        states.append(state_of(kb)[2:])
        rules.append(sorted(kb.rules_text().splitlines()))
    for number in range(12, 0, -1):
        change = kb.undo()
        assert change.version == kb.version == 12 + 13 - number
        assert change.added == changes[number - 1].removed and change.removed == changes[number - 1].added
        assert state_of(kb)[2:] == states[number - 1]
        assert sorted(kb.rules_text().splitlines()) == rules[number - 1]
    with pytest.raises(holdfast.HoldfastError) as caught:
        kb.undo()
    assert caught.value.diagnostics[0].code == "E0953"


@pytest.mark.only_in_memory("Spark keeps no versions")
def test_explicit_facts_that_also_follow_come_back() -> None:
    kb = holdfast.from_text(RULES, {"edge": [(1, 2)], "path": [(1, 2), (5, 6)]})
    change = kb.apply(Update(delete={"path": [(1, 2), (5, 6), (9, 9)]}, insert={"edge": [(1, 2), (2, 3)]}))
    assert set(kb.explicit("path")) == set()
    kb.apply(Update(insert={"edge": [(7, 8)]}))
    kb.apply(change.inverse())
    assert set(kb.explicit("path")) == {(1, 2), (5, 6)} and set(kb["edge"]) == {(1, 2), (7, 8)}


@pytest.mark.only_in_memory("Spark keeps no versions")
def test_undo_of_windows_and_merged_updates() -> None:
    kb = holdfast.from_text(RULES, {"edge": [(1, 2)]})
    kb.apply_all([Update(insert={"edge": [(2, 3)]}), Update(delete={"edge": [(1, 2)]})])
    kb.apply_net([Update(insert={"edge": [(8, 9)]}), Update(insert={"edge": [(1, 2)]})])
    kb.undo()
    assert set(kb["edge"]) == {(2, 3)}
    kb.undo()
    assert set(kb["edge"]) == {(1, 2), (2, 3)}
    kb.undo()
    assert set(kb["edge"]) == {(1, 2)}


@pytest.mark.only_in_memory("Spark keeps no versions")
def test_a_store_that_was_opened_again_has_nothing_to_undo(tmp_path: Path) -> None:
    with holdfast.from_text(RULES, {"edge": [(1, 2)]}, store=tmp_path / "kb") as kb:
        kb.apply(Update(insert={"edge": [(2, 3)]}))
        kb.apply(Update(insert={"edge": [(3, 4)]}))
        kb.undo()
    with holdfast.open(tmp_path / "kb") as again:
        assert set(again["edge"]) == {(1, 2), (2, 3)} and again.version == 3
        with pytest.raises(holdfast.HoldfastError):
            again.undo()


def test_what_was_only_tried_has_no_inverse() -> None:
    kb = holdfast.from_text(RULES, {"edge": [(1, 2)]})
    with pytest.raises(holdfast.HoldfastError) as caught:
        kb.what_if(Update(insert={"edge": [(2, 3)]})).inverse()
    assert caught.value.diagnostics[0].code == "E0953"


def test_a_change_as_json() -> None:
    kb = holdfast.from_text(".decl p(x: any, y: float)", {"p": [(Iri("http://example.org/a"), 0.5), ("b", 1.0)]})
    change = kb.apply(Update(delete={"p": [("b", 1.0)]}, insert={"p": [(Iri("http://example.org/c"), float("inf"))]}))
    found = change.to_json()
    assert found["version"] == 1 and found["removed"] == {"p": [["b", 1.0]]}
    again = json.loads(json.dumps(found))
    other = holdfast.from_text(".decl p(x: any, y: float)")
    other.apply(Update.from_json({"insert": again["added"]}))
    assert set(other["p"]) == {(Iri("http://example.org/c"), float("inf"))}


def test_asyncio() -> None:
    kb = holdfast.from_text(RULES, {"edge": [(1, 2)]})

    async def work() -> tuple[set[object], list[int | None]]:
        updates = [Update(insert={"edge": [(2, n)]}) for n in range(3, 13)]
        changes = await asyncio.gather(*map(kb.apply_async, updates))
        answer = await kb.query_async("path($x, y)", {"x": 1})
        return set(answer), [change.version for change in changes]

    rows, versions = asyncio.run(work())
    assert rows == {(n,) for n in range(2, 13)} and sorted(v or 0 for v in versions) == list(range(1, 11))
    with pytest.raises(holdfast.HoldfastError):
        asyncio.run(kb.query_async("nothing(x)"))
