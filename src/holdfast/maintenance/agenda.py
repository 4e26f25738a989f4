"""The hyper-nodes that an update concerns, in topological order; the others cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from holdfast.maintenance.node_plans import NodePlan


class Agenda:
    """The hyper-nodes of a program, indexed by their own predicates and by those that they read."""

    def __init__(self, nodes: Sequence[NodePlan]) -> None:
        self.nodes = nodes
        self._edited = [number for number, plan in enumerate(nodes) if plan.edited]
        self._own = {name: number for number, plan in enumerate(nodes) for name in plan.predicates}
        self._readers: dict[str, list[int]] = {}
        for number, plan in enumerate(nodes):
            for name in plan.reads:
                self._readers.setdefault(name, []).append(number)

    def due(self, given: Iterable[str], changed: Callable[[], Iterable[str]]) -> Iterator[NodePlan]:
        """Yields the hyper-nodes whose rules have changed or that define a given predicate, and those that read what
        has changed so far; `changed` is asked after each."""
        due = [*self._edited, *(self._own[name] for name in given)]
        heapify(due)
        last = -1
        seen: set[str] = set()
        while due:
            number = heappop(due)
            if number == last:
                continue
            yield self.nodes[number]
            last = number
            for name in changed():
                if name not in seen:
                    seen.add(name)
                    for reader in self._readers.get(name, ()):
                        if reader > number:
                            heappush(due, reader)
