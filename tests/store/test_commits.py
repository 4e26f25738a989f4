"""How commits get to the disk: ahead of what follows from them, in groups, with notes; and what a failing sync does."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast import HoldfastError, KnowledgeBase, Limits, Update
from holdfast.knowledge.group_commit import GroupCommit
from holdfast.store.files import Files
from holdfast.store.reading import read_store
from holdfast.store.writing import Store
from tests.cli.shell import holdfast as command

from .test_store import FACTS, REACH, again, codes, whole

PLAIN = "two(x, z) :- edge(x, y), edge(y, z)."
COMPUTES = "next(x, y + 1) :- edge(x, y)."


def edge(*pairs: tuple[int, int]) -> Update:
    return Update(insert={"edge": list(pairs)})


# --- ahead of what follows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "limits", "is_ahead"),
    [(PLAIN, None, True), (REACH, None, True), (COMPUTES, None, False), (PLAIN, Limits(facts=1000), False)],
)
def test_only_updates_that_cannot_be_refused_are_logged_ahead(
    program: str, limits: Limits | None, is_ahead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = list[str]()
    with holdfast.from_text(program, FACTS, store=tmp_path / "kb", limits=limits) as kb:
        _noted(monkeypatch, Store, "begin", order)
        _noted(monkeypatch, type(kb._maintainer), "run", order)
        kb.apply(edge((7, 8)))
    assert order == (["begin", "run"] if is_ahead else ["run", "begin"])


def _noted(monkeypatch: pytest.MonkeyPatch, kind: type, name: str, order: list[str]) -> None:
    method = getattr(kind, name)

    def noting(*arguments: Any, **named: Any) -> Any:
        order.append(name)
        return method(*arguments, **named)

    monkeypatch.setattr(kind, name, noting)


def test_what_was_logged_ahead_and_did_not_happen_is_taken_back_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kb"
    with holdfast.from_text(PLAIN, FACTS, store=folder) as kb:
        with monkeypatch.context() as patch, pytest.raises(MemoryError):
            patch.setattr(type(kb._maintainer), "run", _out_of_memory)
            kb.apply(edge((7, 8)))
        assert read_store(folder).version == kb.version == 0  # as a process that is killed now would leave it
        kb.apply(edge((3, 4)))
        again(kb, folder).close()


def _out_of_memory(*_: object, **__: object) -> None:
    raise MemoryError


# --- syncs that fail ---------------------------------------------------------------------------------


@contextmanager
def failing_syncs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def fail(_: Files, handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(Files, "sync", fail)
        yield


@pytest.mark.parametrize("program", [PLAIN, COMPUTES], ids=["ahead", "after"])
def test_a_failing_sync_in_its_thread_closes_the_store(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kb"
    kb = holdfast.from_text(program, FACTS, store=folder)
    kb.apply(edge((3, 4)))
    before = whole(kb)
    with failing_syncs(monkeypatch):
        assert codes(lambda: kb.apply(edge((7, 8)))) == ["E1304"]
    assert whole(kb) == before
    assert codes(lambda: kb.apply(edge((9, 9)))) == ["E1305"]
    assert whole(kb) == before
    kb.close()
    with holdfast.open(folder) as reopened:
        assert reopened.version in (1, 2)
        assert set(FACTS["edge"]) | {(3, 4)} <= set(reopened.explicit("edge"))


def test_all_of_a_group_are_told_that_its_sync_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(PLAIN, FACTS, store=tmp_path / "kb")
    before, found = whole(kb), list[list[str]]()
    with failing_syncs(monkeypatch):
        _in_threads(6, lambda n: found.append(codes(lambda: kb.apply(edge((n, n))))))
    assert len(found) == 6
    assert {code for each in found for code in each} <= {"E1304", "E1305"}
    assert whole(kb) == before
    kb.close()


# --- the file of the log -----------------------------------------------------------------------------


def test_most_records_do_not_make_the_log_longer(tmp_path: Path) -> None:
    log = tmp_path / "kb/log/0.hfl"
    with holdfast.from_text(PLAIN, FACTS, store=tmp_path / "kb") as kb:
        kb.sync = "os"
        sizes = set()
        for n in range(100):
            kb.apply(edge((n, n)))
            sizes.add(log.stat().st_size)
        assert len(sizes) == 1
        end = kb._kept.store.log_size
        assert end < log.stat().st_size
        assert not read_store(tmp_path / "kb").is_incomplete
    assert log.stat().st_size == end


def test_zeros_behind_the_records_of_a_process_that_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    program = (
        f"import holdfast, os; kb = holdfast.from_text({PLAIN!r}, {FACTS!r}, store={str(folder)!r})\n"
        "for n in range(3): kb.apply(holdfast.Update(insert={'edge': [(n, 9)]}))\n"
        "os._exit(0)"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", program]) == 0
    assert "incomplete" not in command("store", "check", folder).err
    with holdfast.open(folder) as kb:
        assert kb.version == 3
        kb.apply(edge((4, 4)))
        again(kb, folder).close()


# --- groups ------------------------------------------------------------------------------------------


def _in_threads(number: int, act: Callable[[int], object]) -> None:
    threads = [threading.Thread(target=act, args=(n,)) for n in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def slow_syncs(monkeypatch: pytest.MonkeyPatch, count: list[int]) -> None:
    """Syncs that take long enough for others to queue up."""

    def sync(_: Files, handle: int) -> None:
        count.append(handle)
        threading.Event().wait(0.01)
        os.fsync(handle)

    monkeypatch.setattr(Files, "sync", sync)


@pytest.mark.parametrize("program", [PLAIN, REACH, COMPUTES])
def test_threads_share_syncs_and_each_gets_its_own_change(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs, changes = list[int](), dict[tuple[int, int], Any]()
    kb = holdfast.from_text(program, FACTS, store=tmp_path / "kb")
    slow_syncs(monkeypatch, syncs)

    def write(thread: int) -> None:
        for n in range(10):
            pair = 100 * thread + n, 1000 + n
            changes[pair] = kb.apply(edge(pair))

    _in_threads(8, write)
    assert kb.version == 80
    assert {pair: set(change.added["edge"]) for pair, change in changes.items()} == {pair: {pair} for pair in changes}
    assert len(syncs) < 60
    assert [commit.version for commit in kb.commits()][-1] == 80
    monkeypatch.undo()
    again(kb, tmp_path / "kb").close()


def test_an_update_that_is_refused_does_not_hinder_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text(REACH, FACTS, store=tmp_path / "kb")
    slow_syncs(monkeypatch, [])
    refused = list[list[str]]()

    def write(thread: int) -> None:
        for n in range(6):
            if (thread + n) % 3:
                kb.apply(edge((thread, n + 10)))
            else:
                refused.append(codes(lambda: kb.apply(Update(insert={"edge": [("text", 1)]}))))

    _in_threads(6, write)
    assert len(refused) == 12
    assert all(refused)
    assert kb.version == 24
    assert set(kb.explicit("edge")) == {
        *FACTS["edge"],
        *((t, n + 10) for t in range(6) for n in range(6) if (t + n) % 3),
    }
    monkeypatch.undo()
    again(kb, tmp_path / "kb").close()


def test_states_inside_a_group_can_be_read_and_restored(tmp_path: Path) -> None:
    folder, states = tmp_path / "kb", dict[int, Any]()
    with holdfast.from_text(REACH, FACTS, store=folder) as kb:
        kb.apply_all([edge((3, 4)), Update(delete={"edge": [(1, 2)]}), edge(*((n, n) for n in range(300)))])
        plain = holdfast.from_text(REACH, FACTS)
        for number, update in enumerate([edge((3, 4)), Update(delete={"edge": [(1, 2)]})], 1):
            plain.apply(update)
            states[number] = set(plain["reach"])
        assert {n: set(kb.at(n)["reach"]) for n in (1, 2)} == states
    assert command("store", "restore", folder, tmp_path / "other", "--update", "2").code == 0
    with holdfast.open(tmp_path / "other") as other:
        assert (other.version, set(other["reach"])) == (2, states[2])


def test_a_leader_waits_for_the_last_group_and_for_those_that_came_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the threads fall into halves that take turns."""
    monkeypatch.setattr("holdfast.knowledge.group_commit._PATIENCE", 10.0)
    change, sizes = holdfast.from_text("p(1).").apply(Update()), list[int]()

    def together(updates: Any) -> Any:
        sizes.append(len(updates))
        if len(sizes) == 1:
            _until(lambda: len(group._waiting) == 1)  # a thread that was not there before
        return [change for _ in updates]

    group, leads = GroupCommit(together), threading.Event()

    def alone() -> Any:
        leads.set()
        _until(lambda: len(group._waiting) == 3 or len(sizes) > 0)
        return change

    def write(times: int, after: Callable[[], bool]) -> None:
        _until(after)
        for _ in range(times):
            group.apply(Update(), alone, may_join=True)

    several = [(3, lambda: True), *[(2, leads.is_set)] * 3, (1, lambda: len(sizes) == 1)]
    _in_threads(5, lambda n: write(*several[n]))
    assert sizes == [4, 5]  # without those that came meanwhile, 3 or 4 of them would be enough


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so() and time.monotonic() < end:
        time.sleep(0.001)


