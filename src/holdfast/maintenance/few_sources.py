"""Whether a closure that begins at few sources, or beside other rules leads nowhere far, is opened by its rules.

A closure module numbers and sorts all steps, and a later update walks from every source that it may affect.  From few
sources, rules visit less: what these reach, and later only what changes.  Which side wins depends on how far the
sources reach and in how many rounds, so that is counted: for a few of them first, then for all.  No clock decides, so
the same facts are always opened in the same way.

Rules may visit `_VISITS` instances for each step.  If they need more, what they derived is dropped and the module
begins.  Beside other rules a module is given all edges in each round of each update; there rules come first too, with
fewer visits for each fact that the hyper-node begins with: enough where paths are short.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from holdfast.backends.abilities import Ranking, VirtualRelations
from holdfast.backends.protocol import Backend, Facts
from holdfast.maintenance.module_adapter import ModuleAdapter
from holdfast.maintenance.watch import Watch
from holdfast.plans import Planner, Read

_STEPS = 4_096  # below which a module is quick in any case
_EACH = 64  # steps for each source: then sources are few
_SAMPLE = 4  # sources that are followed first
_VISITS = 24  # instances for each step that rules may visit: about what a module takes to number, sort and walk it
_VISITS_BESIDE = 8  # the same for each fact that a hyper-node with other rules begins with
_ROUND = 2_000  # instances that take as long as beginning a round


class FewSources:
    """A hyper-node that a module could have to itself, during its first evaluation."""

    def __init__(self, planner: Planner, backend: Backend, watch: Watch, module: ModuleAdapter) -> None:
        self._planner, self._backend, self._watch, self._module = planner, backend, watch, module
        self.instances = self.facts = self._rounds = 0

    def close(self, Δ: Facts) -> str:
        """Evaluate by rules what follows from the external facts, if that pays; gives why, or nothing."""
        column, steps = self._module.service.module.carried(self._module.service), self.steps
        ranks = self._backend.ability(Ranking)
        if column is None or steps < _STEPS or ranks is None or not self._may_be_rows():
            return ""
        Δ = Δ.snapshot()
        rows = self._module.rows(Δ)
        sources = np.unique(rows[:, column])
        if not len(sources) or _EACH * len(sources) > steps or len(rows) < len(Δ):
            return ""
        before = self._watch.facts, self._watch.rounds
        some = np.unique(sources[np.linspace(0, len(sources) - 1, _SAMPLE).astype(np.int64)])
        sample = self._module.facts(rows[np.isin(rows[:, column], some)], known=True).snapshot()
        ranks.rank_anew(self._planner.node.predicates)
        self._enter(Δ, ranks)
        # Heads have the source of the fact that they follow from: so none of the sample follows from the others.
        most = _VISITS * steps
        all_like_these = self._follow(sample, ranks, most, len(sources) / len(some))
        if all_like_these and self._follow((Δ - sample).snapshot(), ranks, most):
            return f"{len(sources):,} {('sources', 'targets')[column]} are few beside {steps:,} steps"
        self._drop(*before)
        return ""

    def close_beside(self, Δ: Facts) -> str:
        """The same for a hyper-node that modules share with other rules."""
        ranks, O = self._backend.ability(Ranking), self._planner.node.predicates
        Δ = Δ.snapshot()
        if len(Δ) < _STEPS or ranks is None or not self._may_be_rows():
            return ""
        before = self._watch.facts, self._watch.rounds
        ranks.rank_anew(O)
        self._enter(Δ, ranks)
        if self._follow(Δ, ranks, _VISITS_BESIDE * len(Δ)):
            return f"{self.instances:,} rule instances from {len(Δ):,} facts are few"
        self._drop(*before)
        return ""

    @cached_property
    def steps(self) -> int:
        """How many facts the module would number and sort."""
        return sum(int(self._planner.statistics.size(read.predicate)) for read in self._module.service.reads)

    def _may_be_rows(self) -> bool:
        """Whether rules may do what a module can: in this process, and without limits that only a module keeps to."""
        backend, limits = self._backend, self._watch.limits
        is_here = backend.ability(VirtualRelations) is not None
        return is_here and limits.rounds is None and limits.memory is None

    def _enter(self, Δ: Facts, ranks: Ranking) -> None:
        I = self._backend.materialisation
        self.facts += len(Δ)
        self._watch.round(len(Δ))
        I |= Δ
        ranks.enter(Δ)

    def _follow(self, Δ: Facts, ranks: Ranking, most: float, each: float = 1.0) -> bool:
        """Everything that follows from some facts; False if it is too much when each instance stands for so many."""
        backend, I, begun = self._backend, self._backend.materialisation, self.instances
        while Δ:
            sources = {Read.ALL: I, Read.OLD: I - Δ, Read.DELTA: Δ, Read.ABSENT: I}
            N = backend.apply(self._planner.recursive(Δ.sizes()), sources)
            backend.recursive.add(N)
            self.instances, self._rounds = self.instances + len(N), self._rounds + 1
            expected = begun + each * (self.instances - begun) + _ROUND * self._rounds
            if expected > most:
                return False
            Δ = (N.support() - I).snapshot()
            if Δ:
                self._enter(Δ, ranks)
        return True

    def _drop(self, facts: int, rounds: int) -> None:
        """The module begins, as if nothing had been tried."""
        I, O = self._backend.materialisation, self._planner.node.predicates
        I -= I.of(O).snapshot()
        self._backend.recursive.forget(O)
        self._watch.facts, self._watch.rounds = facts, rounds
        self.instances = self.facts = 0
