"""`python -m bench.shards closure 1000000`: what partitioning costs and brings, beside the memory engine, in one run.

CPU seconds of the whole process and seconds by the clock, of opening and of four updates of 1,000 facts; the least of
several runs, in which the engines take turns.  The facts are those of `bench.spark`; in `star` half of all sales are of
one customer.  Beside that it counts, whatever else the machine does: the rows that moved and their bytes, the rows that
waited to be sent at most, and the part of all instances that the busiest shard had.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import holdfast
from bench.spark_work import CLOSURE, LENGTH, chain_update, university_program, university_update
from bench.universities import universities
from holdfast.backends.parted.rounds import Traffic

Facts = dict[str, pa.Table]
Rows = list[tuple[int, int]]


def chains(number: int) -> Facts:
    """Chains of edges, as `bench.spark_work` has them."""
    starts = np.arange(number // LENGTH * (LENGTH + 1))
    starts = starts[starts % (LENGTH + 1) < LENGTH]
    return {"edge": pa.table({"x": starts, "y": starts + 1})}


def campuses(number: int) -> Facts:
    """One university again and again with other numbers, as `bench.spark_work` has it."""
    one = universities(1)
    most = 1 + max(value for rows in one.values() for row in rows for value in row)
    copies = max(1, round(number / sum(map(len, one.values()))))
    facts = {}
    for name, rows in one.items():
        codes = np.array(rows, np.int64).reshape(len(rows), -1)
        whole = np.concatenate([codes + copy * most for copy in range(copies)])
        facts[name] = pa.table({"xy"[column]: whole[:, column] for column in range(whole.shape[1])})
    return facts


STAR = """
.decl sale(customer: number, item: number)
.decl lives(customer: number, region: number)
.decl sold(item: number, region: number)
sold(i, r) :- sale(c, i), lives(c, r).
"""


def sales(number: int) -> Facts:
    """Every second sale is of customer 0; each of the others has a customer of its own."""
    items = np.arange(number * 2 // 3)
    people = np.arange(number // 3)
    return {
        "sale": pa.table({"customer": np.where(items % 2, 0, items // 2), "item": items}),
        "lives": pa.table({"customer": people, "region": people % 50}),
    }


def sale_update() -> tuple[str, Rows, Rows]:
    """A thousand sales of customer 0 go, and a thousand others come."""
    return "sale", [(0, n) for n in range(1, 2_000, 2)], [(0, -n) for n in range(1, 1_001)]


WORK: dict[str, tuple[Callable[[], str], Callable[[int], Facts], Callable[[], tuple[str, Rows, Rows]]]] = {
    "closure": (lambda: CLOSURE, chains, chain_update),
    "universities": (university_program, campuses, university_update),
    "star": (lambda: STAR, sales, sale_update),
}


def timed(work: Callable[[], holdfast.KnowledgeBase | holdfast.Change]) -> tuple[float, float, object]:
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.process_time() - cpu, time.perf_counter() - clock, result


@dataclass
class Figures:
    """The least of several runs: CPU seconds and seconds of opening, CPU seconds of the first and of later updates."""

    cpu: float = math.inf
    clock: float = math.inf
    first: float = math.inf
    later: float = math.inf
    counted: str = ""

    def measure(self, engine: str, text: str, facts: Facts, update: tuple[str, Rows, Rows]) -> dict[str, int]:
        """One more run; gives the sizes of all relations."""
        cpu, clock, kb = timed(lambda: holdfast.from_text(text, facts, engine=engine, modules=()))
        assert isinstance(kb, holdfast.KnowledgeBase)
        name, gone, come = update
        first, *later = (
            timed(lambda old=old, new=new: kb.apply(holdfast.Update(delete={name: old}, insert={name: new})))[0]
            for old, new in [(gone, come), (come, gone)] * 2
        )
        self.cpu, self.clock = min(self.cpu, cpu), min(self.clock, clock)
        self.first, self.later = min(self.first, first), min(self.later, *later)
        if engine != "memory":
            self.counted = counted(kb)
        return {name: len(view) for name, view in kb.relations.items()}


def counted(kb: holdfast.KnowledgeBase) -> str:
    """What the shards have done, opening and updates together."""
    traffic: list[Traffic] = kb._backend.traffic  # type: ignore[attr-defined]
    rows, nbytes = sum(each.rows for each in traffic), sum(each.nbytes for each in traffic)
    most, instances = max(each.most_waiting for each in traffic), [each.instances for each in traffic]
    busiest = max(instances) / max(1, sum(instances))
    return f"{rows:,} rows moved, {nbytes / 1e6:.1f} MB, {most:,} waited, {busiest:.0%} of instances on one shard"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.shards", description=__doc__)
    parser.add_argument("work", choices=WORK)
    parser.add_argument("facts", type=int)
    parser.add_argument("--shards", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    program, made, update = WORK[options.work]
    facts = made(options.facts)
    figures = {engine: Figures() for engine in ("memory", *(f"parted[{shards}]" for shards in options.shards))}
    expected = Figures().measure("memory", program(), facts, update())  # and what happens once in a process
    for _ in range(options.runs):
        for engine, each in figures.items():
            assert each.measure(engine, program(), facts, update()) == expected, "the engines disagree"
    print(f"{sum(expected.values()):,} facts")
    for engine, each in figures.items():
        ratio = each.cpu / figures["memory"].cpu
        opened = f"{each.cpu:6.2f} CPU s ({ratio:.2f} of memory), {each.clock:6.2f} s"
        print(f"{engine:12} {opened}; updates {each.first:.3f}, then {each.later:.3f} CPU s", flush=True)
        if each.counted:
            print(f"{'':12} {each.counted}", flush=True)


if __name__ == "__main__":
    main()
