"""Streams: exactly the state and the feed of an uninterrupted run, wherever a run is stopped.

Most runs are stopped by an exception at a step of an update, in this process; some are child processes killed with
SIGKILL.  `python -m tests.pipeline.kills` does only the latter, for as long as one likes.  What this cannot catch: a
power cut, and file systems that lose what was synced.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

import pyspark
import pytest

import holdfast
from holdfast import Update, UpdateQueue, pipeline
from holdfast.cli import submit
from tests.pipeline.graphs import PIPELINE, Story, feed_of, paths_of
from tests.pipeline.kills import kill

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEPS = ("read", "applied", "written", "recorded", "committed")


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


def test_a_micro_batch_is_an_update_in_a_queue(spark: SparkSession, tmp_path: Path) -> None:
    """Structured Streaming as a producer: each batch is put into the queue that a stream takes from."""
    source, queue = tmp_path / "edges", UpdateQueue()
    source.mkdir()
    for number in range(3):
        (source / f"{number}.csv").write_text(f"{number},{number + 1}\n", encoding="utf-8")
    frame = spark.readStream.schema("x INT, y INT").option("maxFilesPerTrigger", 1).csv(str(source))

    def put(batch: DataFrame, number: int) -> None:
        queue.put(Update(insert={"edge": batch.toPandas()}))

    kb = holdfast.from_text("path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).")
    query = frame.writeStream.trigger(availableNow=True).foreachBatch(put).start()
    try:
        answers = [next(answer) for answer in [kb.stream(queue)] for _ in range(3)]
    finally:
        query.awaitTermination(60)
        query.stop()
    assert [answer.number for answer in answers] == [1, 2, 3]
    assert set(kb["path"]) == {(x, y) for x in range(4) for y in range(x + 1, 4)}


def test_an_uninterrupted_stream(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(seed=1, updates=5)
    declared = pipeline.read(story.write(tmp_path))
    events: list[pipeline.Event] = []
    outcome = pipeline.run(declared, spark=spark, on_event=events.append)
    check(story, tmp_path)
    assert outcome.number == outcome.updates == 5
    assert events[0].text.startswith("maintenance runs in this process: ")
    assert [line.number for line in events[1:]] == [1, 2, 3, 4, 5]
    events.clear()
    changed = tmp_path / "updates/001.csv"
    assert changed.exists()
    changed.write_text("9,9,insert\n", encoding="utf-8")
    again = pipeline.run(declared, spark=spark, on_event=events.append)
    assert again.updates == 0
    facts = len(story.edges[-1]) + len(story.paths[-1])
    assert [line.text for line in events[1:]] == [
        f"maintenance runs in this process: {facts} facts fit the limit of 10,000,000",
        f"{changed} has changed since it was read, and is not read again; give it a new name",
    ]
    check(story, tmp_path)


def test_stopped_at_every_step_and_started_again(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(seed=2, updates=5)
    declared = pipeline.read(story.write(tmp_path))
    for step in ("loaded", "begun", *STEPS):
        with pytest.raises(Stopped):
            pipeline.run(declared, spark=spark, reached=StopAt(step, 2 if step in ("written", "recorded") else 1))
    pipeline.run(declared, spark=spark)
    check(story, tmp_path)


def test_files_that_spark_puts_together_after_a_kill_are_updates_of_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Killed after it noted a file and before it noted the micro-batch, Spark takes that file and the next at once."""
    story = Story(seed=12, updates=5)
    declared = pipeline.read(story.write(tmp_path))
    for step in ("read", "applied", "committed"):
        with pytest.raises(Stopped):
            pipeline.run(declared, spark=spark, reached=StopAt(step, 2))
        offsets = tmp_path / "state/checkpoint/offsets"
        newest = max(int(path.name) for path in offsets.iterdir() if path.name.isdigit())
        if step != "committed":
            (offsets / f"{newest}").unlink()
            (offsets / f".{newest}.crc").unlink()
    pipeline.run(declared, spark=spark)
    check(story, tmp_path)


