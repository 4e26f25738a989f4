"""One value in most facts: no shard has most of the facts or does most of the work, and nothing else changes.

Work is counted in rows and instances, never timed.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import holdfast
from holdfast import Update
from holdfast.backends.parted import hubs, placement
from holdfast.backends.parted.hubs import FrequentValues, hubs_of
from holdfast.backends.parted.moving import Moving
from holdfast.backends.parted.primaries import joined_columns
from holdfast.backends.parted.shard import Shard

from .test_partition import program

pytestmark = [pytest.mark.only_in_memory("opens its own engines"), pytest.mark.many_cases]

SALES = """
.decl sale(customer: number, item: number)
.decl lives(customer: number, region: number)
.decl blocked(customer: number)
.decl sold(item: number, region: number)
.decl open(customer: number, item: number)
.decl items(customer: number, n: number)
.decl pair(a: number, b: number)
.decl idle(customer: number)
.decl hub(item: number)
sold(i, r) :- sale(c, i), lives(c, r).
open(c, i) :- sale(c, i), !blocked(c).
items(c, n) :- lives(c, _), n = count : { sale(c, _) }.
idle(c) :- lives(c, _), !sale(c, _).
pair(a, b) :- sale(c, a), sale(c, b), a < 40, b < 40.
hub(i) :- sale(1, i), !blocked(1).
"""
TWO_HOPS = """
.decl edge(x: number, y: number)
.decl two(x: number, y: number)
two(x, z) :- edge(x, y), edge(y, z).
"""
PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
HUB = 1
SALES_FACTS = {
    "sale": [(HUB if n % 10 else 2 + n // 10, n) for n in range(3_000)],
    "lives": [(c, c % 3) for c in range(400)],
    "blocked": [(c,) for c in range(5, 400, 7)],
}
STAR = {"edge": [(n, 0) for n in range(1, 401)] + [(0, -n) for n in range(1, 201)]}
ALGORITHMS = ("dred", "dred-counting", "dred-ranked", "backward-forward", "backward-forward-counting", "recompute")


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "LEAST", 100)


def opened(text: str, facts: object, engine: str) -> holdfast.KnowledgeBase:
    return holdfast.from_text(text, facts=facts, engine=engine, modules=())  # type: ignore[arg-type]


def shards_of(kb: holdfast.KnowledgeBase) -> list[Shard]:
    return kb._backend._shards  # type: ignore[attr-defined, no-any-return]


def largest_share(numbers: list[int]) -> float:
    return max(numbers) / sum(numbers)


def facts_on(kb: holdfast.KnowledgeBase, table: str) -> list[int]:
    return [shard.materialisation.size(table) for shard in shards_of(kb)]


def instances_on(kb: holdfast.KnowledgeBase) -> list[int]:
    return [shard.traffic.instances for shard in shards_of(kb)]


def same(one: holdfast.KnowledgeBase, other: holdfast.KnowledgeBase) -> None:
    for name in one.relations:
        assert set(one[name]) == set(other[name]), name
        assert one.counters(name) == other.counters(name), name


def agree_under_updates(text: str, algorithm: str) -> None:
    """Facts with hubs go and come; facts and counters are those of memory."""
    facts = SALES_FACTS if text is SALES else {"edge": [e for e in STAR["edge"] if abs(e[0] + e[1]) <= 100]}
    memory, parted = (opened(text, facts, engine) for engine in ("memory", "parted[3]"))
    assert len(parted._backend.placement.hubs)  # type: ignore[attr-defined]
    same(memory, parted)
    random, name = Random(7), next(iter(facts))
    some = random.sample(facts[name], 30)
    for update in (
        Update(delete={name: some}),
        Update(insert={name: some[:20]}, delete={name: facts[name][:10]}),
        *([Update(insert={"blocked": [(HUB,)]}), Update(delete={"blocked": [(HUB,)]})] if text is SALES else ()),
    ):
        for kb in (memory, parted):
            kb.apply(update, algorithm=algorithm)
        same(memory, parted)


def agree_when_values_become_frequent(algorithm: str) -> holdfast.KnowledgeBase:
    """Facts that were placed by a value move, and later updates find them."""
    edges = [(n, n + 1) for n in range(40, 90)]
    memory, parted = (opened(PATHS, {"edge": edges}, engine) for engine in ("memory", "parted[3]"))
    assert not len(parted._backend.placement.hubs)  # type: ignore[attr-defined]
    for update in (
        Update(insert={"edge": [(n, 7) for n in range(1_000, 1_900)]}),
        Update(insert={"edge": [(7, 8), (7, 9), (8, 88)]}),
        Update(delete={"edge": [*edges[::9], (7, 9), *((n, 7) for n in range(1_000, 1_800, 7))]}),
        Update(insert={"edge": [*edges[::18], (9, 7)]}),
        Update(insert={"edge": [(n, 11) for n in range(2_000, 6_000)]}),
        Update(insert={"edge": [(11, 12), (11, 88)]}, delete={"edge": [(7, 8)]}),
        Update(insert={"edge": [(12, 13), (88, 14)]}),
        Update(insert={"edge": [(500, 12), (501, 88)]}),
    ):
        for kb in (memory, parted):
            kb.apply(update, algorithm=algorithm)
        same(memory, parted)
    return parted


# --- frequent values -----------------------------------------------------------------------------------


def test_what_is_frequent_is_found_batch_by_batch() -> None:
    """As in all rows at once, though a value may be frequent in a few batches only."""
    for parts in (2, 7):
        agree_batch_by_batch(parts)


def agree_batch_by_batch(parts: int) -> None:
    """The values in the first column come one after the other; in the second, one is in half of all rows."""
    dice = np.random.default_rng(parts)
    rows = np.stack([np.arange(60_000) // 20_000, dice.integers(0, 50, 60_000) * dice.integers(0, 2, 60_000)], axis=1)
    seen = FrequentValues(parts)
    for start in range(0, len(rows), 1_000):
        seen.see("p", rows[start : start + 1_000], (0, 1))
    seen.see("q", rows[:500], (0,))
    assert set(seen.found(10_000)) == {"p"}
    assert set(seen.found(10_000)["p"]) == set(hubs_of(rows, (0, 1), parts, 10_000)) == {0, 1, 2}


# --- the spread ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("small", [0, 1_000])
@pytest.mark.parametrize("shards", [2, 3, 5])
def test_no_shard_has_most_facts_or_work(
    shards: int, small: int, few_are_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A star: most sales are of one customer, whom a large relation describes once."""
    monkeypatch.setattr(placement, "SMALL", small)
    text = ".decl sale(c: number, i: number) .decl lives(c: number, r: number) .decl sold(i: number, r: number)\n"
    facts = {name: SALES_FACTS[name] for name in ("sale", "lives")}
    kb = opened(text + "sold(i, r) :- sale(c, i), lives(c, r).", facts, f"parted[{shards}]")
    assert largest_share(facts_on(kb, "sale")) < 1.25 / shards
    assert largest_share(facts_on(kb, "sold")) < 1.25 / shards
    if small:
        assert largest_share(instances_on(kb)) < 1.25 / shards


