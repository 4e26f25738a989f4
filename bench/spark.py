"""`python -m bench.spark`: this engine on Spark, PySpark written by hand, and Spark's recursive SQL, in one session.

    python -m bench.spark closure --facts 1000000
    python -m bench.spark universities --facts 1000000 --only ours,hand

One after the other, each once; a small run of each comes first, because a Java is slow until it has compiled what it
runs.  Beside the seconds stand the seconds of processor, which others on the machine disturb less, the number of jobs,
and the bytes that went through shuffles, by Spark's own account of its stages.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import holdfast
from bench import spark_work as work
from holdfast.modules import MODULES, Module
from holdfast.spark_session import SparkOptions, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
WARM_UP = 20_000


class Meter:
    """What a session has used so far."""

    def __init__(self, spark: SparkSession) -> None:
        java = spark.sparkContext._jvm
        assert java is not None
        self._context: Any = spark.sparkContext._jsc.sc()  # type: ignore[attr-defined]
        self._process = java.java.lang.ProcessHandle.current().pid()  # type: ignore[operator]

    def cpu(self) -> float:
        """Seconds of processor of the Java, in which everything runs here, and of this process."""
        with Path(f"/proc/{self._process}/stat").open(encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + time.process_time()

    def jobs(self) -> int:
        """How many jobs there were."""
        return int(self._context.dagScheduler().nextJobId())

    def stages(self) -> int:
        """How many stages there were."""
        return int(self._context.dagScheduler().nextStageId())

    def shuffled(self, since: int) -> list[int]:
        """The bytes that each stage since then wrote for a shuffle."""
        from py4j.protocol import Py4JJavaError

        store, found = self._context.statusStore(), []
        for stage in range(since, self.stages()):
            try:
                found.append(int(store.lastStageAttempt(stage).shuffleWriteBytes()))
            except Py4JJavaError:  # a stage that was skipped
                continue
        return found


@dataclass
class Bench:
    """A session and its meter; `is_loud` after the warm-up."""

    spark: SparkSession
    meter: Meter
    is_loud: bool = False

    def timed(self, name: str, run: Callable[[], T]) -> T:
        """Run something and say what it took."""
        begun, cpu, jobs, stage = time.perf_counter(), self.meter.cpu(), self.meter.jobs(), self.meter.stages()
        result = run()
        seconds = time.perf_counter() - begun
        if self.is_loud:
            time.sleep(0.5)  # Spark tells itself of its stages a little later
            shuffled = self.meter.shuffled(stage)
            print(f"{name:32} {seconds:8.2f} s {self.meter.cpu() - cpu:8.2f} s cpu {self.meter.jobs() - jobs:4} jobs "
                  f"{sum(shuffled) / 1e6:10.3f} MB shuffled, at most {max(shuffled, default=0) / 1e6:.3f} a stage   "
                  f"{result}", flush=True)
        return result

    def run(self, workload: str, facts: int, only: list[str]) -> None:
        """One workload by everyone asked for."""
        frames = (work.chains if workload == "closure" else work.campuses)(self.spark, facts)
        given = sum(frame.count() for frame in frames.values())
        if self.is_loud:
            print(f"{workload}: {given:,} facts")
        if "hand" in only:
            self.timed("PySpark by hand", lambda: self._by_hand(workload, frames))
        if "sql" in only and workload == "closure":
            self.timed("recursive SQL", lambda: f"{work.closure_by_sql(frames['edge']):,}")
        if "ours" in only:
            self._ours("holdfast", workload, frames, self.spark, ())
        if "modules" in only:
            on_driver = self.spark.newSession()
            on_driver.conf.set("spark.holdfast.moduleRows", str(given))
            self._ours("with modules", workload, frames, on_driver, MODULES)
        for frame in frames.values():
            frame.unpersist()

    def _by_hand(self, workload: str, frames: work.Frames) -> str:
        if workload == "closure":
            return f"{work.closure_by_hand(frames['edge']).count():,}"
        made = work.university_by_hand(frames)
        return f"{sum(frame.count() for frame in {**frames, **made}.values()):,}"

    def _ours(self, title: str, workload: str, frames: work.Frames, session: SparkSession, modules: Iterable[Module]
              ) -> None:
        text = work.CLOSURE if workload == "closure" else work.university_program()
        kb = self.timed(f"{title}, from scratch",
                        lambda: holdfast.from_text(text, frames, engine=session, modules=modules))
        if self.is_loud:
            rounds = sum(node.rounds for node in kb.statistics.nodes)
            seconds = sum(node.seconds for node in kb.statistics.nodes)
            print(f"   {sum(len(view) for view in kb.relations.values()):,} facts in all; {rounds} rounds in "
                  f"{seconds:.1f} s, {seconds / rounds:.2f} s each")
        name, gone, come = (work.chain_update if workload == "closure" else work.university_update)()
        for number, (delete, insert) in enumerate(((gone, come), (come, gone), (gone, come)), 1):
            update = holdfast.Update(delete={name: delete}, insert={name: insert})
            self.timed(f"{title}, update {number} of 1,000", lambda update=update: _sizes(kb.apply(update)))  # type: ignore[misc]


def _sizes(change: holdfast.Change) -> str:
    added, removed = (sum(map(len, side.values())) for side in (change.added, change.removed))
    return f"{added:,} added, {removed:,} removed"


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workload", choices=["closure", "universities"])
    options.add_argument("--facts", type=int, default=1_000_000)
    options.add_argument("--memory", default="6g", help="the memory of the Java")
    options.add_argument("--only", default="ours,modules,hand,sql")
    options.add_argument("--cold", action="store_true", help="no small run first")
    given = options.parse_args()
    spark = spark_session(SparkOptions(conf={"spark.driver.memory": given.memory, "spark.ui.retainedStages": "10000"}))
    bench, only = Bench(spark, Meter(spark)), given.only.split(",")
    if not given.cold:
        bench.run(given.workload, WARM_UP, only)
    bench.is_loud = True
    bench.run(given.workload, given.facts, only)


if __name__ == "__main__":
    main()
