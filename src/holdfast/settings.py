"""What a user can set: limits, and a progress observer."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from holdfast.arguments import refuse_kind
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits that stop a run, which then keeps no result; None means no limit."""

    facts: int | None = None
    rounds: int | None = None  # per hyper-node
    seconds: float | None = None
    memory: int | None = None  # bytes of facts, counters, indexes, strings, and of buffers for reading and sorting

    def __post_init__(self) -> None:
        for name in ("facts", "rounds", "seconds", "memory"):
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not hasattr(limit, "__float__")):
                refuse_kind(limit, f"the limit on {name} is a number or None", f"write Limits({name}=1000)")


class Memory(Protocol):
    """Counts allocated bytes, and raises `LimitReached` when they exceed the limit."""

    def grown(self, what: str, nbytes: int) -> None:
        """Record that this many bytes stay allocated from now on."""
        ...

    def holding(self, what: str, nbytes: int) -> AbstractContextManager[None]:
        """Reserve this many bytes inside the block for `what`, which messages name."""
        ...

    def check(self, what: str, nbytes: int) -> None:
        """Raise if this number of additional bytes would exceed the limit."""
        ...


class Unlimited:
    """Memory without a limit."""

    def grown(self, what: str, nbytes: int) -> None:
        """Do nothing."""

    def holding(self, what: str, nbytes: int) -> AbstractContextManager[None]:
        """Do nothing."""
        return nullcontext()

    def check(self, what: str, nbytes: int) -> None:
        """Do nothing."""


UNLIMITED: Final[Memory] = Unlimited()


class Progress(Protocol):
    """The interface of an observer of progress: pass an object with these methods as `progress`."""

    def compiling(self) -> None:
        """Called when kernels must be compiled, which takes some seconds, once per machine."""
        ...

    def started(self, nodes: int) -> None:
        """Called before evaluation, with the number of hyper-nodes."""
        ...

    def round(self, node: str, round: int, new_facts: int, facts: int) -> None:
        """Called before each round of a hyper-node, with the new facts of the last round and all facts so far."""
        ...

    def finished(self) -> None:
        """Called at the end of the run."""
        ...


class Silent:
    """Ignores all progress."""

    def compiling(self) -> None:
        """Do nothing."""

    def started(self, nodes: int) -> None:
        """Do nothing."""

    def round(self, node: str, round: int, new_facts: int, facts: int) -> None:
        """Do nothing."""

    def finished(self) -> None:
        """Do nothing."""
