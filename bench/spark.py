"""`python -m bench.spark`: this engine on Spark, PySpark written by hand, and Spark's recursive SQL, in one session.

    python -m bench.spark closure --facts 1000000
    python -m bench.spark universities --facts 10000000 --only hand
    python -m bench.spark universities --facts 10000000 --only parted --times 2
    python -m bench.spark chain --rounds 500
    python -m bench.spark updates --facts 50000 --count 1000 --only modules
    python -m bench.spark updates --facts 5000 --count 1000 --only ends

One after the other, each once or `--times`; a small run of each comes first, because a Java is slow until it has
compiled what it runs.  Each can be run alone, and a run that takes longer than `--seconds` ends with an error.  Beside
the seconds stand the seconds of processor, which others on the machine disturb less, the number of jobs, and the bytes
that went through shuffles, by Spark's own account of its stages, and between shards, by theirs.  At the end stands what
matters: evaluation in parts of what PySpark by hand takes, updates in parts of the evaluation.  `parted` are shards
that send rows directly, `shuffle` those that use Spark's shuffle.  `chain` asks what a round costs that has hardly
anything to do, and `updates` whether a session with many updates slows down or grows.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import holdfast
from bench import spark_work as work
from bench.shards import counted
from holdfast.backends.spark_parted.store import SparkPartedBackend
from holdfast.modules import MODULES, Module
from holdfast.spark_session import SparkOptions, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
WARM_UP = 20_000
A_PARTITION = 250_000  # given facts a partition of those who write by hand: with ten times as many, Java's memory ends
BY_HAND, SCRATCH = "PySpark by hand", "from scratch"
_SHARDS = {"direct": "parted", "shuffle": "shuffle"}  # how rows move, and what it is called here
_TICKS = os.sysconf("SC_CLK_TCK")
_TELLING = {
    "spark.ui.retainedStages": "10000",  # so that shuffles can be asked for
    "spark.sql.constraintPropagation.enabled": "false",  # with it, loops of localCheckpoint fail: key not found
}
_SETTINGS = {"closure": _TELLING, "universities": _TELLING}


class Meter:
    """What a session has used so far."""

    def __init__(self, spark: SparkSession) -> None:
        java = spark.sparkContext._jvm
        assert java is not None
        self._context: Any = spark.sparkContext._jsc.sc()  # type: ignore[attr-defined]
        self._java: Any = java
        self._process = java.java.lang.ProcessHandle.current().pid()  # type: ignore[operator]

    def cpu(self) -> float:
        """Seconds of processor of the Java, of the Python workers that it started, and of this process."""
        parents, ticks = dict[int, int](), dict[int, int]()
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # a process that has ended meanwhile
                fields = path.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
                process = int(path.parent.name)
                parents[process], ticks[process] = int(fields[1]), sum(map(int, fields[11:15]))
        return sum(ticks[p] for p in ticks if self._is_ours(p, parents)) / _TICKS + time.process_time()

    def _is_ours(self, process: int, parents: Mapping[int, int]) -> bool:
        while process not in (0, self._process):
            process = parents.get(process, 0)
        return process == self._process

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

    def held(self) -> str:
        """What is held now: in the heap of the Java, by Spark of worked-out frames, by this process."""
        import gc

        gc.collect()
        runtime = self._java.java.lang.Runtime.getRuntime()
        heap, before = 0, 2**63
        while heap < 0.99 * before:  # what one collection finds Spark's own cleaner frees a little later, for the next
            before = heap or before
            self._java.java.lang.System.gc()
            time.sleep(1.0)
            heap = runtime.totalMemory() - runtime.freeMemory()
        blocks = sum(info.memSize() + info.diskSize() for info in self._context.getRDDStorageInfo())
        stores = self._context.getExecutorMemoryStatus().values().toList()
        stored = sum(stores.apply(i)._1() - stores.apply(i)._2() for i in range(stores.size()))
        rss = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return (
            f"heap {heap / 1e6:6.1f} MB, {self._context.getPersistentRDDs().size():3} frames of "
            f"{blocks / 1e6:5.1f} MB of {stored / 1e6:5.1f} MB stored, this process {rss / 1e6:.0f} MB"
        )


@dataclass
class Bench:
    """A session and its meter; `is_loud` after the warm-up."""

    spark: SparkSession
    meter: Meter
    times: int = 1  # that ours is run after the warm-up
    is_loud: bool = False
    costs: dict[str, tuple[float, float]] = field(default_factory=dict)  # seconds, and seconds of processor

    def timed(self, name: str, run: Callable[[], T]) -> T:
        """Run something and say what it took."""
        begun, cpu, jobs, stage = time.perf_counter(), self.meter.cpu(), self.meter.jobs(), self.meter.stages()
        result = run()
        seconds, cpu = time.perf_counter() - begun, self.meter.cpu() - cpu
        self.costs[name] = seconds, cpu
        if self.is_loud:
            time.sleep(0.5)  # Spark tells itself of its stages a little later
            shuffled = self.meter.shuffled(stage)
            print(
                f"{name:32} {seconds:8.2f} s {cpu:8.2f} s cpu {self.meter.jobs() - jobs:4} jobs "
                f"{sum(shuffled) / 1e6:10.3f} MB shuffled, at most {max(shuffled, default=0) / 1e6:.3f} a stage   "
                f"{result}",
                flush=True,
            )
        return result

    def run(self, workload: str, facts: int, only: list[str]) -> None:
        """One workload by everyone asked for."""
        frames = (work.chains if workload == "closure" else work.campuses)(self.spark, facts)
        given = work.facts_of(workload, facts)
        if self.is_loud:
            print(f"{workload}: {given:,} facts")
        if "hand" in only:
            cores = self.spark.sparkContext.defaultParallelism
            self.spark.conf.set("spark.sql.shuffle.partitions", max(cores, given // A_PARTITION))
            self.timed(BY_HAND, lambda: self._by_hand(workload, frames))
        if "sql" in only and workload == "closure":
            self.timed("recursive SQL", lambda: f"{work.closure_by_sql(frames['edge']):,}")
        for turn in range(1, 1 + (self.times if self.is_loud else 1)):
            self._run_ours(workload, frames, only, given, "" if turn == 1 else f" ({turn})")
        for frame in frames.values():
            frame.unpersist()
        if self.is_loud:
            self._compare()

    def _run_ours(self, workload: str, frames: work.Frames, only: list[str], given: int, suffix: str) -> None:
        for exchange, title in _SHARDS.items():
            if title in only:
                self.spark.conf.set("spark.holdfast.exchange", exchange)
                self._ours(title + suffix, workload, frames, "spark", ())
        if "modules" in only:
            on_driver = self.spark.newSession()
            on_driver.conf.set("spark.holdfast.moduleRows", str(given))
            self._ours(f"with modules{suffix}", workload, frames, on_driver, MODULES)

    def _compare(self) -> None:
        """Evaluation beside that by hand, and updates beside their evaluation."""
        by_hand = self.costs.get(BY_HAND)
        for name, cost in self.costs.items():
            title, _, what = name.partition(", ")
            beside = by_hand if what == SCRATCH else self.costs.get(f"{title}, {SCRATCH}")
            if what and beside is not None:
                clock, cpu = (mine / other for mine, other in zip(cost, beside, strict=True))
                other = "by hand" if what == SCRATCH else "the evaluation"
                print(f"{name:32} {cpu:.4f} of the processor time of {other}, {clock:.4f} of its seconds")

    def _by_hand(self, workload: str, frames: work.Frames) -> str:
        if workload == "closure":
            return f"{work.closure_by_hand(frames['edge']).count():,}"
        made = work.university_by_hand(frames)
        return f"{sum(frame.count() for frame in {**frames, **made}.values()):,}"

    def _ours(
        self, title: str, workload: str, frames: work.Frames, engine: SparkSession | str, modules: Iterable[Module]
    ) -> None:
        text = work.CLOSURE if workload == "closure" else work.university_program()
        kb = self.timed(f"{title}, {SCRATCH}", lambda: holdfast.from_text(text, frames, engine=engine, modules=modules))
        if self.is_loud:
            rounds = sum(node.rounds for node in kb.statistics.nodes)
            seconds = sum(node.seconds for node in kb.statistics.nodes)
            print(
                f"   {sum(len(view) for view in kb.relations.values()):,} facts in all; {rounds} rounds in "
                f"{seconds:.1f} s, {seconds / rounds:.2f} s each"
            )
        name, gone, come = (work.chain_update if workload == "closure" else work.university_update)()
        for number, (delete, insert) in enumerate(((gone, come), (come, gone), (gone, come)), 1):
            update = holdfast.Update(delete={name: delete}, insert={name: insert})
            self.timed(f"{title}, update {number} of 1,000", lambda update=update: _sizes(kb.apply(update)))  # type: ignore[misc]
        if self.is_loud and isinstance(kb._backend, SparkPartedBackend):
            print(f"   between shards, in all: {counted(kb)}")


def chain(bench: Bench, rounds: int, only: Iterable[str]) -> None:
    """The closure of one chain: each round finds a few facts, the last one none."""
    edges = {"edge": [(number, number + 1) for number in range(rounds)]}
    for engine in only:
        if engine in _SHARDS.values():
            bench.spark.conf.set("spark.holdfast.exchange", {"parted": "direct"}.get(engine, engine))
        name = {"parted": "spark", "shuffle": "spark", "one": "spark[1]"}.get(engine, engine)
        for turn in ("first", "again"):
            kb = bench.timed(
                f"{engine}, {turn}",
                lambda name=name: holdfast.from_text(work.CLOSURE, edges, engine=name, modules=()),  # type: ignore[misc]
            )
            found = sum(node.rounds for node in kb.statistics.nodes)
            seconds = sum(node.seconds for node in kb.statistics.nodes)
            cpu = bench.costs[f"{engine}, {turn}"][1]
            print(f"   {found} rounds: {1e3 * seconds / found:.2f} ms, {1e3 * cpu / found:.2f} ms cpu (opening too)")


def updates(bench: Bench, text: str, facts: int, count: int, modules: Iterable[Module]) -> None:
    """Chains whose edges come and go, ten at a time, and what a hundred such updates take, again and again."""
    kb = holdfast.from_text(text, work.chains(bench.spark, facts), engine=bench.spark, modules=modules)
    choose, gone = random.Random(7), list[tuple[int, int]]()
    print(f"{kb!r}; {bench.meter.held()}", flush=True)
    for done in range(0, count, 100):
        begun, cpu, jobs = time.perf_counter(), bench.meter.cpu(), bench.meter.jobs()
        for _ in range(min(100, count - done)):
            starts = choose.sample(range(facts // work.LENGTH), 10)
            new = [(6 * chain + (place := choose.randrange(5)), 6 * chain + place + 1) for chain in starts]
            kept = [edge for edge in gone if edge not in new]
            kb.apply(holdfast.Update(delete={"edge": new}, insert={"edge": kept}))
            gone = new
        seconds, cpu, jobs = time.perf_counter() - begun, bench.meter.cpu() - cpu, bench.meter.jobs() - jobs
        print(f"to {done + 100:5}: {seconds:6.1f} s, {cpu:6.1f} s cpu, {jobs} jobs; {bench.meter.held()}", flush=True)
    wanted = holdfast.from_text(text, {"edge": list(kb.relations["edge"])}, modules=())
    same = all(set(view) == set(kb.relations[name]) for name, view in wanted.relations.items())
    print("the same as from scratch" if same else "DIFFERENT")


def _sizes(change: holdfast.Change) -> str:
    added, removed = (sum(map(len, side.values())) for side in (change.added, change.removed))
    return f"{added:,} added, {removed:,} removed"


def _too_long(*_: object) -> None:
    """The time is over, wherever the program is."""
    faulthandler.dump_traceback(all_threads=True)
    sys.exit("bench.spark: stopped, it took too long")


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workload", choices=["closure", "universities", "chain", "updates"])
    options.add_argument("--facts", type=int, default=1_000_000)
    options.add_argument("--memory", default="6g", help="the memory of the Java")
    options.add_argument("--only", default="", help="of parted, shuffle, modules, hand, sql, or some engines")
    options.add_argument("--rounds", type=int, default=500, help="of a chain")
    options.add_argument("--count", type=int, default=1000, help="of updates")
    options.add_argument("--times", type=int, default=1, help="run ours so often")
    options.add_argument("--seconds", type=int, default=0, help="end after so many seconds")
    options.add_argument("--cold", action="store_true", help="no small run first")
    given = options.parse_args()
    if given.seconds:
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(given.seconds)
    spark = spark_session(SparkOptions(conf={"spark.driver.memory": given.memory, **_SETTINGS.get(given.workload, {})}))
    default = "memory,parted,one" if given.workload == "chain" else "hand,parted,shuffle,modules,sql"
    bench, only = Bench(spark, Meter(spark), given.times), (given.only or default).split(",")
    if given.workload == "chain":
        bench.is_loud = True
        chain(bench, given.rounds, only)
        return
    if given.workload == "updates":
        updates(
            bench,
            work.ENDS if only == ["ends"] else work.CLOSURE,
            given.facts,
            given.count,
            MODULES if only == ["modules"] else (),
        )
        return
    if not given.cold:
        bench.run(given.workload, WARM_UP, only)
    bench.is_loud = True
    bench.run(given.workload, given.facts, only)


if __name__ == "__main__":
    main()
