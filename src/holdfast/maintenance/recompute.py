"""Recomputing a hyper-node from scratch, and counting its derivations anew."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.backends.abilities import Ranking, Scratch, Scratching
from holdfast.backends.protocol import Backend, Facts, KeptFacts
from holdfast.maintenance.seminaive import evaluate
from holdfast.maintenance.stratum import RuleChange, Stratum
from holdfast.plans import AggregatePlan, Planner, Read


def maintain(s: Stratum) -> None:
    """The hyper-node's new facts by semi-naive evaluation, then the difference to the old; counters included."""
    I, D, A = s.I, s.D, s.A
    explicit, scratch = (s.of_node(s.E) - s.E_minus) | s.E_plus, scratch_for(s)
    new = _evaluate_here(s, explicit) if scratch is None else _evaluate_beside(s, scratch, explicit)
    D |= s.of_node(I) - new
    A |= new - I
    s.backend.proved.clear()


def scratch_for(s: Stratum) -> Scratch | None:
    """Where to evaluate a hyper-node beside the facts that it has, if that pays."""
    scratching = s.backend.ability(Scratching)
    if scratching is None or s.watch.limits.memory is not None:  # which may be enough for one evaluation only
        return None
    return scratching.scratch(s.O, s.inputs)


def _evaluate_here(s: Stratum, explicit: Facts) -> Facts:
    """In the tables that are there."""
    new = s.backend.proved
    s.Cn.forget(s.O)
    s.Cr.forget(s.O)
    J = s.backend.elsewhere(s.O, new, (s.I - s.D) | s.A)
    s.count(evaluate(s.planner, s.backend, new, J, explicit, _taking(s, new)), "insertion")
    return s.of_node(new)


def _evaluate_beside(s: Stratum, scratch: Scratch, explicit: Facts) -> Facts:
    """As a first evaluation; then the facts are looked up among those that were there."""
    K, ranks = scratch.backend.materialisation, s.backend.ability(Ranking)
    if ranks is not None:
        ranks.rank_anew(s.O)
    J, planner = scratch.reads((s.I - s.D) | s.A), Planner(s.node, scratch.backend.statistics)
    s.count(evaluate(planner, scratch.backend, K, J, scratch.facts(explicit), _taking(s, K)), "insertion")
    return scratch.bring_over()


def _taking(s: Stratum, K: KeptFacts) -> Callable[[Facts], bool]:
    def take(Δ: Facts) -> bool:
        nonlocal K
        s.watch.round(len(Δ))
        K |= Δ
        return True

    return take


def recount(planner: Planner, backend: Backend, rules: RuleChange) -> None:
    """The counters of a hyper-node whose facts are right, by one evaluation of the rules that count."""
    I, Cn, Cr, O = backend.materialisation, backend.nonrecursive, backend.recursive, planner.node.predicates
    sources = {Read.ALL: I, Read.ABSENT: I}
    Cn.forget(O)
    Cr.forget(O)
    Cn.add(backend.explicit.of(O))
    Cn.add(backend.apply([*planner.whole(rules.nonrecursive), *map(AggregatePlan, rules.aggregates)], sources))
    Cr.add(backend.apply(planner.whole(rules.recursive), sources))
