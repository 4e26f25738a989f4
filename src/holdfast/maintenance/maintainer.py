"""Keeps a materialisation exact: takes updates through the hyper-nodes that they touch, each in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from holdfast.backends.abilities import housekeeping, virtual_relations
from holdfast.backends.protocol import Backend, UndoneError
from holdfast.maintenance.agenda import Agenda
from holdfast.maintenance.algorithms import Choice
from holdfast.maintenance.choose import Chooser
from holdfast.maintenance.commit import CommitStep, commit
from holdfast.maintenance.ledger import Ledger
from holdfast.maintenance.marking import Marking
from holdfast.maintenance.modular import TooManyForModulesError
from holdfast.maintenance.module_adapter import States
from holdfast.maintenance.node_plans import NodePlan, changed_plans, node_plans, plans_after_edit
from holdfast.maintenance.opened import note_evaluation
from holdfast.maintenance.seminaive import NodeFigures
from holdfast.maintenance.transaction import Outcome, Transactions
from holdfast.maintenance.walk import Walk, explicit_change
from holdfast.maintenance.watch import Watch
from holdfast.maintenance.windows import Move
from holdfast.modules import Module
from holdfast.program.model import Program

_T = TypeVar("_T")
_TRIES = 4  # of an update that the backend has lost and cannot repeat


class Maintainer:
    """Keeps a materialisation exact.  Between updates D and A are empty and I is what follows from E."""

    def __init__(
        self,
        program: Program,
        backend: Backend,
        modules: Sequence[Module] = (),
        states: States | None = None,
        figures: Sequence[NodeFigures] = (),
    ) -> None:
        """`figures` say what the evaluation of each hyper-node took, in topological order; or there are none."""
        self.program, self.backend, self.modules, self.states = program, backend, modules, states or States()
        self._virtual = virtual_relations(backend)
        self.chooser, self.ledger = Chooser(), Ledger(backend)
        self.transactions = Transactions(backend, self.states, self.ledger, self.chooser.costs)
        self.nodes: Sequence[NodePlan] = node_plans(program, backend.statistics, modules)  # in topological order
        self._agenda = Agenda(self.nodes)
        note_evaluation(self, figures)
        self.marking: Marking | None = None  # if the next update may be looked at

    def counted(self) -> None:
        """Make all counters right, whatever algorithms were used; rules that modules serve count too."""
        self.ledger.flush_deferred_counts()
        self._virtual.materialise_rows(self.program.relations)
        for plan in self.nodes:
            self.ledger.make_right(plan, recursive=True, served=True)

    def run(
        self,
        given: Move,
        choice: Choice,
        watch: Watch,
        report: Callable[[Outcome], _T],
        program: Program | None = None,
        then: Sequence[CommitStep] | None = (),
    ) -> _T:
        """One update, to the rules of another `program` if there is one.

        Gives what `report` makes of the outcome before it is committed: if that fails, nothing has changed.  The
        commit does the steps `then` last; without them (None) it is a what-if and leaves no trace.
        """
        for _ in range(_TRIES - 1):
            with suppress(UndoneError):
                return self._run(given, choice, watch, report, program, then)
            watch.set_net_facts(0)
        return self._run(given, choice, watch, report, program, then)

    def _run(
        self,
        given: Move,
        choice: Choice,
        watch: Watch,
        report: Callable[[Outcome], _T],
        program: Program | None,
        then: Sequence[CommitStep] | None,
    ) -> _T:
        marks = self.marking if then is not None and program is None else None
        self.transactions.begin(marks)
        try:
            E_minus, E_plus = explicit_change(*given, self.backend.explicit)
            through = (self.backend, self.states, self.ledger, self.chooser, choice, watch, marks)
            outcome = self._outcome(Walk(E_minus, E_plus, *through), program)
            watch.set_net_facts(len(outcome.added) - len(outcome.removed))
            result = report(outcome)
        except TooManyForModulesError:
            self.transactions.roll_back()
        except BaseException:
            self.transactions.roll_back()
            raise
        else:
            if then is None:
                self.transactions.roll_back()
            else:
                watch.give_way()
                self._commit(outcome, then)
            return result
        self._do_without_modules()
        watch.set_net_facts(0)
        return self._run(given, choice, watch, report, program, then)

    def _commit(self, outcome: Outcome, then: Sequence[CommitStep]) -> None:
        try:
            self.transactions.commit([(outcome.explicit, (outcome.removed, outcome.added))], then=then)
        except UndoneError:
            self.transactions.roll_back()
            raise

    def _outcome(self, walk: Walk, program: Program | None) -> Outcome:
        agenda = self._agenda if program is None else Agenda(self._edited(program))
        figures = walk.through(agenda)
        return Outcome(*walk.net(), tuple(figures), (walk.E_minus, walk.E_plus))

    # --- rules change ----------------------------------------------------------------------------------

    def _edited(self, program: Program) -> list[NodePlan]:
        """The hyper-nodes of another program.  Those that are as they were are not looked at."""
        nodes = changed_plans(self.program, program, self.nodes, self.backend.statistics, self.modules, self.states)
        stay = {name for plan in nodes if plan.stays_virtual for name in plan.predicates}
        self._virtual.materialise_rows(self._virtual.virtual.keys() - stay)
        for plan in nodes:
            self.ledger.move_counts(plan)
        return nodes

    def adopt(self, program: Program, *, anew: bool = False) -> None:
        """Go on with a program whose rules have changed by the last update; `anew` if no plan is to be believed."""
        known = () if anew else self.nodes
        nodes = plans_after_edit(self.program, program, known, self.backend.statistics, self.modules)
        changed = {name for plan in {*self.nodes} ^ {*nodes} for name in plan.predicates}
        housekeeping(self.backend).forget_plans(changed)
        self.program, self.nodes, self._agenda = program, nodes, Agenda(nodes)
        self.transactions.bump_version()
        self.ledger.keep_only(program.relations)
        self.states.keep_only(program.relations)
        if self.marking is not None:
            self.marking.rules_changed(program)

    def mend(self) -> None:
        """An update was interrupted at an unknown point.  Counters and plans are rebuilt on demand."""
        self.transactions.recover()
        self.chooser.forget()
        self.adopt(self.program, anew=True)

    # --- modules ---------------------------------------------------------------------------------------

    def _do_without_modules(self) -> None:
        """They would derive too much: all rules are evaluated from now on, and count."""
        self._virtual.materialise_rows(tuple(self._virtual.virtual))
        commit(self.backend, [self._drop_modules])

    def _drop_modules(self) -> None:
        self.ledger.without_modules({p for plan in self.nodes if plan.allotment.services for p in plan.predicates})
        self.modules = ()
        self.states.keep_only(())
        self.adopt(self.program, anew=True)