def test_above_the_limit_maintenance_moves_to_spark_with_the_same_results(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There updates of some rows are logged, and larger ones stay on Spark and are followed by a snapshot."""
    for module in ("running", "keeping"):
        monkeypatch.setattr(f"holdfast.pipeline.{module}.MOST_LOGGED", 2)
    story = Story(seed=14, updates=3)
    sizes = [len(edges) + len(paths) for edges, paths in zip(story.edges, story.paths, strict=True)]
    limit = sizes[0]  # what is there at first fits, and what comes with an update does not
    assert max(sizes) > limit
    events: list[pipeline.Event] = []
    text = PIPELINE + f"\n[engine]\nlimit = {limit}\n"
    outcome = pipeline.run(pipeline.read(story.write(tmp_path, text)), spark=spark, on_event=events.append)
    check(story, tmp_path)
    assert outcome.engine == "spark"
    said = [line.text for line in events if line.number is None]
    assert said[0] == f"maintenance runs in this process: {sizes[0]} facts fit the limit of {limit}"
    assert said[1] == f"maintenance runs on Spark: after this update there are more facts than the limit of {limit}"
    restored = pipeline.run(pipeline.read(tmp_path / "pipeline.toml"), spark=spark)
    assert set(restored.base["path"]) == story.paths[-1]
    assert (restored.engine, restored.why) == ("spark", "the facts did not fit before")
    assert list(tmp_path.glob("state/facts/*/edge.parquet/part-*"))  # by Spark; and anybody reads them
    with holdfast.open(tmp_path / "state", read_only=True) as kb:
        assert (kb.version, set(kb["path"])) == (3, story.paths[-1])


FOLDERS = ("updates", "b", "a")
SEVERAL = PIPELINE + "".join(
    f'\n[updates.{name}]\nrelation = "edge"\nformat = "csv"\npath = "{name}"\nchange_type = "op"\n'
    for name in FOLDERS[1:]
)


def scattered(story: Story, folder: Path, dice: random.Random) -> pipeline.Pipeline:
    """The files of a story's updates in several folders, some of them with the same time: their names tell then."""
    declared = story.write(folder, SEVERAL)
    for name in FOLDERS[1:]:
        (folder / name).mkdir()
    time, last = 1_000_000_000, ""
    for number in dice.sample(range(len(story.updates)), len(story.updates)):  # not written in their order
        (folder / f"updates/{number:03}.csv").rename(folder / f"{number}.tmp")
    for number in range(len(story.updates)):
        path = folder / dice.choice(FOLDERS) / f"{dice.choice('xyz')}{number:03}.csv"
        time += dice.choice((0, 0, 1, 10**6)) if str(path) > last else 1
        last = str(path)
        (folder / f"{number}.tmp").rename(path)
        os.utime(path, (time, time))
    return pipeline.read(declared)


@pytest.mark.parametrize("seed", range(2))
def test_files_of_several_updates_that_wait_together_are_taken_by_their_times(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Also when they are fetched in pieces, and when the run is stopped between two of them."""
    story = Story(seed=20 + seed, updates=6)
    dice = random.Random(seed)
    declared = scattered(story, tmp_path, dice)
    if seed:
        monkeypatch.setattr("holdfast.pipeline.batches.AT_ONCE", 4)
        for step in dice.sample(STEPS, 2):
            with pytest.raises(Stopped):
                pipeline.run(declared, spark=spark, reached=StopAt(step, dice.choice([1, 3])))
    pipeline.run(declared, spark=spark)
    check(story, tmp_path)


def test_a_file_much_older_than_the_newest_one_is_taken(spark: SparkSession, tmp_path: Path) -> None:
    """Spark itself takes what is a week older than the newest file for seen."""
    story = Story(seed=5, updates=1)
    declared = pipeline.read(story.write(tmp_path))
    pipeline.run(declared, spark=spark)
    late = tmp_path / "updates/late.csv"
    late.write_text("0,0,insert\n", encoding="utf-8")
    os.utime(late, (1_000_000_000, 1_000_000_000))
    assert (0, 0) in pipeline.run(declared, spark=spark).base["edge"]


def test_a_file_that_gets_another_time_while_its_micro_batch_is_under_way(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(seed=6, updates=3)
    declared = pipeline.read(story.write(tmp_path))
    with pytest.raises(Stopped):
        pipeline.run(declared, spark=spark, reached=StopAt("committed", 1))
    first = tmp_path / "updates/000.csv"
    os.utime(first, (1_800_000_000, 1_800_000_000))
    with pytest.raises(holdfast.HoldfastError, match=r"E1113.*after 1 of them were applied"):
        pipeline.run(declared, spark=spark)
    os.utime(first, (1_700_000_000, 1_700_000_000))
    pipeline.run(declared, spark=spark)
    check(story, tmp_path)


def test_ctrl_c_stops_a_stream_without_end(spark: SparkSession, tmp_path: Path) -> None:
    story = Story(seed=9, updates=2)
    declared = pipeline.read(
        story.write(tmp_path, PIPELINE.replace("every = 3", "every = 2") + '\n[stream]\ntrigger = "1 second"\n')
    )
    interrupts = [Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))]

    def stop(line: pipeline.Event) -> None:
        if line.number == 2:
            interrupts.pop().start()

    with pytest.raises(KeyboardInterrupt, match="stopped by Ctrl-C after update 2; the next run continues from there"):
        pipeline.run(declared, spark=spark, on_event=stop)
    check(story, tmp_path)  # the state is written with each whole snapshot
    story.updates.append([(0, 1, "insert"), (1, 0, "insert")])
    story.edges.append(story.edges[-1] | {(0, 1), (1, 0)})
    story.write_update(tmp_path, 2)
    outcome = pipeline.run(pipeline.read(tmp_path / "pipeline.toml"), mode="update", spark=spark)
    assert outcome.number == 3


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_killed_for_real_and_brought_to_its_end_by_spark_submit(tmp_path: Path) -> None:
    """Killed at a step, and at any time; the processes are children of this one."""
    story = Story(seed=6, updates=4)
    file = story.write(tmp_path / "run")
    assert kill(file, random.Random(6), kills=2) >= 1
    command = [
        Path(pyspark.__file__).with_name("bin") / "spark-submit",
        "--master",
        "local[2]",
        "--driver-java-options",
        "-XX:TieredStopAtLevel=1",
        submit.__file__,
        "run",
        file,
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYSPARK_PYTHON": sys.executable}
    )
    assert done.returncode == 0, done.stderr
    assert f"wrote {tmp_path}/run/paths" in done.stdout
    check(story, tmp_path / "run")
