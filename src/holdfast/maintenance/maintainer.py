"""An update over all hyper-nodes: what is touched is brought up to date in topological order, atomically."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.protocol import Facts
from holdfast.maintenance.algorithms import ALGORITHMS, AUTO, Algorithm, Choice, refuse_recursion
from holdfast.maintenance.choose import Chooser
from holdfast.maintenance.marking import PASSING_ON, MarkedStratum, Marking
from holdfast.maintenance.recompute import recount
from holdfast.maintenance.stratum import Figures, RuleChange, Stratum, predicates_read
from holdfast.maintenance.watch import Watch
from holdfast.plans import Planner, Read
from holdfast.plans.planner import positions
from holdfast.program.impact import rule_key
from holdfast.program.model import AggregateRule, HyperNode, Program, Rule


@dataclass(frozen=True)
class Outcome:
    """What an update did: the facts that went and came, net, and what each hyper-node took."""

    removed: Facts
    added: Facts
    figures: tuple[Figures, ...]


@dataclass(frozen=True, eq=False)
class _Plan:
    """One hyper-node of the new program with the rules that were there, went and came.

    `turned` are rules that were there and have become recursive, or are no longer; with them, whether they were.
    """

    planner: Planner
    kept: RuleChange
    removed: RuleChange
    added: RuleChange
    turned: tuple[tuple[Rule, bool], ...] = ()

    @cached_property
    def predicates(self) -> frozenset[str]:
        return frozenset(self.planner.node.predicates)

    @cached_property
    def reads(self) -> frozenset[str]:
        return frozenset(predicates_read(self.kept))


class Maintainer:
    """Keeps a materialisation exact.  Between updates D and A are empty and I is what follows from E."""

    def __init__(self, program: Program, backend: MemoryBackend) -> None:
        self.program = program
        self.backend = backend
        self.chooser = Chooser()
        self._uncounted: set[str] = set()  # predicates whose Cn is not kept at present
        self._uncounted_recursive: set[str] = set()  # the same of Cr
        self._nodes = _plans(program, program, backend)
        self.marking: Marking | None = None  # if the next update may be looked at
        self.pending: Callable[[], None] | None = None  # counters that wait to be put where the state is
        self._moves = 0  # of the state

    def counted(self) -> None:
        """Make all counters right, whatever algorithms were used."""
        self.settle()
        for plan in self._nodes:
            self._count(plan.planner, recursive=True)

    def run(self, deletions: Facts, insertions: Facts, program: Program | None, choice: Choice, watch: Watch, *,
            keep: bool = True) -> Outcome:
        """One update; with `keep` false everything is as before afterwards."""
        self.settle()
        backend, before = self.backend, (set(self._uncounted), set(self._uncounted_recursive))
        backend.nonrecursive.remembers = backend.recursive.remembers = True
        self._marks = self.marking if keep and program is None else None
        if self._marks is not None:
            self._marks.begin(self.state)
        try:
            if program is not None:
                self.counted()
            nodes = self._nodes if program is None else _plans(self.program, program, backend)
            figures = self._maintain(nodes, deletions, insertions, choice, watch)
            removed, added = backend.deleted - backend.added, backend.added - backend.deleted
            outcome = Outcome(removed.worked_out(), added.worked_out(), tuple(figures))
            watch.settle(len(outcome.added) - len(outcome.removed))
        except BaseException:
            if self._marks is not None:
                self._marks.forget()
            self._take_back(before)
            raise
        if not keep:
            self._take_back(before)
            return outcome
        self._commit(outcome)
        self.moved()
        if self._marks is not None:
            self._marks.end(self.state)
        return outcome

    @property
    def state(self) -> tuple[int, int]:
        """Another one whenever facts, rules or row ids have changed."""
        return self._moves, self.backend.packings

    def moved(self) -> None:
        """The state is another one now."""
        self._moves += 1

    # --- for a window of updates (together.py) ---------------------------------------------------------

    def settle(self) -> None:
        """Do what a window left for later."""
        if self.pending is not None:
            pending, self.pending = self.pending, None
            pending()

    @property
    def nodes(self) -> Sequence[_Plan]:
        """The hyper-nodes, in topological order."""
        return self._nodes

    def count(self, planner: Planner, *, recursive: bool) -> None:
        """Count a hyper-node's derivations if they are not known."""
        self._count(planner, recursive=recursive)

    def recursive_counts_lost(self, node: HyperNode) -> None:
        """Cr of a hyper-node was not kept."""
        self._uncounted_recursive |= set(node.predicates)

    def adopt(self, program: Program) -> None:
        """Go on with a program whose rules have changed by the last update."""
        self.program, self._nodes = program, _plans(program, program, self.backend)
        self.moved()
        self._uncounted &= program.relations.keys()  # a relation that comes back begins anew
        self._uncounted_recursive &= program.relations.keys()
        self.backend.forget_plans()

    # --- the strata ------------------------------------------------------------------------------------

    def _maintain(self, nodes: Sequence[_Plan], deletions: Facts, insertions: Facts, choice: Choice, watch: Watch
                  ) -> Iterable[Figures]:
        E = self.backend.explicit
        self._E_minus = (deletions & E) - insertions
        self._E_plus = insertions - E
        given = {*self._E_minus.sizes(), *self._E_plus.sizes()}
        for plan in nodes:
            self._move_counts(plan)
        figures, changed = [], set[str]()
        for plan in nodes:
            if not (given.isdisjoint(plan.predicates) and changed.isdisjoint(plan.reads)) or plan.removed or plan.added:
                figures.append(self._node(plan, choice, watch))
                changed = {*self.backend.deleted.predicates(), *self.backend.added.predicates()}
        return figures

    def _move_counts(self, plan: _Plan) -> None:
        """A kept rule that became recursive, or is no longer, moves its derivations to the other counter."""
        I = self.backend.materialisation
        for rule, was_recursive in plan.turned:
            instances = self.backend.apply(plan.planner.whole((rule,)), {Read.ALL: I, Read.ABSENT: I})
            loses, gains = self.backend.nonrecursive, self.backend.recursive
            if was_recursive:
                loses, gains = gains, loses
            loses.subtract(instances)
            gains.add(instances)

    def _node(self, plan: _Plan, choice: Choice, watch: Watch) -> Figures:
        begun, node = watch.seconds, plan.planner.node
        algorithm, why = self._chosen(plan, choice)
        if algorithm.keeps_nonrecursive and algorithm.name != "recompute":
            self._count(plan.planner, recursive=algorithm.keeps_recursive)
        watch.node(", ".join(node.predicates))
        given = self._E_minus.of(node.predicates), self._E_plus.of(node.predicates)
        if self._marks is None:
            s = Stratum(plan.planner, self.backend, watch, *given, plan.kept, plan.removed, plan.added)
        else:
            s = MarkedStratum(plan.planner, self.backend, watch, *given, plan.kept, marking=self._marks,
                              passes_on=algorithm.name in PASSING_ON)
        algorithm.maintain(s)
        self._note_counters(node, algorithm)
        s.figures.algorithm, s.figures.why, s.figures.seconds = algorithm.name, why, watch.seconds - begun
        s.figures.given = sum(map(len, (s.E_minus, s.E_plus, s.gone, s.come)))
        self.chooser.learn(node, s.figures, sum(self.backend.tables[p].size for p in node.predicates))
        return s.figures

    def _chosen(self, plan: _Plan, choice: Choice) -> tuple[Algorithm, str]:
        node, name, why = plan.planner.node, choice.named(plan.planner.node), "asked for"
        if plan.removed and choice.strategy == "hyper-node":
            name, why = "recompute", "rules went, and the strategy is hyper-node"
        elif name == AUTO:
            name, why = self.chooser.choose(node)
        if name == "counting":
            refuse_recursion(node)
        return ALGORITHMS[name], why

    def _count(self, planner: Planner, *, recursive: bool) -> None:
        """Count a hyper-node's derivations if they are not known."""
        O = set(planner.node.predicates)
        if O & self._uncounted or (recursive and O & self._uncounted_recursive):
            recount(planner, self.backend)
            self._uncounted -= O
            self._uncounted_recursive -= O

    def _note_counters(self, node: HyperNode, algorithm: Algorithm) -> None:
        O = set(node.predicates)
        self._uncounted = self._uncounted - O if algorithm.keeps_nonrecursive else self._uncounted | O
        recursive = self._uncounted_recursive
        self._uncounted_recursive = recursive - O if algorithm.keeps_recursive else recursive | O

    # --- the end ---------------------------------------------------------------------------------------

    def _commit(self, outcome: Outcome) -> None:
        backend = self.backend
        E, I = backend.explicit, backend.materialisation
        E -= self._E_minus
        E |= self._E_plus
        I -= outcome.removed
        I |= outcome.added
        self._finish()

    def _take_back(self, before: tuple[set[str], set[str]]) -> None:
        self.backend.nonrecursive.take_back()
        self.backend.recursive.take_back()
        self._uncounted, self._uncounted_recursive = before
        self._finish()

    def _finish(self) -> None:
        backend = self.backend
        for kept in (backend.deleted, backend.added, backend.checked, backend.proved, backend.delayed):
            kept.clear()
        for counters in (backend.nonrecursive, backend.recursive):
            counters.settle()
            counters.remembers = False


