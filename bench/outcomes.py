"""What a measured process hands back, and what stands in its place when there is nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Measured:
    """One run of one system on one workload."""

    facts: int  # of the counted relations
    evaluation: float  # seconds
    load: float | None = None  # seconds; None where the system does not tell it from evaluation
    rounds: int | None = None
    bytes_per_fact: float | None = None  # facts, counters and indexes, as the system itself counts
    peak_per_fact: float | None = None  # by how much the process grew at most, in bytes, over all facts
    peak: int | None = None  # bytes of the whole process, the given facts included

    @property
    def total(self) -> float:
        """Loading and evaluation."""
        return self.evaluation + (self.load or 0.0)

    def line(self) -> str:
        """As one line of text."""
        return json.dumps(asdict(self))

    @staticmethod
    def read(line: str) -> Measured:
        """What `line` wrote."""
        return Measured(**json.loads(line))


@dataclass(frozen=True)
class Failure:
    """Why there is no measurement."""

    reason: str
    late: bool = field(default=False, compare=False)  # stopped at a limit


Outcome: TypeAlias = Measured | Failure
