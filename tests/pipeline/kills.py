"""Kills a stream with SIGKILL again and again, and looks whether its state and feed are those of an uninterrupted run.

    python -m tests.pipeline.kills --kills 20 --seed 1

Half of the kills come at a step of an update, the others at any time.  The process under test is this module with
`--child`; it is killed by itself at a step, or by its parent.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.pipeline.graphs import PIPELINE, Story, feed_of, paths_of

NEVER = 10**9


def child(file: Path, steps: int) -> None:
    """Run the pipeline; die at the given step, counted from the first."""
    from holdfast import pipeline
    from holdfast.spark_session import SparkOptions

    left = steps

    def reached(step: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        print(step, flush=True)

    conf = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    pipeline.run(pipeline.read(file), spark=SparkOptions("local[2]", conf), reached=reached)


def one_run(file: Path, *, steps: int = NEVER, seconds: float | None = None) -> bool:
    """A child process from its start to its end, or to its death; whether it came to its end."""
    command = [sys.executable, "-m", "tests.pipeline.kills", "--child", str(file), "--steps", str(steps)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if seconds is not None:
            assert process.stdout is not None
            process.stdout.readline()  # the first step: from here on there is something to interrupt
            time.sleep(seconds)
            process.kill()
        _, said = process.communicate(timeout=300)
    if process.returncode not in (0, -signal.SIGKILL):
        raise AssertionError(said)
    return process.returncode == 0


def kill(file: Path, dice: random.Random, kills: int) -> int:
    """Start the stream and kill it so often; how many of the kills hit it alive."""
    hits = 0
    for number in range(kills):
        if number % 2:
            hits += not one_run(file, seconds=dice.uniform(0, 3))
        else:
            hits += not one_run(file, steps=dice.randint(1, 8))
    return hits


def story_of_kills(folder: Path, seed: int, kills: int, updates: int, engine: str = "auto") -> int:
    """Kill the stream so often, let it come to its end, and check; how many of the kills hit it alive."""
    story = Story(seed, updates)
    file = story.write(folder, f'{PIPELINE}\n[engine]\nkind = "{engine}"\n')
    hits = kill(file, random.Random(seed), kills)
    assert one_run(file)
    assert feed_of(folder / "feed") == story.feed()
    assert paths_of(folder / "paths") == story.paths[-1]
    return hits


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", default="auto", help="where maintenance runs: auto, memory or spark")
    parser.add_argument("--child", type=Path)
    parser.add_argument("--steps", type=int, default=NEVER)
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, given.steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        hits = story_of_kills(Path(folder) / "run", given.seed, given.kills, given.updates, given.engine)
        print(f"seed {given.seed}: {given.kills} kills, {hits} of them while it ran; state and feed are right")


if __name__ == "__main__":
    main()
