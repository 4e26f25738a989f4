"""Whatever cuts an update short, and wherever: the old state is there or the new one, and it goes on being exact."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import holdfast
from holdfast import HoldfastError, KnowledgeBase, Limits, Update
from holdfast.backends.memory.kept import Kept
from holdfast.errors import LimitReached
from holdfast.knowledge.views import Views
from holdfast.maintenance.watch import Watch

from .judging import judge
from .scenes import CLOSURE, LATER, REACH, RULES, Scene, scenes
from .sweep import KINDS, sampled, sweep

FACTS = {"edge": [(0, 1), (1, 2), (2, 0), (2, 3)], "bad": [(9,)]}


# a generator that is thrown away is called once more, and Python only tells what is raised there
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scene", scenes(), ids=lambda scene: scene.name)
def test_an_interrupt_at_any_call(scene: Scene, kind: str) -> None:
    """A sample; `python -m tests.atomic.sweep` takes every call event there is."""
    sweep(scene, kind, sampled(scene, kind, inside=3, outside=2))


def test_signals_at_random_moments() -> None:
    command = [sys.executable, "-m", "tests.atomic.signalled", "--updates", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("60 signals") == 2


# --- other signals, and handlers of the user's own ----------------------------------------------------


@contextmanager
def handled(number: int, handler: Any) -> Iterator[None]:
    before = signal.signal(number, handler)
    try:
        yield
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


def _at_the_first_checkpoint(monkeypatch: pytest.MonkeyPatch, number: int) -> list[str]:
    """Send a signal when a node begins, and note what happens from then on."""
    reported: list[str] = []
    node, round_ = Watch.node, Watch.round

    def begins(self: Watch, name: str) -> None:
        node(self, name)
        if name and not reported:
            reported.append("sent")
            signal.raise_signal(number)
            reported.append("goes on")

    def rounds(self: Watch, new_facts: int) -> None:
        reported.append("checkpoint")
        round_(self, new_facts)

    monkeypatch.setattr(Watch, "node", begins)
    monkeypatch.setattr(Watch, "round", rounds)
    return reported


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGALRM])
def test_a_handler_that_raises_waits_for_a_checkpoint(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise SystemExit(7)

    kb = holdfast.from_text(REACH, FACTS)
    reported = _at_the_first_checkpoint(monkeypatch, number)
    with handled(number, stop), pytest.raises(SystemExit):
        kb.apply(Update(insert={"edge": [(3, 4)]}), algorithm="dred")
    assert reported[:2] == ["sent", "goes on"]
    monkeypatch.undo()
    assert set(kb["edge"]) == set(FACTS["edge"])
    judge(kb, LATER)


def test_a_handler_that_does_not_raise_is_called_once(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    kb = holdfast.from_text(REACH, FACTS)
    reported = _at_the_first_checkpoint(monkeypatch, signal.SIGINT)
    with handled(signal.SIGINT, lambda number, _: called.append(number)):
        kb.apply(Update(insert={"edge": [(3, 4)]}))
    assert reported[0] == "sent" and called == [signal.SIGINT]
    assert (3, 4) in kb["edge"]


def test_a_signal_without_a_checkpoint_is_heeded_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(REACH, FACTS)
    transactions = kb._maintainer.transactions
    finish = transactions._finish
    monkeypatch.setattr(transactions, "_finish", lambda: (signal.raise_signal(signal.SIGINT), finish()))
    with pytest.raises(KeyboardInterrupt):
        kb.apply(Update(insert={"edge": [(3, 4)]}))
    monkeypatch.undo()
    assert (3, 4) in kb["edge"]  # the commit was under way
    judge(kb, LATER)


def test_waiting_for_another_thread_can_be_interrupted() -> None:
    kb = holdfast.from_text(REACH, FACTS)
    held, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with kb._guard.lock:
            held.set()
            enough.wait()

    def interrupt() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threads = [threading.Thread(target=hold), threading.Thread(target=interrupt)]
    threads[0].start()
    held.wait()
    threads[1].start()
    with pytest.raises(KeyboardInterrupt):
        kb.counters("reach")
    enough.set()
    for thread in threads:
        thread.join()
    judge(kb, LATER)


# --- exceptions that are not signals -------------------------------------------------------------------


def test_no_memory_for_telling_of_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, the update was the state by then, and the relations that its rules brought were dropped."""
    kb = holdfast.from_text(REACH, FACTS)
    monkeypatch.setattr(Views, "change", _no_memory)
    with pytest.raises(MemoryError):
        kb.apply(RULES)
    monkeypatch.undo()
    assert "twice" not in kb
    judge(kb, LATER)
    kb.apply(RULES)
    judge(kb, LATER)


def _no_memory(*_: object) -> None:
    raise MemoryError


def test_a_commit_that_is_cut_short_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(REACH, FACTS)
    _fails_once(monkeypatch)
    with pytest.raises(MemoryError):
        kb.apply(Update(insert={"edge": [(3, 4)]}, delete={"edge": [(0, 1)]}))
    assert (3, 4) in kb["edge"] and (0, 1) not in kb["edge"]
    judge(kb, LATER)


