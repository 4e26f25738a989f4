"""Updates and look-ups take turns: each gives way only where the other waits, and never for long."""

from __future__ import annotations

import pytest

import holdfast
from holdfast import Update
from holdfast.maintenance import turns as turns_module
from holdfast.maintenance.turns import Turns

pytestmark = pytest.mark.only_in_memory("other engines run one call at a time")


class Clock:
    """Time goes on while somebody sleeps; what happens then is given."""

    def __init__(self) -> None:
        self.now, self.naps = 1.0, 0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps += 1
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(turns_module, "time", made)
    return made


def test_an_update_gives_way_only_to_look_ups_that_have_begun(clock: Clock) -> None:
    turns = Turns()
    turns.give_way()
    assert clock.naps == 0
    with turns.look_up():
        turns.give_way()
    assert clock.naps == 1
    turns.give_way()
    assert clock.naps == 1


def test_a_look_up_that_fails_is_over(clock: Clock) -> None:
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.look_up():
        raise ZeroDivisionError
    turns.give_way()
    assert clock.naps == 0


def test_look_ups_give_way_to_an_update_after_many(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look-ups follow one another while the update sleeps: from some number on, each gives way."""
    monkeypatch.setattr(turns_module, "_GO_FIRST", 3)
    turns, naps = Turns(), list[int]()

    def others(seconds: float) -> None:
        monkeypatch.setattr(clock, "sleep", Clock.sleep.__get__(clock))
        for _ in range(5):
            with turns.look_up():
                clock.now += 200e-6
            naps.append(clock.naps)

    monkeypatch.setattr(clock, "sleep", others)
    with turns.look_up():
        turns.give_way()
        assert naps == [0, 0, 0, 1, 2]
        turns.give_way()
        assert clock.naps == 2, "it is the update's turn"
        clock.now += turns_module._TURN
        turns.give_way()
        assert clock.naps == 3, "its turn is over"
    with turns.look_up():
        clock.now += 1.0
    assert clock.naps == 3, "no update waits any more"


def test_an_update_that_hardly_waited_gives_way_again(clock: Clock) -> None:
    turns = Turns()
    with turns.look_up():
        turns.give_way()
        turns.give_way()
    assert clock.naps == 2


def test_look_ups_of_several_threads_give_way_now_and_then(clock: Clock) -> None:
    turns = Turns()
    with turns.look_up():
        with turns.look_up():
            pass
        assert clock.naps == 1
        with turns.look_up():
            pass
        assert clock.naps == 1
        clock.now += 2 * turns_module._TURN
        with turns.look_up():
            pass
    assert clock.naps == 2, "the last one is alone"


def test_updates_give_way_while_queries_are_answered(clock: Clock) -> None:
    kb = holdfast.from_text("q(x, z) :- p(x, y), p(y, z).", {"p": [(i, i + 1) for i in range(50)]})
    kb.apply(Update(insert={"p": [(60, 61)]}))
    assert clock.naps == 0
    with kb._state.watch.turns.look_up():
        kb.apply(Update(insert={"p": [(61, 62)]}))
    assert clock.naps > 2
    before = clock.naps
    assert set(kb.query("q($x, y)", {"x": 1})) == {(3,)}
    assert clock.naps == before


def test_a_look_up_that_gives_way_still_counts(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for Python's lock when it goes on, so the update gives way to it when its turn is over."""
    monkeypatch.setattr(turns_module, "_GO_FIRST", 0)
    turns, naps = Turns(), list[int]()

    def update_goes_on(seconds: float) -> None:
        monkeypatch.setattr(clock, "sleep", Clock.sleep.__get__(clock))
        turns.give_way()
        naps.append(clock.naps)

    def others(seconds: float) -> None:
        turns._lookups.discard(first)
        monkeypatch.setattr(clock, "sleep", update_goes_on)
        with turns.look_up():
            clock.now += 1.0

    monkeypatch.setattr(clock, "sleep", others)
    first = turns.look_up()
    turns.begin(first)
    turns.give_way()
    assert naps == [1]
