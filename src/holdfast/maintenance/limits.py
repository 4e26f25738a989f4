"""DRed^v: limit relations, whose facts are the best of what their rules and explicit facts offer.

An offer is *tight* if it is the fact of its group.  OVERDELETE looks at tight instances only: what loses one is deleted
unless another one is left that proves it by none of this hyper-node, by facts on a better level, or by facts with lower
ranks.  REDERIVE collects all that is left for the groups that lost their fact, and INSERT takes the best of each group
for as long as there is a better one.  Where looking at tight instances is not enough (`program/limits.py`) the
hyper-node is recomputed when anything at all is lost.  No counters are kept.

Ranks are kept where there are levels, by backends that have them: a fact enters with a rank above all others.  So every
fact has a derivation from facts that come before it, first by level and then by rank.  When a fact gets better, that
stays true of what it derives, since it comes to a better level.

The explicit facts of a limit relation are offers too: E is no part of I here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_

import numpy as np

from holdfast.backends.abilities import Ranking
from holdfast.backends.limits import OfferGroups, groups_of
from holdfast.backends.protocol import Backend, Facts, KeptFacts
from holdfast.errors import Diagnostic, EvaluationError
from holdfast.maintenance.circles import History, codes_of
from holdfast.maintenance.recompute import scratch_for
from holdfast.maintenance.seminaive import NodeFigures, reached
from holdfast.maintenance.stratum import Figures, Stratum
from holdfast.maintenance.watch import Stopwatch, Watch
from holdfast.plans import AggregatePlan, Planner, Read
from holdfast.program.limits import Regime, regime
from holdfast.program.model import AggregateRule, HyperNode, Limit, Rule
from holdfast.program.show import shown_names
from holdfast.values.model import Type

# --- one improvement after the other -------------------------------------------------------------------


class Improvement:
    """Takes offers in, each group's best, until no offer is better than what is there."""

    def __init__(
        self,
        planner: Planner,
        backend: Backend,
        watch: Watch,
        known: Regime,
        J: Callable[[], Facts],
        replace: Callable[[Facts, Facts], None],
        figures: Figures,
        *,
        none_yet: bool = False,
        ranked: bool = True,
    ) -> None:
        self._planner, self._backend, self._watch, self._regime = planner, backend, watch, known
        self._figures, self._ranks = figures, _ranks(planner, backend, known) if ranked else None
        self._J, self._replace = J, replace
        self.groups = groups_of(planner, backend, none_yet=none_yet)
        limits = planner.node.limits if planner.node.is_recursive else {}
        self._history = History(planner, backend)
        self._floats = [n for n, limit in limits.items() if backend.relations[n].types[limit.column] is Type.FLOAT]
        self.rounds = 0
        self._rules: Sequence[Rule] = ()
        self._enough = 0  # groups that there are at least

    def run(self, N: Facts, rules: Sequence[Rule], wanted: Mapping[str, int] | None = None) -> None:
        """INSERT: `N` are offers; `wanted` says when to stop early."""
        self._rules = rules
        while W := self.groups.better(N, self._J()):
            Δ, waiting = self.groups.front(W) if self._regime.best_first else (W, None)
            self._take(Δ)
            if wanted and reached(self._J(), wanted):
                return
            N = self._offers(Δ, rules)
            N = N if waiting is None else N | waiting

    def _take(self, Δ: Facts) -> None:
        for name in self._floats:
            _refuse_nan(name, Δ, self._backend, self._planner.node)
        self._replace(self.groups.rivals(Δ, self._J()), Δ)
        if self._ranks is not None:
            self._ranks.enter(Δ)
        self._watch.round(len(Δ))
        self.rounds += 1
        if self._regime.additive and not self._regime.best_first:
            self._look_for_circles(Δ)

    def _offers(self, Δ: Facts, rules: Sequence[Rule]) -> Facts:
        """Π_r⟦J : Δ⟧."""
        J, plans = self._J(), self._planner.recursive(Δ.sizes(), rules)
        offers, count = self.groups.offers(plans, {Read.ALL: J, Read.OLD: J - Δ, Read.DELTA: Δ, Read.ABSENT: J}, J)
        self._figures.insertion += count
        return offers | self._sums(Δ, J) if self._planner.node.sums else offers

    def _sums(self, Δ: Facts, J: Facts) -> Facts:
        """The sums and counts of the groups that a new fact belongs to."""
        touched = [rule for rule in self._planner.node.sums if Δ.sizes().get(rule.source)]
        for rule in touched:
            _refuse_negative(rule, Δ, self._backend)
        bag = self._backend.apply([AggregatePlan(rule) for rule in touched], {Read.ALL: J, Read.DELTA: Δ})
        self._figures.insertion += len(bag)
        return bag.support()

    def _look_for_circles(self, Δ: Facts) -> None:
        """A proof that is longer than there are groups improves some group by itself, and so for ever."""
        self._history.came(Δ)
        if self.rounds <= self._enough + 1:
            return
        J = self._J()
        self._enough = sum(J.size(name) for name in self._planner.node.limits)
        if self.rounds > self._enough + 1:
            raise self._history.endless(J, self._rules)


