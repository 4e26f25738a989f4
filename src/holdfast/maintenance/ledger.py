"""Which counters and ranks are right.

Cn[F] counts the nonrecursive derivations of a fact F, plus 1 if F is explicit; Cr[F] counts its recursive ones.
Algorithms keep both counters, one or none, so what the backend holds is right for some predicates and not for others.
The ledger says for which, and counts anew what an algorithm needs.  Its invariant, for every predicate p:

- Cn is right for the facts of p, unless p is in `_Cn_unknown`.
- Cr is right for the facts of p, unless p is in `_Cr_unknown`.
- If p is in `_served_count`, Cr counts all recursive rules of p; otherwise only those that no module serves, so that a
  fact with Cn or Cr above 0 is external to modules.  Where modules serve no rule of p both are the same.
- Ranks and Cw are right for the facts of p if `_ranked` has p, for the hyper-node whose predicates it has there; but
  Cw lacks what `_late` has of that hyper-node.

*Right* means: for the rules and the materialisation before the update until the hyper-node has been maintained, and for
those after the update from then on.  A change of rules leaves what is unknown unknown: only a hyper-node that is
maintained by an algorithm that needs counters is counted.

Windows move the state and leave the counters behind, since most of them are never read before the next window.  Then
`defer` has what puts them right, and the invariant holds after `flush_deferred_counts`, which precedes every use.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Set
from typing import TypeAlias

from holdfast.backends.abilities import Ranking
from holdfast.backends.protocol import Backend
from holdfast.maintenance.algorithms import Algorithm
from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.recompute import recount
from holdfast.maintenance.stratum import LateInputs, RuleChange
from holdfast.plans import Read

Late: TypeAlias = Mapping[frozenset[str], tuple[LateInputs, ...]]
Entries: TypeAlias = tuple[frozenset[str], frozenset[str], frozenset[str], Mapping[str, frozenset[str]], Late]


class Ledger:
    """Says for each predicate whether Cn and Cr are right, and whether Cr counts rules that modules serve."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._Cn_unknown, self._Cr_unknown, self._served_count = set[str](), set[str](), set[str]()
        self._ranked: dict[str, frozenset[str]] = {}
        self._late: dict[frozenset[str], tuple[LateInputs, ...]] = {}
        self._deferred_counts: Callable[[], None] | None = None

    # --- counters of one hyper-node --------------------------------------------------------------------

    def make_right(self, plan: NodePlan, *, recursive: bool, served: bool = False) -> None:
        """Count the derivations in a hyper-node unless Cn, and Cr if `recursive`, are right.

        Cr counts rules that modules serve if `served`.
        """
        if self._is_right(plan, recursive=recursive, served=served):
            return
        self._Cn_unknown |= plan.predicates  # in case counting is interrupted
        recount(plan.planner, self._backend, _counting_before(plan, served=served))
        self._note(plan.predicates, Cn=True, Cr=True, served=served)

    def _is_right(self, plan: NodePlan, *, recursive: bool, served: bool) -> bool:
        O = plan.predicates
        if O & self._Cn_unknown:
            return False
        counts_others = bool(plan.allotment.services) and served != bool(O & self._served_count)
        return not recursive or not (O & self._Cr_unknown or counts_others)

    def move_counts(self, plan: NodePlan) -> None:
        """A kept rule that becomes recursive, or ceases to be, moves its derivations to the other counter.

        An unknown counter stays unknown.  If modules serve other rules than before, nothing can be moved: their
        algorithm counts anew, or keeps no counters, or a module goes on alone.
        """
        I = self._backend.materialisation
        for rule, was_recursive in plan.recursion_changed if not plan.modules_changed else ():
            Cn = self._backend.nonrecursive, rule.predicate not in self._Cn_unknown
            Cr = self._backend.recursive, rule.predicate not in self._Cr_unknown
            (loses, loses_known), (gains, gains_known) = (Cr, Cn) if was_recursive else (Cn, Cr)
            if loses_known or gains_known:
                instances = self._backend.apply(plan.planner.whole((rule,)), {Read.ALL: I, Read.ABSENT: I})
            if loses_known:
                loses.subtract(instances)
            if gains_known:
                gains.add(instances)

    def maintained(self, plan: NodePlan, algorithm: Algorithm) -> None:
        """An algorithm has brought a hyper-node up to date."""
        modular = algorithm.with_modules(plan.allotment.services) is not None
        keeps_recursive = algorithm.keeps_recursive or modular
        self._note(plan.predicates, Cn=algorithm.keeps_nonrecursive, Cr=keeps_recursive, served=not modular)
        if not plan.node.limits:  # whose algorithm says so itself
            self.note_ranks(plan, right=algorithm.keeps_ranks and not modular)

    def counts_all(self, O: Set[str]) -> bool:
        """Whether Cn and Cr of some predicates are right and count all rules, and they have no ranks."""
        apart = O.isdisjoint(self._Cn_unknown) and O.isdisjoint(self._Cr_unknown) and O.isdisjoint(self._ranked)
        return apart and self._served_count >= O

    @property
    def has_ranks(self) -> bool:
        """Whether ranks of some predicates are right."""
        return bool(self._ranked)

    def ranks_are_right(self, plan: NodePlan) -> bool:
        """Whether ranks and Cw of a hyper-node are right; they are not if it had other predicates before."""
        return plan.predicates not in self._late and self.ranks_are_kept(plan)

    def ranks_are_kept(self, plan: NodePlan) -> bool:
        """Whether they are, or are when what came late is counted; for rules that go it no longer can be."""
        if plan.predicates in self._late and (plan.removed or plan.recursion_changed or plan.modules_changed):
            return False
        return all(self._ranked.get(name) == plan.predicates for name in plan.predicates)

    def take_late(self, plan: NodePlan) -> tuple[LateInputs, ...]:
        """What Cw of a hyper-node lacks; it is taken to be counted, or Cw is made anew."""
        return self._late.pop(plan.predicates, ())

    def put_late(self, plan: NodePlan, late: tuple[LateInputs, ...]) -> None:
        """Cw of a hyper-node lacks so much."""
        if late:
            self._late[plan.predicates] = late

    def note_ranks(self, plan: NodePlan, *, right: bool) -> None:
        """Ranks and Cw of a hyper-node are right, if it is recursive and the backend has them, or not."""
        if right and plan.node.is_recursive and self._backend.ability(Ranking) is not None:
            self._ranked.update(dict.fromkeys(plan.predicates, plan.predicates))
        else:
            self.lose_ranks(plan.predicates)

    def lose_ranks(self, predicates: Iterable[str]) -> None:
        """Ranks and Cw of some predicates were not kept."""
        names = set(predicates)
        for name in names:
            self._ranked.pop(name, None)
        self._late = {O: late for O, late in self._late.items() if O.isdisjoint(names)}

    def _note(self, O: Set[str], *, Cn: bool, Cr: bool, served: bool) -> None:
        for predicates, belongs in (
            (self._Cn_unknown, not Cn),
            (self._Cr_unknown, not Cr),
            (self._served_count, served),
        ):
            if belongs:
                predicates |= O
            else:
                predicates -= O

    # --- all counters ----------------------------------------------------------------------------------

    def lose_counts(self, predicates: Iterable[str]) -> None:
        """Cn and Cr of some predicates were not kept."""
        names = set(predicates)
        self._Cn_unknown |= names
        self._Cr_unknown |= names

    def lose_recursive(self, predicates: Iterable[str]) -> None:
        """Cr and ranks of some predicates were not kept."""
        names = set(predicates)
        self._Cr_unknown |= names
        self.lose_ranks(names)

    def restart_ranks(self) -> None:
        """Before there are too many ranks they begin anew; none of those that facts have is believed."""
        ranks = self._backend.ability(Ranking)
        if ranks is not None and ranks.rounds > ranks.most_rounds:
            self._forget_ranks()
            ranks.restart()

    def lose_all(self, predicates: Iterable[str]) -> None:
        """Nothing is known of some predicates, and nothing is deferred."""
        self._deferred_counts = None
        self.lose_counts(predicates)
        self._forget_ranks()

    def _forget_ranks(self) -> None:
        self._ranked.clear()
        self._late.clear()

    def without_modules(self, served: Set[str]) -> None:
        """No module serves the rules of some predicates any more: all of them have to count."""
        self._Cr_unknown |= served - self._served_count

    def keep_only(self, predicates: Container[str]) -> None:
        """There are no other predicates any more; one that comes back begins anew."""
        for names in (self._Cn_unknown, self._Cr_unknown, self._served_count):
            names &= {name for name in names if name in predicates}
        self.lose_ranks([name for name in self._ranked if name not in predicates])

    def entries(self) -> Entries:
        """All that is noted, to come back to."""
        sets = frozenset(self._Cn_unknown), frozenset(self._Cr_unknown), frozenset(self._served_count)
        return *sets, dict(self._ranked), dict(self._late)

    def restore(self, entries: Entries) -> None:
        """Come back to what was noted."""
        *sets, ranked, late = entries
        self._Cn_unknown, self._Cr_unknown, self._served_count = map(set, sets)
        self._ranked, self._late = dict(ranked), dict(late)

    # --- windows ---------------------------------------------------------------------------------------

    def defer(self, put_counts: Callable[[], None]) -> None:
        """The state moves on without its counters; this puts them right, and may be done twice."""
        self._deferred_counts = put_counts

    def flush_deferred_counts(self) -> None:
        """Put right what was deferred."""
        if self._deferred_counts is not None:
            self._deferred_counts()
            self._deferred_counts = None


def _counting_before(plan: NodePlan, *, served: bool) -> RuleChange:
    """The rules that count before an update: the kept ones as the new program groups them, and the removed ones."""
    kept, removed = plan.kept if served else plan.generic, plan.removed
    return RuleChange(
        (*kept.nonrecursive, *removed.nonrecursive),
        (*kept.recursive, *plan.removed_generic.recursive),
        (*kept.aggregates, *removed.aggregates),
    )
