"""Rows are sent before all of a round are made, and quotas of goals hold on several shards.  Counted, not timed."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

import holdfast
from holdfast.backends.memory.execution import buffers
from holdfast.backends.parted import hubs, placement, rounds
from holdfast.backends.parted.rounds import SegmentRun
from holdfast.backends.parted.store import PartedBackend
from holdfast.errors import LimitReached
from holdfast.maintenance.watch import Watch
from holdfast.plans import Planner, Read
from holdfast.settings import Limits
from holdfast.values.dictionary import Dictionary

from .. import laws
from .test_hubs import opened, same, shards_of

pytestmark = pytest.mark.only_in_memory("opens its own engines")


# --- rows that wait ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [2, 3])
def test_heads_need_not_wait_for_the_end_of_a_round(shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If rows are sent when many wait, few wait at any time; else all heads of the round do."""
    monkeypatch.setattr(buffers, "BATCH", 500)
    monkeypatch.setattr(placement, "SMALL", 0)
    text = ".decl p(x: number, y: number) .decl q(x: number, y: number) .decl r(a: number, b: number)\n"
    text += "r(a, b) :- p(x, a), q(x, b)."
    facts = {name: [(n % 10, n) for n in range(400)] for name in ("p", "q")}
    most = {}
    for at_once in (1_000, 10**9):
        monkeypatch.setattr(rounds, "AT_ONCE", at_once)
        kb = opened(text, facts, f"parted[{shards}]")
        most[at_once] = max(shard.traffic.most_waiting for shard in shards_of(kb))
        same(opened(text, facts, "memory"), kb)
    assert most[1_000] <= 1_500
    assert most[10**9] > 16_000 / shards / 2


