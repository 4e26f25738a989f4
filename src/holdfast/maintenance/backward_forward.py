"""B/F and B/F^c: before a fact is deleted, look backwards for another proof of it (optimised-maintenance,
Algorithm 3, set at a time as ALGORITHMS.md restates it).

C are the facts checked, P those proved, Y those proved before they were checked.  B/F^c reads from the counter Cn
whether a fact has a nonrecursive derivation; B/F searches for one.  Recursive derivations are never counted.

B/F^c-Mod is the same with modules, which the paper on modules leaves open.  A module takes part in three places.  Its
Del returns at once all facts that may lose a derivation by a deleted fact.  CHECK goes from a fact to the external
facts that its derivations by the module may use, and on from these.  SATURATE proves what follows from proved external
facts; since a module answers that for any goals, what it proves need not wait in Y.  Cr is kept for the rules of the
generic module, at no cost: their instances are visited anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

from holdfast.backends.protocol import Facts
from holdfast.maintenance import dred, dred_counting
from holdfast.maintenance.modular import adding
from holdfast.maintenance.stratum import Stratum

_FIRST = 32  # instances of each rule that CHECK looks at first, to prove a fact
_GROWTH = 8

Proves = Callable[[Stratum, Facts], Facts]
"""Selects the facts that have a nonrecursive derivation or are explicit."""


def maintain(s: Stratum) -> None:
    """B/F: no counters are kept."""
    _delete(s, dred.first_deletions(s), _proved_backwards)
    dred_counting.insert(s, s.nothing)


def maintain_counting(s: Stratum) -> None:
    """B/F^c: Cn is kept."""
    _delete(s, dred_counting.first_deletions(s), _proved_by_counter)  # line 54; lines 58 to 61 are the first
    dred_counting.insert(s, s.nothing)  # line 55


def maintain_modular(s: Stratum) -> None:
    """B/F^c-Mod: Cn is kept, and the generic module's Cr."""
    _delete(s, dred_counting.first_deletions(s), lambda s, facts: _proved_by_counter(s, facts) | by_modules(s, facts))
    dred_counting.insert(s, s.nothing, modules=adding(s))


def _proved_by_counter(s: Stratum, facts: Facts) -> Facts:
    return facts - s.Cn.zero(facts)


def _proved_backwards(s: Stratum, facts: Facts) -> Facts:
    explicit = (facts & s.E) - s.E_minus
    instances = s.derived_goals(s.kept.nonrecursive, s.I - (s.D - s.A), s.I | s.A, facts - explicit)
    return explicit | instances.support()


def _delete(s: Stratum, N: Facts, proves: Proves) -> None:
    """DELETEUNPROVED: delete the facts without a proof, and then check what followed from them."""
    I, D, A, P = s.I, s.D, s.A, s.backend.proved
    if not s.kept.recursive and not s.served:  # nothing to do for CHECK and SATURATE
        Δ = (S := N - D) - proves(s, S)
        s.delete(Δ)
        return
    while S := N - D:  # line 62
        check(s, S, proves)  # lines 64 and 65
        Δ = S - P  # line 66
        if not Δ:  # line 67
            break
        own = [module.delete(I - (D - A), Δ) for module in s.served]
        instances = s.recursive_heads(s.kept.recursive, I - (D - A), I | A, Δ)  # line 68
        s.Cr.subtract(instances)  # B/F^c-Mod only
        N = reduce(or_, own, instances.support())
        s.delete(Δ)  # line 69
    for proof in (s.backend.checked, P, s.backend.delayed):
        proof.clear()
    for module in s.served:
        module.forget()


def check(s: Stratum, S: Facts, proves: Proves) -> None:
    """CHECK: everything that could support S, backwards, until it is proved or nothing is left to check.

    The printed procedure works depth first and stops expanding a fact the moment it is proved.  Set at a time, each
    waiting fact gets some instances, and more and more of them until it is proved or has no more.  Beginning with one
    instance and doubling is up to four times slower: it spends on rounds what it saves on a rule's instances.
    """
    C, P, Y = s.backend.checked, s.backend.proved, s.backend.delayed
    W, waiting = S - C, dict[int, Facts]()  # waiting: by the number of instances to look at next
    while W or waiting:
        if W:
            C |= W  # line 78
            saturate(s, (W & Y) | proves(s, W))  # lines 72 and 79
            waiting[_FIRST] = waiting[_FIRST] | W if _FIRST in waiting else W
        most = min(waiting)
        goals = waiting.pop(most) - P
        supports, exhausted = s.supporting(s.kept.recursive, goals, most)  # lines 73 to 75
        if left := goals - exhausted:
            more = _GROWTH * most
            waiting[more] = waiting[more] | left if more in waiting else left
        if most == _FIRST:  # a module returns all at once
            supports = reduce(or_, (module.supports(s.I - (s.D - s.A), goals) for module in s.served), supports)
        W = supports - C  # lines 71 and 76


def saturate(s: Stratum, N: Facts) -> None:
    """SATURATE: what follows from proved facts is proved, and waits in Y if it has not been checked yet."""
    I, D, A, C, P, Y = s.I, s.D, s.A, s.backend.checked, s.backend.proved, s.backend.delayed
    while True:
        Δ = (N & C) - P  # line 82
        Y |= N - C
        if not Δ:  # line 83
            return
        P |= Δ  # line 84
        proved = s.backend.elsewhere(s.O, P, I - (D - A))
        instances = s.recursive_heads(s.kept.recursive, proved, I | A, Δ, "forward")  # line 85
        N = instances.support()
        if s.served:
            N = N | by_modules(s, s.of_node(C) - P)


def by_modules(s: Stratum, goals: Facts) -> Facts:
    """Goals that modules derive from proved external facts."""
    proved = s.of_node(s.backend.proved)
    return reduce(or_, (module.among(module.external(proved), goals) for module in s.served))