def test_a_commit_that_cannot_be_finished_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it may be on Spark: there is no wrong answer afterwards, but none."""
    kb = holdfast.from_text(REACH, FACTS)
    monkeypatch.setattr(kb._backend, "repeats", False, raising=False)
    _fails_once(monkeypatch)
    with pytest.raises(HoldfastError, match="E0922"):
        kb.apply(Update(insert={"edge": [(3, 4)]}, delete={"edge": [(0, 1)]}))
    for use in (lambda: kb["edge"], kb.sizes, lambda: kb.query("edge(x, y)"), lambda: kb.apply(Update())):
        with pytest.raises(HoldfastError, match="MemoryError"):
            use()


def _fails_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first set that facts are taken out of and put into gets only half of that."""
    take_in, failed = Kept.__ior__, list[bool]()

    def takes(self: Kept, more: Any) -> Kept:
        if type(self) is Kept and not failed:
            failed.append(True)
            raise MemoryError
        return take_in(self, more)

    monkeypatch.setattr(Kept, "__ior__", takes)


def test_a_limit_while_a_virtual_relation_is_written_out() -> None:
    """Once, the facts that had not been written yet were gone."""
    edges = [(i, i + 1) for i in range(600)]
    kb = holdfast.from_text(CLOSURE, {"edge": edges, "start": [(0,)]}, limits=Limits(memory=1_000_000))
    with pytest.raises(LimitReached):
        kb.query("reach(x, y), reach(y, x)")
    assert len(kb["reach"]) == 600 * 601 // 2
    assert len(set(kb["reach"])) == 600 * 601 // 2


def test_too_many_derivations_leave_the_counters() -> None:
    kb = holdfast.from_text("p(x) :- q(x, y). p(x) :- r(x).", {"q": [(1, 1), (2, 1)], "r": [(2,)]})
    _p_counts(kb)[:] = 2**31 - 1
    before = _p_counts(kb).copy()
    with pytest.raises(LimitReached, match="E0805"):
        kb.apply(Update(insert={"q": [(1, 2), (1, 3), (2, 9)]}))
    assert _p_counts(kb).tolist() == before.tolist()


def _p_counts(kb: KnowledgeBase) -> Any:
    table = kb._backend.tables["p"]  # type: ignore[attr-defined]
    return table.nonrecursive[: table.size]


def test_a_limit_while_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters that were set to 0 to be made again are not taken for right."""
    kb = holdfast.from_text(REACH, FACTS)
    kb.apply(Update(insert={"edge": [(3, 4)]}), algorithm="dred")
    with monkeypatch.context() as broken, pytest.raises(MemoryError):
        broken.setattr(Watch, "batch", _no_memory)
        kb.counters("reach")
    judge(kb, LATER)


REENTRY = "near(x, z) :- edge(x, y), edge(y, z).\nthree(x, w) :- near(x, z), edge(z, w)."


@pytest.mark.parametrize("use", ["apply", "what_if", "query", "view"])
def test_a_handler_cannot_use_the_knowledge_base_inside_its_own_update(
    use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = holdfast.from_text(REENTRY, {"edge": [(1, 2), (2, 3), (3, 4)]})
    other = holdfast.from_text(REENTRY, {"edge": [(1, 2), (2, 3)]})
    beside: list[int] = []

    def handler(*_: Any) -> None:
        other.impact(Update(insert={"edge": [(3, 4)]}))  # another one may be used, with calls inside its calls
        beside.append(len(other["near"]))
        insert = Update(insert={"edge": [(9, 1)]})
        uses = {"apply": kb.apply, "what_if": kb.what_if}
        _ = uses[use](insert) if use in uses else kb.query("edge(x, y)") if use == "query" else kb["edge"]

    _at_the_first_checkpoint(monkeypatch, signal.SIGUSR1)
    with handled(signal.SIGUSR1, handler), pytest.raises(HoldfastError, match="E0928"):
        kb.apply(Update(delete={"edge": [(2, 3)]}))
    assert beside == [1]
    judge(kb)
    assert (2, 3) in kb["edge"] and (9, 1) not in kb["edge"]


def test_a_functor_cannot_use_its_knowledge_base() -> None:
    held: list[KnowledgeBase] = []

    @holdfast.functor
    def peek(x: int) -> int:
        return len(held[0]["q"]) if held else x

    text = ".functor peek(x: number): number\n.decl p(x: number)\n.decl q(x: number)\nq(@peek(x)) :- p(x)."
    kb = holdfast.from_text(text, {"p": [(1,)]})
    held.append(kb)
    with pytest.raises(HoldfastError, match="E0928"):
        kb.apply(Update(insert={"p": [(2,)]}))
    assert set(kb["p"]) == {(1,)} and set(kb["q"]) == {(1,)}
