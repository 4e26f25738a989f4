"""Small relations are on all shards, so that bindings need not move to them; large ones are not."""

from __future__ import annotations

import pytest

import holdfast
from holdfast import Update
from holdfast.backends.parted import placement

from .test_hubs import opened, same, shards_of

pytestmark = pytest.mark.only_in_memory("opens its own engines")

# `kind` is probed by its second column, and its primary is by the first.
TEXT = """
.decl item(n: number, k: number)
.decl kind(k: number, parent: number)
.decl up(k: number, p: number)
.decl of(n: number, p: number)
.decl siblings(a: number, b: number)
.decl all(a: number, b: number)
.decl leaf(k: number)
up(k, p) :- kind(k, p).
up(k, q) :- up(k, p), kind(p, q).
of(n, p) :- item(n, k), up(k, p).
siblings(a, b) :- kind(a, p), kind(b, p).
all(a, b) :- kind(a, _), kind(b, _).
leaf(k) :- kind(k, _), !kind(_, k).
"""
ITEMS = """
.decl item(n: number, k: number)
.decl kind(k: number, parent: number)
.decl odd(n: number, k: number)
.decl pair(n: number, a: number, b: number)
odd(n, k) :- item(n, k), !kind(k, _).
pair(n, a, b) :- item(n, a), item(n, b), odd(n, _).
"""
FACTS = {"item": [(n, n % 20) for n in range(900)], "kind": [(k, k // 2) for k in range(1, 20)]}


def copies(kb: holdfast.KnowledgeBase) -> set[str]:
    return {table for shard in shards_of(kb) for table in shard.tables if "@" in table}


def moved(kb: holdfast.KnowledgeBase) -> int:
    return sum(shard.traffic.rows for shard in shards_of(kb))


@pytest.mark.parametrize("shards", [2, 3, 5])
def test_bindings_do_not_move_to_small_relations(shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items stay where they are, though a rule joins their kinds."""
    small = opened(ITEMS, FACTS, f"parted[{shards}]")
    monkeypatch.setattr(placement, "SMALL", 0)
    large = opened(ITEMS, FACTS, f"parted[{shards}]")
    assert any(table.endswith("@*") for table in copies(small))
    assert not any(table.endswith("@*") for table in copies(large))
    assert moved(small) == 0
    assert moved(large) > 300
    for kb in (small, large):
        same(opened(ITEMS, FACTS, "memory"), kb)


def agree_while_a_relation_grows(algorithm: str) -> holdfast.KnowledgeBase:
    """It becomes too large for a copy on all shards, and small again; facts and counters are those of memory."""
    memory, parted = (opened(TEXT, FACTS, engine) for engine in ("memory", "parted[3]"))
    more = [(k, k // 2) for k in range(20, 90)]
    for update in (
        Update(insert={"kind": more[:5]}, delete={"kind": [(3, 1)]}),
        Update(insert={"kind": more}),
        Update(delete={"kind": more[10:]}),
        Update(delete={"kind": more[:10]}, insert={"kind": [(3, 1)]}),
    ):
        for kb in (memory, parted):
            kb.apply(update, algorithm=algorithm)
        same(memory, parted)
    return parted


@pytest.mark.parametrize("algorithm", ["dred", "dred-counting", "dred-ranked", "backward-forward", "recompute"])
def test_a_relation_grows_too_large_and_shrinks_again(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its copies are passed over, in the middle of an update too, and dropped after it."""
    monkeypatch.setattr(placement, "SMALL", 30)
    assert "kind@*" in copies(opened(TEXT, FACTS, "parted[3]"))
    parted = agree_while_a_relation_grows(algorithm)
    assert "kind@*" not in copies(parted) or len(parted["kind"]) < 30


def test_an_update_that_is_rolled_back_leaves_copies_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "SMALL", 30)
    text = TEXT + ".decl half(k: number, h: number) half(k, 100 / p) :- kind(k, p)."
    facts = {**FACTS, "kind": [(k, k // 2) for k in range(2, 20)]}
    memory, parted = (opened(text, facts, engine) for engine in ("memory", "parted[3]"))
    with pytest.raises(holdfast.HoldfastError, match="E0701"):
        parted.apply(Update(insert={"kind": [(k, k // 2) for k in range(20, 90)] + [(1, 0)]}))
    same(memory, parted)
    for kb in (memory, parted):
        kb.apply(Update(insert={"kind": [(33, 5)]}, delete={"kind": [(9, 4)]}))
    same(memory, parted)


def test_what_if_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "SMALL", 25)
    memory, parted = (opened(TEXT, FACTS, engine) for engine in ("memory", "parted[2]"))
    update = Update(insert={"kind": [(k, k // 2) for k in range(20, 60)]})
    one, other = memory.what_if(update), parted.what_if(update)
    assert {name: set(view) for name, view in one.added.items()} == {n: set(view) for n, view in other.added.items()}
    same(memory, parted)