def _refuse_nan(predicate: str, Δ: Facts, backend: Backend, node: HyperNode) -> None:
    """NaN is neither better nor worse than a number: `d > 5` fails for it, whatever it took the place of."""
    codes = codes_of(backend, predicate, Δ)[:, node.limits[predicate].column]
    if np.isnan(np.ascontiguousarray(codes).view(np.float64)).any():
        rule = next(rule for rule in (*node.recursive, *node.nonrecursive) if rule.predicate == predicate)
        message = f"rule {rule.name} has no value for some facts: NaN has no place in a recursion through min or max"
        help = "exclude such facts with a comparison before the value is computed, or correct the data"
        raise EvaluationError(Diagnostic("E0701", message, rule.span, help=help))


def _refuse_negative(rule: AggregateRule, Δ: Facts, backend: Backend) -> None:
    """With a number below 0 a sum could fall again, after something was derived from it."""
    if rule.target is None or backend.relations[rule.source].types[rule.target] is not Type.NUMBER:
        return
    if (codes_of(backend, rule.source, Δ)[:, rule.target] < 0).any():
        message = "a sum that is part of a recursion has a number below 0 to add, and might fall again"
        note = "what was derived from the larger sum would have to go; nothing has changed"
        help = "exclude negative numbers by a comparison in the rule, n >= 0, or correct the facts"
        raise EvaluationError(Diagnostic("E0705", message, rule.span, notes=(note,), help=help))


# --- from scratch ------------------------------------------------------------------------------------


def materialise(planner: Planner, backend: Backend, watch: Watch, wanted: Mapping[str, int]) -> NodeFigures:
    """Everything that follows in one hyper-node with limit relations; earlier nodes are complete."""
    stopwatch, node, before = Stopwatch(), planner.node, watch.facts
    E, I = backend.explicit, backend.materialisation
    shown = shown_names(node.predicates, backend.relations)
    watch.node(", ".join(shown))

    def replace(rivals: Facts, Δ: Facts) -> None:
        nonlocal I
        I -= rivals
        I |= Δ

    known, figures = _regime_of(planner), Figures()
    improvement = Improvement(planner, backend, watch, known, lambda: I, replace, figures, none_yet=True)
    N, instances = improvement.groups.offers(planner.whole(node.nonrecursive), {Read.ALL: I, Read.ABSENT: I}, I)
    improvement.run(E.of(node.predicates) | N, node.recursive, wanted)
    watch.facts = before
    facts = len(I.of(node.predicates))
    watch.batch(max(0, facts - len(E.of(node.predicates))))
    seconds = stopwatch.seconds, stopwatch.work
    return NodeFigures(shown, watch.rounds, instances + figures.insertion, facts, *seconds)


