"""Materialisation: semi-naive evaluation, one hyper-node after the other (ALGORITHMS.md, "Materialisation")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.backends.abilities import tuning
from holdfast.backends.protocol import Backend, Facts
from holdfast.maintenance.watch import Watch
from holdfast.plans import Planner, Read
from holdfast.program.model import Rule
from holdfast.program.show import shown_names
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class NodeFigures:
    """What the evaluation of one hyper-node took."""

    predicates: tuple[str, ...]
    rounds: int
    instances: int
    facts: int
    seconds: float


def materialise(
    planner: Planner, backend: Backend, watch: Watch, enough: Mapping[str, int] | None = None
) -> NodeFigures:
    """Everything that follows in one hyper-node, with its counters; earlier nodes are complete.

    `enough` says of some predicates after how many facts their node is left as it is, incomplete on purpose.
    """
    begun, facts, O = watch.seconds, 0, planner.node.predicates
    wanted = {name: size for name, size in (enough or {}).items() if name in O}
    E, I, Cn, Cr = backend.explicit, backend.materialisation, backend.nonrecursive, backend.recursive
    shown = shown_names(O, backend.relations)
    watch.node(", ".join(shown))

    explicit = E.of(O)  # E ∩ O
    N = backend.apply(planner.nonrecursive(), {Read.ALL: I, Read.ABSENT: I})  # Π_n⟦I⟧
    Cn.add(explicit)
    Cn.add(N)
    Δ = explicit | N.support()
    instances, reported, reports = len(N), len(explicit), tuning(backend).reports_new_facts
    late, missed = tuple[Rule, ...](), dict[int, list[Facts]]()  # rules that wait until the others are done; by place,
    # since a rule may be there twice
    while Δ or missed:
        if Δ:
            facts += len(Δ)
            watch.round(len(Δ))
            if not reports:
                watch.batch(len(Δ) - reported)
                reported = 0
            I |= Δ
            if _reached(I, wanted):
                break
            if not missed:
                late = planner.late(Δ.sizes())
            for place in range(len(late)):
                missed.setdefault(place, []).append(Δ)
            Π_r = planner.node.recursive
            if late:
                Π_r = tuple(rule for rule in Π_r if rule not in late)
        else:  # in turn, so that all others finish with the outputs of one before the next begins
            place = next(iter(missed))
            Δ, Π_r = _union(missed.pop(place)), (late[place],)
        sources = {Read.ALL: I, Read.OLD: I - Δ, Read.DELTA: Δ, Read.ABSENT: I}
        N = backend.apply(planner.recursive(Δ.sizes(), Π_r), sources)  # Π_r⟦I : Δ⟧
        Cr.add(N)
        instances += len(N)
        Δ = N.support() - I
    return NodeFigures(shown, watch.rounds, instances, facts, watch.seconds - begun)


def _union(parts: Sequence[Facts]) -> Facts:
    """All facts of some sets; two and two, so that none is copied often."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return _union(parts[:middle]) | _union(parts[middle:])


def _reached(I: Facts, wanted: Mapping[str, int]) -> bool:
    return any(len(I.of((name,))) >= size for name, size in wanted.items())
