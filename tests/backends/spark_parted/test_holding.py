"""The shards of one task: one works at a time, and what they send to each other does not leave the task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.backends.parted.exchange import StoppedError
from holdfast.backends.spark_parted.holding import SharedExchange, shares_of

pytestmark = pytest.mark.only_in_memory("opens no program")


class Other:
    """An exchange with one more task, which has shard 3."""

    def __init__(self) -> None:
        self.turn, self.sent, self.stops = 0, list[Any](), 0

    def all_to_all(self, shard: int, outgoing: Sequence[Any]) -> Sequence[Any]:
        self.sent.append(outgoing[1])
        return [outgoing[shard], [[f"3 to {to}" for to in range(3)]]]

    def stop(self) -> None:
        self.stops += 1


def test_shares_are_even() -> None:
    assert shares_of(8, 2) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert shares_of(5, 3) == ((0,), (1, 2), (3, 4))
    assert shares_of(1, 1) == ((0,),)


def test_rows_within_a_task_are_passed_by_reference() -> None:
    other, rows, came, order = Other(), object(), dict[int, Any](), list[int]()
    exchange = SharedExchange(0, ((0, 1, 2), (3,)), other)

    def work(place: int) -> None:
        for time in range(2):
            order.append(place)
            came[place] = exchange.all_to_all(place, [rows, f"{place} to 1", f"{place} to 2", f"{place} to 3, {time}"])

    exchange.run(work)
    assert order == [0, 1, 2] * 2
    assert came[0] == [rows, rows, rows, "3 to 0"]
    assert came[2] == ["0 to 2", "1 to 2", "2 to 2", "3 to 2"]
    assert other.sent == [[[f"{place} to 3, {time}"] for place in range(3)] for time in range(2)]


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("when", [0, 1])
def test_one_that_fails_stops_the_others(failing: int, when: int) -> None:
    other, stopped = Other(), list[int]()
    exchange = SharedExchange(0, ((0, 1, 2), (3,)), other)

    def work(place: int) -> None:
        for time in range(3):
            if (place, time) == (failing, when):
                raise ConnectionError
            try:
                exchange.all_to_all(place, [()] * 4)
            except StoppedError:
                stopped.append(place)
                return

    with pytest.raises(ConnectionError):
        exchange.run(work)
    assert sorted([*stopped, failing]) == [0, 1, 2]
    assert other.stops == 1
    exchange.begin(7)
    exchange.run(lambda place: exchange.all_to_all(place, [()] * 4))
    assert other.turn == 7
