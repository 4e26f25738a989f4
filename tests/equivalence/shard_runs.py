"""Scripts on 1, 2, 3 and 5 shards, with a few facts taken for many: hubs, copies on all shards, rows that wait.

Each mechanism is always used, never, or in the middle of a script, in every combination as seeds go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from unittest.mock import patch

from holdfast.backends.memory import store
from holdfast.backends.memory.execution import buffers
from holdfast.backends.parted import hubs, placement, rounds
from holdfast.errors import HoldfastError

from .checking import run
from .lanes import Lane
from .scripts import Script

SHARDS = (1, 2, 3, 5)
SMALL = (0, 4, inf)  # a copy on all shards: of no relation, until it has grown, of every relation
LEAST = (0, 3, inf)  # hubs: of every relation, of some, none
AT_ONCE = (1, inf)  # rows that wait to be sent, and heads that are summed


@contextmanager
def forced(seed: int) -> Iterator[int]:
    """Small batches and thresholds that a number decides; gives how many shards there are."""
    numbers = []
    for choices in (SHARDS, SMALL, LEAST, AT_ONCE):
        seed, number = divmod(seed, len(choices))
        numbers.append(choices[number])
    shards, small, least, at_once = numbers
    with ExitStack() as stack:
        for module, name, value in (
            (buffers, "BATCH", 5),
            (rounds, "_SAMPLE", 3),
            (store, "_FEW", 0),
            (placement, "SMALL", small),
            (hubs, "LEAST", least),
            (rounds, "AT_ONCE", at_once),
            (rounds, "SUMMED", at_once),
        ):
            stack.enter_context(patch.object(module, name, value))
        yield int(shards)


def on_shards(script: Script, seed: int, only: int | None = None, shards: int | None = None) -> int:
    """Run a script on shards; gives the number of steps, none when the program itself is refused."""
    from .runs import lanes_of  # which knows this kind of scripts

    with forced(seed) as number:
        try:
            engine = f"parted[{shards or number}]"
            lanes: list[Lane] = lanes_of(script, seed, seed % 4 if only is None else only, engine=engine)
        except HoldfastError:
            return 0
        return run(script, lanes)
