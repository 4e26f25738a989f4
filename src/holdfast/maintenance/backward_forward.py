"""B/F and B/F^c: before a fact is deleted, look backwards for another proof of it (optimised-maintenance,
Algorithm 3, set at a time as ALGORITHMS.md restates it).

C are the facts checked, P those proved, Y those proved before they were checked.  B/F^c sees by the counter Cn
whether a fact has a nonrecursive derivation; B/F looks for one.  Recursive derivations are never counted.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.backends.protocol import Facts
from holdfast.maintenance import dred, dred_counting
from holdfast.maintenance.stratum import Stratum

_FIRST_GOALS = 4

Proves = Callable[[Stratum, Facts], Facts]
"""Those of some facts that have a nonrecursive derivation or are explicit."""


def maintain(s: Stratum) -> None:
    """B/F: no counters are kept."""
    _delete(s, dred.first_deletions(s), _proved_backwards)
    dred_counting.insert(s, s.E_minus - s.E_minus, counts=False, counts_recursive=False)


def maintain_counting(s: Stratum) -> None:
    """B/F^c: Cn is kept."""
    _delete(s, dred_counting.first_deletions(s, counts_recursive=False), _proved_by_counter)
    dred_counting.insert(s, s.E_minus - s.E_minus, counts_recursive=False)


def _proved_by_counter(s: Stratum, facts: Facts) -> Facts:
    return facts - s.Cn.zero(facts)


def _proved_backwards(s: Stratum, facts: Facts) -> Facts:
    explicit = (facts & s.E) - s.E_minus
    instances = s.derived_goals(s.kept.nonrecursive, s.I - (s.D - s.A), s.I | s.A, facts - explicit)
    s.figures.backward += len(instances)
    return explicit | instances.support()


def _delete(s: Stratum, N: Facts, proves: Proves) -> None:
    """DELETEUNPROVED: what is left without a proof goes, and then what followed from it is looked at."""
    I, D, A, P = s.I, s.D, s.A, s.backend.proved
    while S := N - D:
        check(s, S, proves)
        Δ = S - P
        if not Δ:
            break
        instances = s.follows(s.kept.recursive, I - (D - A), I | A, Δ)
        s.figures.deletion += len(instances)
        s.figures.overdeleted += len(Δ)
        N = instances.support()
        D |= Δ
    for proof in (s.backend.checked, P, s.backend.delayed):
        proof.clear()


def check(s: Stratum, S: Facts, proves: Proves) -> None:
    """CHECK: all that could support S, backwards, until it is proved or there is nothing left to look at.

    The printed procedure goes into the depth and stops at the first proof.  Here the newest waiting facts are
    expanded first, few at a time and then more: what they prove need not be expanded.
    """
    I, D, A, C, P, Y = s.I, s.D, s.A, s.backend.checked, s.backend.proved, s.backend.delayed
    W, waiting, most = S - C, list[Facts](), _FIRST_GOALS
    while W or waiting:
        if W:
            C |= W
            saturate(s, (W & Y) | proves(s, W))
            waiting.append(W)
        U = waiting.pop() - P
        goals = U.some(most)
        if len(goals) < len(U):
            waiting.append(U - goals)
        most *= 2
        instances = s.supporting(s.kept.recursive, I - (D - A), I | A, goals)
        s.figures.backward += len(instances) // s.recursive_atoms
        W = instances.support() - C


def saturate(s: Stratum, N: Facts) -> None:
    """SATURATE: what follows from proved facts is proved, and waits in Y if it was not asked for yet."""
    I, D, A, C, P, Y = s.I, s.D, s.A, s.backend.checked, s.backend.proved, s.backend.delayed
    while True:
        Δ = (N & C) - P
        Y |= N - C
        if not Δ:
            return
        P |= Δ
        instances = s.follows(s.kept.recursive, s.backend.elsewhere(s.O, P, I - (D - A)), I | A, Δ)
        s.figures.forward += len(instances)
        N = instances.support()
