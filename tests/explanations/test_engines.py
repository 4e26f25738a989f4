"""On shards, which keep facts in another order, explanations are those of the memory engine, to the letter."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import holdfast
from holdfast.backends.parted.driver import Driver
from holdfast.backends.parted.shard import ShardCommand
from holdfast.explanations.terms import fact_text
from holdfast.knowledge import copies, far_lookup
from holdfast.knowledge.relations import written_name

from ..amounts import amount
from .judging import missing
from .shapes import SHAPES

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


@pytest.mark.only_in_memory("compares engines of its own")
def test_reasons_name_the_same_facts_on_shards() -> None:
    """Of several groups each has a best fact, and several facts may stand in the way."""
    rules = RULES + "free(x) :- edge(x, _), !path(x, _)."
    here, there = twice(rules, {"edge": EDGES})
    for fact in ("far(_, 5)", "far(_, 11)", "far(3, 9)", "free(21)", "free(_)"):
        one, other = (kb.why_not(fact) for kb in (here, there))
        assert str(one) == str(other), fact
        assert fact != "far(_, 11)" or "the best that is offered" not in str(one)


class Requests(list[str]):
    """The first command of each request to the shards; with the shuffle exchange each is a job, or more."""

    def monotonic(self) -> float:
        """A clock that stands until an update begins and is past every limit from then on."""
        return 2.0 if "put" in self else 0.0


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[Requests]:
    """Relations are fetched whole only if they have two facts."""
    made, asked = Requests(), Driver._asked

    def noted(driver: Driver, commands: list[ShardCommand]) -> list[list[Any]]:
        made.append(commands[0][0])
        return asked(driver, commands)

    monkeypatch.setattr(Driver, "_asked", noted)
    monkeypatch.setattr(far_lookup, "SMALL", 2)
    yield made


MANY = [(10 * chain + n, 10 * chain + n + 1) for chain in range(20) for n in range(9)]


def twice(rules: str, facts: object) -> list[holdfast.KnowledgeBase]:
    return [
        holdfast.from_text(rules, facts=facts, engine=engine, modules=())  # type: ignore[arg-type]
        for engine in ("memory", "parted[2]")
    ]


@pytest.mark.only_in_memory("compares engines of its own")
def test_a_level_of_a_proof_is_one_request(requests: list[str]) -> None:
    here, there = twice(RULES + "jump(x, w) :- edge(x, y), edge(y, z), edge(z, w), !edge(x, w).", {"edge": MANY})
    change = there.apply(holdfast.Update(insert={"edge": [(9, 10)]}))
    here.apply(holdfast.Update(insert={"edge": [(9, 10)]}))

    def taken(fact: str) -> tuple[int, int]:
        requests.clear()
        proof, other = there.why(fact), here.why(fact)
        assert proof is not None
        assert other is not None
        assert set(requests) == {"lookup"}
        assert proof.to_json() == other.to_json()
        return proof.height, len(requests)

    for fact in ("path(20, 26)", "path(8, 13)", "far(6, 6)", "end(39)", "jump(20, 23)", "ends(19)"):
        height, jobs = taken(fact)
        assert jobs <= height + 5, fact
    for fact in ("path(26, 20)", "far(6, 7)", "end(21)", "jump(20, 24)"):
        requests.clear()
        absence, other = there.why_not(fact), here.why_not(fact)
        assert absence is not None
        assert len(requests) <= 2 * 6 + 5, fact
        assert absence.to_json() == other.to_json()  # type: ignore[union-attr]
    requests.clear()
    there.supports("path(20, 26)")
    there.why("path(20, 26)", ways="all")
    assert len(requests) <= 2 * 8
    requests.clear()
    assert change.why("path(8, 11)") is not None
    assert len(requests) <= 12


ROADS = """
dist(a, min(0)) :- start(a).
dist(b, min(t + m)) :- dist(a, t), road(a, b, m).
wide(a, max(9)) :- start(a).
wide(b, max(n)) :- wide(a, k), road(a, b, m), n = min(k, m).
far(y, min(1)) :- start(x), road(x, y, _).
far(y, min(n + 1)) :- far(x, n), road(x, y, _).
late(a) :- dist(a, t), t > 6, !start(a).
"""


@pytest.mark.only_in_memory("compares engines of its own")
def test_a_level_of_the_lists_of_a_limit_relation_is_one_request(requests: list[str]) -> None:
    dice = Random(3)
    roads = sorted({(dice.randrange(45), dice.randrange(45), dice.randint(1, 5)) for _ in range(110)})
    here, there = twice(ROADS, {"road": roads, "start": [roads[0][:1]]})
    for name in ("dist", "wide", "far", "late"):
        for row in sorted(here[name])[::20]:
            requests.clear()
            proof, other = there.why(fact_text((name, row))), here.why(fact_text((name, row)))
            assert proof is not None
            assert other is not None
            assert len(requests) <= 2 * proof.height + 5, (name, row)
            assert proof.to_json() == other.to_json()


@pytest.mark.only_in_memory("compares engines of its own")
def test_repairs_on_shards(requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = twice(RULES, {"edge": EDGES})
    asked = {"unmake": ["path(20, 23)"], "edits": 1, "limit": 3, "seconds": None}
    requests.clear()
    found = there.repair(**asked)  # type: ignore[arg-type]
    assert len(requests) <= 3
    assert str(found) == str(here.repair(**asked))  # type: ignore[arg-type]
    monkeypatch.setattr(copies, "MOST_COPIED", 0)
    assert str(there.repair(**asked)) == str(found)  # type: ignore[arg-type]
    requests.clear()
    with monkeypatch.context() as patch:
        for module in ("explanations.search", "deadline"):
            patch.setattr(f"holdfast.{module}.time", requests)
        with pytest.raises(holdfast.errors.LimitReached, match=r"no repair was found within 1 seconds"):
            there.repair(make=["path(3, 12)"], seconds=1)
    assert requests[requests.index("put") :] == ["put", "roll_back"]  # the limit ended an update that was being tried
    assert there.why("path(20, 23)") is not None


@pytest.mark.only_in_memory("compares engines of its own")
@pytest.mark.parametrize("name", SHAPES)
def test_all_shapes_on_shards(name: str, requests: list[str]) -> None:
    for seed in range(1, 1 + amount(8, 1)):
        dice, shape = Random(f"{name} {seed}"), SHAPES[name]
        here, there = twice(shape.rules, shape.facts(dice, 8))
        update = shape.update(here, dice)
        changes = [kb.apply(update) for kb in (here, there)]
        for relation in here.relations:
            for row in sorted(changes[0].added.get(relation, ()), key=str)[:1]:
                one, other = (change.why(relation, row, seconds=None) for change in changes)
                assert str(one) == str(other)
        same_answers(here, there, dice)


def same_answers(here: holdfast.KnowledgeBase, there: holdfast.KnowledgeBase, dice: Random) -> None:
    for name in here.relations:
        rows, written = sorted(here[name], key=str), written_name(name, len(here[name].types), here.program)
        for row in dice.sample(rows, min(2, len(rows))):
            one, other = (kb.why(fact_text((written, row)), seconds=None) for kb in (here, there))
            assert one.to_json() == other.to_json(), fact_text((written, row))  # type: ignore[union-attr]
        for row in missing(rows, dice, 1):
            fact = fact_text((written, row))
            one, other = (kb.why_not(fact, seconds=None) for kb in (here, there))  # type: ignore[assignment]
            assert (one.to_json(), str(one)) == (other.to_json(), str(other)), fact  # type: ignore[union-attr]
