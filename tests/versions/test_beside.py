"""Who waits for whom, without a clock: a functor stops an update, or a query, in its middle, and others go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import holdfast
from holdfast import KnowledgeBase, Update
from holdfast.backends.memory import frozen
from holdfast.errors import UsageError

pytestmark = pytest.mark.only_in_memory("Spark runs one call at a time")

PROGRAM = """
.functor hold(x: number): number
.decl e(x: number, y: number)
.decl held(x: number, y: number)
.decl path(x: number, y: number)
.decl f(x: number)
held(x, @hold(y)) :- e(x, y).
path(x, y) :- e(x, y).
path(x, z) :- path(x, y), e(y, z).
"""
PATIENCE = 60


class Barrier:
    """A functor that stops when it meets a value, until it is let go."""

    def __init__(self) -> None:
        self.value: int | None = None
        self.reached, self.released = threading.Event(), threading.Event()

    def hold(self, x: int) -> int:
        if x == self.value:
            self.reached.set()
            assert self.released.wait(PATIENCE)
        return x

    def stop_at(self, value: int | None) -> None:
        self.value = value
        self.reached, self.released = threading.Event(), threading.Event()


class Job:
    """A call in another thread."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self._call = call
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:
            self.error = error

    def done(self) -> object:
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "it waits"
        if self.error is not None:
            raise self.error
        return self.result


@pytest.fixture
def barrier(monkeypatch: pytest.MonkeyPatch) -> Iterator[Barrier]:
    made = Barrier()
    holdfast.functor(name="hold")(made.hold)
    yield made
    made.released.set()


def opened() -> KnowledgeBase:
    return holdfast.from_text(PROGRAM, {"e": [(1, 2), (2, 3)]})


READS: dict[str, Callable[[KnowledgeBase], object]] = {
    "point": lambda kb: set(kb.query("path(1, x)")),
    "parameter": lambda kb: set(kb.query("path($x, y)", {"x": 2})),
    "join": lambda kb: set(kb.query("path(x, y), !e(x, y)")),
    "string": lambda kb: set(kb.query('e(x, y), s = cat("new ", to_string(x))')),
    "relation": lambda kb: set(kb["path"]),
    "rules": lambda kb: set(kb["held"]),
    "in": lambda kb: (1, 3) in kb["path"],
    "explicit": lambda kb: set(kb.explicit("e")),
    "sizes": lambda kb: kb.sizes(),
    "why": lambda kb: str(kb.why("path(1, 3)")),
    "why not": lambda kb: kb.why_not("path(3, 1)") is not None,
    "snapshot": lambda kb: set(kb.snapshot()["path"]),
    "repr": repr,
    "text": lambda kb: kb.rules_text(),
    "version": lambda kb: kb.version,
}


@pytest.mark.parametrize("rules", [False, True], ids=["facts", "rules"])
def test_readers_do_not_wait_for_an_update_that_is_computed(barrier: Barrier, rules: bool) -> None:
    kb = opened()
    before = {name: read(kb) for name, read in READS.items()}
    fresh = opened()  # whose readers come for the first time while an update is computed
    for base in (kb, fresh):
        barrier.stop_at(9)
        update = Update(insert={"e": [(3, 9), (8, 9)]}, delete={"e": [(1, 2)]}, add_rules=["f(x) :- e(x, _)."] * rules)
        writer = Job(lambda base=base, update=update: base.apply(update))  # type: ignore[misc]
        assert barrier.reached.wait(PATIENCE), "the update does not get there"
        for name, read in READS.items():
            assert Job(lambda read=read, base=base: read(base)).done() == before[name], name  # type: ignore[misc]
        with holdfast.from_text("p(x) :- q(x).") as other:
            assert other.version == 0
        assert base.version == 0
        barrier.released.set()
        writer.done()
        assert base.version == 1 and set(base["e"]) == {(2, 3), (3, 9), (8, 9)}
        assert set(base.query("path(2, x)")) == {(3,), (9,)} and bool(base["f"]) == rules


def test_neither_updates_nor_readers_wait_for_a_query(barrier: Barrier) -> None:
    kb = opened()
    kb.query("path(1, x)"), kb.query("path(x, 2)")
    barrier.stop_at(3)
    snapshot = kb.snapshot()
    slow = [Job(lambda: set(kb.query("path(1, y), z = @hold(y), !e(z, 7)"))) for _ in range(2)]
    slow.append(Job(lambda: set(snapshot.query("path(1, y), z = @hold(y), e(x, z)"))))
    assert barrier.reached.wait(PATIENCE)
    barrier.value = None  # for those who come later
    for number in range(4, 40):  # tables and indexes grow, also those that the query is reading
        kb.apply(Update(insert={"e": [(number - 1, number), (1, -number)]}))
        assert (number,) in Job(lambda: set(kb.query("path(1, x)"))).done()  # type: ignore[operator]
        assert Job(lambda number=number: (1, -number) in kb["e"]).done()  # type: ignore[misc]
        assert len(Job(lambda: set(kb.query("path(1, x), e(y, x)"))).done()) > number - 3  # type: ignore[arg-type]
    kb.apply(Update(delete={"e": [(1, 2), (2, 3)]}, remove_rules=["r3"]))
    barrier.released.set()
    for job in slow[:2]:
        assert job.done() == {(2, 2), (3, 3)}
    assert slow[2].done() == {(2, 2, 1), (3, 3, 2)}


