"""The transaction around a window: several updates of facts become the new state in one pass, or leave no trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.versions import MOST_STATES, Versions
from holdfast.backends.protocol import Facts
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.window import Explicit, WindowStratum, explicit_states
from holdfast.plans.telling import TellingPlanner

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer, Outcome
    from holdfast.maintenance.watch import Watch

MOST_UPDATES = MOST_STATES - 1
ALGORITHM = "window"


class Together:
    """Applies windows; keeps the plans that tell whole instances for as long as the rules stay."""

    def __init__(self, maintainer: Maintainer) -> None:
        self._maintainer = maintainer
        self._program = maintainer.program
        self._planners: dict[tuple[str, ...], TellingPlanner] = {}

    def run(self, updates: Sequence[tuple[Facts, Facts]], given: Sequence[int], watch: Watch
            ) -> tuple[list[Outcome], list[int]]:
        """The outcome of each update, given as deletions and insertions, and its no-ops."""
        from holdfast.maintenance.maintainer import Outcome

        maintainer, backend = self._maintainer, cast("MemoryBackend", self._maintainer.backend)
        if self._program is not maintainer.program:
            self._program, self._planners = maintainer.program, {}
        versions, explicit = Versions(backend, len(updates)), explicit_states(backend, updates, given)
        try:
            strata = self._strata(versions, explicit, watch)
            last = len(updates)
            (removed, added), *changes = versions.between([(0, last), *((n, n + 1) for n in range(last))])
            watch.settle(len(added) - len(removed))
        except BaseException:
            backend.added.clear()
            maintainer.states.take_back()
            raise
        self._commit(strata, explicit, removed, added, last)
        maintainer.moved()
        figures = [(tuple(s.figures for s in strata))] + [()] * (last - 1)
        outcomes = [Outcome(gone, come, told) for (gone, come), told in zip(changes, figures, strict=True)]
        return outcomes, explicit.no_ops

    def _strata(self, versions: Versions, explicit: Explicit, watch: Watch) -> list[WindowStratum]:
        """Every hyper-node that something changes in or around, in topological order."""
        maintainer, done = self._maintainer, list[WindowStratum]()
        backend = cast("MemoryBackend", maintainer.backend)
        for plan in maintainer.nodes:
            given = {name: explicit.facts[name] for name in plan.predicates if name in explicit.facts}
            if not given and not versions.changed(plan.reads):
                continue
            begun, node = watch.seconds, plan.planner.node
            maintainer.prepare(plan)
            planner = self._planners.setdefault(node.predicates, TellingPlanner(node, backend.statistics))
            watch.node(", ".join(node.predicates))
            stratum = WindowStratum(planner, backend, versions, watch, given,
                                    Figures(algorithm=ALGORITHM, why=f"{versions.last} updates in one pass"))
            stratum.maintain()
            stratum.figures.seconds = watch.seconds - begun
            done.append(stratum)
        return done

    def _commit(self, strata: Sequence[WindowStratum], explicit: Explicit, removed: Facts, added: Facts, last: int
                ) -> None:
        maintainer, backend = self._maintainer, cast("MemoryBackend", self._maintainer.backend)
        E, I = backend.explicit, backend.materialisation
        for stratum in strata:
            for name, (ids, numbers) in stratum.counts.items():
                backend.nonrecursive.of(name)[ids] = numbers
            if stratum.planner.node.is_recursive:
                maintainer.recursive_counts_lost(stratum.planner.node)
        gone, come = dict[str, Ids](), dict[str, Ids]()
        for name, (ids, words) in explicit.facts.items():
            was, now = (words & 1).astype(np.bool_), ((words >> last) & 1).astype(np.bool_)
            gone[name], come[name] = ids[was & ~now], ids[now & ~was]
        E -= Momentary(backend.tables, gone)
        E |= Momentary(backend.tables, {name: ids for name, ids in come.items() if len(ids)})
        I -= removed
        I |= added
        backend.added.clear()
        maintainer.states.commit()

