"""Marking changes no result: random scripts with rule changes, refused updates and what-ifs, while the next update is
seen always, never, at random moments, or is another one than that which comes.

What this cannot catch: a mark that is of no use; that it is, `test_marks_are_used` looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from holdfast.errors import HoldfastError
from holdfast.maintenance.marking import Marking
from holdfast.modules import MODULES, Module
from holdfast.streaming.queue import Incoming
from holdfast.updates import Update

from ..amounts import some
from .checking import Course
from .glimpses import ALWAYS, MOMENTS, Glimpses, NextOnly, overlapping
from .lanes import EACH, FIXED, MIXED, Lane
from .scripts import Script, Step, grouped, random_script

pytestmark = pytest.mark.only_in_memory("other engines keep no links")

PARTS, SCRIPTS = 4, some(12)
POLICIES = (*FIXED, MIXED, EACH)


def announced(step: Step, random: Random) -> Incoming:
    """The next update as it is in the queue; now and then another one will come."""
    rules = [str(rule) for rule in step.add]
    if random.random() < 0.1:
        return Incoming(1, Update(grouped(step.insert), grouped(step.delete)))
    return Incoming(1, Update(grouped(step.delete), grouped(step.insert), rules))


def with_marks(
    script: Script,
    policy: str,
    moments: str,
    random: Random,
    *,
    modules: Sequence[Module] = MODULES,
    oracle: float = 0.0,
) -> int:
    """Run a script; gives the instances that marks saved."""
    try:
        lane = Lane(script, 0, policy, "counters", modules=modules)
    except HoldfastError:
        return 0  # an unsound program
    course, queue, saved = Course(script, [lane], oracle), NextOnly(moments, random), 0
    marking = lane.kb.marking(queue)
    assert isinstance(marking, Marking)
    for step, following in zip(script.steps, [*script.steps[1:], None], strict=True):
        queue.next = [announced(following, random)] if following is not None else []
        course.advance(step)
        saved += marking.taken().saved
    return saved


@pytest.mark.parametrize("part", range(PARTS))
def test_marks_change_nothing(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every other part row ids change as often as they can."""
    if part % 2:
        monkeypatch.setattr("holdfast.backends.memory.store._FEW", 0)
    for number in range(SCRIPTS):
        seed = 1_000 * part + number
        random = Random(seed)
        script = overlapping(random_script(random, rules_change=number % 3 == 0), random)
        with_marks(script, POLICIES[(seed + part) % len(POLICIES)], MOMENTS[number % 3], random)


@pytest.mark.parametrize("policy", [policy for policy in FIXED if policy not in ("auto", "recompute")])
def test_marks_are_used(policy: str) -> None:
    saved = 0
    for seed in range(5):
        random = Random(seed)
        saved += with_marks(overlapping(random_script(random, rules_change=False), random), policy, ALWAYS, random)
    assert saved > 0


def through_a_stream(script: Script, algorithm: str, moments: str, random: Random) -> int:
    """Run a script as a stream with marks, beside another knowledge base that applies one update after the other; gives
    the instances that were saved."""
    try:
        one, other = (Lane(script, 0, "auto", "counters").kb for _ in range(2))
    except HoldfastError:
        return 0  # an unsound program
    queue, saved = Glimpses(moments, random), 0
    updates = [
        Update(grouped(step.delete), grouped(step.insert), list(map(str, step.add)), list(map(str, step.remove)))
        for step in script.steps
    ]
    for update in updates:
        queue.put(update)
    queue.close()
    for answer in one.stream(queue, algorithm=algorithm, lookahead="marks", keep_going=True):
        try:
            change = other.apply(updates[answer.number - 1], algorithm=algorithm)
        except HoldfastError:
            assert answer.error is not None
            continue
        assert answer.change is not None
        assert answer.change.no_ops == change.no_ops
        for reported, expected in ((answer.change.added, change.added), (answer.change.removed, change.removed)):
            assert {name: set(view) for name, view in reported.items()} == {
                n: set(view) for n, view in expected.items()
            }
        saved += answer.marks.saved
    assert all(one.counters(name) == other.counters(name) for name in one.relations)
    return saved


def test_streams_whose_updates_are_made_ready_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row ids change as often as they can, and rules in every third script."""
    monkeypatch.setattr("holdfast.backends.memory.store._FEW", 0)
    saved = 0
    for seed in range(24):
        random = Random(seed)
        script = overlapping(random_script(random, rules_change=seed % 3 == 0), random)
        saved += through_a_stream(script, FIXED[seed % len(FIXED)], MOMENTS[seed % 3], random)
    assert saved > 0
