"""Readers beside writers: every answer is that of one version; and the checker notices when one is not."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from random import Random

import pytest

from holdfast import Update

from .histories import BrokenHistoryError, History, Reading, World, Write, check, random_update


@pytest.mark.parametrize("options", [(), ("--no-modules",)], ids=["modules", "rules"])
def test_readers_beside_writers(options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "tests.versions.histories", "--updates", "60", "--seed", "7", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-2]) > 50, "too few readings: this shows little"


def made(seed: int) -> History:
    """A right history: each version is read whole, by a snapshot and without."""
    dice = Random(seed)
    world = World(frozenset({(1, 2)}), frozenset())
    history = History(world)
    for version in range(1, 30):
        update = random_update(dice, 5)
        world = world.after(update)
        history.writes.append(Write(version, (update,)))
        known = world
        history.readings.append(Reading("a", version, version, lambda w, k=known: w == k, version))  # type: ignore[misc]
        history.readings.append(Reading("b", version - 1, version, lambda w, k=known: w == k))  # type: ignore[misc]
    dice.shuffle(history.readings)
    dice.shuffle(history.writes)
    return history


def test_a_right_history_is_right() -> None:
    assert check(made(1)) == 29


def lost_update(history: History) -> None:
    history.writes.remove(max(history.writes, key=lambda write: write.version - 10 if write.version < 20 else 0))


def same_version_twice(history: History) -> None:
    write = next(write for write in history.writes if write.version == 20)
    history.writes.append(replace(write, updates=(Update(insert={"edge": [(11, 11)]}),)))


def stale_snapshot(history: History) -> None:
    place = next(i for i, reading in enumerate(history.readings) if reading.version == 20)
    history.readings[place] = replace(history.readings[place], least=21, most=29)


def fractured(history: History) -> None:
    """Edges of one version and names of another."""
    by_version = {reading.version: reading for reading in history.readings}
    worlds = {}
    world = history.start
    for write in sorted(history.writes, key=lambda write: write.version):
        for update in write.updates:
            world = world.after(update)
        worlds[write.version] = world
    mixed = next(
        mixed
        for early in worlds.values()
        for late in worlds.values()
        if (mixed := World(early.edges, late.names)) not in worlds.values()
    )
    history.readings.append(replace(by_version[1], least=0, most=29, version=None, holds=lambda w: w == mixed))


def too_late(history: History) -> None:
    """What an acknowledged update wrote is not seen."""
    place = next(i for i, reading in enumerate(history.readings) if reading.what == "b" and reading.most == 25)
    history.readings[place] = replace(history.readings[place], least=26, most=29)


@pytest.mark.parametrize("harm", [lost_update, same_version_twice, stale_snapshot, fractured, too_late])
def test_a_broken_history_is_noticed(harm: object) -> None:
    noticed = 0
    for seed in range(5):
        history = made(seed)
        harm(history)  # type: ignore[operator]
        try:
            check(history)
        except BrokenHistoryError:
            noticed += 1
    assert noticed >= 4  # two versions may be alike by chance
