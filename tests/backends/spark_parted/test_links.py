"""Only those who know the secret of a job get in, and plans travel once."""

from __future__ import annotations

import pickle
import socket
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

import pytest

from holdfast.backends.parted.partition import PartedPlan
from holdfast.backends.spark_parted.links import Door, JobKey, PlanNumbers, connected, unpacked
from holdfast.backends.spark_parted.task import LOOPBACK
from holdfast.errors import SourceText, Span
from holdfast.plans.model import GOAL, Plan

KEY = JobKey(b"k" * 32)


def test_both_sides_know_the_secret(door: Door, guests: Any) -> None:
    mine = connected(door.address, KEY, ("hello", 3))
    theirs, hello = guests.get(timeout=10)
    assert hello == ("hello", 3)
    mine.send_bytes(b"x" * 100_000)
    assert theirs.recv_bytes() == b"x" * 100_000


def test_a_stranger_is_not_let_in_and_keeps_nobody_out(door: Door, guests: Any) -> None:
    with socket.create_connection(door.address), pytest.raises((EOFError, OSError)):  # a silent one, and a wrong one
        connected(door.address, JobKey(b"w" * 32), pickle.dumps("hello"))
    connected(door.address, KEY, "me")
    assert guests.get(timeout=10)[1] == "me"
    assert guests.empty()


def test_a_door_that_does_not_know_the_secret_gets_nothing() -> None:
    impostor = socket.create_server((LOOPBACK, 0))
    got = list[bytes]()

    def answer() -> None:
        connection = Connection(impostor.accept()[0].detach())
        connection.send_bytes(b"n" * 32)
        got.append(connection.recv_bytes())
        connection.send_bytes(b"p" * 32)
        with suppress(EOFError):
            got.append(connection.recv_bytes())

    thread = Thread(target=answer)
    thread.start()
    with pytest.raises(ConnectionRefusedError):
        connected(impostor.getsockname(), KEY, "a secret")
    thread.join(10)
    assert len(got) == 1  # the challenge, and no hello
    impostor.close()


def test_nobody_comes_through_a_closed_door(door: Door) -> None:
    address = door.address
    door.close()
    with pytest.raises(OSError):
        connected(address, KEY, None)


def plan(name: str) -> PartedPlan:
    steps: Any = ()
    return PartedPlan(Plan(name, None, (), (), steps, ((GOAL,),)), (), True, frozenset())  # type: ignore[arg-type]


def test_a_plan_is_sent_once_and_is_one_object_afterwards() -> None:
    numbers, known, made = PlanNumbers(), dict[int, Any](), plan("p")
    first, new = numbers.packed([made, made])
    [one, two] = unpacked(first, known)
    assert one is two
    assert one.plan.live[0][0] is GOAL
    numbers.note_sent(new)
    second, none = numbers.packed([made])
    assert not none
    assert len(second) < len(first)
    assert unpacked(second, known)[0] is one


def test_shards_that_know_nothing_get_all_plans_again() -> None:
    numbers, made = PlanNumbers(), plan("p")
    numbers.note_sent(numbers.packed([made])[1])
    numbers.sent_nothing()
    assert numbers.packed([made])[1]


def test_a_forgotten_plan_has_another_number() -> None:
    numbers, known, made = PlanNumbers(), dict[int, Any](), plan("p")
    first, new = numbers.packed([made])
    numbers.note_sent(new)
    [one] = unpacked(first, known)
    numbers.forget([made])
    [again] = unpacked(numbers.packed([made])[0], known)
    assert again is not one


def test_the_text_of_a_program_is_sent_once() -> None:
    numbers, known, source = PlanNumbers(), dict[int, Any](), SourceText("p.dl", "x" * 10_000)
    spans = [Span(source, line, 1, line, 2) for line in range(3)]
    first, new = numbers.packed([plan("p"), spans[0]])
    assert unpacked(first, known)[1].source.text == source.text
    numbers.note_sent(new)
    second, none = numbers.packed(spans)
    assert not none and len(second) < 1_000
    assert len({id(span.source) for span in unpacked(second, known)}) == 1
