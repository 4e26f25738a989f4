"""The guard against signals, itself interrupted: between any two steps of putting handlers in place and back."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import holdfast
from holdfast import Update, interrupts
from holdfast.interrupts import deferred
from holdfast.streaming.queue import UpdateQueue

SENT = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


class Disturbed(Exception):
    """What a handler raises."""


class Signals:
    """Sends signals at the n-th step of installing or uninstalling, and counts what the handlers get."""

    def __init__(self, at: int, numbers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps, self._at, self._numbers = 0, at, numbers
        self.got: list[int] = []
        for name in ("_get", "_set"):
            monkeypatch.setattr(interrupts, name, self._disturbed(getattr(interrupts, name)))

    def _disturbed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            self._step()
            result = function(*arguments)
            self._step()
            return result

        return called

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self._at:
            for number in self._numbers:
                signal.raise_signal(number)


@pytest.fixture
def _restored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _steps(monkeypatch: pytest.MonkeyPatch) -> int:
    with monkeypatch.context() as patched:
        signals = Signals(0, (), patched)
        with deferred():
            pass
    return signals.steps


@pytest.mark.usefixtures("_restored")
@pytest.mark.parametrize("numbers", [SENT[:1], SENT[1:2], SENT])
@pytest.mark.parametrize("does", ["raises", "uses holdfast", "uses holdfast and raises", "nothing"])
def test_handlers_are_back_wherever_one_interrupts(
    does: str, numbers: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[int] = []

    def handler(number: int, _: object) -> None:
        got.append(number)
        if "uses" in does:
            with deferred():
                pass
        if "raises" in does:
            raise Disturbed

    for number in SENT:
        signal.signal(number, handler)
    for at in range(1, _steps(monkeypatch) + 1):
        got.clear()
        with monkeypatch.context() as patched:
            Signals(at, numbers, patched)
            try:
                with deferred():
                    pass
            except Disturbed:
                assert "raises" in does
        assert all(signal.getsignal(number) is handler for number in SENT), at
        assert not interrupts._main.depth and not interrupts._main.waiting and not interrupts._main.installed, at
        if "raises" not in does:
            assert sorted(got) == sorted(numbers), at  # each once
        assert got
        signal_again = len(got)
        with contextlib.suppress(Disturbed):
            signal.raise_signal(signal.SIGTERM)
        assert len(got) == signal_again + 1


@pytest.mark.usefixtures("_restored")
def test_all_that_waits_is_delivered_though_one_raises() -> None:
    got: list[int] = []

    def handler(number: int, _: object) -> None:
        got.append(number)
        raise Disturbed

    for number in SENT:
        signal.signal(number, handler)
    with pytest.raises(Disturbed), deferred():
        for number in SENT:
            signal.raise_signal(number)
        assert not got
    assert sorted(got) == sorted(SENT)


@pytest.mark.usefixtures("_restored")
def test_waiting_for_an_update_can_be_interrupted() -> None:
    def handler(*_: object) -> None:
        raise Disturbed

    signal.signal(signal.SIGALRM, handler)
    for queue, wait in ((UpdateQueue(), UpdateQueue.take), (_full(), lambda q: q.put(Update()))):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Disturbed):
            wait(queue)
        assert queue._moved.acquire(blocking=False)  # nobody holds it
        queue._moved.release()


def _full() -> UpdateQueue:
    queue = UpdateQueue(1)
    queue.put(Update())
    return queue


ALARMS = """
import signal, sys
import holdfast
from holdfast import Update

class Stop(Exception): pass
def handler(*_): raise Stop

kb = holdfast.from_text("r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(y, z).", facts={"e": [(0, 1)]})
signal.signal(signal.SIGALRM, handler)
stopped = 0
for number in range(int(sys.argv[1])):
    stream = None
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.00002 * (number % 97), 0.0003)
        stream = kb.stream([Update(insert={"e": [(number, number + 1)]}), Update(delete={"e": [(number, number + 1)]})])
        list(stream)
    except Stop:
        stopped += 1
    finally:
        while True:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
                break
            except Stop:
                pass
    if stream is not None:
        stream.close()
again = holdfast.from_text("r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(y, z).", facts={"e": list(kb["e"])})
assert set(again["r"]) == set(kb["r"])
print("stopped", stopped)
"""


def test_alarms_that_come_again_and_again_leave_locks_in_order() -> None:
    done = subprocess.run([sys.executable, "-c", ALARMS, "400"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[1]) > 50


def test_threads_put_and_take_as_before() -> None:
    queue, taken = UpdateQueue(2), list[int]()
    threads = [threading.Thread(target=lambda: [queue.put(Update()) for _ in range(50)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(taken) < 150:
        item = queue.take()
        assert item is not None
        taken.append(item.number)
    for thread in threads:
        thread.join()
    assert taken == list(range(1, 151)) and holdfast is not None
