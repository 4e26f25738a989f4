"""Threads that exchange rows: everything arrives, and when one shard fails all stop and its error is raised."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from holdfast.backends.parted.exchange import Crew, ShardWatch, StoppedError, ThreadExchange
from holdfast.backends.protocol import Watch as AnyWatch
from holdfast.errors import LimitReached
from holdfast.maintenance.watch import Watch
from holdfast.settings import Limits


class Counting:
    """A watch that notes how many threads are in it at once."""

    def __init__(self) -> None:
        self.inside = self.most = self.batches = 0

    def batch(self, new_facts: int) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.batches += 1
        self.inside -= 1

    def grown(self, table: str, nbytes: int) -> None:
        self.batch(0)

    def left(self) -> tuple[float, float]:
        return 0, 0


def crew(parts: int) -> tuple[Crew[int], ThreadExchange]:
    exchange = ThreadExchange(parts)
    return Crew(range(parts), exchange), exchange


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_each_shard_gets_what_each_sent_to_it(parts: int) -> None:
    shards, exchange = crew(parts)

    def work(shard: int) -> list[Sequence[tuple[int, int, int]]]:
        return [exchange.all_to_all(shard, [(shard, to, turn) for to in range(parts)]) for turn in range(50)]

    for shard, received in enumerate(shards.ask(work)):
        assert received == [[(other, shard, turn) for other in range(parts)] for turn in range(50)]


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("where", ["before", "between", "after"])
def test_a_failing_shard_stops_the_others(failing: int, where: str) -> None:
    shards, exchange = crew(3)

    def work(shard: int) -> None:
        for moment in ("before", "between", "after"):
            if (shard, moment) == (failing, where):
                raise KeyError("it")
            if moment != "after":
                exchange.all_to_all(shard, [moment] * 3)

    with pytest.raises(KeyError, match="it"):
        shards.ask(work)
    assert shards.ask(lambda shard: exchange.all_to_all(shard, "abc")) == [["a"] * 3, ["b"] * 3, ["c"] * 3]


def test_the_error_keeps_its_cause() -> None:
    shards, exchange = crew(2)

    def work(shard: int) -> None:
        if shard == 1:
            raise ValueError("outer") from KeyError("inner")
        exchange.all_to_all(shard, [0, 0])

    with pytest.raises(ValueError, match="outer") as caught:
        shards.ask(work)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_long_batch_is_stopped_when_another_shard_fails() -> None:
    shards, exchange = crew(2)
    watch, lock, stopped = Counting(), threading.RLock(), []

    def work(shard: int) -> None:
        if shard == 0:
            raise KeyError("it")
        own = ShardWatch(watch, shard, exchange, lock)
        try:
            while True:
                own.batch(0)
        except StoppedError:
            stopped.append(shard)
            raise

    with pytest.raises(KeyError):
        shards.ask(work)
    assert stopped == [1]


def test_a_watch_is_used_by_one_thread_at_a_time() -> None:
    shards, exchange = crew(4)
    watch, lock = Counting(), threading.RLock()

    def work(shard: int) -> None:
        own = ShardWatch(watch, shard, exchange, lock)
        for _ in range(500):
            own.batch(1)
            own.grown("p", 8)

    shards.ask(work)
    assert (watch.most, watch.batches) == (1, 4_000)


def test_tables_of_all_shards_count() -> None:
    watch: AnyWatch = Watch(Limits(memory=100))
    exchange, lock = ThreadExchange(2), threading.RLock()
    ShardWatch(watch, 0, exchange, lock).grown("p", 60)
    with pytest.raises(LimitReached):
        ShardWatch(watch, 1, exchange, lock).grown("p", 60)


def test_threads_end_with_the_crew() -> None:
    before = {*threading.enumerate()}
    shards, exchange = crew(3)
    shards.ask(lambda shard: exchange.all_to_all(shard, "abc"))
    new = {*threading.enumerate()} - before
    assert len(new) == 2
    del shards
    for thread in new:
        thread.join(10)
        assert not thread.is_alive()


def test_the_next_call_stops_what_an_interrupted_one_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception from elsewhere may come before the first thread knows that others work for it."""
    shards, exchange = crew(3)
    with monkeypatch.context() as patch:
        patch.setattr(shards, "_stop", lambda: None)
        patch.setattr(exchange, "stop", lambda: None)

        def interrupted(shard: int) -> None:
            if shard == 0:
                raise KeyError("it")
            exchange.all_to_all(shard, "abc")

        patch.setattr(shards, "_cause", lambda error, _: error)
        with pytest.raises(KeyError):
            shards.ask(interrupted)
    assert shards.ask(lambda shard: exchange.all_to_all(shard, "abc")) == [["a"] * 3, ["b"] * 3, ["c"] * 3]
