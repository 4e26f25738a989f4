"""The pass of a window over the hyper-nodes that its updates touch."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.window.module import ServedInWindow, StateChange
from holdfast.backends.memory.window.stratum import Explicit, WindowStratum, explicit_states
from holdfast.backends.memory.window.versions import Versions, steps
from holdfast.backends.protocol import Facts
from holdfast.maintenance.module_adapter import ModuleAdapter, States
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.watch import Watch
from holdfast.maintenance.windows import ComputedNode, ComputedWindow, NodeInWindow
from holdfast.plans.instances import InstancePlanner
from holdfast.program.model import HyperNode
from holdfast.program.show import shown_names

ALGORITHM = "window"


class Planners:
    """The plans that emit whole instances, by hyper-node, as long as the rules stay the same."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self._planners: dict[tuple[str, ...], tuple[HyperNode, InstancePlanner]] = {}

    def of(self, node: HyperNode) -> InstancePlanner:
        """The planner of a hyper-node; a node with the same predicates but other rules gets a new one."""
        known, planner = self._planners.get(node.predicates, (None, None))
        if planner is None or known is not node:
            planner = InstancePlanner(node, self._backend.statistics)
            self._planners[node.predicates] = node, planner
        return planner

    def forget(self, heads: Container[str]) -> None:
        """Forget the plans for these heads: their rules have changed."""
        left = {names: known for names, known in self._planners.items() if not any(name in heads for name in names)}
        self._planners = left


def compute(
    planners: Planners,
    backend: MemoryBackend,
    nodes: Iterable[NodeInWindow],
    updates: Sequence[tuple[Facts, Facts]],
    given: Sequence[int],
    states: States,
    watch: Watch,
) -> ComputedWindow:
    """Implements `Windows.window`."""
    versions, explicit = Versions(backend, len(updates)), explicit_states(backend, updates, given)
    try:
        touched = (node for node in nodes if _is_touched(node, versions, explicit))
        done = [_maintained(node, planners, backend, versions, explicit, states, watch) for node in touched]
        return ComputedWindow(
            steps(backend, explicit.facts, versions.last),
            _merged(versions.steps(), [s.served.steps for _, s in done if s.served and s.served.steps]),
            explicit.no_ops,
            [_computed(node, stratum) for node, stratum in done],
        )
    finally:
        backend.added.clear()


def _is_touched(node: NodeInWindow, versions: Versions, explicit: Explicit) -> bool:
    return not explicit.facts.keys().isdisjoint(node.node.predicates) or bool(versions.changed(node.reads))


def _maintained(
    window_node: NodeInWindow,
    planners: Planners,
    backend: MemoryBackend,
    versions: Versions,
    explicit: Explicit,
    states: States,
    watch: Watch,
) -> tuple[NodeInWindow, WindowStratum]:
    begun, node, service = watch.seconds, window_node.node, window_node.service
    given = {name: explicit.facts[name] for name in node.predicates if name in explicit.facts}
    window_node.prepare()
    module = None if service is None else ModuleAdapter(service, backend)
    served = None if module is None else ServedInWindow(module, backend, states, window_node.is_read)
    watch.node(", ".join(shown_names(node.predicates, backend.relations)))
    figures = Figures(algorithm=ALGORITHM, why=f"{versions.last} updates in one pass")
    stratum = WindowStratum(planners.of(node), backend, versions, watch, given, figures, served=served)
    stratum.maintain()
    stratum.figures.seconds = watch.seconds - begun
    return window_node, stratum


def _computed(node: NodeInWindow, stratum: WindowStratum) -> ComputedNode:
    states = stratum.served.states if stratum.served else ()
    return ComputedNode(node.node, stratum.figures, node.service, states, stratum.put_counts)


def _merged(changes: list[StateChange], more: Sequence[list[StateChange]]) -> list[StateChange]:
    """Merges the changes of different predicates, step by step."""
    for steps_ in more:
        changes = [
            (Momentary(removed.tables, {**removed.rows, **g.rows}), Momentary(added.tables, {**added.rows, **c.rows}))
            for (removed, added), (g, c) in zip(changes, steps_, strict=True)
        ]
    return changes
