"""The clock around updates and evaluations, and the check that both come to the same."""

from __future__ import annotations

import hashlib
import statistics
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import holdfast
from bench.data import names
from bench.graphs import Row as FactRow
from bench.processes import ROOT
from holdfast import Change, Choice, KnowledgeBase, RelationView, Update

DATA = ROOT.parent / "shared" / "data"
FROM_SCRATCH = "all facts by number and hash, against evaluation from scratch in the same run"
Words: TypeAlias = npt.NDArray[np.uint64]
Fingerprint: TypeAlias = tuple[int, int]


class WrongStateError(Exception):
    """Maintained facts are not what follows."""


@dataclass(frozen=True)
class Run:
    """What the measured process was told."""

    size: str
    runs: int
    patience: float  # seconds after which nothing new is begun
    begun: float = field(default_factory=time.monotonic)

    @property
    def impatient(self) -> bool:
        """Whether it is time to come to an end."""
        return time.monotonic() - self.begun > self.patience


@dataclass(frozen=True)
class Answer:
    """What a process hands in for one figure."""

    runs: tuple[float, ...]
    checked: str
    counts: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def read(value: Mapping[str, Any]) -> Answer:
        """What came over as JSON."""
        return Answer(tuple(value["runs"]), value["checked"], value["counts"])


@dataclass(frozen=True)
class Work:
    """What updates took besides time, summed over updates and hyper-nodes: rule instances by phase, and facts."""

    deletion: int = 0
    backward: int = 0
    forward: int = 0
    insertion: int = 0
    overdeleted: int = 0
    rederived: int = 0
    changed: int = 0  # net, in all relations

    def __add__(self, other: Work) -> Work:
        return Work(
            self.deletion + other.deletion,
            self.backward + other.backward,
            self.forward + other.forward,
            self.insertion + other.insertion,
            self.overdeleted + other.overdeleted,
            self.rederived + other.rederived,
            self.changed + other.changed,
        )

    @staticmethod
    def of(change: Change) -> Work:
        """The work of one update."""
        nodes = change.figures
        if not nodes:
            return Work(changed=len(change))
        return Work(
            sum(node.deletion for node in nodes),
            sum(node.backward for node in nodes),
            sum(node.forward for node in nodes),
            sum(node.insertion for node in nodes),
            sum(node.overdeleted for node in nodes),
            sum(node.rederived for node in nodes),
            len(change),
        )


@dataclass(frozen=True)
class Taken:
    """One update that was made: its time and its work."""

    seconds: float
    work: Work


def timed(kb: KnowledgeBase, update: Update, algorithm: str | Choice = "auto") -> Taken:
    """Make an update; all of `apply` is in the time, as a user waits for it."""
    return watched(kb, update, algorithm)[0]


def watched(kb: KnowledgeBase, update: Update, algorithm: str | Choice = "auto") -> tuple[Taken, Change]:
    """The same, with the change."""
    begun = time.perf_counter()
    change = kb.apply(update, algorithm=algorithm)
    seconds = time.perf_counter() - begun
    return Taken(seconds, Work.of(change)), change


def answer(taken: Sequence[Taken], checked: str = FROM_SCRATCH, **counts: float) -> Answer:
    """Updates of one kind, with the mean work of one of them."""
    work = asdict(sum((one.work for one in taken), Work()))
    mean = {name: total / len(taken) for name, total in work.items() if total}
    return Answer(tuple(one.seconds for one in taken), checked, {**counts, **mean})


def from_scratch(
    program: str, facts: Mapping[str, Any], only: Collection[str] | None = None
) -> tuple[float, Fingerprint]:
    """Seconds of evaluation, without reading and storing the facts; and what came out."""
    kb = holdfast.from_text(program, facts=facts)
    return evaluation(kb), fingerprint(kb, only)


def evaluation(kb: KnowledgeBase) -> float:
    """The seconds that all hyper-nodes took when they were materialised."""
    return sum(node.seconds for node in kb.statistics.nodes)


def size_of(kb: KnowledgeBase) -> int:
    """All facts, given and derived."""
    return sum(kb.sizes().values())


def median(seconds: Sequence[float]) -> float:
    """For counts that are times."""
    return statistics.median(seconds)


def check(found: object, right: object, what: str) -> None:
    """Complain if an update did not come to what it should."""
    if found != right:
        raise WrongStateError(f"WRONG after {what}: {found} instead of {right}")


def fingerprint(kb: KnowledgeBase, only: Collection[str] | None = None) -> Fingerprint:
    """The number of facts, and a sum of hashes that does not depend on their order."""
    count, total = 0, 0
    for name, view in kb.relations.items():
        if (only is None or name in only) and len(view):
            count += len(view)
            total += int(_hashes(name, view).sum(dtype=np.uint64))
    return count, total % 2**64


def _hashes(name: str, view: RelationView) -> Words:
    hashes = np.full(len(view), zlib.crc32(name.encode()), dtype=np.uint64)
    for column in view.to_arrow().columns:
        hashes = _mixed(hashes ^ _words(column))
    return hashes


def _words(column: pa.ChunkedArray) -> Words:
    """A word for each value: whole numbers as they are, anything else by a digest of its text."""
    if pa.types.is_integer(column.type):
        whole: Words = column.to_numpy().astype(np.int64, casting="safe").view(np.uint64)
        return whole
    coded = column.combine_chunks().dictionary_encode()
    digests = [hashlib.blake2b(repr(value).encode(), digest_size=8).digest() for value in coded.dictionary.to_pylist()]
    words: Words = np.frombuffer(b"".join(digests), dtype=np.uint64)[coded.indices.to_numpy()]
    return words


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
