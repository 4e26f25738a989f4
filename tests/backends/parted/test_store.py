"""What the partitioned backend does beyond the laws: choice of shards, failures, limits inside a round, many facts."""

from __future__ import annotations

import gc
from random import Random

import numpy as np
import pytest

import holdfast
from holdfast import Update
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.memory.execution import buffers
from holdfast.backends.parted.exchange import Crew
from holdfast.backends.parted.handles import KeptSet
from holdfast.backends.parted.shard import Shard
from holdfast.backends.parted.store import PartedBackend
from holdfast.errors import EvaluationError, LimitReached, UsageError
from holdfast.maintenance.watch import Watch
from holdfast.settings import Limits
from holdfast.values.dictionary import Dictionary

from ..entering import entering
from ..memory.building import numbers, rows

CLOSURE = "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n"
NONLINEAR = CLOSURE.replace("edge(y, z)", "path(y, z)")
WORDS = """
.type Pair = [a: symbol, b: number]
.decl word(w: symbol, n: number)
.decl longer(v: symbol, w: symbol)
.decl made(w: symbol)
.decl first(w: symbol)
.decl pair(p: Pair)
longer(v, w) :- word(v, m), word(w, n), m > n, v < w.
made(cat(v, w)) :- longer(v, w).
first(w) :- w = min x : { made(x) }.
pair([w, n]) :- word(w, n), !made(w).
"""
pytestmark = pytest.mark.only_in_memory("opens its own engines")


def states(kb: holdfast.KnowledgeBase) -> dict[str, set[object]]:
    return {name: set(view) for name, view in kb.relations.items()}


def both(text: str, facts: dict[str, list[tuple[object, ...]]], shards: int) -> list[holdfast.KnowledgeBase]:
    return [holdfast.from_text(text, facts=facts, engine=engine) for engine in ("memory", f"parted[{shards}]")]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The names of the commands in each message to the shards."""
    messages = list[list[str]]()
    obey = Crew.obey
    monkeypatch.setattr(Crew, "obey", lambda crew, some: (messages.append([c[0] for c in some]), obey(crew, some))[1])
    return messages


# --- the choice of shards ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["parted[0]", "parted[]", "parted[-1]", "parted[x]", "parted[12345]", "partd"])
def test_other_names_are_refused(engine: str) -> None:
    with pytest.raises(UsageError, match="E0916"):
        holdfast.from_text("p(1).", engine=engine)


def test_as_many_shards_as_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    kb = holdfast.from_text("p(1).", engine="parted")
    assert kb._backend.placement.parts == 3  # type: ignore[attr-defined]


# --- the same as in memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 2, 3, 8])
def test_strings_and_records(shards: int) -> None:
    words = [(f"w{number}é", number % 7) for number in range(40)]
    for memory, parted in [both(WORDS, {"word": words}, shards)]:  # type: ignore[dict-item]
        assert states(memory) == states(parted)
        for kb in (memory, parted):
            kb.apply(Update(delete={"word": words[:5]}, insert={"word": [("new", 9)]}))
        assert states(memory) == states(parted)
        assert memory.counters("made") == parted.counters("made")


@pytest.mark.parametrize("text", [CLOSURE, NONLINEAR], ids=["linear", "nonlinear"])
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_many_facts_in_small_batches(text: str, shards: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "BATCH", 64)
    random = Random(shards)
    edges = list({(random.randrange(40), random.randrange(40)) for _ in range(50)})
    memory, parted = (
        holdfast.from_text(text, facts={"edge": edges}, engine=engine, modules=())
        for engine in ("memory", f"parted[{shards}]")
    )
    for algorithm in ("dred", "dred-counting", "dred-ranked", "backward-forward", "backward-forward-counting", "auto"):
        some = random.sample(edges, 6)
        for update in (Update(delete={"edge": some}), Update(insert={"edge": some})):
            one, other = memory.apply(update, algorithm=algorithm), parted.apply(update, algorithm=algorithm)
            assert {name: set(view) for name, view in one.added.items()} == {
                name: set(view) for name, view in other.added.items()
            }
            assert states(memory) == states(parted)
    assert memory.counters("path") == parted.counters("path")


@pytest.mark.parametrize("alike", [1, 3, 4_000])
@pytest.mark.parametrize("shards", [2, 3])
def test_many_heads_move_at_once(alike: int, shards: int) -> None:
    """All heads of a round arrive, as often as they were emitted, whether many or few of them are alike."""
    pairs = [(i, i // alike) for i in range(12_000)]
    text = "q(y) :- p(x, y), r(x).\nboth(y, z) :- p(x, y), s(x, z)."
    facts = {"p": pairs, "r": [(i,) for i in range(12_000)], "s": [(i, i % 5) for i in range(12_000)]}
    memory, parted = both(text, facts, shards)  # type: ignore[arg-type]
    for name in ("q", "both"):
        assert parted.counters(name) == memory.counters(name)


def test_tables_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of deleted facts are dropped, in copies too, and what is left is right."""
    monkeypatch.setattr("holdfast.backends.memory.store._FEW", 0)
    edges = [(i, i + 1) for i in range(60)]
    kb = holdfast.from_text(NONLINEAR, facts={"edge": edges}, engine="parted[3]", modules=())
    shards: list[Shard] = kb._backend._shards  # type: ignore[attr-defined]
    assert any("path@" in name for name in shards[0].tables)
    before = sum(shard.packings for shard in shards)
    kb.apply(Update(delete={"edge": edges[5:]}))
    assert sum(shard.packings for shard in shards) > before
    assert len(kb["path"]) == 15
    kb.apply(Update(insert={"edge": edges[5:9]}))
    assert len(kb["path"]) == 45
    assert kb.counters("path") == holdfast.from_text(NONLINEAR, facts={"edge": edges[:9]}, modules=()).counters("path")


