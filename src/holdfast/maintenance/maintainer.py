"""An update over all hyper-nodes: what is touched is brought up to date in topological order, atomically."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TypeVar

from holdfast.backends.abilities import housekeeping, module_budget, packings, virtual_relations
from holdfast.backends.protocol import Backend, Facts, KeptFacts
from holdfast.maintenance.agenda import Agenda
from holdfast.maintenance.algorithms import ALGORITHMS, AUTO, Algorithm, Choice, refuse_company, refuse_recursion
from holdfast.maintenance.choose import Chooser
from holdfast.maintenance.commit import Step, commit
from holdfast.maintenance.marking import PASSING_ON, MarkedStratum, Marking
from holdfast.maintenance.modular import TooManyForModulesError
from holdfast.maintenance.recompute import recount
from holdfast.maintenance.served import Served, States
from holdfast.maintenance.stratum import Figures, RuleChange, Stratum, predicates_read
from holdfast.maintenance.watch import Watch
from holdfast.modules import Allotment, Module, Service, allot
from holdfast.plans import Planner, Read
from holdfast.plans.planner import positions
from holdfast.program.impact import rule_key
from holdfast.program.model import AggregateRule, HyperNode, Program, Rule
from holdfast.program.show import shown_names
from holdfast.quick_dataclass import dataclass

_T = TypeVar("_T")
_MANY_GONE = 10_000  # facts, from which on it is worth a thought whether to recompute


@dataclass(frozen=True)
class Outcome:
    """What an update did: the facts that went and came, net, and what each hyper-node took."""

    removed: Facts
    added: Facts
    figures: tuple[Figures, ...]
    explicit: int = 0  # the facts among them that became explicit, or are no longer


@dataclass(frozen=True, eq=False)
class NodePlan:
    """One hyper-node of the new program with the rules that were there, went and came.

    `turned` are rules that were there and have become recursive, or are no longer; with them, whether they were.
    `allotment` says which rules modules serve, and `regrouped` that they served others before; `succession` that
    the module which has the hyper-node to itself can go on from what was kept for these.
    """

    planner: Planner
    kept: RuleChange
    removed: RuleChange
    added: RuleChange
    turned: tuple[tuple[Rule, bool], ...] = ()
    allotment: Allotment = field(default_factory=Allotment)
    regrouped: bool = False
    succession: bool = False

    @cached_property
    def generic(self) -> RuleChange:
        """The kept rules that no module serves."""
        served = set(map(id, self.allotment.served))
        return replace(self.kept, recursive=tuple(rule for rule in self.kept.recursive if id(rule) not in served))

    @property
    def added_generic(self) -> RuleChange:
        """The same of added rules."""
        served = set(map(id, self.allotment.served))
        return replace(self.added, recursive=tuple(rule for rule in self.added.recursive if id(rule) not in served))

    @cached_property
    def predicates(self) -> frozenset[str]:
        """Its own."""
        return frozenset(self.planner.node.predicates)

    @cached_property
    def reads(self) -> frozenset[str]:
        """The predicates in the bodies of its rules."""
        return frozenset(predicates_read(self.kept))

    @cached_property
    def around(self) -> frozenset[str]:
        """Those in the bodies, those that modules read, and its own."""
        served = {slice_.predicate for service in self.allotment.services for slice_ in service.reads}
        return self.reads | served | self.predicates


class Maintainer:
    """Keeps a materialisation exact.  Between updates D and A are empty and I is what follows from E."""

    def __init__(
        self, program: Program, backend: Backend, modules: Sequence[Module] = (), states: States | None = None
    ) -> None:
        self.program = program
        self.backend = backend
        self._virtual = virtual_relations(backend)
        self.modules = modules
        self.states = states or States()
        self.chooser = Chooser()
        self._uncounted: set[str] = set()  # predicates whose Cn is not kept at present
        self._uncounted_recursive: set[str] = set()  # the same of Cr
        self._counts_served: set[str] = set()  # predicates whose Cr counts rules that modules serve, too
        self._nodes = _plans(program, program, backend, modules)
        self._agenda = Agenda(self._nodes)
        self.marking: Marking | None = None  # if the next update may be looked at
        self.pending: Callable[[], None] | None = None  # counters that wait to be put where the state is
        self._moves = 0  # of the state

    def counted(self) -> None:
        """Make all counters right, whatever algorithms were used; rules that modules serve count too."""
        self.settle()
        self._virtual.materialise_rows(self.program.relations)
        for plan in self._nodes:
            self._count(plan, recursive=True, served=True)

    def run(
        self,
        deletions: Facts,
        insertions: Facts,
        program: Program | None,
        choice: Choice,
        watch: Watch,
        told: Callable[[Outcome], _T],
        *,
        keep: bool = True,
        adopt: Sequence[Step] = (),
    ) -> _T:
        """One update; with `keep` false everything is as before afterwards.

        Gives what is `told` of the outcome, before it is committed: if that fails, nothing has changed.  Steps of those
        who `adopt` it belong to the commit.
        """
        try:
            return self._run(deletions, insertions, program, choice, watch, told, adopt if keep else None)
        except TooManyForModulesError:
            self._do_without_modules()
            watch.settle(0)
            return self._run(deletions, insertions, program, choice, watch, told, adopt if keep else None)

    def _do_without_modules(self) -> None:
        """They would derive too much: all rules are evaluated from now on, and count."""
        self._virtual.materialise_rows(tuple(self._virtual.virtual))
        commit(self.backend, [self._drop_modules])

    def _drop_modules(self) -> None:
        served = {p for plan in self._nodes if plan.allotment.services for p in plan.predicates}
        self._uncounted_recursive |= served - self._counts_served
        self.modules = ()
        self.states.keep_only(())
        self.adopt(self.program)

    def _run(
        self,
        deletions: Facts,
        insertions: Facts,
        program: Program | None,
        choice: Choice,
        watch: Watch,
        told: Callable[[Outcome], _T],
        adopt: Sequence[Step] | None,
    ) -> _T:
        """Without steps to `adopt` it, it is taken back."""
        self.settle()
        backend = self.backend
        before = (set(self._uncounted), set(self._uncounted_recursive), set(self._counts_served))
        backend.nonrecursive.remembers = backend.recursive.remembers = True
        self._marks = self.marking if adopt is not None and program is None else None
        if self._marks is not None:
            self._marks.begin(self.state)
        try:
            for plan in self._nodes if program is not None else ():
                self._count(plan, recursive=True)
            nodes = (
                self._nodes if program is None else _plans(self.program, program, backend, self.modules, self.states)
            )
            if program is not None:
                self._write_out(nodes)
            figures = self._maintain(nodes, deletions, insertions, choice, watch)
            removed, added = backend.deleted - backend.added, backend.added - backend.deleted
            outcome = Outcome(
                removed.snapshot(), added.snapshot(), tuple(figures), len(self._E_minus) + len(self._E_plus)
            )
            watch.settle(len(outcome.added) - len(outcome.removed))
            result = told(outcome)
        except BaseException:
            if self._marks is not None:
                self._marks.forget()
            self._take_back(before)
            raise
        if adopt is None:
            self._take_back(before)
        else:
            become = self.become((self._E_minus, self._E_plus), (outcome.removed, outcome.added))
            commit(backend, [*become, self._finish, self.moved, *adopt, self._end_marks])
        return result

    def _end_marks(self) -> None:
        if self._marks is not None:
            self._marks.end(self.state)

    @property
    def state(self) -> tuple[int, int]:
        """Another one whenever facts, rules or row ids have changed."""
        return self._moves, packings(self.backend)

    def moved(self) -> None:
        """The state is another one now."""
        self._moves += 1

    # --- for a window of updates (together.py) ---------------------------------------------------------

    def settle(self) -> None:
        """Do what a window left for later."""
        if self.pending is not None:
            self.pending()
            self.pending = None

    @property
    def nodes(self) -> Sequence[NodePlan]:
        """The hyper-nodes, in topological order."""
        return self._nodes

    def prepare(self, plan: NodePlan, *, is_read: bool) -> None:
        """Cn is known and all facts that are read have rows; those of the hyper-node too, unless a module has its
        recursive rules to itself and no other hyper-node reads them."""
        alone = plan.allotment.alone is not None
        self._virtual.materialise_rows(
            plan.reads - plan.predicates if alone and not is_read else plan.reads | plan.predicates
        )
        self._count(plan, recursive=alone)

    def recursive_counts_lost(self, node: HyperNode) -> None:
        """Cr of a hyper-node was not kept."""
        self._uncounted_recursive |= set(node.predicates)

    def adopt(self, program: Program) -> None:
        """Go on with a program whose rules have changed by the last update."""
        self.program, self._nodes = program, _plans(program, program, self.backend, self.modules)
        self._agenda = Agenda(self._nodes)
        self.moved()
        self._uncounted &= program.relations.keys()  # a relation that comes back begins anew
        self._uncounted_recursive &= program.relations.keys()
        self._counts_served &= program.relations.keys()
        self.states.keep_only(program.relations)
        housekeeping(self.backend).forget_plans()
        if self.marking is not None:
            self.marking.rules_changed(program)

    # --- the strata ------------------------------------------------------------------------------------

    def _maintain(
        self, nodes: Sequence[NodePlan], deletions: Facts, insertions: Facts, choice: Choice, watch: Watch
    ) -> Iterable[Figures]:
        E = self.backend.explicit
        self._E_minus = (deletions & E) - insertions
        self._E_plus = insertions - E
        given = {*self._E_minus.sizes(), *self._E_plus.sizes()}
        most = module_budget(self.backend).most_for_modules
        if (
            most < math.inf
            and any(plan.allotment.services for plan in nodes)
            and (len(E) - len(self._E_minus) + len(self._E_plus) > most)
        ):
            raise TooManyForModulesError
        for plan in nodes if nodes is not self._nodes else ():
            self._move_counts(plan)
        agenda = self._agenda if nodes is self._nodes else Agenda(nodes)
        D, A = self.backend.deleted, self.backend.added
        due = agenda.due(given, lambda: chain(D.predicates(), A.predicates()))
        return [self._node(plan, choice, watch) for plan in due]

    def _move_counts(self, plan: NodePlan) -> None:
        """A kept rule that became recursive, or is no longer, moves its derivations to the other counter."""
        I = self.backend.materialisation
        for rule, was_recursive in plan.turned if not plan.regrouped else ():
            instances = self.backend.apply(plan.planner.whole((rule,)), {Read.ALL: I, Read.ABSENT: I})
            loses, gains = self.backend.nonrecursive, self.backend.recursive
            if was_recursive:
                loses, gains = gains, loses
            loses.subtract(instances)
            gains.add(instances)

    def _write_out(self, nodes: Sequence[NodePlan]) -> None:
        """Facts stay virtual only while a module that knows them has them to itself."""
        served = {
            p
            for plan in nodes
            if plan.allotment.alone and (plan.succession or not plan.regrouped)
            for p in plan.predicates
        }
        self._virtual.materialise_rows([name for name in self._virtual.virtual if name not in served])

    def _node(self, plan: NodePlan, choice: Choice, watch: Watch) -> Figures:
        begun, node = watch.seconds, plan.planner.node
        algorithm, why = self._chosen(plan, choice)
        modular = _with_modules(plan, algorithm)
        if algorithm.name != "exact":
            self._virtual.materialise_rows(plan.predicates)
        if algorithm.keeps_nonrecursive and algorithm.name != "recompute":
            self._count(plan, recursive=algorithm.keeps_recursive or modular is not None, served=modular is None)
        shown = shown_names(node.predicates, self.backend.relations)
        watch.node(", ".join(shown))
        served = [Served(service, self.backend) for service in plan.allotment.services] if modular else []
        for one in served:
            self._virtual.materialise_rows(slice_.predicate for slice_ in one.service.reads)
        kept, added = (plan.generic, plan.added_generic) if served else (plan.kept, plan.added)
        removed = replace(plan.removed, recursive=()) if plan.succession and algorithm.name == "exact" else plan.removed
        given = self._E_minus.of(node.predicates), self._E_plus.of(node.predicates)
        passes_on, beside = algorithm.name in PASSING_ON, () if algorithm.keeps_nonrecursive else kept.recursive
        if self._marks is not None:
            self._marks.marked()
        change, figures = (kept, removed, added), Figures(shown)
        if (
            self._marks is None
            or modular
            or not self._marks.concerns(node, kept.nonrecursive, beside, passes_on=passes_on)
        ):
            s = Stratum(plan.planner, self.backend, watch, *given, *change, plan.around, figures, served, self.states)
        else:
            s = MarkedStratum(
                plan.planner,
                self.backend,
                watch,
                *given,
                *change,
                plan.around,
                figures,
                served,
                self.states,
                marking=self._marks,
                passes_on=passes_on,
                beside=beside,
            )
        if algorithm.name != "exact":
            self.states.drop(plan.predicates)
        (modular or algorithm.maintain)(s)
        self._note_counters(plan, algorithm)
        s.figures.algorithm, s.figures.why, s.figures.seconds = algorithm.name, why, watch.seconds - begun
        s.figures.given = sum(map(len, (s.E_minus, s.E_plus, s.gone, s.come)))
        self.chooser.learn(node, s.figures, self.backend.statistics)
        return s.figures

    def _chosen(self, plan: NodePlan, choice: Choice) -> tuple[Algorithm, str]:
        node, name, why = plan.planner.node, choice.named(plan.planner.node), "asked for"
        if plan.removed and choice.strategy == "hyper-node":
            name, why = "recompute", "rules went, and the strategy is hyper-node"
        elif name == AUTO:
            name, why = self._best(plan)
        if name == "counting":
            refuse_recursion(node)
        if name == "exact" and plan.allotment.alone is None:
            refuse_company(node)
        by_exact = name == "exact" and plan.succession
        if plan.regrouped and ALGORITHMS[name].keeps_nonrecursive and name != "recompute" and not by_exact:
            name, why = "recompute", "the rules that modules serve have changed"
        return ALGORITHMS[name], why

    def _best(self, plan: NodePlan) -> tuple[str, str]:
        alone = plan.allotment.alone
        if alone is not None:
            return "exact", f"{alone.module.name} serves all its recursive rules"
        name, why = self.chooser.choose(plan.planner.node)
        if not plan.planner.node.is_recursive and self._mostly_gone(plan):
            return "recompute", "most of what its rules read has gone: there is less to count anew than to take off"
        names = ", ".join(service.module.name for service in plan.allotment.services)
        return name, f"{why}; with {names}" if names else why

    def _mostly_gone(self, plan: NodePlan) -> bool:
        gone = len(self.backend.deleted.of(plan.reads))
        return gone > _MANY_GONE and 2 * gone > len(self.backend.materialisation.of(plan.reads))

    def _count(self, plan: NodePlan, *, recursive: bool, served: bool = False) -> None:
        """Count a hyper-node's derivations if they are not known, those by rules that modules serve only if asked."""
        O, allotment = plan.predicates, plan.allotment
        other = bool(allotment.services) and served != bool(O & self._counts_served)
        if O & self._uncounted or (recursive and (O & self._uncounted_recursive or other)):
            kept, gone = plan.kept if served else plan.generic, plan.removed  # the facts are still the old ones
            rules = RuleChange(
                (*kept.nonrecursive, *gone.nonrecursive),
                (*kept.recursive, *gone.recursive),
                (*kept.aggregates, *gone.aggregates),
            )
            self._uncounted |= O  # if counting is stopped
            recount(plan.planner, self.backend, rules)
            self._uncounted -= O
            self._uncounted_recursive -= O
            _note(self._counts_served, O, known=not served)

    def _note_counters(self, plan: NodePlan, algorithm: Algorithm) -> None:
        O, modular = plan.predicates, _with_modules(plan, algorithm) is not None
        _note(self._uncounted, O, known=algorithm.keeps_nonrecursive)
        _note(self._uncounted_recursive, O, known=algorithm.keeps_recursive or modular)
        _note(self._counts_served, O, known=modular)

    # --- the end ---------------------------------------------------------------------------------------

    def become(self, explicit: tuple[Facts, Facts], facts: tuple[Facts, Facts]) -> list[Step]:
        """E and I lose and gain facts, and what modules made of that holds: the steps of a commit."""
        gone, come, virtual = facts[0].sizes(), facts[1].sizes(), self._virtual.virtual
        sizes = {name: known.size + come.get(name, 0) - gone.get(name, 0) for name, known in virtual.items()}
        return [
            partial(_move, self.backend.explicit, *explicit),
            partial(_move, self.backend.materialisation, *facts),
            partial(self._resize, sizes),
            self.states.commit,
            self.backend.commit,
        ]

    def _resize(self, sizes: Mapping[str, int]) -> None:
        for name, size in sizes.items():
            self._virtual.virtual[name].size = size

    def mend(self) -> None:
        """An update was cut short, who knows where: it is taken back, or it was committed.  Counters are made again
        when they are needed."""
        self.pending = None
        self.backend.mend()
        self._finish()
        self.states.take_back()
        self._uncounted |= self.program.relations.keys()
        self._uncounted_recursive |= self.program.relations.keys()
        self.chooser = Chooser()
        self.adopt(self.program)

    def _take_back(self, before: tuple[set[str], set[str], set[str]]) -> None:
        self.backend.nonrecursive.take_back()
        self.backend.recursive.take_back()
        self.states.take_back()
        self._uncounted, self._uncounted_recursive, self._counts_served = before
        self.backend.restore()
        self._finish()

    def _finish(self) -> None:
        backend = self.backend
        for kept in (backend.deleted, backend.added, backend.checked, backend.proved, backend.delayed):
            kept.clear()
        for counters in (backend.nonrecursive, backend.recursive):
            counters.settle()
            counters.remembers = False


