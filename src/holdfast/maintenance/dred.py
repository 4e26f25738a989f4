"""DRed: delete and rederive (optimised-maintenance, Algorithm 1).  Keeps no counters.

INSERT is that of DRed^c: counters that are not kept ignore what is added to them.
"""

from __future__ import annotations

from holdfast.backends.protocol import Facts
from holdfast.maintenance.dred_counting import insert
from holdfast.maintenance.stratum import Stratum


def maintain(s: Stratum) -> None:
    """Bring one hyper-node up to date, but not its counters."""
    overdelete(s)  # line 3
    insert(s, rederive(s))  # lines 4 and 5


def first_deletions(s: Stratum) -> Facts:
    """Line 8: N := (E- ∩ O) ∪ Π[I : D\\A, A\\D], and the heads of removed rules."""
    I = s.I
    bags = [s.lost_heads(s.kept.rules, I)]
    if s.kept.aggregates:
        bags.append(s.aggregates_touched(I))
    if s.removed:
        bags += s.instances(s.removed.rules, I), s.aggregated(s.removed.aggregates, I)
    N = s.E_minus
    for bag in bags:
        N = N | bag.support()
    return N


def overdelete(s: Stratum) -> None:
    """OVERDELETE: everything that has a derivation from a deleted fact."""
    I, D, A = s.I, s.D, s.A
    N = first_deletions(s)  # line 8
    while Δ := N - D:  # lines 9 to 11
        instances = s.recursive_heads(s.kept.recursive, I - (D - A), I | A, Δ)  # line 12
        N = instances.support()
        s.delete(Δ)  # line 13


def rederive(s: Stratum) -> Facts:
    """Line 4: R := facts of D ∩ O that are in E \\ E- or are the head of an instance over (I \\ (D\\A), I ∪ A)."""
    I, D, A = s.I, s.D, s.A
    overdeleted = s.of_node(D)
    explicit = (overdeleted & s.E) - s.E_minus
    instances = s.derived_goals(s.kept.rules, I - (D - A), I | A, overdeleted)
    return explicit | instances.support()
