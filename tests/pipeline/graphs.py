"""A small pipeline to play with: edges and paths, updates in files, and what must come out, without any engine."""

from __future__ import annotations

import json
import os
import random
from itertools import pairwise
from pathlib import Path

Edges = set[tuple[int, int]]
PROGRAM = """\
.decl edge(a: number, b: number)
.decl path(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
PIPELINE = """\
[pipeline]
program = "reach.dl"
mode = "stream"

[sources.edges]
relation = "edge"
path = "edges.csv"

[updates.more]
relation = "edge"
format = "csv"
path = "updates"
change_type = "op"

[snapshots]
path = "state"
every = 3
keep = 2

[sinks.paths]
relation = "path"
format = "parquet"
path = "paths"

[sinks.feed]
relation = "path"
write = "changes"
format = "json"
path = "feed"
"""


def closure(edges: Edges) -> Edges:
    """All paths, the slow and plain way."""
    paths = set(edges)
    while True:
        more = {(a, d) for a, b in paths for c, d in edges if b == c} - paths
        if not more:
            return paths
        paths |= more


class Story:
    """First edges and updates, from a seed; and what is true after each of them."""

    def __init__(self, seed: int, updates: int, nodes: int = 7) -> None:
        dice = random.Random(seed)
        everything = [(a, b) for a in range(nodes) for b in range(nodes)]
        self.first: Edges = set(dice.sample(everything, nodes))
        self.updates: list[list[tuple[int, int, str]]] = []
        self.edges = [set(self.first)]
        for _ in range(updates):
            now = set(self.edges[-1])
            gone = set(dice.sample(sorted(now), min(len(now), dice.randint(0, 2))))
            come = set(dice.sample(everything, dice.randint(1, 3)))
            self.updates.append([(*e, "delete") for e in sorted(gone)] + [(*e, "insert") for e in sorted(come)])
            self.edges.append((now - gone) | come)

    @property
    def paths(self) -> list[Edges]:
        return [closure(edges) for edges in self.edges]

    def feed(self) -> dict[int, set[tuple[int, int, str]]]:
        """By update, what changes; nothing for updates that change nothing."""
        paths = self.paths
        changed = {
            n: {(*p, "insert") for p in new - old} | {(*p, "delete") for p in old - new}
            for n, (old, new) in enumerate(pairwise(paths), 1)
        }
        return {n: rows for n, rows in changed.items() if rows}

    def write(self, folder: Path, pipeline: str = PIPELINE) -> Path:
        """The pipeline with its files; the files of updates are in the order of their times."""
        (folder / "updates").mkdir(parents=True)
        (folder / "reach.dl").write_text(PROGRAM, encoding="utf-8")
        (folder / "edges.csv").write_text("".join(f"{a},{b}\n" for a, b in sorted(self.first)), encoding="utf-8")
        (folder / "pipeline.toml").write_text(pipeline, encoding="utf-8")
        for number in range(len(self.updates)):
            self.write_update(folder, number)
        return folder / "pipeline.toml"

    def write_update(self, folder: Path, number: int) -> None:
        path = folder / f"updates/{number:03}.csv"
        path.write_text("".join(f"{a},{b},{op}\n" for a, b, op in self.updates[number]), encoding="utf-8")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def feed_of(folder: Path) -> dict[int, set[tuple[int, int, str]]]:
    """What a feed of JSON lines says, by update; the same row twice is an error."""
    written: dict[int, list[tuple[int, int, str]]] = {}
    for file in sorted(folder.glob("_update=*/part-*")):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        number = int(file.parent.name.partition("=")[2])
        written.setdefault(number, []).extend((row["a"], row["b"], row["_change_type"]) for row in rows)
    assert all(len(set(rows)) == len(rows) for rows in written.values()), "a row is there twice"
    return {number: set(rows) for number, rows in written.items()}


def paths_of(folder: Path) -> Edges:
    """The paths in a sink of Parquet files."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder)
    rows = list(zip(table["a"].to_pylist(), table["b"].to_pylist(), strict=True))
    assert len(set(rows)) == len(rows)
    return set(rows)