class Chance(Exception):
    """Something that no code of ours raises."""


def test_a_leader_that_fails_leaves_the_others_their_turn() -> None:
    tries, done, change = [0], list[int](), holdfast.from_text("p(1).").apply(Update())

    def together(updates: Any) -> Any:
        tries[0] += 1
        if tries[0] == 1:
            raise Chance
        return [change for _ in updates]

    group, ready = GroupCommit(together), threading.Event()

    def alone(n: int) -> Any:
        if n == 0:
            ready.wait(5)  # until the others wait
        return change

    def write(n: int) -> None:
        try:
            group.apply(Update(), lambda: alone(n), may_join=True)
        except Chance:
            return
        done.append(n)

    first = threading.Thread(target=write, args=(0,))
    first.start()
    while group._leader is None:
        pass
    others = [threading.Thread(target=write, args=(n,)) for n in range(1, 6)]
    for thread in others:
        thread.start()
    while len(group._waiting) < 5:
        pass
    ready.set()
    for thread in (first, *others):
        thread.join(10)
    assert len(done) == 5  # all but the one that led when it failed
    assert group._leader is None


def _send() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.parametrize("interrupt", [_send, interrupt_main], ids=["a signal", "a signal that is not noticed"])
def test_a_writer_that_waits_can_be_interrupted(interrupt: Callable[[], None]) -> None:
    """`interrupt_main` wakes nobody, as a signal that comes just before the thread waits."""
    change, ready = holdfast.from_text("p(1).").apply(Update()), threading.Event()
    group = GroupCommit(lambda updates: [change for _ in updates])

    def first() -> Any:
        while not group._waiting:
            pass
        time.sleep(0.05)
        interrupt()
        ready.wait(10)
        return change

    leader = threading.Thread(target=lambda: group.apply(Update(), first, may_join=False))
    leader.start()
    while group._leader is None:
        pass
    with pytest.raises(KeyboardInterrupt):
        group.apply(Update(), lambda: change, may_join=True)
    assert leader.is_alive()  # the signal did not wait for the leader
    assert not group._waiting  # it is not going to happen
    ready.set()
    leader.join(10)
    assert group.apply(Update(), lambda: change, may_join=True) is change