def test_sets_are_freed() -> None:
    edges = [(i, i + 1) for i in range(30)]
    kb = holdfast.from_text(CLOSURE, facts={"edge": edges}, engine="parted[2]", modules=())
    held = []
    for turn in range(20):
        kb.apply(Update(delete={"edge": [edges[turn]]}))
        kb.apply(Update(insert={"edge": [edges[turn]]}))
        if turn in (9, 19):
            gc.collect()
            held.append(max(len(shard._held) for shard in kb._backend._shards))  # type: ignore[attr-defined]
    assert held[1] <= held[0]


# --- failures ----------------------------------------------------------------------------------------


def test_a_rule_without_a_value_on_one_shard() -> None:
    text = "half(x, 100 / x) :- n(x)."
    kb = holdfast.from_text(text, facts={"n": [(i,) for i in range(1, 40)]}, engine="parted[3]")
    before = states(kb), kb.counters("half")
    with pytest.raises(EvaluationError, match="E0701"):
        kb.apply(Update(insert={"n": [(0,), (77,)]}))
    assert (states(kb), kb.counters("half")) == before
    kb.apply(Update(insert={"n": [(77,)]}))
    assert (77, 1) in kb["half"]


def test_limits_hold_inside_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "BATCH", 500)
    facts = {"n": [(i,) for i in range(60)]}
    cube = "q(x, y, z) :- n(x), n(y), n(z)."
    for limits, code in ((Limits(facts=5_000), "E0802"), (Limits(memory=2**20), "E0804")):
        with pytest.raises(LimitReached, match=code) as caught:
            holdfast.from_text(cube, facts=facts, limits=limits, engine="parted[3]")
        assert int(caught.value.diagnostics[0].notes[0].split()[0].replace(",", "")) < 60**3 / 2


def test_seconds_hold_inside_a_round() -> None:
    facts = {"n": [(i,) for i in range(600)]}
    text = "q(x) :- n(x), n(y), n(z), x + y + z < 0."
    with pytest.raises(LimitReached, match="E0803"):
        holdfast.from_text(text, facts=facts, limits=Limits(seconds=0.3), engine="parted[2]")


