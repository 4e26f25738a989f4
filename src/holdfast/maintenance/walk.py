"""One update on its way through the hyper-nodes: each that it touches is brought up to date, in topological order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from holdfast.backends.abilities import virtual_relations
from holdfast.backends.protocol import Backend, Facts
from holdfast.maintenance.agenda import Agenda
from holdfast.maintenance.algorithms import Algorithm, Choice
from holdfast.maintenance.choose import Chooser
from holdfast.maintenance.ledger import Ledger
from holdfast.maintenance.marking import MarkedStratum, Marking
from holdfast.maintenance.modular import refuse_explicit
from holdfast.maintenance.module_adapter import ModuleAdapter, States
from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.stratum import Figures, Stratum
from holdfast.maintenance.watch import Watch
from holdfast.program.show import shown_names
from holdfast.quick_dataclass import dataclass


def explicit_change(deletions: Facts, insertions: Facts, E: Facts) -> tuple[Facts, Facts]:
    """E- and E+: what goes and what comes; a fact that is deleted and inserted stays."""
    return (deletions & E) - insertions, insertions - E


@dataclass(frozen=True)
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

    def through(self, agenda: Agenda) -> list[Figures]:
        """D and A are complete afterwards."""
        refuse_explicit(self.backend, (plan.allotment for plan in agenda.nodes), self.E_minus, self.E_plus)
        D, A = self.backend.deleted, self.backend.added
        given = {*self.E_minus.sizes(), *self.E_plus.sizes()}
        due = agenda.due(given, lambda: chain(D.predicates(), A.predicates()))
        return [self._maintained(plan) for plan in due]

    def _maintained(self, plan: NodePlan) -> Figures:
        begun = self.watch.seconds
        algorithm, why = self.chooser.chosen(plan, self.choice, self.backend)
        modular = algorithm.with_modules(plan.allotment.services)
        self._prepare(plan, algorithm, modular=modular is not None)
        s = self._stratum(plan, algorithm, modular=modular is not None)
        if not algorithm.by_module_alone:
            self.states.drop(plan.predicates)
        (modular or algorithm.maintain)(s)
        self.ledger.maintained(plan, algorithm)
        s.figures.algorithm, s.figures.seconds = algorithm.name, self.watch.seconds - begun
        s.figures.why = f"{why}; {s.figures.why}" if s.figures.why else why
        s.figures.given = sum(map(len, (s.E_minus, s.E_plus, s.removed_inputs, s.added_inputs)))
        self.chooser.learn(plan.node, s.figures, self.backend.statistics)
        return s.figures

    def _prepare(self, plan: NodePlan, algorithm: Algorithm, *, modular: bool) -> None:
        """What the algorithm reads has rows, and the counters that it needs are right."""
        virtual = virtual_relations(self.backend)
        if not algorithm.by_module_alone:
            virtual.materialise_rows(plan.predicates)
        if algorithm.needs_counts:
            self.ledger.make_right(plan, recursive=algorithm.keeps_recursive or modular, served=not modular)
        for service in plan.allotment.services if modular else ():
            virtual.materialise_rows(slice_.predicate for slice_ in service.reads)

    def _stratum(self, plan: NodePlan, algorithm: Algorithm, *, modular: bool) -> Stratum:
        node, backend = plan.node, self.backend
        shown = shown_names(node.predicates, backend.relations)
        self.watch.node(", ".join(shown))
        kept, added = (plan.generic, plan.added_generic) if modular else (plan.kept, plan.added)
        removed = plan.removed_generic if algorithm.by_module_alone else plan.removed
        served: Sequence[ModuleAdapter] = (
            [ModuleAdapter(service, backend) for service in plan.allotment.services] if modular else ()
        )
        given, change = (self.E_minus.of(node.predicates), self.E_plus.of(node.predicates)), (kept, removed, added)
        keeps = algorithm.keeps_nonrecursive, algorithm.keeps_recursive or modular
        beside_rules = (plan.inputs, Figures(shown), served, self.states, *keeps)
        values = (plan.planner, backend, self.watch, *given, *change, *beside_rules)
        if self.marks is not None and not node.limits:
            self.marks.marked()
            passes_on, beside = algorithm.passes_marks_on, () if algorithm.keeps_nonrecursive else kept.recursive
            if not modular and self.marks.concerns(node, kept.nonrecursive, beside, passes_on=passes_on):
                return MarkedStratum(*values, marking=self.marks, passes_on=passes_on, beside=beside)
        return Stratum(*values)