@pytest.mark.parametrize("step", ["_leads", "_lead", "_wait_for_others", "_fill"])
def test_a_leader_that_fails_anywhere_leaves_the_lead(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by an exception that another thread puts into this one: the next writer would wait for ever."""
    change = holdfast.from_text("p(1).").apply(Update())
    group = GroupCommit(lambda updates: [change for _ in updates])
    whole = getattr(group, step)

    def broken(*arguments: Any) -> None:
        whole(*arguments)
        raise MemoryError

    with monkeypatch.context() as patched, pytest.raises(MemoryError):
        patched.setattr(group, step, broken)
        group.apply(Update(), lambda: change, may_join=True)
    assert (group._leader, len(group._waiting)) == (None, 0)
    assert group.apply(Update(), lambda: change, may_join=True) is change


# --- notes -------------------------------------------------------------------------------------------


def test_notes_are_kept_with_their_updates(tmp_path: Path) -> None:
    folder = tmp_path / "kb"
    with holdfast.from_text(REACH, FACTS, store=folder) as kb:
        kb.apply(Update(insert={"edge": [(3, 4)]}, note={"who": "ann", "ticket": 12}))
        with kb.update(note={"who": "bob"}) as u:
            u.delete("edge", [(3, 4)])
        kb.apply_all([edge((5, 6)), Update(delete={"edge": [(5, 6)]}, note={"why": "it was wrong"})])
        kb.apply_net([Update(note={"who": "cat"}), Update(note={"who": "dan"})])
        kb.apply(Update.from_json({"insert": {"edge": [[7, 8]]}, "note": {"who": "eve"}}))
        kb.apply(edge((8, 9)))
        notes = [commit.notes for commit in kb.commits()]
        times = [commit.time for commit in kb.commits()]
    assert notes == [
        ({"who": "ann", "ticket": 12},),
        ({"who": "bob"},),
        ({"why": "it was wrong"},),
        ({"who": "cat"}, {"who": "dan"}),
        ({"who": "eve"},),
        (),
    ]
    assert times == sorted(times)
    assert times[0].tzinfo is not None
    shown = command("store", "log", folder).out
    assert "who: ann, ticket: 12" in shown
    assert "who: cat; who: dan" in shown
    lines = command("store", "log", folder, "--json").out.splitlines()
    assert '"notes": [{"who": "ann", "ticket": 12}]' in lines[0]


@pytest.mark.parametrize("note", [["ann"], {"who": {1, 2}}, {"x": float("nan")}, "ann"])
def test_what_is_no_note(note: Any) -> None:
    kb = holdfast.from_text(REACH, FACTS)
    assert codes(lambda: Update(note=note)) == ["E0926"]
    assert codes(lambda: kb.update(note=note)) == ["E0926"]
    with pytest.raises(HoldfastError):
        Update.from_json({"note": note})


def test_a_note_needs_no_store() -> None:
    kb: KnowledgeBase = holdfast.from_text(REACH, FACTS)
    assert kb.apply(Update(insert={"edge": [(3, 4)]}, note={"who": "ann"}))
