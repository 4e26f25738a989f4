"""The transaction around a window: the states after several updates are computed in one pass, and then become the state
one after the other.  Until then, and if the pass fails, there is no trace of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from holdfast.backends.protocol import Facts
from holdfast.maintenance.commit import commit
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

    @property
    def done(self) -> int:
        """How many of the states have been the present one."""
        return self._done

    def outcome(self, number: int) -> Outcome:
        """What one of the updates does, the first being 0; the figures of the pass stand with that."""
        from holdfast.maintenance.maintainer import Outcome

        removed, added = self._computed.changes[number]
        return Outcome(removed, added, tuple(node.figures for node in self._computed.nodes) if not number else ())

    def advance(self, number: int) -> None:
        """Make the state after so many updates the present one, by those between."""
        while self._done < number:
            self._advance()

    def _advance(self) -> None:
        assert self.is_current
        number, maintainer, changes = self._done, self._maintainer, self._computed.changes
        become = maintainer.become(self._computed.explicit[number], changes[number])
        done = [partial(self._is_done, number + 1), *([maintainer.settle] if number + 1 == len(changes) else ())]
        commit(maintainer.backend, [partial(self._put_states, number), *become, maintainer.moved, *done])

    def _put_states(self, number: int) -> None:
        for node in self._computed.nodes:
            if node.service is None:
                self._maintainer.states.drop(node.node.predicates)
            else:
                self._maintainer.states.put(node.service, node.states[number])

    def _is_done(self, number: int) -> None:
        self._state, self._done, self._maintainer.pending = self._maintainer.state, number, self._count

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
