"""Run by test_executors.py: updates on `local-cluster` while executors are killed by their process ids.

    python -m tests.backends.spark_parted.on_executors shuffle --kills 3 --seed 7

Each update gets a random moment: a command of the driver, before it is sent or after it was answered, or some seconds
from the start.  The last kill of a run falls between the record of the shards and the driver's word that it is there.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import holdfast
from holdfast.backends.spark_parted.crew import SparkCrew
from holdfast.spark_session import SparkOptions, spark_session
from tests.backends.spark_parted.executors import executors, same, tell
from tests.equivalence.reference import counters_of

TEXT = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl far(x: number, n: number)
.decl lone(x: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
far(x, n) :- edge(x, _), n = count : { path(x, _) }.
lone(x) :- edge(_, x), !path(x, _).
"""
CONF = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
}
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.executorIdleTimeout": "3s",
    "spark.dynamicAllocation.cachedExecutorIdleTimeout": "3s",
}
ALGORITHMS = ("dred-counting", "backward-forward-counting", "dred-ranked", "dred")
Ask = Callable[..., Any]


class Killer:
    """Kills an executor at a command of an update, or between two of them."""

    def __init__(self, dice: Random) -> None:
        self.dice, self.killed, self._ask = dice, 0, SparkCrew._ask
        self.wait: int | None = None  # commands until then
        self.at_record = False

    def kill(self) -> None:
        """Now."""
        found = executors()
        if found:
            os.kill(self.dice.choice(found), signal.SIGKILL)
            self.killed += 1

    def asking(self, crew: SparkCrew, job: Any, commands: Any, step: int) -> Any:
        """In place of `SparkCrew._ask`."""
        is_now = self.wait == 0 or (self.at_record and bool(commands) and commands[0][0] == "record")
        self.wait = None if self.wait is None else self.wait - 1
        is_before = self.dice.random() < 0.5 and not self.at_record
        if is_now:
            self.wait, self.at_record = None, False
        if is_now and is_before:
            self.kill()
        answers = self._ask(crew, job, commands, step)
        if is_now and not is_before:
            self.kill()
        return answers


def update_of(dice: Random) -> holdfast.Update:
    """A few edges go and a few come."""
    old, new = ([(dice.randrange(30), dice.randrange(30)) for _ in range(dice.randrange(1, 5))] for _ in range(2))
    return holdfast.Update(delete={"edge": old}, insert={"edge": new})


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("exchange")
    options.add_argument("--kills", type=int, default=4)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--dynamic", action="store_true", help="with dynamic allocation: executors come and go")
    given = options.parse_args()
    dice = Random(given.seed)
    session = spark_session(SparkOptions("local-cluster[2,1,512]", CONF | (DYNAMIC if given.dynamic else {})))
    session.conf.set("spark.holdfast.exchange", given.exchange)
    edges = [(number, number + 1) for number in range(30)]
    there = holdfast.from_text(TEXT, {"edge": edges}, engine="spark[2]", modules=())
    here = holdfast.from_text(TEXT, {"edge": edges}, modules=())
    same(there, here)
    tell(f"opened, {len(executors())} executors")
    killer = Killer(dice)
    SparkCrew._ask = lambda *arguments: killer.asking(*arguments)  # type: ignore[method-assign]
    for number in range(given.kills):
        update, algorithm = update_of(dice), ALGORITHMS[number % len(ALGORITHMS)]
        killer.at_record = number == given.kills - 1
        timer = threading.Timer(dice.uniform(0, 3), killer.kill) if number % 3 == 2 else None
        if timer is not None:
            timer.start()
        elif not killer.at_record:
            killer.wait = dice.randrange(20)
        there.apply(update, algorithm=algorithm)
        here.apply(update, algorithm=algorithm)
        if timer is not None:
            timer.join()
        same(there, here)
        assert counters_of(there) == counters_of(here), f"counters differ after update {number}"
        tell(f"update {number} by {algorithm}, {killer.killed} killed, {there._backend.crew.restored} times restored")  # type: ignore[attr-defined]
    assert killer.killed >= given.kills // 2, killer.killed
    tell("all as expected")


if __name__ == "__main__":
    main()
