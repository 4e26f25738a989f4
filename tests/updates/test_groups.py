"""A group of updates in one pass and the same updates one by one: the same changes, facts and counters.

The rules join, negate, aggregate and recur.  The updates are large and the tables small, so that tables grow meanwhile,
and facts come and go within a group.  Short random programs are in tests/equivalence.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from threading import Thread

import pytest

import holdfast
from holdfast import Change, KnowledgeBase, Update

from ..amounts import some

pytestmark = pytest.mark.only_in_memory("several updates are not one pass elsewhere")

RULES = """
both(x, z) :- edge(x, y), edge(y, z), x != z.
odd(x) :- node(x), !edge(x, _), !edge(_, x).
apart(x, y) :- node(x), node(y), !both(x, y), !edge(x, y).
hub(y, count(x)) :- edge(x, y).
far(x, m) :- node(x), m = max y : { edge(x, y) }.
again(x, y) :- both(x, y).
again(x, y) :- edge(x, z), edge(z, y), node(z).
edge(x, x) :- node(x), marked(x).
near(x, y) :- edge(x, y).
near(x, z) :- near(x, y), edge(y, z), node(z).
alone(x) :- node(x), !near(x, x).
"""
VALUES = 25


def base(random: Random) -> KnowledgeBase:
    edges = [(random.randrange(VALUES), random.randrange(VALUES)) for _ in range(30)]
    return holdfast.from_text(RULES, {"edge": edges, "node": [(n,) for n in range(8)], "marked": [(3,)]})


def update(random: Random, size: int) -> Update:
    def facts(most: int) -> dict[str, list[tuple[int, ...]]]:
        edges: list[tuple[int, ...]] = [(random.randrange(VALUES), random.randrange(VALUES)) for _ in range(most)]
        few = {name: [(random.randrange(VALUES),) for _ in range(random.randrange(3))] for name in ("node", "marked")}
        return {"edge": edges, **few}

    return Update(delete=facts(random.randrange(size + 1)), insert=facts(random.randrange(size + 1)))


def same(one: Change, other: Change) -> None:
    """What each changes, and what it would take to undo it."""
    assert (one.added, one.removed, one.no_ops) == (other.added, other.removed, other.no_ops)
    assert one.origin is not None
    assert other.origin is not None
    undo, other_undo = one.inverse(), other.inverse()
    assert (undo.delete, undo.insert) == (other_undo.delete, other_undo.insert)


def agree(kb: KnowledgeBase, other: KnowledgeBase) -> None:
    assert kb.version == other.version
    for name in other.relations:
        assert set(kb[name]) == set(other[name]), name
        assert kb.counters(name) == other.counters(name), name


@pytest.mark.parametrize("seed", range(some(24)))
def test_group_is_its_updates_one_by_one(seed: int) -> None:
    random = Random(seed)
    together, by_one = (base(Random(seed)) for _ in range(2))
    for length, size in ((2, 3), (8, 20), (1, 200), (62, 6), (5, 400), (20, 1)):
        updates = [update(random, size) for _ in range(length)]
        lone = [by_one.apply(each) for each in updates]
        for change, expected in zip(together.apply_all(updates), lone, strict=True):
            same(change, expected)
        agree(together, by_one)
        for kb in (together, by_one):
            kb.apply(updates[0])  # goes on from the counters that the group has left
        agree(together, by_one)


@pytest.mark.parametrize("seed", range(some(6)))
def test_writers_are_one_after_the_other(seed: int, tmp_path: Path) -> None:
    """What threads write together is what they write in the order of their versions, here and in the store."""
    given = {"edge": [(1, 2)], "node": [(n,) for n in range(8)], "marked": [(3,)]}
    found: dict[int, tuple[Update, Change]] = {}

    def write(random: Random, kb: KnowledgeBase) -> None:
        for _ in range(12):
            each = update(random, 6)
            change = kb.apply(each)
            assert change.version is not None
            found[change.version] = each, change

    with holdfast.from_text(RULES, given, store=tmp_path / "kb") as kb:
        writers = [Thread(target=write, args=(Random(10 * seed + n), kb)) for n in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        one_by_one = holdfast.from_text(RULES, given)
        assert sorted(found) == list(range(1, 8 * 12 + 1))
        for version in sorted(found):
            each, change = found[version]
            same(change, one_by_one.apply(each))
        agree(kb, one_by_one)
    with holdfast.open(tmp_path / "kb") as opened:
        agree(opened, one_by_one)