def _is_recursive(rule: Rule, predicates: Iterable[str]) -> bool:
    return bool(positions(rule, predicates))


def _plans(old: Program, new: Program, backend: MemoryBackend) -> list[_Plan]:
    """The hyper-nodes of the new program, with what happened to their rules."""
    before: tuple[Rule | AggregateRule, ...] = (*old.rules, *old.aggregates)
    left = Counter(map(rule_key, before))
    was = {predicate: node.predicates for node in old.nodes for predicate in node.predicates}
    by_predicate: dict[str, list[Rule | AggregateRule]] = {}
    for rule in before:
        by_predicate.setdefault(rule.predicate, []).append(rule)
    result = []
    for node in new.nodes:
        kept, added = _split((*node.nonrecursive, *node.recursive, *node.aggregates), left)
        removed = [rule for p in node.predicates for rule in _gone(by_predicate.get(p, ()), kept)]
        here = dict.fromkeys(node.predicates, node.predicates)
        turned = tuple(_turned(kept, node, was)) if old is not new else ()
        result.append(_Plan(Planner(node, backend.statistics), _grouped(kept, here), _grouped(removed, was),
                            _grouped(added, here), turned))
    return result


def _split(rules: Sequence[Rule | AggregateRule], left: Counter[object]
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


def _turned(kept: Iterable[Rule | AggregateRule], node: HyperNode, was: Mapping[str, tuple[str, ...]]
            ) -> Iterator[tuple[Rule, bool]]:
    for rule in kept:
        if isinstance(rule, Rule):
            before = _is_recursive(rule, was.get(rule.predicate, ()))
            if before != _is_recursive(rule, node.predicates):
                yield rule, before


def _grouped(rules: Sequence[Rule | AggregateRule], nodes: Mapping[str, tuple[str, ...]]) -> RuleChange:
    """Rules by how they count in the hyper-nodes of their heads."""
    plain = [rule for rule in rules if isinstance(rule, Rule)]
    return RuleChange(
        tuple(rule for rule in plain if not _is_recursive(rule, nodes[rule.predicate])),
        tuple(rule for rule in plain if _is_recursive(rule, nodes[rule.predicate])),
        tuple(rule for rule in rules if isinstance(rule, AggregateRule)),
    )
