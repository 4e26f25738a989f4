"""What a user may set: limits, and who is told of progress."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from holdfast.arguments import refuse_kind
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Limits:
    """When to stop a run and keep nothing of it; None is no limit."""

    facts: int | None = None
    rounds: int | None = None  # of one hyper-node
    seconds: float | None = None
    memory: int | None = None  # bytes that facts, counters, indexes and strings take, and reading and showing them

    def __post_init__(self) -> None:
        for name in ("facts", "rounds", "seconds", "memory"):
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not hasattr(limit, "__float__")):
                refuse_kind(limit, f"the limit on {name} is a number or None", f"write Limits({name}=1000)")


class Memory(Protocol):
    """Counts bytes that are held, and raises `LimitReached` when they are more than may be."""

    def grown(self, what: str, nbytes: int) -> None:
        """Something that stays takes so many bytes now."""
        ...

    def holding(self, what: str, nbytes: int) -> AbstractContextManager[None]:
        """So many more bytes are needed inside the block, for what a person calls `what`."""
        ...

    def room(self, what: str, nbytes: int) -> None:
        """Raise if so many more bytes would be too many."""
        ...


class Unlimited:
    """Memory that nobody counts."""

    def grown(self, what: str, nbytes: int) -> None:
        """Count nothing."""

    def holding(self, what: str, nbytes: int) -> AbstractContextManager[None]:
        """Count nothing."""
        return nullcontext()

    def room(self, what: str, nbytes: int) -> None:
        """Count nothing."""


UNLIMITED: Final[Memory] = Unlimited()


class Progress(Protocol):
    """Told how a run gets on."""

    def compiling(self) -> None:
        """The kernels are compiled, once on a machine; this takes some seconds."""
        ...

    def started(self, nodes: int) -> None:
        """So many hyper-nodes will be evaluated."""
        ...

    def round(self, node: str, round: int, new_facts: int, facts: int) -> None:
        """A round of a hyper-node begins; the last one found so many new facts."""
        ...

    def finished(self) -> None:
        """The run is over."""
        ...


class Silent:
    """Progress that nobody looks at."""

    def compiling(self) -> None:
        """Say nothing."""

    def started(self, nodes: int) -> None:
        """Say nothing."""

    def round(self, node: str, round: int, new_facts: int, facts: int) -> None:
        """Say nothing."""

    def finished(self) -> None:
        """Say nothing."""
