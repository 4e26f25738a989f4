"""Run by test_executors.py: updates on `local-cluster`, one of them while an executor is killed by its process id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import holdfast
from holdfast.errors import HoldfastError
from holdfast.spark_session import SparkOptions, spark_session

TEXT = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
CONF = {
    "spark.executor.memory": "512m",
    "spark.holdfast.foldRows": "5",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "512m",
}
EDGES = [(x, x + 1) for x in range(6)]


def executors() -> list[int]:
    """The executors that this process has started, through its JVM."""
    found, parents = [], {os.getpid()}
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    processes = [line.split(None, 2) for line in listed.splitlines()[1:]]
    for _ in range(6):
        parents |= {int(pid) for pid, parent, _ in processes if int(parent) in parents}
    for pid, _, command in processes:
        if int(pid) in parents and "CoarseGrainedExecutorBackend" in command:
            found.append(int(pid))
    return found


def kill_soon(delay: float) -> threading.Thread:
    def kill() -> None:
        time.sleep(delay)
        os.kill(executors()[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def tell(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%X')} {text}\n")
    sys.stdout.flush()


def same(there: holdfast.KnowledgeBase, here: holdfast.KnowledgeBase) -> None:
    for name in here.relations:
        assert set(there[name]) == set(here[name]), name


def main() -> None:
    session = spark_session(SparkOptions("local-cluster[2,1,512]", CONF))
    there = holdfast.from_text(TEXT, {"edge": EDGES}, engine=session, modules=())  # the work is for executors
    here = holdfast.from_text(TEXT, {"edge": EDGES})
    same(there, here)
    tell("opened")
    assert len(executors()) == 2, executors()
    for number, delay in enumerate((0.5,)):
        update = holdfast.Update(delete={"edge": [(4 + number, 5 + number)]}, insert={"edge": [(20 + number, 3)]})
        killer = kill_soon(delay)
        try:
            there.apply(update, algorithm="dred")
        except HoldfastError as error:
            tell(f"refused: {error}")
        else:
            here.apply(update)
        killer.join()
        tell("updated")
        same(there, here)
    there.apply(holdfast.Update(insert={"edge": [(30, 31)]}))
    here.apply(holdfast.Update(insert={"edge": [(30, 31)]}))
    same(there, here)
    tell("all as expected")


if __name__ == "__main__":
    main()
