"""Single-source path lengths under deletion: the last row of the paper's tables 1 and 2, for each algorithm.

Edges chosen by chance are deleted together, then inserted again; each run takes other edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
import pyarrow as pa

import holdfast
from bench.graphs import weighted_dag
from bench.updates.rows import Row, Taken, row
from bench.updates.timing import Run, arrow, check, fingerprint, from_scratch, size_of, timed
from bench.workloads import LENGTHS, Size
from holdfast import Update

ALGORITHMS = ("dred", "dred-counting", "backward-forward", "backward-forward-counting", "recompute", "auto")
GRAPHS: Mapping[str, tuple[int, int]] = {
    "small": (300, 1_500), "paper": (100_000, 1_000_000), "max": (300_000, 3_000_000)}
DELETED: Mapping[str, tuple[int, int]] = {"small": (15, 30), "paper": (1_000, 20_000), "max": (1_000, 60_000)}


def jobs(size: Size) -> list[tuple[str, ...]]:
    """A process for each algorithm and number of edges."""
    return [(str(number), algorithm) for number in DELETED[size] for algorithm in ALGORITHMS]


def run(case: tuple[str, ...], told: Run) -> list[Row]:
    """Delete and insert, as often as asked and once more for the indexes."""
    number, algorithm = int(case[0]), case[1]
    _Series(GRAPHS["small"], DELETED["small"][1], algorithm).turn(0)  # nobody looks: everything is loaded now
    series = _Series(GRAPHS[told.size], number, algorithm)
    for turn in range(told.runs + 1):
        series.turn(turn)
        if told.impatient:
            break
    return series.rows()


class _Series:
    """One materialisation, and what was measured on it."""

    def __init__(self, graph: tuple[int, int], number: int, algorithm: str) -> None:
        self.edges, self.number, self.algorithm = arrow(weighted_dag(*graph)["b"]), number, algorithm
        self.kb = holdfast.from_text(LENGTHS, facts={"b": self.edges})
        self.whole, self.facts = fingerprint(self.kb), size_of(self.kb)
        self.deleted, self.inserted = list[Taken](), list[Taken]()
        self.without, self.again = list[float](), list[float]()

    def turn(self, turn: int) -> None:
        """Some edges out and in again, each state checked against from-scratch evaluation."""
        gone, rest = self._parted(turn)
        self.deleted.append(timed(self.kb, Update(delete={"b": gone}), self.algorithm))
        self.without.append(self._checked(rest, f"deleting {self.number:,} edges with {self.algorithm}"))
        self.inserted.append(timed(self.kb, Update(insert={"b": gone}), self.algorithm))
        self.again.append(self._checked(self.edges, f"inserting them again with {self.algorithm}"))
        check(fingerprint(self.kb), self.whole, "deletion and insertion")

    def _parted(self, turn: int) -> tuple[pa.Table, pa.Table]:
        chosen = np.zeros(len(self.edges), dtype=bool)
        chosen[Random(turn).sample(range(len(self.edges)), self.number)] = True
        return self.edges.filter(pa.array(chosen)), self.edges.filter(pa.array(~chosen))

    def _checked(self, edges: pa.Table, what: str) -> float:
        seconds, right = from_scratch(LENGTHS, {"b": edges})
        check(fingerprint(self.kb), right, what)
        return seconds

    def rows(self) -> list[Row]:
        """Both directions."""
        title = f"SSPE, {len(self.edges):,} edges, {self.facts:,} facts: {self.number:,} edges"
        return [
            row(f"{title} deleted", self.algorithm, self.deleted, self.without, first_apart=True, facts=self.facts),
            row(f"{title} inserted again", self.algorithm, self.inserted, self.again, first_apart=True,
                facts=self.facts),
        ]
