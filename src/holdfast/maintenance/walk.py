"""One update on its way through the hyper-nodes: each that it touches is brought up to date, in topological order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import chain

from holdfast.backends.abilities import Counting, tuning, virtual_relations
from holdfast.backends.protocol import Backend, Facts
from holdfast.maintenance import recompute
from holdfast.maintenance.agenda import Agenda
from holdfast.maintenance.algorithms import ALGORITHMS, AUTO, Algorithm, Choice
from holdfast.maintenance.budget import AbandonedError, Budget, FullCost, work_of
from holdfast.maintenance.choose import COUNTING, MANY_GONE, NO_RECURSION, Chooser, Request
from holdfast.maintenance.dred_counting import maintain_explicit
from holdfast.maintenance.ledger import Ledger
from holdfast.maintenance.marking import MarkedStratum, Marking
from holdfast.maintenance.modular import refuse_explicit
from holdfast.maintenance.module_adapter import ModuleAdapter, States
from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.stratum import Figures, NodeChange, Stratum, is_positive
from holdfast.maintenance.watch import Stopwatch, Watch
from holdfast.program.model import Relation
from holdfast.program.show import shown_names
from holdfast.quick_dataclass import dataclass

RECOMPUTE = ALGORITHMS["recompute"]


def explicit_change(deletions: Facts, insertions: Facts, E: Facts) -> tuple[Facts, Facts]:
    """E- and E+: what goes and what comes; a fact that is deleted and inserted stays."""
    return (deletions & E) - insertions, insertions - E


def _may_take_away(plan: NodePlan, change: NodeChange) -> bool:
    """Whether an update may do more than insert, which starting over would have to do as well."""
    has_other_rules = plan.node.limits or not is_positive(plan.kept)  # what is better takes the place of what was there
    return bool(has_other_rules or change.E_minus or change.removed_inputs or plan.removed)


def facts_around(plan: NodePlan) -> float:
    """How many facts a hyper-node reads of others; its own tables also have rows of offers that were beaten."""
    return sum(map(plan.planner.statistics.size, plan.reads - plan.predicates))


@dataclass
class Walk:
    """What an update brings along, and what it passes through."""

    E_minus: Facts
    E_plus: Facts
    backend: Backend
    states: States
    ledger: Ledger
    chooser: Chooser
    choice: Choice
    watch: Watch
    marks: Marking | None = None

    def __post_init__(self) -> None:
        self._counting = self.backend.ability(Counting) if self.marks is None else None

    def through(self, agenda: Agenda) -> list[Figures]:
        """D and A are complete afterwards."""
        refuse_explicit(self.backend, (plan.allotment for plan in agenda.nodes), self.E_minus, self.E_plus)
        D, A = self.backend.deleted, self.backend.added
        given = {*self.E_minus.sizes(), *self.E_plus.sizes()}
        due = agenda.due(given, lambda: chain(D.predicates(), A.predicates()))
        if self._counting is not None:
            self._counting.begin(self.E_minus, self.E_plus)
        figures = [self._maintained(plan) for plan in due]
        self.watch.give_way()
        return figures

    def _maintained(self, plan: NodePlan) -> Figures:
        self.watch.give_way()
        is_auto = self.choice.named(plan.node) == AUTO
        if is_auto and plan.is_counted and self._counting is not None:
            figures = self._counted(plan, self._counting)
            if figures is not None:
                return figures
        change = self._change(plan)
        stopwatch, indexed = Stopwatch(), tuning(self.backend).indexing
        request = self._request(plan, change)
        algorithm, why = self.chooser.chosen(plan, request, self.backend)
        full = self.chooser.costs.of(plan.node.predicates) if is_auto else None
        if full is not None and plan.node.limits:
            full = full.for_facts(facts_around(plan) + request.inserted - request.deleted)
        try:
            figures, why = self._run(plan, change, request, algorithm, why, full)
        except AbandonedError as abandoned:
            why = f"{why}; abandoned: {abandoned}"
            self._take_back(plan)
            abandoned.figures.work = self._work(stopwatch, indexed, abandoned.figures)
            self.chooser.gave_up(plan, algorithm, abandoned.figures)
            algorithm = self.chooser.anew(plan)
            figures, why = self._run(plan, change, request, algorithm, why, None)
            figures.abandoned, figures.work_abandoned = abandoned.figures.instances, abandoned.figures.work
        self.ledger.maintained(plan, algorithm)
        figures.algorithm, figures.seconds = algorithm.name, stopwatch.seconds
        figures.work = self._work(stopwatch, indexed, figures)
        figures.why = f"{why}; {figures.why}" if figures.why else why
        self.chooser.learn(plan.node, figures, self.backend.statistics)
        if is_auto and plan.allotment.services:
            self.chooser.compare(plan, figures, self.backend)
        if plan.node.limits and figures.is_anew:
            self.chooser.costs.by_facts(plan.node.predicates, facts_around(plan) + request.inserted - request.deleted)
        return figures

    def _work(self, stopwatch: Stopwatch, indexed: float, figures: Figures) -> float:
        """The seconds of all that was done, also by an algorithm that was then abandoned; but for new indexes, which
        say nothing of the next update."""
        before, instances = figures.work_abandoned, figures.instances - figures.abandoned
        backend = tuning(self.backend)
        seconds = max(0.0, stopwatch.work - (backend.indexing - indexed) - before)
        return before + work_of(seconds, instances, figures.requests, backend)

    def _counted(self, plan: NodePlan, counting: Counting) -> Figures | None:
        """What `_run` does for a hyper-node where nothing is to be decided: most of a small update is this."""
        begun, shown = time.monotonic(), shown_names(plan.node.predicates, self._relations)
        self.watch.node(shown[0])
        is_right = self.ledger.counts_all(plan.predicates)
        if not is_right:
            self.ledger.make_right(plan, recursive=True, served=True)
        rules, give_way = plan.kept, self.watch.give_way
        found = counting.maintain(plan.planner, rules.nonrecursive, rules.aggregates, plan.reads, MANY_GONE, give_way)
        if found is None:
            return None
        gone, come, losses, gains, deleted, added = found
        if added or not plan.has_rules:
            self.watch.round(added)
        self.states.drop(plan.predicates)
        if not is_right:
            self.ledger.maintained(plan, ALGORITHMS[COUNTING])
        figures = Figures(shown, COUNTING, NO_RECURSION, gone + come, losses, insertion=gains, overdeleted=deleted)
        figures.deletes, figures.inserts, figures.has_deleted = gone > 0, come > 0, plan.has_rules
        figures.seconds = figures.work = time.monotonic() - begun
        self.chooser.costs.maintained(plan.node.predicates, figures)
        return figures

    def net(self) -> tuple[Facts, Facts]:
        """D \\ A and A \\ D, as they are now."""
        if self._counting is not None:
            return self._counting.net()
        D, A = self.backend.deleted, self.backend.added
        return (D - A).snapshot(), (A - D).snapshot()

    def _change(self, plan: NodePlan) -> NodeChange:
        D, A, O = self.backend.deleted, self.backend.added, plan.predicates
        return NodeChange(self.E_minus.of(O), self.E_plus.of(O), (D - A).of(plan.inputs), (A - D).of(plan.inputs))

    def _request(self, plan: NodePlan, change: NodeChange) -> Request:
        deleted = len(change.E_minus) + len(change.removed_inputs)
        inserted = len(change.E_plus) + len(change.added_inputs)
        is_ranked = plan.node.is_recursive and self.ledger.ranks_are_kept(plan)
        return Request(self.choice, deleted, inserted, is_ranked=is_ranked)

    def _run(
        self,
        plan: NodePlan,
        change: NodeChange,
        request: Request,
        algorithm: Algorithm,
        why: str,
        full: FullCost | None,
    ) -> tuple[Figures, str]:
        """Bring a hyper-node up to date by an algorithm, which may cost as much as starting over, if that is known."""
        modular = algorithm.with_modules(plan.allotment.services)
        maintain, figures = modular or algorithm.maintain, Figures(shown_names(plan.node.predicates, self._relations))
        self.watch.node(", ".join(figures.predicates))
        if not plan.has_rules and not algorithm.counts_anew:
            maintain = maintain_explicit
        if algorithm.needs_ranks and plan.node.is_recursive and not self.ledger.ranks_are_kept(plan):
            maintain, why = recompute.maintain, f"{why}; its ranks were not known, so it was recomputed"
        asked = tuning(self.backend).requests
        is_bounded = plan.node.is_recursive and not algorithm.counts_anew and not algorithm.by_module_alone
        is_bounded = is_bounded and maintain is not recompute.maintain and _may_take_away(plan, change)
        with self._budget(full, figures) if full and is_bounded else nullcontext():
            needs = RECOMPUTE if maintain is recompute.maintain else algorithm
            self._prepare(plan, needs, modular=modular is not None)
            s = self._stratum(plan, change, algorithm, figures, modular=modular is not None)
            if not algorithm.by_module_alone:
                self.states.drop(plan.predicates)
            figures.given = request.deleted + request.inserted
            figures.deletes, figures.inserts = request.deleted > 0, request.inserted > 0
            s.is_ranked = plan.node.is_recursive and self.ledger.ranks_are_right(plan)
            s.late = self.ledger.take_late(plan)
            maintain(s)
            if algorithm.needs_ranks and maintain is not recompute.maintain:
                self.ledger.put_late(plan, s.late)
        if plan.node.limits:
            self.ledger.note_ranks(plan, right=s.is_ranked)
        figures.requests = tuning(self.backend).requests - asked
        figures.is_anew = figures.is_anew or maintain is recompute.maintain or algorithm.counts_anew
        return figures, why

    def _budget(self, full: FullCost, figures: Figures) -> Budget:
        return Budget(full, figures, self.watch, tuning(self.backend))

    def _take_back(self, plan: NodePlan) -> None:
        """What an abandoned algorithm made of a hyper-node is undone, but for the counters, which are made anew."""
        D, A, backend = self.backend.deleted, self.backend.added, self.backend
        D -= D.of(plan.predicates)
        A -= A.of(plan.predicates)
        for kept in (backend.checked, backend.proved, backend.delayed):
            kept.clear()

    @property
    def _relations(self) -> Mapping[str, Relation]:
        return self.backend.relations

    def _prepare(self, plan: NodePlan, algorithm: Algorithm, *, modular: bool) -> None:
        """What the algorithm reads has rows, and the counters that it needs are right."""
        virtual = virtual_relations(self.backend)
        if not algorithm.by_module_alone:
            virtual.materialise_rows(plan.predicates)
        if algorithm.needs_counts:
            self.ledger.make_right(plan, recursive=algorithm.keeps_recursive or modular, served=not modular)
        for service in plan.allotment.services if modular else ():
            virtual.materialise_rows(slice_.predicate for slice_ in service.reads)

    def _stratum(
        self, plan: NodePlan, change: NodeChange, algorithm: Algorithm, figures: Figures, *, modular: bool
    ) -> Stratum:
        node, backend = plan.node, self.backend
        kept, added = (plan.generic, plan.added_generic) if modular else (plan.kept, plan.added)
        removed = plan.removed_generic if algorithm.by_module_alone else plan.removed
        served: Sequence[ModuleAdapter] = (
            [ModuleAdapter(service, backend) for service in plan.allotment.services] if modular else ()
        )
        keeps = algorithm.keeps_nonrecursive, algorithm.keeps_recursive or modular
        beside_rules = (plan.inputs, figures, served, self.states, *keeps)
        values = (plan.planner, backend, self.watch, *change, kept, removed, added, *beside_rules)
        if self.marks is not None and not node.limits:
            self.marks.marked()
            passes_on, beside = algorithm.passes_marks_on, () if algorithm.keeps_nonrecursive else kept.recursive
            if not modular and self.marks.concerns(node, kept.nonrecursive, beside, passes_on=passes_on):
                return MarkedStratum(*values, marking=self.marks, passes_on=passes_on, beside=beside)
        return Stratum(*values)
