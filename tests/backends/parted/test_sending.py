"""Rows are sent while others are made, and quotas of goals hold on several shards.  Counted, not timed."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import holdfast
from holdfast.backends.memory.execution import buffers
from holdfast.backends.parted import exchange as exchange_module
from holdfast.backends.parted import hubs, placement, rounds
from holdfast.backends.parted.exchange import ThreadExchange
from holdfast.backends.parted.store import PartedBackend
from holdfast.errors import LimitReached
from holdfast.maintenance.watch import Watch
from holdfast.plans import Planner, Read
from holdfast.settings import Limits
from holdfast.values.dictionary import Dictionary

from .. import laws
from .test_exchange import crew
from .test_hubs import opened, same, shards_of

pytestmark = pytest.mark.only_in_memory("opens its own engines")


# --- messages ahead ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [1, 10, 10**6])
@pytest.mark.parametrize("parts", [2, 3, 5])
def test_what_is_posted_is_received_by_its_exchange(parts: int, bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every message once, in the exchange that it was posted for, however slow the receiver is."""
    monkeypatch.setattr(exchange_module, "MOST_WAITING", bound)
    shards, exchange = crew(parts)

    def work(shard: int) -> list[list[Any]]:
        random, received = Random(shard), list[list[Any]]()
        for turn in range(20):
            came: list[Any] = []
            for number in range(random.randrange(12)):
                for to in range(parts):
                    exchange.post(shard, to, 3, (shard, turn, number), came.append)
            exchange.all_to_all(shard, [turn] * parts, came.append)
            received.append(came)
        return received

    for received in shards.ask(work):
        dice = [Random(shard) for shard in range(parts)]
        for turn, came in enumerate(received):
            expected = [(shard, turn, number) for shard in range(parts) for number in range(dice[shard].randrange(12))]
            assert sorted(came) == expected


def test_a_sender_waits_for_a_slow_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_module, "MOST_WAITING", 10)
    shards, exchange = crew(2)
    most = []

    def work(shard: int) -> None:
        for _ in range(50 * shard):
            exchange.post(shard, 0, 4, "rows", lambda _: None)
            most.append(exchange._waiting[0])
        exchange.all_to_all(shard, [0, 0], lambda _: None)

    shards.ask(work)
    assert max(most) < 10 + 4


def test_what_was_posted_is_forgotten_when_a_shard_fails() -> None:
    shards, exchange = crew(2)

    def failing(shard: int) -> None:
        exchange.post(shard, 1 - shard, 1, "old", lambda _: None)
        if shard == 1:
            raise KeyError("it")
        exchange.all_to_all(shard, [0, 0], lambda _: None)

    with pytest.raises(KeyError):
        shards.ask(failing)
    came: list[Any] = []
    shards.ask(lambda shard: exchange.all_to_all(shard, [0, 0], came.append))
    assert came == []


@pytest.mark.parametrize("shards", [2, 3])
def test_heads_need_not_wait_for_the_end_of_a_round(shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rows sent ahead, few wait at any time; without, all heads of the round do."""
    monkeypatch.setattr(buffers, "BATCH", 500)
    monkeypatch.setattr(placement, "SMALL", 0)
    text = ".decl p(x: number, y: number) .decl q(x: number, y: number) .decl r(a: number, b: number)\n"
    text += "r(a, b) :- p(x, a), q(x, b)."
    facts = {name: [(n % 10, n) for n in range(400)] for name in ("p", "q")}
    most = {}
    for ahead in (1_000, 10**9):
        monkeypatch.setattr(rounds, "AHEAD", ahead)
        kb = opened(text, facts, f"parted[{shards}]")
        most[ahead] = max(shard.traffic.most_waiting for shard in shards_of(kb))
        same(opened(text, facts, "memory"), kb)
    assert most[1_000] <= 1_500
    assert most[10**9] > 16_000 / shards / 2


def test_equal_heads_are_counted_before_they_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """16,000 instances have ten heads: of these, as many move as there are shards that make them."""
    monkeypatch.setattr(placement, "SMALL", 0)
    text = ".decl p(x: number, y: number) .decl q(x: number, y: number) .decl r(a: number)\n"
    text += "r(a) :- p(x, a), q(x, _)."
    facts = {"p": [(n, n % 10) for n in range(4_000)], "q": [(n % 4_000, n) for n in range(16_000)]}
    kb = opened(text, facts, "parted[3]")
    same(opened(text, facts, "memory"), kb)
    assert sum(shard.traffic.instances for shard in shards_of(kb)) == 16_000
    assert sum(shard.traffic.rows for shard in shards_of(kb)) <= 10 * 3


# --- limits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [100, 10**9])
@pytest.mark.parametrize(("limits", "code"), [(Limits(facts=5_000), "E0802"), (Limits(memory=2**20), "E0804")])
def test_limits_hold_while_rows_are_sent(
    limits: Limits, code: str, ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a round, with hubs, with copies on all shards, and with four shards on fewer cores."""
    monkeypatch.setattr(buffers, "BATCH", 200)
    monkeypatch.setattr(rounds, "AHEAD", ahead)
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
    assert done == (set(goals) if most > 20 else {(50, 52)})
    expected = 2 * (20 * 20 + 1)
    assert len(bag) == expected if most > 20 else 2 * (20 * most + 1) <= len(bag) <= 2 * (20 * most * parts + 1)
    found = set(map(tuple, backend.rows("p", bag.support()).tolist()))
    assert {(50, 51), (51, 52)} <= found


def test_backward_forward_does_not_look_at_all_instances() -> None:
    """Each fact has hundreds of instances; one that holds is enough."""
    facts = {"e": [(x, y) for x in range(40) for y in range(40) if x != y]}
    memory, parted = (opened(laws.CLOSURE, facts, engine) for engine in ("memory", "parted[3]"))
    before = sum(shard.traffic.instances for shard in shards_of(parted))
    update = holdfast.Update(delete={"e": [(x, x + 1) for x in range(20)]})
    for kb in (memory, parted):
        kb.apply(update, algorithm="backward-forward")
    same(memory, parted)
    assert sum(shard.traffic.instances for shard in shards_of(parted)) - before < 40**3
    assert np.array_equal(sorted(memory["p"]), sorted(parted["p"]))


def test_a_thread_exchange_can_be_posted_to() -> None:
    assert isinstance(ThreadExchange(2), exchange_module.Posting)
