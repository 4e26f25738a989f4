"""The transaction around a window: one pass computes the states after several updates, which are then committed one
after the other.  Until then, and if the pass fails, they leave no trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from holdfast.backends.abilities import virtual_relations
from holdfast.backends.protocol import Facts
from holdfast.maintenance.commit import CommitStep
from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.transaction import Outcome
from holdfast.maintenance.windows import ComputedWindow, Windows
from holdfast.modules import Service
from holdfast.program.model import HyperNode

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer
    from holdfast.maintenance.watch import Watch


class Window:
    """Computed states, each to be committed in its turn, as long as nothing else changes the state."""

    def __init__(self, maintainer: Maintainer, computed: ComputedWindow) -> None:
        self._states, self._transactions, self._computed = maintainer.states, maintainer.transactions, computed
        self._version, self._done = self._transactions.version, 0
        self.no_ops = computed.no_ops

    @property
    def is_current(self) -> bool:
        """Whether the current state is the one that the next update was computed for."""
        return self._transactions.version == self._version

    @property
    def done(self) -> int:
        """The number of states committed so far."""
        return self._done

    def outcome(self, number: int) -> Outcome:
        """The effect of one of the updates, counted from 0; the first one carries the figures of the pass."""
        removed, added = self._computed.changes[number]
        figures = () if number else tuple(node.figures for node in self._computed.nodes)
        return Outcome(removed, added, figures, self._computed.explicit[number])

    def advance(self, number: int) -> None:
        """Commit updates, up to the state after this number of them."""
        if self._done >= number:
            return
        assert self.is_current
        begun, computed = self._done, self._computed
        moves = list(zip(computed.explicit[begun:number], computed.changes[begun:number], strict=True))
        then: list[CommitStep] = [partial(self._is_done, number)]
        if number == len(computed.changes):
            then.append(self._transactions.ledger.flush_deferred_counts)
        self._transactions.commit(moves, first=[partial(self._put_states, number - 1)], then=then)

    def _put_states(self, number: int) -> None:
        for node in self._computed.nodes:
            if node.service is None:
                self._states.drop(node.node.predicates)
            else:
                self._states.put(node.service, node.states[number])

    def _is_done(self, number: int) -> None:
        self._version, self._done = self._transactions.version, number
        self._transactions.ledger.defer(self._put_counts)

    def _put_counts(self) -> None:
        """Set the counters to those of the current state; deferred until they are needed."""
        for node in self._computed.nodes:
            node.put_counts(self._done)
            if node.node.limits:
                self._transactions.ledger.lose_counts(node.node.predicates)
            if node.node.is_recursive:
                ledger = self._transactions.ledger
                lose = ledger.lose_recursive if node.service is None else ledger.lose_ranks
                lose(node.node.predicates)


def window(
    maintainer: Maintainer, updates: Sequence[tuple[Facts, Facts]], given: Sequence[int], watch: Watch
) -> Window:
    """The states after updates given as deletions and insertions; nothing changes yet."""
    windows = maintainer.backend.ability(Windows)
    assert windows is not None, "a backend that cannot compute windows is not asked for one"
    maintainer.ledger.flush_deferred_counts()
    nodes = (_Node(maintainer, plan) for plan in maintainer.nodes)
    return Window(maintainer, windows.window(nodes, updates, given, maintainer.states, watch))


@dataclass(frozen=True)
class _Node:
    maintainer: Maintainer
    plan: NodePlan

    @property
    def node(self) -> HyperNode:
        return self.plan.node

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
        """Its own facts need no rows where a module serves the recursive rules alone and nothing else reads them."""
        plan, alone = self.plan, self.service is not None
        rows = plan.reads - plan.predicates if alone and not self.is_read else plan.reads | plan.predicates
        virtual_relations(self.maintainer.backend).materialise_rows(rows)
        if not plan.node.limits:  # limit relations have no counters
            self.maintainer.ledger.make_right(plan, recursive=alone)
