"""The transaction around a window: the states after several updates are computed in one pass, and then become the state
one after the other.  Until then, and if the pass fails, there is no trace of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.versions import MOST_STATES, Versions, steps
from holdfast.backends.protocol import Facts
from holdfast.maintenance.commit import commit
from holdfast.maintenance.served import Served
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.window import Explicit, WindowStratum, explicit_states
from holdfast.maintenance.window_module import ServedInWindow, Step
from holdfast.plans.telling import TellingPlanner
from holdfast.program.show import shown_names

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer, NodePlan, Outcome
    from holdfast.maintenance.watch import Watch

MOST_UPDATES = MOST_STATES - 1
ALGORITHM = "window"


class Window:
    """States that were computed; each is to be made the state in its turn, as long as nothing else happens."""

    def __init__(
        self, maintainer: Maintainer, versions: Versions, explicit: Explicit, strata: Sequence[WindowStratum]
    ) -> None:
        self._maintainer, self._strata = maintainer, strata
        self._changes = _merged(versions.steps(), [s.served.steps for s in strata if s.served and s.served.steps])
        self._explicit = steps(cast("MemoryBackend", maintainer.backend), explicit.facts, versions.last)
        self._state, self._done = maintainer.state, 0
        self.no_ops = explicit.no_ops

    @property
    def is_current(self) -> bool:
        """Whether the state is still the one that the next update was computed for."""
        return self._maintainer.state == self._state

    @property
    def done(self) -> int:
        """How many of the states have been the present one."""
        return self._done

    def outcome(self, number: int) -> Outcome:
        """What one of the updates does, the first being 0; what the pass took stands with that."""
        from holdfast.maintenance.maintainer import Outcome

        removed, added = self._changes[number]
        return Outcome(removed, added, tuple(s.figures for s in self._strata) if not number else ())

    def advance(self, number: int) -> None:
        """Make the state after so many updates the present one, by those between."""
        while self._done < number:
            self._advance()

    def _advance(self) -> None:
        assert self.is_current
        number, maintainer = self._done, self._maintainer
        become = maintainer.become(self._explicit[number], self._changes[number])
        done = [partial(self._is_done, number + 1), *([maintainer.settle] if number + 1 == len(self._changes) else ())]
        commit(maintainer.backend, [partial(self._put_states, number), *become, maintainer.moved, *done])

    def _put_states(self, number: int) -> None:
        states = self._maintainer.states
        for stratum in self._strata:
            if stratum.served is None:
                states.drop(stratum.planner.node.predicates)
            else:
                states.put(stratum.served.module.service, stratum.served.states[number])

    def _is_done(self, number: int) -> None:
        self._state, self._done, self._maintainer.pending = self._maintainer.state, number, self._count

    def _count(self) -> None:
        """Put the counters where the state is: only when they are needed."""
        backend = cast("MemoryBackend", self._maintainer.backend)
        for stratum in self._strata:
            for name, (ids, counts) in stratum.counts.items():
                backend.nonrecursive.of(name)[ids] = counts[self._done - 1]
            if stratum.planner.node.is_recursive and stratum.served is None:
                self._maintainer.recursive_counts_lost(stratum.planner.node)


class Together:
    """Computes windows; keeps the plans that tell whole instances for as long as the rules stay."""

    def __init__(self, maintainer: Maintainer) -> None:
        self._maintainer = maintainer
        self._program = maintainer.program
        self._planners: dict[tuple[str, ...], TellingPlanner] = {}

    def window(self, updates: Sequence[tuple[Facts, Facts]], given: Sequence[int], watch: Watch) -> Window:
        """The states after some updates, which are given as deletions and insertions; nothing changes yet."""
        maintainer, backend = self._maintainer, cast("MemoryBackend", self._maintainer.backend)
        maintainer.settle()
        if self._program is not maintainer.program:
            self._program, self._planners = maintainer.program, {}
        versions, explicit = Versions(backend, len(updates)), explicit_states(backend, updates, given)
        try:
            return Window(maintainer, versions, explicit, self._strata(versions, explicit, watch))
        finally:
            backend.added.clear()

    def _strata(self, versions: Versions, explicit: Explicit, watch: Watch) -> list[WindowStratum]:
        """Every hyper-node that something changes in or around, in topological order."""
        maintainer, done = self._maintainer, list[WindowStratum]()
        backend = cast("MemoryBackend", maintainer.backend)
        for plan in maintainer.nodes:
            given = {name: explicit.facts[name] for name in plan.predicates if name in explicit.facts}
            if not given and not versions.changed(plan.reads):
                continue
            begun, node = watch.seconds, plan.planner.node
            others = [other for other in maintainer.nodes if other is not plan]
            is_read = any(not other.reads.isdisjoint(plan.predicates) for other in others)
            maintainer.prepare(plan, is_read=is_read)
            served = self._served(plan, is_read=is_read)
            planner = self._planners.setdefault(node.predicates, TellingPlanner(node, backend.statistics))
            watch.node(", ".join(shown_names(node.predicates, backend.relations)))
            stratum = WindowStratum(
                planner,
                backend,
                versions,
                watch,
                given,
                Figures(algorithm=ALGORITHM, why=f"{versions.last} updates in one pass"),
                served=served,
            )
            stratum.maintain()
            stratum.figures.seconds = watch.seconds - begun
            done.append(stratum)
        return done

    def _served(self, plan: NodePlan, *, is_read: bool) -> ServedInWindow | None:
        """The module that has the recursive rules of a hyper-node to itself."""
        service, backend = plan.allotment.alone, cast("MemoryBackend", self._maintainer.backend)
        if service is None:
            return None
        return ServedInWindow(Served(service, backend), backend, self._maintainer.states, is_read)


def _merged(changes: list[Step], more: Sequence[list[Step]]) -> list[Step]:
    """Changes of different predicates, step by step."""
    for steps_ in more:
        changes = [
            (Momentary(gone.tables, {**gone.rows, **g.rows}), Momentary(come.tables, {**come.rows, **c.rows}))
            for (gone, come), (g, c) in zip(changes, steps_, strict=True)
        ]
    return changes
