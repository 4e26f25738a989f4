"""Materialisation: semi-naive evaluation, one hyper-node after the other (ALGORITHMS.md, "Materialisation")."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.backends.protocol import Backend
from holdfast.maintenance.watch import Watch
from holdfast.plans.model import NodePlans, Read


@dataclass(frozen=True)
class NodeFigures:
    """What the evaluation of one hyper-node took."""

    predicates: tuple[str, ...]
    rounds: int
    instances: int
    facts: int
    seconds: float


def materialise(plans: NodePlans, backend: Backend, watch: Watch) -> NodeFigures:
    """Everything that follows in one hyper-node, with its counters; earlier nodes are complete."""
    begun, instances, facts = watch.seconds, 0, 0
    E, I, Cn, Cr = backend.explicit, backend.materialisation, backend.nonrecursive, backend.recursive
    watch.node(", ".join(plans.predicates))

    explicit = E.of(plans.predicates)  # E ∩ O
    N = backend.apply(plans.nonrecursive, {Read.ALL: I, Read.ABSENT: I})  # Π_n⟦I⟧
    Cn.add(explicit)
    Cn.add(N)
    Δ = explicit | N.support()
    while Δ:
        instances, facts = instances + len(N), facts + len(Δ)
        watch.round(len(Δ))
        I |= Δ
        N = backend.apply(plans.recursive, {Read.ALL: I, Read.OLD: I - Δ, Read.DELTA: Δ, Read.ABSENT: I})  # Π_r⟦I : Δ⟧
        Cr.add(N)
        Δ = N.support() - I
    return NodeFigures(plans.predicates, watch.rounds, instances + len(N), facts, watch.seconds - begun)


