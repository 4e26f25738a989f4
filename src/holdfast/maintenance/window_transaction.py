"""The transaction around a window: the states after several updates are computed in one pass, and then become the state
one after the other.  Until then, and if the pass fails, there is no trace of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from holdfast.backends.protocol import Facts
from holdfast.maintenance.windows import ComputedWindow, Windows
from holdfast.modules import Service
from holdfast.program.model import HyperNode

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer, NodePlan, Outcome
    from holdfast.maintenance.watch import Watch


class Window:
    """States that were computed; each is to be made the state in its turn, as long as nothing else happens."""

    def __init__(self, maintainer: Maintainer, computed: ComputedWindow) -> None:
        self._maintainer, self._computed = maintainer, computed
        self._state, self._done = maintainer.state, 0
        self.no_ops = computed.no_ops

    @property
    def is_current(self) -> bool:
        """Whether the state is still the one that the next update was computed for."""
        return self._maintainer.state == self._state

    def advance(self) -> Outcome:
        """Make the next state the present one; what the pass took stands with the first."""
        from holdfast.maintenance.maintainer import Outcome

        assert self.is_current
        maintainer, before, nodes = self._maintainer, self._done, self._computed.nodes
        removed, added = self._computed.changes[before]
        for node in nodes:
            if node.service is None:
                maintainer.states.drop(node.node.predicates)
            else:
                maintainer.states.put(node.service, node.states[before])
        maintainer.pending = self._count
        maintainer.become(self._computed.explicit[before], (removed, added))
        maintainer.moved()
        self._state, self._done = maintainer.state, before + 1
        if self._done == len(self._computed.changes):
            maintainer.settle()
        return Outcome(removed, added, tuple(node.figures for node in nodes) if not before else ())

    def _count(self) -> None:
        """Put the counters where the state is: only when they are needed."""
        for node in self._computed.nodes:
            node.put_counts(self._done)
            if node.node.is_recursive and node.service is None:
                self._maintainer.recursive_counts_lost(node.node)


def window(
    maintainer: Maintainer, updates: Sequence[tuple[Facts, Facts]], given: Sequence[int], watch: Watch
) -> Window:
    """The states after some updates, which are given as deletions and insertions; nothing changes yet."""
    windows = maintainer.backend.ability(Windows)
    assert windows is not None, "a backend that cannot compute windows is not asked for one"
    maintainer.settle()
    nodes = (_Node(maintainer, plan) for plan in maintainer.nodes)
    return Window(maintainer, windows.window(nodes, updates, given, maintainer.states, watch))


@dataclass(frozen=True)
class _Node:
    maintainer: Maintainer
    plan: NodePlan

    @property
    def node(self) -> HyperNode:
        return self.plan.planner.node

    @property
    def reads(self) -> frozenset[str]:
        return self.plan.reads

    @property
    def service(self) -> Service | None:
        return self.plan.allotment.alone

    @cached_property
    def is_read(self) -> bool:
        others = (plan for plan in self.maintainer.nodes if plan is not self.plan)
        return any(not other.reads.isdisjoint(self.plan.predicates) for other in others)

    def prepare(self) -> None:
        self.maintainer.prepare(self.plan, is_read=self.is_read)