def recompute(s: Stratum) -> None:
    """The hyper-node's new facts from scratch, then the difference to the old."""
    s.watch.budget = None  # which is what this takes
    I, D, A, known = s.I, s.D, s.A, _regime_of(s.planner)
    explicit, scratch = (s.of_node(s.E) - s.E_minus) | s.E_plus, scratch_for(s)
    if scratch is None:
        new = s.backend.proved
        J = s.backend.elsewhere(s.O, new, (I - D) | A)
        _evaluate(s, (s.planner, s.backend), (new, J, explicit), known)
        found = s.of_node(new).snapshot()
        new.clear()
    else:
        beside, J = Planner(s.node, scratch.backend.statistics), scratch.reads((I - D) | A)
        facts = scratch.backend.materialisation, J, scratch.facts(explicit)
        _evaluate(s, (beside, scratch.backend), facts, known)
        found = scratch.bring_over()
    s.figures.is_anew, s.is_ranked = True, _ranks(s.planner, s.backend, known) is not None
    D |= s.of_node(I) - found
    A |= found - I


def _evaluate(s: Stratum, where: tuple[Planner, Backend], facts: tuple[KeptFacts, Facts, Facts], known: Regime) -> None:
    """All that follows, into the first of some `facts`, a part of what the second shows; the third are explicit."""
    (planner, backend), (new, J, explicit) = where, facts

    def replace(rivals: Facts, Δ: Facts) -> None:
        nonlocal new
        new -= rivals
        new |= Δ

    improvement = Improvement(planner, backend, s.watch, known, lambda: J, replace, s.figures, none_yet=True)
    plans = planner.whole(s.node.nonrecursive)
    N, instances = improvement.groups.offers(plans, {Read.ALL: J, Read.ABSENT: J}, J)
    s.count(instances, "insertion")
    improvement.run(explicit | N, s.node.recursive)


def _regime_of(planner: Planner) -> Regime:
    node = planner.node
    rules = (*node.nonrecursive, *node.recursive)
    return regime(rules, node.limits, node.predicates, planner.statistics.smallest)


def _ranks(planner: Planner, backend: Backend, known: Regime) -> Ranking | None:
    """Ranks put facts on the same level in order, where there are levels."""
    return backend.ability(Ranking) if known.levelled and planner.node.is_recursive else None


def are_ranked(planner: Planner) -> bool:
    """Whether evaluation, if it gives ranks to a hyper-node, gives it the right ones."""
    return not planner.node.limits or _regime_of(planner).levelled


# --- an update ---------------------------------------------------------------------------------------


def maintain(s: Stratum) -> None:
    """DRed^v: bring one hyper-node up to date."""
    if s.node.sums:
        s.figures.why = f"recomputed, since a {s.node.sums[0].function} is part of its recursion"
        recompute(s)
        return
    if _means_other(s):
        s.figures.why = "recomputed, since they were not there before"
        recompute(s)
        return
    old = (*s.kept.rules, *s.removed.rules)
    known = regime(old, s.node.limits, s.O, s.planner.statistics.smallest)
    N = first_deletions(s)
    s.figures.why = known.why
    if N and not known.tight:
        s.figures.why = f"recomputed, since {known.why}"
        recompute(s)
        return
    groups = groups_of(s.planner, s.backend)
    overdelete(s, N, known, groups)
    insert(s, rederive(s, groups))


def _means_other(s: Stratum) -> bool:
    """Whether a relation of the hyper-node was no limit relation before, or another one."""
    before: dict[str, Limit | None] = {rule.predicate: rule.limit for rule in (*s.kept.rules, *s.removed.rules)}
    return any(before.get(name) != s.node.limits.get(name) for name in s.O)