def _move(kept: KeptFacts, gone: Facts, come: Facts) -> None:
    kept -= gone
    kept |= come


def _note(others: set[str], predicates: frozenset[str], *, known: bool) -> None:
    """Some predicates are no longer among others, or are now."""
    if known:
        others -= predicates
    else:
        others |= predicates


def _with_modules(plan: NodePlan, algorithm: Algorithm) -> Callable[[Stratum], None] | None:
    """How an algorithm goes with modules, if it does; rules that read other relations only `exact` and `recompute`."""
    if not plan.allotment.services:
        return None
    reads = any(service.reads for service in plan.allotment.services)
    return None if reads and algorithm.name not in ("exact", "recompute") else algorithm.modular


def _is_recursive(rule: Rule, predicates: Iterable[str]) -> bool:
    return bool(positions(rule, predicates))


def _plans(
    old: Program, new: Program, backend: Backend, modules: Sequence[Module], states: States | None = None
) -> list[NodePlan]:
    """The hyper-nodes of the new program, with what happened to their rules."""
    before: tuple[Rule | AggregateRule, ...] = (*old.rules, *old.aggregates)
    left = Counter(map(rule_key, before))
    was = {p: names for node in old.nodes for names in [frozenset(node.predicates)] for p in node.predicates}
    nodes = {predicate: node for node in old.nodes for predicate in node.predicates}
    by_predicate: dict[str, list[Rule | AggregateRule]] = {}
    for rule in before:
        by_predicate.setdefault(rule.predicate, []).append(rule)
    result = []
    for node in new.nodes:
        kept, added = _split((*node.nonrecursive, *node.recursive, *node.aggregates), left)
        removed = list(_gone([rule for p in node.predicates for rule in by_predicate.get(p, ())], kept))
        here = dict.fromkeys(node.predicates, frozenset(node.predicates))
        turned = tuple(_turned(kept, node, was)) if old is not new else ()
        allotment = allot(node, new.relations, modules)
        regrouped = old is not new and not allotment.same_as(_allotted_before(old, nodes, node, modules))
        succession = regrouped and states is not None and _succeeds(allotment.alone, states)
        result.append(
            NodePlan(
                Planner(node, backend.statistics),
                _grouped(kept, here),
                _grouped(removed, was),
                _grouped(added, here),
                turned,
                allotment,
                regrouped,
                succession,
            )
        )
    return result