def test_an_update_that_hits_a_limit_leaves_no_trace() -> None:
    edges = [(i, i + 1) for i in range(30)]
    kb = holdfast.from_text(NONLINEAR, facts={"edge": edges}, engine="parted[3]", modules=(), limits=Limits(facts=600))
    before = states(kb), kb.counters("path")
    with pytest.raises(LimitReached):
        kb.apply(Update(insert={"edge": [(i, i + 1) for i in range(30, 60)]}))
    assert (states(kb), kb.counters("path")) == before
    kb.apply(Update(delete={"edge": edges[:1]}))
    assert len(kb["path"]) == 29 * 30 // 2


def test_too_many_derivations_are_seen_where_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message must come before the counters are taken for right."""
    backend = PartedBackend(2, {"a": numbers("a", 1)}, Dictionary(), Watch())
    one = backend.facts({"a": rows([(1,)], 1)})
    backend.nonrecursive.add(one)
    monkeypatch.setattr("holdfast.backends.parted.handles._MOST", 1)

    def full(self: MemoryCounters, *_: object) -> None:
        raise LimitReached(holdfast.errors.Diagnostic("E0805", "full"))

    monkeypatch.setattr(MemoryCounters, "_count", full)
    with pytest.raises(LimitReached, match="E0805"):
        backend.nonrecursive.add(one)


@pytest.mark.parametrize("shard", [0, 1, 2])
def test_a_change_of_the_state_is_completed_by_the_next_message(shard: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 16: what was interrupted on one shard is repeated, and sizes are right again."""
    backend = PartedBackend(3, {"a": numbers("a", 1)}, Dictionary(), Watch())
    kept, facts = backend.materialisation, backend.facts({"a": rows([(i,) for i in range(90)], 1)})
    assert len(facts) == 90
    original = Shard.do_put

    def failing(self: Shard, name: str, number: int) -> dict[str, int]:
        if self.number == shard:
            raise MemoryError
        return original(self, name, number)

    kept |= facts
    with monkeypatch.context() as patch:
        patch.setattr(Shard, "do_put", failing)
        with pytest.raises(MemoryError):
            backend.commit()
    backend.commit()
    assert (len(kept), len(backend.rows("a", kept))) == (90, 90)


def test_mending_trusts_the_facts_and_drops_copies() -> None:
    edges = [(i, i + 1) for i in range(20)]
    kb = holdfast.from_text(NONLINEAR, facts={"edge": edges}, engine="parted[3]", modules=())
    before = states(kb), kb.counters("path")
    backend = kb._backend
    backend.deleted |= backend.materialisation
    backend.recursive.remembers = True
    kb._updater.mend()  # type: ignore[attr-defined]
    assert not backend.placement.copies  # type: ignore[attr-defined]
    assert (states(kb), kb.counters("path")) == before
    kb.apply(Update(delete={"edge": edges[:3]}))
    assert len(kb["path"]) == 17 * 18 // 2


def test_a_failed_copy_is_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(CLOSURE, facts={"edge": [(1, 2), (2, 3)]}, engine="parted[2]", modules=())

    def failing(self: Shard, predicate: str, column: int) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Shard, "do_copy", failing)
        with pytest.raises(MemoryError):
            kb.query("path(x, y), path(x, z), path(w, y)")
    assert {tuple(map(int, row)) for row in kb.query("path(x, 2)")} == {(1,)}
    assert len(kb.query("path(x, y), path(x, z), path(w, y)")) == np.sum([1, 4, 0]) + 3


# --- functors of users -------------------------------------------------------------------------------


def test_functors_of_users_run_on_one_shard_at_a_time() -> None:
    inside, most = 0, 0

    @holdfast.functor(name="alone")
    def alone(x: int) -> int:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        inside -= 1
        return x + 1

    text = ".functor alone(x: number): number\nm(@alone(x)) :- n(x)."
    kb = holdfast.from_text(text, facts={"n": [(i,) for i in range(2_000)]}, engine="parted[4]")
    assert set(kb["m"]) == {(i + 1,) for i in range(2_000)}
    assert most == 1


