"""The clock around updates and evaluations, and the check that both come to the same."""

from __future__ import annotations

import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import holdfast
from bench.data import names
from bench.graphs import Row as FactRow
from bench.updates.rows import Taken, Work
from bench.workloads import Size
from holdfast import Choice, KnowledgeBase, RelationView, Update

Words: TypeAlias = npt.NDArray[np.uint64]
Fingerprint: TypeAlias = tuple[int, int]


class WrongStateError(Exception):
    """Maintained facts are not what follows."""


@dataclass(frozen=True)
class Run:
    """What the measured process was told."""

    size: Size
    runs: int
    patience: float  # seconds after which nothing new is begun
    begun: float = field(default_factory=time.monotonic)

    @property
    def impatient(self) -> bool:
        """Whether it is time to come to an end."""
        return time.monotonic() - self.begun > self.patience


def timed(kb: KnowledgeBase, update: Update, algorithm: str | Choice = "auto") -> Taken:
    """Make an update; all of `apply` is in the time, as a user waits for it."""
    return watched(kb, update, algorithm)[0]


def watched(kb: KnowledgeBase, update: Update, algorithm: str | Choice = "auto") -> tuple[Taken, holdfast.Change]:
    """The same, with the change."""
    begun = time.perf_counter()
    change = kb.apply(update, algorithm=algorithm)
    seconds = time.perf_counter() - begun
    used = sorted({node.algorithm for node in change.figures})
    return Taken(seconds, Work.of(change), tuple(used)), change


def from_scratch(program: str, facts: Mapping[str, Any], only: Collection[str] | None = None
                 ) -> tuple[float, Fingerprint]:
    """Seconds of evaluation, without reading and storing the facts; and what came out."""
    kb = holdfast.from_text(program, facts=facts)
    return evaluation(kb), fingerprint(kb, only)


def evaluation(kb: KnowledgeBase) -> float:
    """The seconds that all hyper-nodes took when they were materialised."""
    return sum(node.seconds for node in kb.statistics.nodes)


def size_of(kb: KnowledgeBase) -> int:
    """All facts, given and derived."""
    return sum(map(len, kb.relations.values()))


def check(found: object, right: object, what: str) -> None:
    """Complain if an update did not come to what it should."""
    if found != right:
        raise WrongStateError(f"WRONG after {what}: {found} instead of {right}")


def fingerprint(kb: KnowledgeBase, only: Collection[str] | None = None) -> Fingerprint:
    """The number of facts, and a sum of hashes that does not depend on their order; columns must be numbers."""
    count, total = 0, 0
    for name, view in kb.relations.items():
        if len(view) and (only is None or name in only):
            count += len(view)
            total += int(_hashes(name, view).sum(dtype=np.uint64))
    return count, total % 2**64


def _hashes(name: str, view: RelationView) -> Words:
    table = view.to_arrow()
    hashes = np.full(len(view), zlib.crc32(name.encode()), dtype=np.uint64)
    for column in table.columns:
        hashes = _mixed(hashes ^ column.to_numpy().astype(np.int64, casting="safe").view(np.uint64))
    return hashes


def _mixed(words: Words) -> Words:
    """Spread each word over all its bits (the finaliser of SplitMix64, after an odd step that moves zero)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def arrow(rows: Sequence[FactRow]) -> pa.Table:
    """Facts as an Arrow table, the form in which many of them are given quickest."""
    columns = np.array(rows, dtype=np.int64).T
    return pa.table(dict(zip(names(len(columns)), columns, strict=True)))
