"""Updates that exceed the limit on memory leave nothing that counts: what fitted before them fits after them."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.backends.abilities import housekeeping
from holdfast.errors import LimitReached
from holdfast.settings import Limits
from tests.amounts import some

pytestmark = pytest.mark.only_in_memory("it names its engines itself")

ENGINES = ("memory", "parted[3]")
JOIN = "both(x, y, z) :- e(x, y), e(x, z)."
NEGATION = f"{JOIN}\nlast(x) :- e(_, x), !both(x, _, _).\nhow(n) :- n = count : both(_, _, _)."
CLOSURE = "path(x, y) :- e(x, y).\npath(x, z) :- path(x, y), e(y, z)."
DOUBLE = "path(x, y) :- e(x, y).\npath(x, z) :- path(x, y), path(y, z)."
PROGRAMS = {"join": JOIN, "negation": NEGATION, "closure": CLOSURE, "double": DOUBLE}
NODES = 400

Edges = list[tuple[int, int]]


def _edges(dice: Random, number: int, reach: int = NODES) -> Edges:
    """Edges that go up by a little: their closure is small."""
    starts = [dice.randrange(reach) for _ in range(number)]
    return [(start, start + dice.randrange(1, 3)) for start in starts if start % 20 < 17]


def _huge(dice: Random, size: int) -> Update:
    """Few facts with many consequences, of a join and of a closure: a star, and a chain of its ends."""
    hub = 10_000 + dice.randrange(10_000)
    star, chain = ([(hub, hub + i) for i in range(1, size)], [(hub + i, hub + i + 1) for i in range(1, size)])
    return Update(insert={"e": star + chain})


def _limited(text: str, edges: Edges, engine: str) -> KnowledgeBase:
    """With memory for twice as much as there is, and a little."""
    memory = holdfast.from_text(text, {"e": edges}, engine=engine).statistics.memory
    return holdfast.from_text(text, {"e": edges}, engine=engine, limits=Limits(memory=2 * memory + 2**18))


def _bytes(kb: KnowledgeBase) -> int:
    return housekeeping(kb._backend).nbytes


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_small_update_fits_after_a_refused_one(name: str, engine: str) -> None:
    dice = Random(name)
    edges = _edges(dice, 3_000)
    kb, plain = _limited(PROGRAMS[name], edges, engine), holdfast.from_text(PROGRAMS[name], {"e": edges})
    before = _bytes(kb)
    for size in (400, 500):
        with pytest.raises(LimitReached, match="E0804"):
            kb.apply(_huge(dice, size))
        assert _bytes(kb) <= before + 2**16
        small = Update(insert={"e": _edges(dice, 10)}, delete={"e": edges[:5]})
        change, same = kb.apply(small), plain.apply(small)
        assert {n: set(rows) for n, rows in change.added.items()} == {n: set(rows) for n, rows in same.added.items()}
        assert {n: set(kb[n]) for n in kb} == {n: set(plain[n]) for n in plain}


@pytest.mark.parametrize("engine", ENGINES)
def test_updates_that_are_only_tried_leave_nothing_either(engine: str) -> None:
    dice = Random(7)
    kb = _limited(CLOSURE, _edges(dice, 3_000), engine)
    before = _bytes(kb)
    for _ in range(3):
        with pytest.raises(LimitReached, match="E0804"):
            kb.what_if(_huge(dice, 400))
    assert _bytes(kb) <= before + 2**16
    kb.what_if(Update(insert={"e": _edges(dice, 10)}))


@pytest.mark.parametrize("seed", range(some(6)))
@pytest.mark.parametrize("engine", ENGINES)
def test_any_order_of_large_and_small_updates(engine: str, seed: int) -> None:
    """What is accepted depends on the facts, not on what was refused before; and it is right."""
    dice = Random(seed)
    name = dice.choice([*PROGRAMS])
    edges, size = _edges(dice, 2_000), 400
    kb, plain = _limited(PROGRAMS[name], edges, engine), holdfast.from_text(PROGRAMS[name], {"e": edges})
    kept, facts = kb.snapshot() if engine == "memory" else kb, {n: set(kb[n]) for n in kb}
    for _ in range(8):
        if dice.random() < 0.5:
            with pytest.raises(LimitReached, match="E0804"):
                (kb.apply if dice.random() < 0.7 else kb.what_if)(_huge(dice, size))
        else:
            small = Update(insert={"e": _edges(dice, 5)}, delete={"e": dice.sample(edges, 5)})
            kb.apply(small)
            plain.apply(small)
    assert {n: set(kb[n]) for n in kb} == {n: set(plain[n]) for n in plain}
    assert engine != "memory" or {n: set(kept[n]) for n in kept} == facts
    for relation in ("path", "both"):
        if relation in kb:
            assert kb.counters(relation) == plain.counters(relation)
