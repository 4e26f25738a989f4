"""Materialisation: semi-naive evaluation, one hyper-node after the other (ALGORITHMS.md, "Materialisation")."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.backends.protocol import Backend
from holdfast.maintenance.watch import Watch
from holdfast.plans import Planner, Read


@dataclass(frozen=True)
class NodeFigures:
    """What the evaluation of one hyper-node took."""

    predicates: tuple[str, ...]
    rounds: int
    instances: int
    facts: int
    seconds: float


def materialise(planner: Planner, backend: Backend, watch: Watch) -> NodeFigures:
    """Everything that follows in one hyper-node, with its counters; earlier nodes are complete."""
    begun, instances, facts, O = watch.seconds, 0, 0, planner.node.predicates
    E, I, Cn, Cr = backend.explicit, backend.materialisation, backend.nonrecursive, backend.recursive
    watch.node(", ".join(O))

    explicit = E.of(O)  # E ∩ O
    N = backend.apply(planner.nonrecursive(), {Read.ALL: I, Read.ABSENT: I})  # Π_n⟦I⟧
    Cn.add(explicit)
    Cn.add(N)
    Δ = explicit | N.support()
    while Δ:
        instances, facts = instances + len(N), facts + len(Δ)
        watch.round(len(Δ))
        I |= Δ
        sources = {Read.ALL: I, Read.OLD: I - Δ, Read.DELTA: Δ, Read.ABSENT: I}
        N = backend.apply(planner.recursive(Δ.sizes()), sources)  # Π_r⟦I : Δ⟧
        Cr.add(N)
        Δ = N.support() - I
    return NodeFigures(O, watch.rounds, instances + len(N), facts, watch.seconds - begun)