def first_deletions(s: Stratum) -> Facts:
    """N := (E- ∩ O) ∪ Π[I : D\\A, A\\D] ∪ Π_removed[I], tight or not."""
    bags = [s.delta_heads(s.kept.rules, s.I, s.removed_inputs, s.added_inputs)]
    if s.removed:
        bags.append(s.instances(s.removed.rules, s.I))
    return reduce(or_, (bag.support() for bag in bags), s.E_minus).snapshot()


def overdelete(s: Stratum, N: Facts, known: Regime, groups: OfferGroups) -> None:
    """Tight facts that lost an instance and are not proved by facts on a better level, and what follows from them."""
    I, D, A = s.I, s.D, s.A
    below, plans = known.below, s.planner.limits
    proving = [*s.kept.nonrecursive]
    proving += [plans.founded(rule, below) for rule in s.kept.recursive] if below is not None else []
    rules = tuple(proving)
    ranks = _ranks(s.planner, s.backend, known) if s.is_ranked and not known.climbs else None
    while Δ := _unfounded(s, (N & I) - D, rules, ranks):
        Ip, forward = I - (D - A), s.planner.recursive(Δ.sizes(), s.kept.recursive)
        N, count = groups.tight(forward, {Read.ALL: Ip, Read.OLD: Ip - Δ, Read.DELTA: Δ, Read.ABSENT: I | A})
        s.count(count)
        s.delete(Δ)


def _unfounded(s: Stratum, facts: Facts, rules: Sequence[Rule], ranks: Ranking | None) -> Facts:
    """Those of some facts that no explicit fact and no instance of the proving rules supports, nor one of facts with
    lower ranks."""
    S = (facts - ((facts & s.E) - s.E_minus)).snapshot()
    if not S:
        return S
    Ip, In = s.I - (s.D - s.A), s.I | s.A
    instances = s.derived_goals(rules, Ip, In, S)
    S = (S - instances.support()).snapshot()
    if ranks is None or not S:
        return S
    plans = s.planner.bodies_too.heads(s.kept.recursive, S.sizes())
    instances, founded = ranks.apply_ranked(plans, {Read.ALL: Ip, Read.DELTA: S, Read.ABSENT: In})
    s.count(len(instances), "backward")
    return (S - founded.support()).snapshot()


def rederive(s: Stratum, groups: OfferGroups) -> Facts:
    """All that is left for the groups that have lost their fact, whatever its value."""
    I, D, A = s.I, s.D, s.A
    lost = s.of_node(D)
    if not lost:
        return lost
    explicit = groups.same_groups(lost, (s.of_node(s.E) - s.E_minus).snapshot())
    plans = s.planner.by_group(s.kept.rules, lost.sizes())
    J = I - (D - A)
    N, count = groups.offers(plans, {Read.ALL: J, Read.DELTA: lost, Read.ABSENT: I | A}, J)
    s.count(count, "backward")
    return explicit | N


def insert(s: Stratum, R: Facts) -> None:
    """INSERT: what was rederived and what comes from outside, and all that gets better by it."""
    I, D, A = s.I, s.D, s.A

    def now() -> Facts:
        return (I - D) | A

    def replace(rivals: Facts, Δ: Facts) -> None:
        nonlocal A, D
        A -= rivals
        D |= rivals & I
        A |= Δ

    known = _regime_of(s.planner)
    s.begin_insertion()  # offers were rederived, not facts
    bags = [s.delta_heads(s.kept.rules, now(), s.added_inputs, s.removed_inputs)]
    if s.added:
        bags.append(s.instances(s.added.rules, now()))
    N = reduce(or_, (bag.support() for bag in bags), R | s.E_plus).snapshot()
    improvement = Improvement(s.planner, s.backend, s.watch, known, now, replace, s.figures, ranked=s.is_ranked)
    improvement.groups.before(s.of_node(D))
    improvement.run(N, (*s.kept.recursive, *s.added.recursive))
    s.is_ranked = s.is_ranked and known.levelled
    s.figures.rederived += len((D & A).of(s.O))
