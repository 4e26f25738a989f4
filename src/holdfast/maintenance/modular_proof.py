"""B/F^c-Mod: look for another proof before anything is deleted, with modules.

The paper on modules leaves this open.  A module takes part in three places.  What may lose a derivation by a deleted
fact is what Del says, all of it at once.  CHECK goes from a fact to the external facts that its derivations by the
module may use, and on from these.  SATURATE proves what follows from proved external facts; since a module
answers that for any goals, facts that it proves before they are checked need not wait in Y.  Unlike in B/F^c, Cr is
kept for the rules of the generic module, at no cost: their instances are met anyway.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from holdfast.backends.protocol import Facts
from holdfast.maintenance import dred_counting
from holdfast.maintenance.modular import adding
from holdfast.maintenance.stratum import Stratum


def maintain(s: Stratum) -> None:
    """Bring one hyper-node up to date; D, A, Cn and the generic module's Cr are."""
    delete(s)
    dred_counting.insert(s, s.E_minus - s.E_minus, modules=adding(s))


def delete(s: Stratum) -> None:
    """DELETEUNPROVED."""
    I, D, A, P = s.I, s.D, s.A, s.backend.proved
    N = dred_counting.first_deletions(s)
    while S := N - D:
        check(s, S)
        Δ = S - P
        if not Δ:
            break
        own = [module.delete(I - (D - A), Δ) for module in s.served]
        instances = s.follows(s.kept.recursive, I - (D - A), I | A, Δ)
        s.Cr.subtract(instances)
        s.figures.deletion += len(instances)
        s.figures.overdeleted += len(Δ)
        D |= Δ
        N = reduce(or_, own, instances.support())
    for proof in (s.backend.checked, P, s.backend.delayed):
        proof.clear()
    for module in s.served:
        module.forget()


def check(s: Stratum, S: Facts) -> None:
    """CHECK, as in B/F^c, and through modules at once."""
    C, P, Y = s.backend.checked, s.backend.proved, s.backend.delayed
    I = s.I - (s.D - s.A)
    W, waiting = S - C, dict[int, Facts]()
    while W or waiting:
        if W:
            C |= W
            saturate(s, (W & Y) | (W - s.Cn.zero(W)) | proved_by_modules(s, W))
            U = W - P
            waiting[1] = waiting[1] | U if 1 in waiting else U
        most = min(waiting)
        goals = waiting.pop(most) - P
        supports, exhausted = s.supporting(s.kept.recursive, goals, most)
        if left := goals - exhausted:
            waiting[2 * most] = waiting[2 * most] | left if 2 * most in waiting else left
        if most == 1:
            supports = reduce(or_, (module.supports(I, goals) for module in s.served), supports)
        W = supports - C


def saturate(s: Stratum, N: Facts) -> None:
    """SATURATE: what follows from proved facts is proved."""
    I, D, A, C, P, Y = s.I, s.D, s.A, s.backend.checked, s.backend.proved, s.backend.delayed
    while True:
        Δ = (N & C) - P
        Y |= N - C
        if not Δ:
            return
        P |= Δ
        instances = s.follows(s.kept.recursive, s.backend.elsewhere(s.O, P, I - (D - A)), I | A, Δ)
        s.figures.forward += len(instances)
        N = instances.support() | proved_by_modules(s, s.of_node(C) - P)


def proved_by_modules(s: Stratum, goals: Facts) -> Facts:
    """Goals that follow from proved external facts."""
    proved = s.of_node(s.backend.proved)
    return reduce(or_, (module.among(module.external(proved), goals) for module in s.served))