def _succeeds(service: Service | None, states: States) -> bool:
    state = None if service is None else states.get(service.slice)
    return service is not None and state is not None and service.module.takes_over(service, state)


def _allotted_before(
    old: Program, old_nodes: Mapping[str, HyperNode], node: HyperNode, modules: Sequence[Module]
) -> Allotment:
    """What served the predicates of a hyper-node in the old program."""
    found = {old_nodes[name].index: old_nodes[name] for name in node.predicates if name in old_nodes}
    nodes = [found[index] for index in sorted(found)]
    services = [service for before in nodes for service in allot(before, old.relations, modules).services]
    return Allotment(tuple(service for service in services if service.slice.predicate in node.predicates))


def _split(
    rules: Sequence[Rule | AggregateRule], left: Counter[object]
) -> tuple[list[Rule | AggregateRule], list[Rule | AggregateRule]]:
    kept, added = [], []
    for rule in rules:
        if left[rule_key(rule)]:
            left[rule_key(rule)] -= 1
            kept.append(rule)
        else:
            added.append(rule)
    return kept, added


def _gone(old: Iterable[Rule | AggregateRule], kept: Iterable[Rule | AggregateRule]) -> Iterator[Rule | AggregateRule]:
    still = Counter(map(rule_key, kept))
    for rule in old:
        if still[rule_key(rule)]:
            still[rule_key(rule)] -= 1
        else:
            yield rule


def _turned(
    kept: Iterable[Rule | AggregateRule], node: HyperNode, was: Mapping[str, frozenset[str]]
) -> Iterator[tuple[Rule, bool]]:
    for rule in kept:
        if isinstance(rule, Rule):
            before = _is_recursive(rule, was.get(rule.predicate, ()))
            if before != _is_recursive(rule, node.predicates):
                yield rule, before


def _grouped(rules: Sequence[Rule | AggregateRule], nodes: Mapping[str, frozenset[str]]) -> RuleChange:
    """Rules by how they count in the hyper-nodes of their heads."""
    plain = [rule for rule in rules if isinstance(rule, Rule)]
    return RuleChange(
        tuple(rule for rule in plain if not _is_recursive(rule, nodes[rule.predicate])),
        tuple(rule for rule in plain if _is_recursive(rule, nodes[rule.predicate])),
        tuple(rule for rule in rules if isinstance(rule, AggregateRule)),
    )
