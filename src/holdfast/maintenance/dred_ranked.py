"""DRed^w: DRed^c with ranks (ALGORITHMS.md, "DRed^w"; decision 0035 says how the ranks are chosen).

DRed^c overdeletes a fact as soon as its nonrecursive derivations are gone, since a recursive derivation may depend on
the fact itself.  A derivation from facts of lower ranks cannot.  Cw counts these founded derivations, and a fact with
Cn or Cw above 0 is not overdeleted: by induction on its rank it has a proof.

A fact that comes, or comes back, enters with a rank above all others, so that every derivation it has by then is
founded, and none that uses it is, for facts that are there already.  Hence INSERT moves Cw only by its first step; the
instances of its loop need no look at ranks.

Where an update only inserts, that step is put off: only deletions read Cw, and comparing ranks takes longer than all
else of a large insertion.  The next deletion catches up first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import numpy as np

from holdfast.backends.abilities import LateRanking, Ranking
from holdfast.backends.protocol import Bag, Deferred, Facts
from holdfast.maintenance import dred_counting
from holdfast.maintenance.cascades import Cascades
from holdfast.maintenance.late_rules import LateRules
from holdfast.maintenance.stratum import (
    LateInputs,
    Stratum,
    delta_sources,
    is_positive,
    predicates_read,
    read_old,
)
from holdfast.plans import Plan, Read
from holdfast.program.model import Rule
from holdfast.values.dictionary import Codes

_MANY = 8  # inserted inputs, from which on comparing ranks is put off
_MOST = 16  # insertions that are caught up with at a time


def maintain(s: Stratum) -> None:
    """Bring one hyper-node up to date, with D, A, the counters and the ranks."""
    if not s.node.is_recursive:  # its facts have no ranks
        dred_counting.maintain(s)
        return
    ranked = RankedStratum(s)
    if ranked.may_be_late():
        ranked.insert(s.nothing, late=True)
        return
    ranked.catch_up()
    ranked.overdelete()
    ranked.insert(dred_counting.rederive(s))


class RankedStratum:
    """A recursive hyper-node with ranks during an update."""

    def __init__(self, s: Stratum) -> None:
        ranks = s.backend.ability(Ranking)
        assert ranks is not None, "walk.py refuses backends without ranks"
        self.s, self.ranks, self.Cw = s, ranks, ranks.founded
        self._plans, self._late = s.planner.bodies_too, s.backend.ability(LateRanking)

    def may_be_late(self) -> bool:
        """Whether the update takes no derivation away, and brings so much that Cw is better counted later."""
        s = self.s
        changes = s.E_minus or s.removed_inputs or s.removed or s.added
        if changes or self._late is None or len(s.late) >= _MOST:
            return False
        return is_positive(s.kept) and (bool(s.late) or len(s.added_inputs) >= _MANY)

    def catch_up(self) -> None:
        """Count in Cw what insertions brought to facts that were there before them; the latest first.

        Only the inputs of an insertion and of those before it count for it: an instance came with the last of its own.
        What entered since has all that in Cw by now, or is founded by what has a higher rank.
        """
        s, I, later = self.s, self.s.I, self.s.nothing
        for rows, rank in reversed(s.late):
            assert self._late is not None
            P = s.backend.facts(rows, known=True).snapshot()
            plans = self._plans.changed(s.kept.recursive, P.sizes(), {})
            if plans:
                J = I - later if later else I
                self.Cw.add(self._late.founded_up_to(plans, delta_sources(J, P, s.nothing), rank))
            later = (later | P).snapshot()
        s.late = ()

    def overdelete(self) -> None:
        """OVERDELETE: the facts that have neither a nonrecursive nor a founded derivation left.

        The order in which instances are subtracted does not matter, only that each is once.  So rules may wait: for a
        rule that comes late, the facts that it missed are still there, and they are its Δ.
        """
        s, I, D, A = self.s, self.s.I, self.s.D, self.s.A
        N, cascades = self._first_deletions(), Cascades(s, self.Cw)
        turns = LateRules(s.planner.for_scattered, cascades.rest)
        while (Δ := self._unsupported(N - D)) or turns.missed:
            if Δ:
                Δ, Ip = cascades.spread(Δ.snapshot())
                instances, founded = self._recursive_heads(turns.now(Δ), Ip, I | A, Δ)
                cascades.delete(Δ)
            else:
                Δ, Π_r = turns.late()
                instances, founded = self._recursive_heads(Π_r, (I - (D - A)) | Δ, I | A, Δ)
            s.Cr.subtract(instances)
            self.Cw.subtract(founded)
            N = instances.support()

    def _unsupported(self, facts: Facts) -> Facts:
        """{F | Cn[F] = 0 and Cw[F] = 0}.

        Cr does not suffice, not even where no fact can support itself: that may change with the facts, and then a fact
        without founded derivations could support one that counts it as founded.
        """
        without = self.s.Cn.zero(facts)
        if not without:
            return without
        unfounded = self.Cw.zero(without)
        self.s.figures.kept_by_rank += len(without) - len(unfounded)
        return unfounded

    def _first_deletions(self) -> Facts:
        s, I = self.s, self.s.I
        nonrecursive = dred_counting.nonrecursive_deletions(s)
        s.Cn.subtract(s.E_minus)
        for bag in nonrecursive:
            s.Cn.subtract(bag)
        recursive = [self._delta_heads(I, s.removed_inputs, s.added_inputs)]
        if s.removed.recursive:
            recursive.append(self._instances(s.removed.recursive, I))
        for instances, founded in recursive:
            s.Cr.subtract(instances)
            self.Cw.subtract(founded)
        met = [*nonrecursive, *(instances for instances, _ in recursive)]
        return reduce(or_, (bag.support() for bag in met), s.E_minus)

    def insert(self, R: Facts, *, late: bool = False) -> None:
        """INSERT: each round's new facts enter with the next rank; if `late`, Cw of others is counted another time."""
        s, I, D, A = self.s, self.s.I, self.s.D, self.s.A
        s.begin_insertion(R)
        N = R | (self._late_insertions() if late else self._first_insertions())
        Π_r = s.kept.recursive + s.added.recursive
        while Δ := N - ((I - D) | A):
            Δ = Δ.snapshot()
            A |= Δ
            self.ranks.enter(Δ)
            s.watch.round(len(Δ))
            J = (I - D) | A
            instances = s.recursive_heads(Π_r, J, J, Δ)
            s.Cr.add(instances)
            N = instances.support()

    def _first_insertions(self) -> Facts:
        s, J = self.s, (self.s.I - self.s.D) | self.s.A
        nonrecursive = dred_counting.nonrecursive_insertions(s)
        recursive = [self._delta_heads(J, s.added_inputs, s.removed_inputs)]
        if s.added.recursive:
            recursive.append(self._instances(s.added.recursive, J))
        s.Cn.add(s.E_plus)
        for bag in nonrecursive:
            s.Cn.add(bag)
        for instances, founded in recursive:  # Cw of facts that are about to enter is set when they do
            s.Cr.add(instances)
            self.Cw.add(founded)
        met = [*nonrecursive, *(instances for instances, _ in recursive)]
        return reduce(or_, (bag.support() for bag in met), s.E_plus)

    def _late_insertions(self) -> Facts:
        s, read = self.s, predicates_read(self.s.kept)
        P = {name: _codes(s.backend.rows(name, s.added_inputs)) for name in s.added_inputs.sizes() if name in read}
        nonrecursive, recursive = dred_counting.first_insertions(s)
        s.late = (*s.late, LateInputs(P, self.ranks.rounds))
        s.Cn.add(s.E_plus)
        for bag in nonrecursive:
            s.Cn.add(bag)
        for bag in recursive:
            s.Cr.add(bag)
        return reduce(or_, (bag.support() for bag in (*nonrecursive, *recursive)), s.E_plus)

    # --- Π, and its founded instances ------------------------------------------------------------------

    def _instances(self, rules: tuple[Rule, ...], I: Facts) -> tuple[Bag, Bag]:
        """Π⟦I⟧."""
        return self._apply(self._plans.whole(rules), {Read.ALL: I, Read.ABSENT: I})

    def _delta_heads(self, I: Facts, P: Facts, N: Facts) -> tuple[Bag, Bag]:
        """Π_r⟦I : P, N⟧."""
        plans = self._plans.changed(self.s.kept.recursive, P.sizes(), N.sizes())
        return self._apply(plans, delta_sources(I, P, N) if plans else {})

    def _recursive_heads(self, rules: tuple[Rule, ...], Ip: Facts, In: Facts, Δ: Facts) -> tuple[Bag, Bag]:
        """Π_r⟦Ip, In : Δ⟧."""
        plans = self._plans.recursive(Δ.sizes(), rules)
        sources = {Read.ALL: Ip, Read.DELTA: Δ, Read.ABSENT: In}
        if read_old(plans):
            sources[Read.OLD] = Ip - Δ
        return self._apply(plans, sources)

    def _apply(self, plans: Sequence[Plan], sources: Mapping[Read, Facts]) -> tuple[Bag, Bag]:
        instances, founded = self.ranks.apply_ranked(plans, sources)
        self.s.count(len(instances))
        return instances, founded


def _codes(rows: Codes | Deferred) -> Codes:
    return rows if isinstance(rows, np.ndarray) else rows.codes()
