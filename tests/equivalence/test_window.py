"""Several updates in one pass: each change is what from-scratch evaluation says, and so are state and counters after.

Between windows other algorithms go on, so that counters that were not kept are counted anew.  What this cannot catch:
tables that grow over several batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from holdfast.errors import HoldfastError
from holdfast.modules import MODULES, Module
from holdfast.updates import Change

from ..amounts import some
from .checking import agree, judged
from .lanes import POLICIES, Lane, rows
from .reference import Reference, state_of
from .scripts import Fact, Script, Step, closure_writer, explicit_after, random_script

pytestmark = pytest.mark.only_in_memory("several updates are not one pass elsewhere")

PARTS, SCRIPTS = 4, some(12)


def in_windows(
    script: Script, random: Random, *, most: int = 6, modules: Sequence[Module] = MODULES, oracle: bool = False
) -> int:
    """Run a script in windows of some lengths; gives the number of updates that were compared."""
    try:
        lane = Lane(script, 0, "auto", "counters", modules=modules)
        reference = Reference(script.text(script.rules))
    except HoldfastError:
        return 0  # an unsound program
    if lane.kb.program.recursive_limits:
        return 0  # which is refused
    facts, steps = set(script.facts), list(script.steps)
    while steps:
        window = [steps.pop(0) for _ in range(min(len(steps), random.randint(1, most)))]
        if random.random() < 0.2:
            choice = Lane(script, 1, random.choice([p for p in POLICIES if p != "counting"]), "counters").choice(random)
            changes = [lane.kb.apply(lane.update(step, random), algorithm=choice) for step in window]
        else:
            changes = lane.kb.apply_all([lane.update(step, random) for step in window])
        check(lane, reference, facts, window, changes, oracle=oracle)
        agree(lane, reference.evaluated(facts), counters=random.random() < 0.6)
    return len(script.steps)


def check(
    lane: Lane,
    reference: Reference,
    facts: set[Fact],
    window: list[Step],
    changes: list[Change],
    *,
    oracle: bool = False,
) -> None:
    """Each change folded over the state before it gives the state of the facts after it."""
    state = lane.state
    for step, change in zip(window, changes, strict=True):
        given = len(step.delete) + len(step.insert)
        before = set(facts)
        after = explicit_after(before, step)
        assert change.no_ops == given - len(before ^ after)
        facts.clear()
        facts.update(after)
        evaluated = reference.evaluated(after)
        if oracle:
            judged(reference, after, evaluated, lane.script)
        expected = evaluated.state
        for name, rows_now in expected.items():
            added, removed = (rows(change, which, name) for which in ("added", "removed"))
            assert added == rows_now - state[name], f"added to {name}"
            assert removed == state[name] - rows_now, f"removed from {name}"
        state = expected
    lane.state = state_of(lane.kb)


@pytest.mark.parametrize("part", range(PARTS))
def test_windows_agree_with_evaluation_from_scratch(part: int) -> None:
    """Every other script has closures, which modules serve: alone or not, read by later rules or not."""
    done, seed = 0, part * 1_000
    while done < SCRIPTS * 12:
        random = Random(seed)
        writer = closure_writer(random) if seed % 2 else None
        done += in_windows(random_script(random, rules_change=False, writer=writer), Random(seed))
        seed += 1