@pytest.mark.parametrize("shards", [2, 3])
def test_bindings_need_not_wait_either(shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three relations, each placed by another variable, all bindings move twice."""
    monkeypatch.setattr(buffers, "BATCH", 200)
    monkeypatch.setattr(placement, "SMALL", 0)
    text = """
    .decl p(x: number, y: number) .decl q(y: number, z: number) .decl r(z: number, u: number) .decl s(x: number)
    .decl t(u: number) .decl v(z: number)
    s(u) :- p(x, y), q(y, z), r(z, u), t(u), v(z).
    """
    facts = {
        "p": [(n, n % 40) for n in range(800)],
        "q": [(n % 40, n) for n in range(400)],
        "r": [(n, n % 7) for n in range(400)],
        "t": [(n,) for n in range(5)],
        "v": [(n,) for n in range(0, 400, 3)],
    }
    most = {}
    for at_once in (400, 10**9):
        monkeypatch.setattr(rounds, "AT_ONCE", at_once)
        kb = opened(text, facts, f"parted[{shards}]")
        most[at_once] = max(shard.traffic.most_waiting for shard in shards_of(kb))
        same(opened(text, facts, "memory"), kb)
    assert most[400] <= 600 * shards
    assert most[10**9] > 1_000 / shards  # all bindings of the first segment


def test_equal_heads_are_counted_before_they_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """16,000 instances have ten heads: of these, as many move as there are shards that make them."""
    monkeypatch.setattr(placement, "SMALL", 0)
    agree_with_equal_heads()


def agree_with_equal_heads() -> None:
    """Each of ten heads has 1,600 instances."""
    text = ".decl p(x: number, y: number) .decl q(x: number, y: number) .decl r(a: number)\n"
    text += "r(a) :- p(x, a), q(x, _)."
    facts = {"p": [(n, n % 10) for n in range(4_000)], "q": [(n % 4_000, n) for n in range(16_000)]}
    kb = opened(text, facts, "parted[3]")
    same(opened(text, facts, "memory"), kb)
    assert sum(shard.traffic.instances for shard in shards_of(kb)) == 16_000
    assert sum(shard.traffic.rows for shard in shards_of(kb)) <= 10 * 3


def test_equal_heads_are_found_where_others_are_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 30,000 instances in turn, each 1,500th has the same head."""
    monkeypatch.setattr(placement, "SMALL", 0)
    text = ".decl p(x: number, y: number) .decl q(x: number, y: number) .decl r(a: number)\n"
    text += "r(a) :- p(x, a), q(x, _)."
    facts = {"p": [(n, n % 1_500) for n in range(30_000)], "q": [(n, 0) for n in range(30_000)]}
    kb = opened(text, facts, "parted[2]")
    same(opened(text, facts, "memory"), kb)
    assert sum(shard.traffic.instances for shard in shards_of(kb)) == 30_000
    assert sum(shard.traffic.rows for shard in shards_of(kb)) <= 1_500 * 2


@pytest.mark.parametrize("alike", [1, 20])
def test_heads_that_are_summed_do_not_wait_for_the_end_of_a_round(alike: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first heads are equal, so all are summed.  Of the others each has so many instances, one after the other: if
    it is one, they are not summed for long."""
    monkeypatch.setattr(buffers, "BATCH", 200)
    monkeypatch.setattr(placement, "SMALL", 0)
    monkeypatch.setattr(rounds, "_SAMPLE", 50)
    text = ".decl p(x: number, y: number) .decl q(x: number, y: number) .decl r(a: number)\n"
    text += "r(a) :- p(x, a), q(x, _)."
    p = [(n, 0) for n in range(500)] + [(n, n) for n in range(500, 6_000)]
    facts = {"p": p, "q": [(x, y) for x, _ in p for y in range(alike)]}
    summed, moved = {}, {}
    for most in (300, 10**9):
        monkeypatch.setattr(rounds, "SUMMED", most)
        kb = opened(text, facts, "parted[3]")
        same(opened(text, facts, "memory"), kb)
        summed[most] = max(shard.traffic.most_summed for shard in shards_of(kb))
        moved[most] = sum(shard.traffic.rows for shard in shards_of(kb))
    assert summed[300] <= 500
    assert summed[10**9] > 1_500
    assert moved[300] <= 1.1 * moved[10**9]


# --- limits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [100, 10**9])
@pytest.mark.parametrize(("limits", "code"), [(Limits(facts=5_000), "E0802"), (Limits(memory=2**22), "E0804")])
def test_limits_hold_while_rows_are_sent(
    limits: Limits, code: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a round, with hubs, with copies on all shards, and with four shards on fewer cores."""
    monkeypatch.setattr(buffers, "BATCH", 200)
    monkeypatch.setattr(rounds, "AT_ONCE", at_once)
    monkeypatch.setattr(hubs, "LEAST", 100)
    text = ".decl p(x: number, y: number) .decl q(a: number, b: number, c: number)\n"
    text += "q(a, b, c) :- p(0, a), p(0, b), p(b, c)."
    facts = {"p": [(0, n) for n in range(300)] + [(n, n + 1) for n in range(1, 300)]}
    with pytest.raises(LimitReached, match=code):
        holdfast.from_text(text, facts=facts, limits=limits, engine="parted[4]")
    update = holdfast.Update(insert={"p": facts["p"]})
    kb = holdfast.from_text(text, facts={"p": [(0, 5)]}, limits=limits, engine="parted[4]")
    before = {name: set(view) for name, view in kb.relations.items()}
    with pytest.raises(LimitReached, match=code):
        kb.apply(update)
    assert {name: set(view) for name, view in kb.relations.items()} == before
    if limits.facts:  # the memory of rows that an update left is kept, as by the memory engine
        kb.apply(holdfast.Update(insert={"p": [(5, 6)]}))
        assert set(kb["q"]) == {(5, 5, 6)}


# --- quotas of goals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("small", [0, 10**6])
@pytest.mark.parametrize("most", [1, 3, 1_000])
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_each_shard_has_a_quota_for_each_goal(
    parts: int, most: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 11 with many instances: a goal that is cut short has enough of them, and the others have all."""
    monkeypatch.setattr(placement, "SMALL", small)
    quotas_hold(parts, most)


def quotas_hold(parts: int, most: int) -> None:
    """Twenty goals have twenty instances each, and one has one."""
    program = laws.checked(laws.CLOSURE)
    node = next(node for node in program.nodes if "p" in node.predicates)
    backend = PartedBackend(parts, program.relations, Dictionary(), Watch())
    closed = [(x, y) for x in range(20) for y in range(20)] + [(50, 51), (51, 52)]
    goals = [(x, 19 - x) for x in range(20)] + [(50, 52)]
    whole = backend.materialisation
    whole |= backend.facts({"p": laws.rows(closed, 2)})
    plans = Planner(node, backend.statistics).bodies(node.recursive, {"p": len(goals)})
    sources = {Read.ALL: whole, Read.DELTA: backend.facts({"p": laws.rows(goals, 2)}), Read.ABSENT: whole}
    bag, exhausted = backend.expand(plans, sources, most)
    done = set(map(tuple, backend.rows("p", exhausted).tolist()))
    assert done == (set(goals) if most > 20 else {(50, 52)} if most > 1 else set())
    expected = 2 * (20 * 20 + 1)
    assert len(bag) == expected if most > 20 else 2 * (20 * most + 1) <= len(bag) <= 2 * (20 * most * parts + 1)
    found = set(map(tuple, backend.rows("p", bag.support()).tolist()))
    assert {(50, 51), (51, 52)} <= found


def test_backward_forward_does_not_look_at_all_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fact has hundreds of instances; one that holds is enough."""
    facts = {"e": [(x, y) for x in range(40) for y in range(40) if x != y]}
    memory, parted, patient = (opened(laws.CLOSURE, facts, engine) for engine in ("memory", "parted[3]", "parted[3]"))
    update = holdfast.Update(delete={"e": [(x, x + 1) for x in range(20)]})
    met: list[int] = []
    original = PartedBackend.expand

    def expand(self: PartedBackend, *given: Any) -> Any:
        bag, exhausted = original(self, *given)
        met[-1] += len(bag)
        return bag, exhausted

    monkeypatch.setattr(PartedBackend, "expand", expand)
    memory.apply(update, algorithm="backward-forward")
    for kb in (parted, patient):
        met.append(0)
        kb.apply(update, algorithm="backward-forward")
        same(memory, kb)
        monkeypatch.setattr(SegmentRun, "limited", lambda *_: nullcontext())
    assert 0 < met[0] < met[1]
