"""Pathway: a closure kept up to date by differential dataflow; steps of edges go in, numbers of pairs come out."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from bench.graphs import Row
from bench.processes import THREADS

os.environ.setdefault("PATHWAY_THREADS", str(THREADS))

import pathway as pw  # reads the variable when it is imported


class _Edge(pw.Schema):  # type: ignore[misc]
    x: int = pw.column_definition(primary_key=True)
    y: int = pw.column_definition(primary_key=True)


class Feed(pw.io.python.ConnectorSubject):  # type: ignore[misc]
    """Hands in one step at a time, and waits for its answer before the next."""

    def __init__(self, steps: Sequence[tuple[bool, Sequence[Row]]]) -> None:
        super().__init__()
        self.steps, self.taken = steps, list[tuple[float, int]]()
        self.answered, self.pairs, self.mark = threading.Event(), 0, -1

    def run(self) -> None:
        """Called by Pathway in a thread of its own."""
        for number, (come, edges) in enumerate(self.steps, 1):
            self.answered.clear()
            begun = time.perf_counter()
            for x, y in edges:
                if come:
                    self.next(x=x, y=y)
                else:
                    self.delete(x=x, y=y)
            self.next(x=-number, y=0)  # no edge: it comes out with the answer
            self.commit()
            self.answered.wait()
            self.taken.append((time.perf_counter() - begun, self.pairs))

    def changed(self, key: Any, row: dict[str, int], time: int, is_addition: bool) -> None:
        """A number of pairs or a mark has left the dataflow."""
        if is_addition and row["mark"]:
            self.mark = max(self.mark, row["mark"])
        elif is_addition:
            self.pairs = row["pairs"]

    def time_end(self, time: int) -> None:
        """Everything of an instant has left it."""
        if self.mark > len(self.taken):
            self.answered.set()


def closure_sizes(feed: Feed) -> None:
    """Keep the closure of the edges that the feed hands in, until it ends."""
    source = pw.io.python.read(feed, schema=_Edge, autocommit_duration_ms=None)
    edge = source.filter(source.x >= 0)
    base = edge.select(edge.x, edge.y)

    def step(path: Any, base: Any) -> dict[str, Any]:
        longer = base.join(path, base.y == path.x).select(base.x, path.y)
        every = pw.Table.concat_reindex(base, longer)
        return {"path": every.groupby(every.x, every.y).reduce(every.x, every.y)}

    path = pw.iterate(step, path=pw.iterate_universe(base), base=base)["path"]
    marks = source.filter(source.x < 0)
    answers = pw.Table.concat_reindex(
        path.reduce(mark=0, pairs=pw.reducers.count()), marks.select(mark=-marks.x, pairs=0)
    )
    pw.io.subscribe(answers, feed.changed, on_time_end=feed.time_end)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
