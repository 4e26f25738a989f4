"""Shortest distances on a road-like graph, from one node, with deletions: holdfast beside DuckDB and SciPy.

    python -m bench.distances [SIDE]

The graph is a grid of SIDE × SIDE crossings with streets in both directions, of random lengths from 1 to 19; a tenth of
the streets is missing.  SIDE 520 gives about a million of them.  DuckDB runs a recursive query with USING KEY, SciPy
Dijkstra's algorithm; both start over after a deletion, and one that is not installed is left out.  All distances are
compared.  Seconds are those of the processor, of this process, so that other work on the machine disturbs them little.
The last deletion is made twice: `auto` knows by then what the first one took.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import holdfast
from bench.processes import THREADS

Numbers: TypeAlias = NDArray[np.int64]
PROGRAM = """
.decl edge(x: number, y: number, w: number)
.decl dist(x: number, d: number)
dist(0, 0).
dist(y, min(d + w)) :- dist(x, d), edge(x, y, w).
"""
QUERY = """
WITH RECURSIVE dist(x, d) USING KEY (x) AS (
    SELECT 0::BIGINT, 0::BIGINT
  UNION
    SELECT edge.y, min(dist.d + edge.w)
    FROM dist JOIN edge ON edge.x = dist.x LEFT JOIN recurring.dist AS known ON known.x = edge.y
    WHERE known.d IS NULL OR dist.d + edge.w < known.d
    GROUP BY edge.y
)
SELECT x, d FROM dist
"""
DELETED = (1, 10, 100, 1_000, 1_000)
_LONGEST, _MISSING = 19, 0.1


def streets(side: int, random: np.random.Generator) -> Numbers:
    """From, to, length."""
    places = np.arange(side * side).reshape(side, side)
    a = np.concatenate([places[:, :-1].ravel(), places[:-1].ravel()])
    b = np.concatenate([places[:, 1:].ravel(), places[1:].ravel()])
    there = random.random(len(a)) >= _MISSING
    a, b = a[there], b[there]
    x, y = np.concatenate([a, b]), np.concatenate([b, a])
    return np.stack([x, y, random.integers(1, _LONGEST + 1, len(x))], axis=1)


def table(edges: Numbers) -> pa.Table:
    """As Arrow."""
    return pa.table({name: edges[:, column] for column, name in enumerate("xyw")})


def timed(what: str, call: Callable[[], Any]) -> Any:
    """What a call gives; its seconds are printed."""
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    print(f"{what:42} {time.process_time() - processor:8.3f} s {time.perf_counter() - wall:8.3f} s by the clock")
    return result


def by_duckdb(edges: Numbers) -> dict[int, int] | None:
    """Distances by a recursive query, evaluated once."""
    try:
        import duckdb
    except ImportError:
        print("duckdb: not installed")
        return None
    db = duckdb.connect()
    db.execute(f"SET threads = {THREADS}")
    db.register("given", table(edges))
    db.execute("CREATE TABLE edge AS SELECT * FROM given")
    found = timed("duckdb: from scratch", lambda: db.execute(QUERY).fetchall())
    return {int(x): int(d) for x, d in found}


def by_scipy(edges: Numbers, side: int) -> dict[int, int] | None:
    """Distances by Dijkstra's algorithm."""
    try:
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import dijkstra
    except ImportError:
        print("scipy: not installed")
        return None
    x, y, w = edges.T
    matrix = csr_matrix((w.astype(np.float64), (x, y)), shape=(side * side, side * side))
    found = timed("scipy: from scratch", lambda: dijkstra(matrix, indices=0))
    return {place: int(d) for place, d in enumerate(found.tolist()) if np.isfinite(d)}


def compare(what: str, found: dict[int, int] | None, distances: dict[int, int]) -> None:
    """Stop if a peer disagrees."""
    if found is not None and found != distances:
        raise SystemExit(f"{what} has other distances")


def main(side: int) -> None:
    """Measure and compare."""
    random = np.random.default_rng(1)
    edges = streets(side, random)
    print(f"{len(edges):,} streets, {side * side:,} crossings")
    loaded = timed(
        "holdfast: check, load", lambda: holdfast.from_text(PROGRAM.split("dist(0")[0], {"edge": table(edges)})
    )
    del loaded
    kb = timed("holdfast: check, load, from scratch", lambda: holdfast.from_text(PROGRAM, {"edge": table(edges)}))
    node = kb.statistics.nodes[-1]
    print(f"  {node.instances:,} instances, {node.rounds} rounds, {kb.statistics.memory / 2**20:,.0f} MiB")
    distances = dict(kb["dist"])
    compare("duckdb", by_duckdb(edges), distances)
    compare("scipy", by_scipy(edges, side), distances)
    for count in DELETED:
        deletions(kb, edges, random.choice(len(edges), count, replace=False), side)


def deletions(kb: holdfast.KnowledgeBase, edges: Numbers, chosen: Numbers, side: int) -> None:
    """Some streets are closed, and opened again."""
    gone = table(edges[chosen])
    closing, opening = holdfast.Update(delete={"edge": gone}), holdfast.Update(insert={"edge": gone})
    change = timed(f"holdfast: {len(chosen):,} closed", lambda: kb.apply(closing))
    figures = change.figures[-1]
    changed = len(change.removed.get("dist", ()))
    print(f"  {changed:,} distances change, {figures.overdeleted:,} overdeleted, {figures.instances:,} instances")
    print(f"  {figures.algorithm}: {figures.why}")
    compare("scipy", by_scipy(np.delete(edges, chosen, axis=0), side), dict(kb["dist"]))
    timed(f"holdfast: {len(chosen):,} opened again", lambda: kb.apply(opening))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 520)
