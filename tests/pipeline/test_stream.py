"""Streams: exactly the state and the feed of an uninterrupted run, wherever a run is stopped.

Most runs are stopped by an exception at a step of an update, in this process; some are child processes killed with
SIGKILL.  `python -m tests.pipeline.kills` does only the latter, for as long as one likes.  What this cannot catch: a power
cut, and file systems that lose what was synced.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast import pipeline
from tests.pipeline.graphs import Story, feed_of, paths_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = ("read", "logged", "applied", "written", "committed")


class Stopped(Exception):
    """Instead of a kill."""


class StopAt:
    """Stops a run the n-th time that a step is reached."""

    def __init__(self, step: str, times: int) -> None:
        self._step, self._left = step, times

    def __call__(self, step: str) -> None:
        if step == self._step:
            self._left -= 1
            if self._left == 0:
                raise Stopped(step)


def check(story: Story, folder: Path) -> None:
    assert feed_of(folder / "feed") == story.feed()
    assert paths_of(folder / "paths") == story.paths[-1]


def test_an_uninterrupted_stream(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(seed=1, updates=5)
    declared = pipeline.read(story.write(tmp_path))
    told: list[pipeline.Told] = []
    outcome = pipeline.run(declared, spark=spark, tell=told.append)
    check(story, tmp_path)
    assert outcome.number == outcome.updates == 5
    assert told[0].text.startswith("maintenance runs in this process: ")
    assert [line.number for line in told[1:]] == [1, 2, 3, 4, 5]
    again = pipeline.run(declared, spark=spark)
    assert again.updates == 0
    check(story, tmp_path)


def test_stopped_at_every_step_and_started_again(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(seed=2, updates=6)
    declared = pipeline.read(story.write(tmp_path))
    dice = random.Random(3)
    for step in ("loaded", "begun", *STEPS):
        with pytest.raises(Stopped):
            pipeline.run(declared, spark=spark, reached=StopAt(step, dice.choice([1, 1, 2]) if step in STEPS else 1))
    pipeline.run(declared, spark=spark)
    check(story, tmp_path)