def test_a_functor_that_uses_its_own_knowledge_base_is_refused() -> None:
    """On a thread of a shard it would wait for the lock of the thread that waits for it."""
    opened: list[holdfast.KnowledgeBase] = []

    @holdfast.functor(name="curious")
    def curious(x: int) -> int:
        return len(opened[0]["n"]) if opened else x

    text = ".functor curious(x: number): number\nm(@curious(x)) :- n(x)."
    opened.append(holdfast.from_text(text, facts={"n": [(1,)]}, engine="parted[3]"))
    with pytest.raises(EvaluationError, match="inside one of its own calls"):
        opened[0].apply(Update(insert={"n": [(i,) for i in range(2, 90)]}))
    assert set(opened[0]["m"]) == {(1,)}


@pytest.mark.parametrize("engine", ["memory", "parted[2]", "parted[5]"])
def test_a_limit_on_facts_stops_a_batch(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    square = ".decl n(x: number)\n.decl s(x: number, y: number)\ns(x, y) :- n(x), n(y)."
    facts = {"n": [(number,) for number in range(600)]}
    with entering("s", monkeypatch) as sizes, pytest.raises(LimitReached, match="more than 5,000 facts"):
        holdfast.from_text(square, facts, engine=engine, limits=Limits(facts=5_000))
    assert sum(sizes.values()) < 5_000 + 1_024 * 5


# --- messages ----------------------------------------------------------------------------------------


def test_what_is_known_is_not_asked_for(asked: list[list[str]]) -> None:
    """A set that has no facts, and what follows from that for others; and the rows of a small set that were fetched."""
    kb = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine="parted[3]", modules=())
    backend = kb._backend
    some, none = backend.facts({"edge": rows([(1, 2), (2, 3)], 2)}), backend.facts({"edge": rows([], 2)})
    snapshot = (backend.materialisation | none).of(["edge", "path"])
    assert dict(snapshot.sizes()) == {"edge": 1, "path": 1}
    asked.clear()
    empty = [none, backend.facts({}), none & some, some & none, none - some, none & backend.materialisation]
    assert not any(map(bool, [*empty, backend.materialisation & none, some.of(["path"]), none.of(["edge"])]))
    assert all(same is some for same in (some - none, some | none, none | some, some.of(["path", "edge"])))
    assert asked == []
    assert len(backend.materialisation | none) == 2
    assert len(backend.materialisation - none) == 2
    assert len(asked) == 2
    asked.clear()
    assert sorted(map(tuple, backend.rows("edge", some))) == [(1, 2), (2, 3)]
    assert backend.rows("path", some).shape == (0, 2)
    assert backend.rows("path", snapshot).tolist() == backend.rows("edge", snapshot).tolist() == [[1, 2]]
    assert asked == [["rows"], ["rows"]]
    many = backend.facts({"edge": rows([(n, n) for n in range(1_001)], 2)})
    asked.clear()
    assert len(backend.rows("edge", many)) == 1_001
    assert len(backend.rows("path", many)) == 0
    assert asked == [["rows"], ["rows"]]


@pytest.mark.parametrize("shards", [1, 3])
def test_rows_of_a_set_when_a_relation_is_dropped(shards: int) -> None:
    relations = {name: numbers(name, 1) for name in ("p", "q")}
    for read_before in (True, False):
        backend = PartedBackend(shards, relations, Dictionary(), Watch())
        some = backend.facts({"p": rows([(1,), (2,)], 1), "q": rows([(7,)], 1)})
        if read_before:
            assert backend.rows("q", some).tolist() == [[7]]
        backend.drop_relation("q")
        assert sorted(backend.rows("p", some).tolist()) == [[1], [2]]
        backend.add_relation(relations["q"])
        assert backend.rows("q", some).tolist() == []
        backend.drop_relation("p")
        backend.drop_relation("q")
        backend.add_relation(relations["q"])
        assert backend.rows("q", some).tolist() == []


def test_what_is_asked_of_a_set_of_unknown_size() -> None:
    kept = holdfast.from_text(CLOSURE, {"edge": [(1, 2)]}, engine="parted[3]", modules=())._backend.materialisation
    assert isinstance(kept, KeptSet)
    assert not kept.snapshot().of([])
    assert dict(kept.snapshot().of(["edge"]).sizes()) == {"edge": 1}
