"""Any batching of the same stream of single changes ends in the same state and with the same counters."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from holdfast.errors import HoldfastError

from ..amounts import amount
from ..judges.programs import RuleSketch
from .checking import agree
from .lanes import POLICIES, STRATEGIES, Lane
from .reference import Reference, state_of
from .scripts import Fact, Script, Step, random_script

Single = tuple[str, Fact | RuleSketch]


def singles(script: Script) -> list[Single]:
    """The script's updates taken apart."""
    found: list[Single] = []
    for step in script.steps:
        found += [("delete", fact) for fact in step.delete] + [("insert", fact) for fact in step.insert]
        found += [("remove", rule) for rule in step.remove] + [("add", rule) for rule in step.add]
    return found


def together(changes: list[Single], dice: int) -> Step:
    """Single changes as one update: of a fact the last one counts, and a rule that comes and goes does neither."""
    facts = {what: kind for kind, what in changes if kind in ("delete", "insert")}
    added: list[RuleSketch] = []
    removed: list[RuleSketch] = []
    for kind, what in changes:
        here, there = (added, removed) if kind == "add" else (removed, added)
        if kind in ("add", "remove"):
            (there.remove if what in there else here.append)(what)  # type: ignore[arg-type]
    return Step(
        tuple(fact for fact, kind in facts.items() if kind == "delete"),  # type: ignore[misc]
        tuple(fact for fact, kind in facts.items() if kind == "insert"),  # type: ignore[misc]
        tuple(added),
        tuple(removed),
        dice,
    )


def batches(changes: list[Single], random: Random, kind: str) -> list[list[Single]]:
    match kind:
        case "one by one":
            return [[change] for change in changes]
        case "all at once":
            return [changes]
        case _:
            cuts = sorted(random.sample(range(1, len(changes)), min(len(changes) - 1, random.randint(1, 8))))
            return [changes[a:b] for a, b in zip([0, *cuts], [*cuts, len(changes)], strict=True)]


def without_refusals(script: Script) -> Script | None:
    """The script if from scratch none of its programs is refused: a refused update would change what follows."""
    rules = list(script.rules)
    try:
        Reference(script.text(rules))
        for kind, rule in singles(script):
            if kind in ("add", "remove"):
                (rules.append if kind == "add" else rules.remove)(rule)  # type: ignore[arg-type]
                Reference(script.text(rules))
    except HoldfastError:
        return None
    return script


def outcome(lane: Lane, changes: list[list[Single]], random: Random) -> None:
    for part in changes:
        step = together(part, random.getrandbits(32))
        lane.kb.apply(lane.update(step, random), algorithm=lane.choice(random))
        lane.adopt(step)
    lane.state = state_of(lane.kb)


@pytest.mark.parametrize("part", range(6))
def test_any_batching_ends_in_the_same_state(part: int) -> None:
    random, done = Random(part), 0
    while done < amount(6, 1):
        script = without_refusals(replace(random_script(random, 4)))
        if script is None:
            continue
        changes = singles(script)
        if len(changes) < 2:
            continue
        lanes = []
        for number, kind in enumerate(("in groups", "all at once", "one by one", "in groups")[: amount(4, 2)]):
            policy = random.choice([policy for policy in POLICIES if policy != "counting"])
            lanes.append(Lane(script, number, policy, random.choice(STRATEGIES)))
            outcome(lanes[-1], batches(changes, random, kind), random)
        rules = [rule for _, rule in lanes[0].rules]
        facts = set(script.facts)
        for kind, fact in changes:
            if kind in ("insert", "delete"):
                (facts.add if kind == "insert" else facts.discard)(fact)  # type: ignore[arg-type]
        expected = Reference(script.text(rules)).evaluated(facts)
        for lane in lanes:
            agree(lane, expected, counters=True)
        done += 1
