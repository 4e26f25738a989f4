"""Random scripts on 1, 2, 3 and 5 shards: after every update facts, counters and ranks are those of memory.

The reference evaluates from scratch in memory.  What this cannot catch: what only many facts show, such as tables that
grow; tests/backends/parted has some of that.
"""

from __future__ import annotations

from itertools import count

import pytest

from holdfast.backends.memory import store
from holdfast.backends.memory.execution import buffers
from holdfast.backends.parted import rounds
from holdfast.errors import HoldfastError

from .checking import run
from .runs import lanes_of, script_of, script_of_records
from .scripts import Script

SHARDS = (1, 2, 3, 5)


@pytest.fixture(autouse=True)
def small_amounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few facts are many: several batches, heads that are summed, tables that are packed."""
    monkeypatch.setattr(buffers, "BATCH", 5)
    monkeypatch.setattr(rounds, "_SAMPLE", 3)
    monkeypatch.setattr(store, "_FEW", 0)


pytestmark = pytest.mark.only_in_memory("has its own engines")


def on_shards(script: Script, seed: int, shards: int) -> int:
    """Run a script on shards; gives the number of steps, none when the program itself is refused."""
    try:
        lanes = lanes_of(script, seed, seed % 4, engine=f"parted[{shards}]")
    except HoldfastError:
        return 0
    return run(script, lanes)


def take(steps: int, shards: int, seeds: count[int], kind: object = script_of) -> None:
    for seed in seeds:
        if steps <= 0:
            return
        try:
            steps -= on_shards(kind(seed), seed, shards)  # type: ignore[operator]
        except Exception as error:
            error.add_note(f"seed {seed} on {shards} shards")
            raise


@pytest.mark.parametrize("shards", SHARDS)
def test_any_rules(shards: int) -> None:
    take(120, shards, count(shards * 100_000))


@pytest.mark.parametrize("shards", SHARDS)
def test_closures(shards: int) -> None:
    take(60, shards, count(-shards * 100_000, -1))


@pytest.mark.parametrize("shards", SHARDS)
def test_records(shards: int) -> None:
    take(60, shards, count(shards * 100_000), script_of_records)
