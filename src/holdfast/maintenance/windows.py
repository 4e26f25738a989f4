"""The ability to compute several updates in one pass, as `window_transaction.py` asks for it."""

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
"""The facts that go and those that come from one state to the next."""


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
        """The module that has its recursive rules to itself."""
        ...

    def prepare(self) -> None:
        """Make its counters right, and rows of all facts that the pass reads."""
        ...


@dataclass(frozen=True)
class ComputedNode:
    """A hyper-node that the updates touch, after the pass."""

    node: HyperNode
    figures: Figures
    service: Service | None
    states: Sequence[Any]  # of the module, after each update
    put_counts: Callable[[int], None]  # set Cn to what it is after so many updates


@dataclass(frozen=True)
class ComputedWindow:
    """What several updates will do, state by state."""

    explicit: Sequence[Move]  # of E
    changes: Sequence[Move]  # of I
    no_ops: Sequence[int]  # of each update
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
        """The states after updates given as deletions and insertions, of so many facts each; E, I and the counters
        stay as they are.  `nodes` come in topological order."""
        ...
