"""OfferGroups of limit relations: which offers are better than what is there, and what they replace.

`LimitGroups` does this by the protocol alone, with plans; a backend that can do it quicker has the ability `Grouping`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Protocol

from holdfast.backends.protocol import Backend, Facts
from holdfast.plans import AnyPlan, Planner, Read


class OfferGroups(Protocol):
    """The groups of the limit relations of one hyper-node.  A fact of another relation is a group of its own."""

    def offers(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts], J: Facts) -> tuple[Facts, int]:
        """Heads of the plans' instances, and how many instances there are.  Offers that are not the best of their
        group, or not better than J's, may be missing."""
        ...

    def tight(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts]) -> tuple[Facts, int]:
        """Heads of the plans' instances, and how many instances there are.  Heads that are nowhere facts may be
        missing."""
        ...

    def better(self, N: Facts, J: Facts) -> Facts:
        """The best of N in each group for which it is better than J's fact, or J has none."""
        ...

    def rivals(self, Δ: Facts, J: Facts) -> Facts:
        """J's facts in the groups of Δ, which is better and takes their place in J next."""
        ...

    def same_groups(self, facts: Facts, among: Facts) -> Facts:
        """The facts among some that are in the groups of others."""
        ...

    def before(self, facts: Facts) -> None:
        """The groups of these facts had them until now."""
        ...

    def front(self, W: Facts) -> tuple[Facts, Facts | None]:
        """Two parts of a set; the first is not empty and has the best values, or those that differ least from what
        their groups had before."""
        ...


class Grouping(Protocol):
    """Knows groups of limit relations without plans."""

    def groups(self, planner: Planner, *, none_yet: bool) -> OfferGroups:
        """Those of a hyper-node; `none_yet` says that J begins without facts of it."""
        ...


def groups_of(planner: Planner, backend: Backend, *, none_yet: bool = False) -> OfferGroups:
    """The groups of a hyper-node's limit relations, for as long as only `rivals` are replaced in J."""
    able = backend.ability(Grouping)
    return LimitGroups(planner, backend) if able is None else able.groups(planner, none_yet=none_yet)


class LimitGroups(OfferGroups):
    """By plans."""

    def __init__(self, planner: Planner, backend: Backend) -> None:
        self._planner, self._backend, self._limits = planner, backend, planner.node.limits

    def offers(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts], J: Facts) -> tuple[Facts, int]:
        """All heads."""
        return self.tight(plans, sources)

    def tight(self, plans: Sequence[AnyPlan], sources: Mapping[Read, Facts]) -> tuple[Facts, int]:
        """All heads."""
        bag = self._backend.apply(plans, sources)
        return bag.support(), len(bag)

    def better(self, N: Facts, J: Facts) -> Facts:
        """The best of the new facts, unless J has it."""
        N = N.snapshot()
        new = N - J
        limited = [name for name, size in new.sizes().items() if size and name in self._limits]
        found = [new.of(set(new.predicates()) - set(limited))]
        for name in limited:
            plan = self._planner.limits.best(name, self._limits[name], self._backend.relations[name].arity)
            candidates = new.of((name,))
            best = self._backend.apply([plan], {Read.ALL: candidates | J.of((name,)), Read.DELTA: candidates})
            found.append(best.support() & candidates)
        return reduce(or_, found).snapshot()

    def rivals(self, Δ: Facts, J: Facts) -> Facts:
        """As any other facts in these groups."""
        return self.same_groups(Δ, J)

    def same_groups(self, facts: Facts, among: Facts) -> Facts:
        """By a join with the facts."""
        found = [facts.of(()), facts.of(set(facts.predicates()) - self._limits.keys()) & among]
        for name in [name for name, size in facts.sizes().items() if size and name in self._limits]:
            plan = self._planner.limits.same_groups(name, self._limits[name], self._backend.relations[name].arity)
            bag = self._backend.apply([plan], {Read.ALL: among, Read.DELTA: facts.of((name,))})
            found.append(bag.support())
        return reduce(or_, found).snapshot()

    def before(self, facts: Facts) -> None:
        """That does not matter here."""

    def front(self, W: Facts) -> tuple[Facts, Facts | None]:
        """All at once."""
        return W, None