def test_without_care_one_shard_has_nearly_all() -> None:
    """What the other tests measure: fewer facts than `LEAST` are not looked at."""
    kb = opened(SALES, SALES_FACTS, "parted[3]")
    assert largest_share(facts_on(kb, "sale")) > 0.9


@pytest.mark.parametrize("small", [0, 1_000_000])
@pytest.mark.parametrize("shards", [2, 3, 5])
def test_paths_through_one_node(shards: int, small: int, few_are_many: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 edges lead to a node and 200 from it: both sides of the join have the hub, and neither is on one shard."""
    monkeypatch.setattr(placement, "SMALL", small)
    kb = opened(TWO_HOPS, STAR, f"parted[{shards}]")
    assert len(kb["two"]) == 400 * 200
    assert largest_share(facts_on(kb, "edge")) < 1.3 / shards
    assert largest_share(instances_on(kb)) < 1.3 / shards


@pytest.mark.parametrize("shards", [2, 3])
def test_derived_relations_spread_the_same_values(shards: int, few_are_many: None) -> None:
    """Paths end in the hub, though edges are placed by their first column."""
    kb = opened(PATHS, {"edge": [(n, 0) for n in range(1, 601)]}, f"parted[{shards}]")
    assert largest_share(facts_on(kb, "path")) < 1.3 / shards


# --- the same facts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("small", [0, 50, 1_000_000])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("text", [SALES, PATHS, TWO_HOPS], ids=["sales", "paths", "two hops"])
def test_updates_of_hubs(
    text: str, algorithm: str, small: int, few_are_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts and counters are those of memory, whichever algorithm maintains facts with hubs."""
    monkeypatch.setattr(placement, "SMALL", small)
    agree_under_updates(text, algorithm)


def test_rules_that_come_read_facts_with_hubs(few_are_many: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "SMALL", 0)
    memory, parted = (opened(SALES, SALES_FACTS, engine) for engine in ("memory", "parted[3]"))
    for update in (
        Update(add_rules=[".decl new(c: number, r: number) new(c, r) :- sale(c, i), lives(i, r), !sale(c, 7)."]),
        Update(add_rules=["idle(c) :- lives(c, _), !sale(c, _), !open(c, _)."]),
        Update(remove_rules=["pair(a, b) :- sale(c, a), sale(c, b), a < 40, b < 40."]),
    ):
        for kb in (memory, parted):
            kb.apply(update)
        same(memory, parted)
    for query in ("sale(1, i)", "sale(c, 7)", "sale(c, i), lives(c, r), i < 9"):
        assert sorted(memory.query(query)) == sorted(parted.query(query))


def test_a_relation_with_facts_does_not_spread_them_anew(few_are_many: None) -> None:
    """A later relation may have hubs that facts of earlier ones are placed by; these stay where they are."""
    text = """
    .decl a(x: number, y: number) .decl b(x: number, y: number) .decl both(x: number, y: number)
    both(x, y) :- a(x, _), b(x, y).
    both(x, y) :- b(x, y), !a(x, y).
    """
    facts = {"a": [(n % 50, n) for n in range(400)], "b": [(7, n) for n in range(400)]}
    memory, parted = (opened(text, facts, engine) for engine in ("memory", "parted[3]"))
    place = parted._backend.placement  # type: ignore[attr-defined]
    assert (place.spread["a"].tolist(), place.spread["b"].tolist()) == ([], [7])
    same(memory, parted)
    for kb in (memory, parted):
        kb.apply(Update(delete={"a": [(7, n) for n in range(7, 400, 100)]}, insert={"a": [(7, 5), (8, 5)]}))
    same(memory, parted)


@pytest.mark.parametrize("small", [0, 1_000_000])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_values_become_frequent(
    algorithm: str, small: int, few_are_many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an update that makes a value frequent its facts are spread, with their counters and ranks."""
    monkeypatch.setattr(placement, "SMALL", small)
    parted = agree_when_values_become_frequent(algorithm)
    assert largest_share(facts_on(parted, "edge")) < 1.3 / 3
    tables = [(shard.tables["path"], shard.materialisation.ids("path")) for shard in shards_of(parted)]
    assert largest_share([np.count_nonzero(table.rows[ids, 1] == 7) for table, ids in tables]) < 1.3 / 3


def test_values_are_frequent_only_in_what_follows(few_are_many: None) -> None:
    """People of many towns are in one country: the towns are no hubs, and the country has no more than 40 facts."""
    text = """
    .decl lives(p: number, town: number) .decl town(t: number, country: number) .decl size(country: number, n: number)
    .decl citizen(p: number, country: number) .decl big(p: number, n: number)
    citizen(p, c) :- lives(p, t), town(t, c).
    big(p, n) :- citizen(p, c), size(c, n).
    """
    facts = {"lives": [(n, n % 40) for n in range(2_000)], "town": [(t, 100) for t in range(40)], "size": [(100, 5)]}
    memory, parted = (opened(text, facts, engine) for engine in ("memory", "parted[3]"))
    assert parted._backend.placement.primary["citizen"] == 1  # type: ignore[attr-defined]
    assert largest_share(facts_on(parted, "citizen")) < 1.3 / 3
    same(memory, parted)
    for kb in (memory, parted):
        kb.apply(Update(delete={"town": [(3, 100)]}, insert={"size": [(100, 6)], "lives": [(7, 3), (9_999, 4)]}))
    same(memory, parted)


@pytest.mark.parametrize("shard", [0, 1, 2])
def test_a_move_that_fails_moves_nothing(shard: int, few_are_many: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one shard there is no memory for the facts that come: all stay where they are, and nothing is lost."""
    edges = [(n, n + 1) for n in range(40, 150)]
    memory, parted = (opened(PATHS, {"edge": edges}, engine) for engine in ("memory", "parted[3]"))
    original = Moving.receive

    def failing(self: Moving, rows: object) -> None:
        if self._shard.number == shard:
            raise MemoryError
        original(self, rows)  # type: ignore[arg-type]

    update = Update(insert={"edge": [(n, 7) for n in range(1_000, 3_000)]})
    memory.apply(update)
    with monkeypatch.context() as patch:
        patch.setattr(Moving, "receive", failing)
        parted.apply(update)
    same(memory, parted)
    for kb in (memory, parted):
        kb.apply(Update(delete={"edge": edges[::3]}, insert={"edge": [(7, 8)]}))
    same(memory, parted)


def test_mending_keeps_hubs(few_are_many: None) -> None:
    memory, parted = (opened(SALES, SALES_FACTS, engine) for engine in ("memory", "parted[3]"))
    parted._updater.mend()  # type: ignore[attr-defined]
    same(memory, parted)
    for kb in (memory, parted):
        kb.apply(Update(delete={"sale": SALES_FACTS["sale"][:50]}))
    same(memory, parted)


# --- which values are hubs -----------------------------------------------------------------------------


def test_values_that_fill_half_a_share_are_hubs() -> None:
    rows = np.array([(5 if n % 4 else n, n % 3) for n in range(2_000)])
    assert hubs_of(rows, [0], 2, 100).tolist() == [5]
    assert hubs_of(rows, [0, 1], 2, 100).tolist() == [0, 1, 2, 5]
    assert hubs_of(rows, [1], 1, 100).tolist() == []
    assert hubs_of(rows[:100], [0], 2, 100).tolist() == []
    assert hubs_of(np.arange(5_000).reshape(-1, 1), [0], 8, 100).tolist() == []


@pytest.mark.parametrize("step", [2, 3, 4, 48])
def test_hubs_that_come_in_turns_are_found(step: int) -> None:
    numbers = np.arange(200_000)
    assert hubs_of(np.where(numbers % step, numbers, 7)[:, None], [0], 20, 100).tolist() == ([7] if step < 48 else [])
    assert hubs_of(np.where(numbers % step, 7, numbers)[:, None], [0], 2, 100).tolist() == [7]


def test_columns_whose_values_joins_meet() -> None:
    assert joined_columns(program(PATHS)) == {"edge": {0, 1}, "path": {1}}
    assert joined_columns(program(TWO_HOPS)) == {"edge": {0, 1}}
    flags = ".decl p(x: number, f: number) .decl q(f: number) q(f) :- p(_, f)."
    assert joined_columns(program(flags)).get("p", set()) == set()
