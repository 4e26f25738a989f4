"""The ability to compute several updates in one pass, as `window_transaction.py` needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from holdfast.backends.protocol import Facts
from holdfast.maintenance.module_adapter import States
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.watch import Watch
from holdfast.modules import Service
from holdfast.program.model import HyperNode
from holdfast.quick_dataclass import dataclass

Move: TypeAlias = tuple[Facts, Facts]
"""The facts removed and added from one state to the next."""


class NodeInWindow(Protocol):
    """A hyper-node before the pass."""

    @property
    def node(self) -> HyperNode:
        """Its rules."""
        ...

    @property
    def reads(self) -> frozenset[str]:
        """The predicates in the bodies of its rules."""
        ...

    @property
    def is_read(self) -> bool:
        """Whether another hyper-node reads its facts."""
        ...

    @property
    def service(self) -> Service | None:
        """The module that serves its recursive rules alone."""
        ...

    def prepare(self) -> None:
        """Make its counters correct, and make rows of all facts that the pass reads."""
        ...


@dataclass(frozen=True)
class ComputedNode:
    """A hyper-node that the updates touch, after the pass."""

    node: HyperNode
    figures: Figures
    service: Service | None
    states: Sequence[Any]  # the module's states, after each update
    put_counts: Callable[[int], None]  # sets Cn to its value after a number of updates


@dataclass(frozen=True)
class ComputedWindow:
    """The effect of several updates, state by state."""

    explicit: Sequence[Move]  # changes of E, for each update
    changes: Sequence[Move]  # changes of I, for each update
    no_ops: Sequence[int]  # for each update
    nodes: Sequence[ComputedNode]


class Windows(Protocol):
    """Computes the states after several updates of facts in one pass over the hyper-nodes."""

    def window(
        self,
        nodes: Iterable[NodeInWindow],
        updates: Sequence[tuple[Facts, Facts]],
        given: Sequence[int],
        states: States,
        watch: Watch,
    ) -> ComputedWindow:
        """The states after updates given as deletions and insertions, with the number of facts in each; E, I and the
        counters do not change.  `nodes` are in topological order."""
        ...
