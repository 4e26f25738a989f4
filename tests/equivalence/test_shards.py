"""Random scripts on 1, 2, 3 and 5 shards: after every update facts, counters and ranks are those of memory.

The reference evaluates from scratch in memory.  What this cannot catch: what only many facts show, such as tables that
grow; tests/backends/parted has some of that.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from ..amounts import some
from .runs import script_of, script_of_records, script_of_witnesses
from .scripts import Script
from .shard_runs import SHARDS, on_shards

pytestmark = pytest.mark.only_in_memory("has its own engines")


def take(steps: int, shards: int, seeds: count[int], script: Callable[[int], Script] = script_of) -> None:
    for seed in seeds:
        if steps <= 0:
            return
        try:
            steps -= on_shards(script(seed), seed, shards=shards)
        except Exception as error:
            error.add_note(f"seed {seed} on {shards} shards")
            raise


@pytest.mark.parametrize("shards", SHARDS)
def test_any_rules(shards: int) -> None:
    take(some(120), shards, count(shards * 100_000))


@pytest.mark.parametrize("shards", SHARDS)
def test_closures(shards: int) -> None:
    take(some(60), shards, count(-shards * 100_000, -1))


@pytest.mark.parametrize("shards", SHARDS)
def test_records(shards: int) -> None:
    take(some(60), shards, count(shards * 100_000), script_of_records)


@pytest.mark.parametrize("shards", SHARDS)
def test_witnesses(shards: int) -> None:
    take(some(40), shards, count(shards * 100_000), script_of_witnesses)
