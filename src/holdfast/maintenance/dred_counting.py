"""DRed^c: delete and rederive with counters (optimised-maintenance, Algorithm 2; ALGORITHMS.md extends it by rule
changes).

A fact whose nonrecursive derivations are not all gone is never overdeleted, and one whose recursive derivations are
not all gone is rederived by a look at its counter; where recursion cannot run in circles (`program/ranks.py`) it is not
overdeleted in the first place.  On a hyper-node without recursion this is Counting, which `maintain_nonrecursive` does
without the steps that do nothing there.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.backends.protocol import Bag, Facts
from holdfast.maintenance.cascades import Cascades
from holdfast.maintenance.stratum import Stratum


def maintain(s: Stratum) -> None:
    """Bring one hyper-node up to date; D, A and the counters are."""
    if not (s.kept.recursive or s.removed.recursive or s.added.recursive):
        maintain_nonrecursive(s)
        return
    overdelete(s)  # line 23
    insert(s, rederive(s))  # lines 24 and 25


def maintain_nonrecursive(s: Stratum) -> None:
    """Counting: all derivations that are lost and gained are counted before a fact is looked at.  So none is both
    deleted and added."""
    lost = counted(s.E_minus, nonrecursive_deletions(s), s.Cn.subtract)
    s.begin_insertion()
    gained = counted(s.E_plus, nonrecursive_insertions(s), s.Cn.add)
    if Δ := s.Cn.zero(lost):
        s.delete(Δ)
    if Δ := gained - s.I:
        s.A |= Δ
        s.watch.round(len(Δ))


def counted(explicit: Facts, bags: list[Bag], count: Callable[[Bag | Facts], None]) -> Facts:
    """The facts that lose or gain a derivation, which is counted."""
    N = explicit
    if explicit:
        count(explicit)
    for bag in filter(len, bags):
        count(bag)
        N = N | bag.support() if N else bag.support()  # which is not evaluated before it is read
    return N


def maintain_explicit(s: Stratum) -> None:
    """The same for a hyper-node without rules: its facts are the explicit ones."""
    s.Cn.subtract(s.E_minus)
    s.delete(s.E_minus)
    s.Cn.add(s.E_plus)
    s.A |= s.E_plus
    s.watch.round(len(s.E_plus))


def first_deletions(s: Stratum) -> Facts:
    """Lines 28 to 32: what loses a derivation by what happened outside this hyper-node; the counters are moved."""
    I = s.I
    nonrecursive = nonrecursive_deletions(s)
    recursive = [s.delta_heads(s.kept.recursive, I, s.removed_inputs, s.added_inputs)]
    if s.removed:
        recursive.append(s.instances(s.removed.recursive, I))
    N = counted(s.E_minus, nonrecursive, s.Cn.subtract)
    for bag in filter(len, recursive):
        s.Cr.subtract(bag)
        N = N | bag.support()
    return N


def nonrecursive_deletions(s: Stratum) -> list[Bag]:
    """The nonrecursive derivations that are lost by what happened outside this hyper-node."""
    I, bags = s.I, [s.lost_heads(s.kept.nonrecursive, s.I)]
    if s.kept.aggregates:
        bags.append(s.aggregates_touched(I))
    if s.removed:
        bags += s.instances(s.removed.nonrecursive, I), s.aggregated(s.removed.aggregates, I)
    return bags


def overdelete(s: Stratum) -> None:
    """OVERDELETE."""
    I, A, D = s.I, s.A, s.D
    N, cannot_circle = first_deletions(s), s.planner.cannot_circle(s.kept.recursive)  # lines 28 to 32
    cascades = Cascades(s, s.Cr if cannot_circle else None)
    while Δ := unsupported(s, N - D, cannot_circle=cannot_circle):  # lines 33 to 35
        Δ, Ip = cascades.spread(Δ)
        instances = s.recursive_heads(cascades.rest, Ip, I | A, Δ)  # line 36
        s.Cr.subtract(instances)  # line 37
        N = instances.support()
        cascades.delete(Δ)  # line 38


def unsupported(s: Stratum, facts: Facts, *, cannot_circle: bool) -> Facts:
    """{F | Cn[F] = 0}; where no fact can be among its own grounds, one with Cr[F] > 0 is still true and not deleted."""
    without = s.Cn.zero(facts)
    return s.Cr.zero(without) if without and cannot_circle else without


def rederive(s: Stratum) -> Facts:
    """Line 24: R := {F in D ∩ O | Cr[F] > 0}."""
    overdeleted = s.of_node(s.D)
    return overdeleted - s.Cr.zero(overdeleted)


def first_insertions(s: Stratum) -> tuple[list[Bag], list[Bag]]:
    """Lines 41 and 43: what happened outside this hyper-node gives nonrecursive derivations, and recursive ones."""
    J, nonrecursive = (s.I - s.D) | s.A, nonrecursive_insertions(s)
    recursive = [s.delta_heads(s.kept.recursive, J, s.added_inputs, s.removed_inputs)]
    if s.added:
        recursive.append(s.instances(s.added.recursive, J))
    return nonrecursive, recursive


def nonrecursive_insertions(s: Stratum) -> list[Bag]:
    """The nonrecursive derivations that come by what happened outside this hyper-node."""
    J = (s.I - s.D) | s.A
    bags = [s.gained_heads(s.kept.nonrecursive, J)]
    if s.kept.aggregates:
        bags.append(s.aggregates_touched(J))
    if s.added:
        bags += s.instances(s.added.nonrecursive, J), s.aggregated(s.added.aggregates, J)
    return bags


def insert(
    s: Stratum,
    R: Facts,
    modules: Callable[[Facts], Facts] | None = None,
) -> None:
    """INSERT.  `modules` adds what these derive."""
    I, D, A = s.I, s.D, s.A
    s.begin_insertion(R)
    nonrecursive, recursive = first_insertions(s)
    N = R | counted(s.E_plus, nonrecursive, s.Cn.add)  # lines 40 to 42
    for bag in filter(len, recursive):  # lines 43 and 44
        s.Cr.add(bag)
        N = N | bag.support()
    Π_r = s.kept.recursive + s.added.recursive
    while Δ := N - ((I - D) | A):  # lines 45 to 47
        A |= Δ  # line 48
        s.watch.round(len(Δ))
        J = (I - D) | A
        instances = s.recursive_heads(Π_r, J, J, Δ)  # line 49
        s.Cr.add(instances)  # line 50
        N = instances.support()
        if modules is not None:
            N = N | modules(Δ)