def test_updates_queue(barrier: Barrier) -> None:
    kb = opened()
    barrier.stop_at(9)
    first = Job(lambda: kb.apply(Update(insert={"e": [(8, 9)]})))
    assert barrier.reached.wait(PATIENCE)
    others = [Job(lambda n=n: kb.apply(Update(insert={"e": [(n, n + 1)]}))) for n in range(20, 24)]  # type: ignore[misc]
    assert all(other.thread.is_alive() for other in others) and kb.version == 0
    barrier.released.set()
    changes = [first.done(), *(other.done() for other in others)]
    versions = sorted(change.version for change in changes if isinstance(change, holdfast.Change))  # type: ignore[type-var]
    assert versions == [1, 2, 3, 4, 5] and len(kb["e"]) == 7


def test_a_functor_that_uses_its_own_knowledge_base_is_refused(barrier: Barrier) -> None:
    kb = opened()

    def nosy(x: int) -> int:
        return len(kb["e"]) if x == 9 else x

    holdfast.functor(name="hold")(nosy)
    for call in (lambda: kb.apply(Update(insert={"e": [(8, 9)]})), lambda: kb.query("y = @hold(9)")):
        with pytest.raises(holdfast.HoldfastError) as caught:
            call()
        assert "inside one of its own calls" in str(caught.value)
    assert kb.version == 0 and len(kb["e"]) == 2


def test_readers_go_on_while_an_interrupted_update_is_repaired(
    barrier: Barrier, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb, mend = opened(), KnowledgeBase._mend
    before = {name: read(kb) for name, read in READS.items()}

    def interrupted(*_: object, **__: object) -> None:
        raise RuntimeError("from nowhere")

    def slow(self: KnowledgeBase) -> None:
        barrier.hold(9)
        mend(self)

    with monkeypatch.context() as patch:
        patch.setattr(kb._maintainer, "_outcome", interrupted)
        patch.setattr(kb._guard, "_mend", lambda: slow(kb))
        barrier.stop_at(9)
        writer = Job(lambda: kb.apply(Update(insert={"e": [(3, 4)]})))
        assert barrier.reached.wait(PATIENCE)
        for name, read in READS.items():
            assert Job(lambda read=read: read(kb)).done() == before[name], name  # type: ignore[misc]
        barrier.released.set()
        with pytest.raises(RuntimeError):
            writer.done()
    assert kb.apply(Update(insert={"e": [(3, 4)]})).version == 1 and (1, 4) in kb["path"]


def test_what_is_beyond_repair_is_not_read(barrier: Barrier, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = opened()

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("from nowhere")

    monkeypatch.setattr(kb._maintainer, "_outcome", broken)
    monkeypatch.setattr(kb._guard, "_mend", broken)
    with pytest.raises(RuntimeError):
        kb.apply(Update(insert={"e": [(3, 4)]}))
    for call in (lambda: kb["e"], lambda: kb.query("e(1, x)"), lambda: kb.apply(Update())):
        with pytest.raises(holdfast.HoldfastError) as caught:
            call()
        assert caught.value.diagnostics[0].code == "E0922"


def test_an_update_gives_way_to_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its steps, and only while a query is being answered by an index."""
    kb = holdfast.from_text("p(x, y) :- e(x, y). q(x) :- p(x, y), !r(y).", {"e": [(1, 2)], "r": [(3,)]})
    paused, waiting = list[float](), list[int]()
    monkeypatch.setattr("holdfast.maintenance.watch.time.sleep", paused.append)
    kb.apply(Update(insert={"e": [(2, 3)]}))
    assert not paused
    real = frozen.FrozenRelation.matching

    def matching(self: frozen.FrozenRelation, *given: Any) -> Any:
        job = Job(lambda: kb.apply(Update(insert={"e": [(7, 8)]})))
        job.thread.join(PATIENCE)
        assert job.error is None
        waiting.append(len(paused))
        return real(self, *given)

    monkeypatch.setattr(frozen.FrozenRelation, "matching", matching)
    assert list(kb.query("p(1, x)")) == [(2,)]
    assert waiting[0] > 3
    with pytest.raises(UsageError):
        kb.query("p($x, y)", {"x": "one"})
    kb.apply(Update(delete={"e": [(7, 8)]}))
    assert len(paused) == waiting[0]
