"""What shards take of the limits: counted where they work, and reported to the driver, which has the limits."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext

from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Usage:
    """What shards report with each answer: batches, new facts, and the bytes of tables that have grown."""

    batches: int
    facts: int
    bytes: dict[str, int]


class OverLimitError(Exception):
    """The shards of a task have passed a limit; the driver knows which when it has the usage of all.

    Its arguments, if it has any, are what is about to be made and its bytes.
    """


class TaskLimits:
    """What the limits allow the shards of one task, and what they have taken."""

    def __init__(self) -> None:
        self.most: tuple[float, float] = (math.inf, math.inf)
        """New facts, and bytes of tables."""
        self.facts = self.bytes = 0

    def begin(self, most: tuple[float, float]) -> None:
        """A command of the driver begins."""
        self.most, self.facts = most, 0

    # --- the memory of the strings that shards make ----------------------------------------------------

    def grown(self, what: str, nbytes: int) -> None:
        """Do nothing: the driver counts the strings, each once."""

    def holding(self, what: str, nbytes: int) -> AbstractContextManager[None]:
        """Check; it is not held for long."""
        self.check(what, nbytes)
        return nullcontext()

    def check(self, what: str, nbytes: int) -> None:
        """Raise if so many more bytes exceed the limit."""
        if self.bytes + nbytes > self.most[1]:
            raise OverLimitError(what, nbytes)


class TaskWatch:
    """Counts what a shard does; the driver has the limits."""

    def __init__(self, limits: TaskLimits) -> None:
        self._limits = limits
        self._bytes: dict[str, int] = {}
        self._batches = self._facts = 0
        self._grown: dict[str, int] = {}

    def usage(self) -> Usage:
        """What there was since the last call."""
        found = Usage(self._batches, self._facts, self._grown)
        self._batches, self._facts, self._grown = 0, 0, {}
        return found

    def batch(self, new_facts: int) -> None:
        """A batch was processed."""
        self._batches += 1
        self._facts += new_facts
        self._limits.facts += new_facts
        if self._limits.facts > self._limits.most[0]:
            raise OverLimitError

    def left(self) -> tuple[float, float]:
        """The new facts and the bytes that the limits allow."""
        limits = self._limits
        return limits.most[0] - limits.facts, limits.most[1] - limits.bytes

    def grown(self, table: str, nbytes: int) -> None:
        """A table takes so many bytes now."""
        self._limits.bytes += nbytes - self._bytes.get(table, 0)
        self._bytes[table] = self._grown[table] = nbytes
        if self._limits.bytes > self._limits.most[1]:
            raise OverLimitError
