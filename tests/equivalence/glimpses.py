"""A queue that shows what waits in it always, never, or at random moments; and scripts in which much goes again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from holdfast.streaming.queue import Incoming, UpdateQueue

from .scripts import Script, Step

ALWAYS, NEVER, AT_RANDOM = "always", "never", "at random moments"
MOMENTS = (ALWAYS, NEVER, AT_RANDOM)


class Glimpses(UpdateQueue):
    """What waits is there for the driver to take, but not always to be seen."""

    def __init__(self, moments: str, random: Random, room: int = 200) -> None:
        super().__init__(room)
        self._moments, self._random = moments, random

    def ahead(self, most: int = 1) -> list[Incoming]:
        there = super().ahead(most)
        match self._moments:
            case "always":
                return there
            case "never":
                return []
            case _:
                return there[: self._random.randint(0, len(there))]


class NextOnly(UpdateQueue):
    """A queue of one update, which another one follows or not: marks must not believe it."""

    def __init__(self, moments: str, random: Random) -> None:
        super().__init__()
        self.next: Sequence[Incoming] = ()
        self._moments, self._random = moments, random

    def ahead(self, most: int = 1) -> list[Incoming]:
        seen = self._moments == ALWAYS or (self._moments == AT_RANDOM and self._random.random() < 0.3)
        return list(self.next[:most]) if seen else []


def overlapping(script: Script, random: Random) -> Script:
    """The same script, in which each update also deletes some of what the one before it inserted."""
    steps: list[Step] = []
    for step in script.steps:
        again = [fact for fact in (steps[-1].insert if steps else ()) if random.random() < 0.6]
        kept = tuple(fact for fact in step.insert if fact not in again)
        steps.append(replace(step, delete=(*step.delete, *again), insert=kept))
    return replace(script, steps=tuple(steps))
