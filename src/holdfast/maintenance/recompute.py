"""Recomputing a hyper-node from scratch, and counting its derivations anew."""

from __future__ import annotations

from holdfast.backends.protocol import Backend, Facts
from holdfast.maintenance.seminaive import evaluate
from holdfast.maintenance.stratum import RuleChange, Stratum
from holdfast.plans import AggregatePlan, Planner, Read


def maintain(s: Stratum) -> None:
    """The hyper-node's new facts by semi-naive evaluation, then the difference to the old; counters included."""
    I, D, A, new = s.I, s.D, s.A, s.backend.proved
    J = s.backend.elsewhere(s.O, new, (I - D) | A)
    s.Cn.forget(s.O)
    s.Cr.forget(s.O)
    explicit = (s.of_node(s.E) - s.E_minus) | s.E_plus

    def take(Δ: Facts) -> bool:
        nonlocal new
        s.watch.round(len(Δ))
        new |= Δ
        return True

    s.figures.insertion += evaluate(s.planner, s.backend, new, J, explicit, take)
    old = s.of_node(I)
    D |= old - new
    A |= s.of_node(new) - I
    new.clear()


def recount(planner: Planner, backend: Backend, rules: RuleChange) -> None:
    """The counters of a hyper-node whose facts are right, by one evaluation of the rules that count."""
    I, Cn, Cr, O = backend.materialisation, backend.nonrecursive, backend.recursive, planner.node.predicates
    sources = {Read.ALL: I, Read.ABSENT: I}
    Cn.forget(O)
    Cr.forget(O)
    Cn.add(backend.explicit.of(O))
    Cn.add(backend.apply([*planner.whole(rules.nonrecursive), *map(AggregatePlan, rules.aggregates)], sources))
    Cr.add(backend.apply(planner.whole(rules.recursive), sources))
