"""Overdeletion by rules that read one fact of their own relation: on a backend that can, in one call instead of a round
for each step of a long chain.

The order in which instances are subtracted does not matter, only that each is once.  So these rules go first, to their
end; the other rules of the hyper-node then see all that is gone.
"""

from __future__ import annotations

from holdfast.backends.abilities import Cascading
from holdfast.backends.protocol import Counters, Facts
from holdfast.maintenance.stratum import Stratum


class Cascades:
    """The recursive rules of a hyper-node that delete in cascades; `rest` are the others."""

    def __init__(self, s: Stratum, other: Counters | None) -> None:
        """`other` keeps facts besides Cn: Cw, or Cr."""
        cascading, rules = s.backend.ability(Cascading), s.kept.recursive
        plans = s.planner.linear(rules) if cascading is not None else (None,) * len(rules)
        able = [plan is not None and cascading is not None and cascading.cascades(plan) for plan in plans]
        self.s, self._cascading, self._other = s, cascading, other
        self._plans = [plan for plan, is_able in zip(plans, able, strict=True) if plan is not None and is_able]
        rest = tuple(rule for rule, is_able in zip(rules, able, strict=True) if not is_able)
        self.rest = rest if self._plans else rules  # the same tuple: what is known of it is found by its id

    def spread(self, Δ: Facts) -> tuple[Facts, Facts]:
        """Facts go, and what goes by them; D has taken them in if there are such rules, else `delete` does.

        Gives all of them, and the facts that the other rules still see: these, and what is not in D.
        """
        s, I, D, A = self.s, self.s.I, self.s.D, self.s.A
        inputs, unseen, every = I - (D - A), [Δ] * len(self._plans), Δ
        if not self._plans or self._cascading is None:
            return Δ, inputs
        s.delete(Δ)
        while any(unseen):
            for place, plan in enumerate(self._plans):
                given, unseen[place] = unseen[place].of((plan.rule.predicate,)), s.nothing
                if not given:
                    continue
                s.watch.give_way()
                found = self._cascading.cascade(plan, given, inputs, self._other, s.count)
                s.figures.overdeleted += len(found.gone) - len(given)
                s.figures.kept_by_rank += found.kept if self._other is not s.Cr else 0
                every = found.gone if len(given) == len(every) else every | found.gone
                if len(unseen) > 1:
                    new = found.gone - given
                    unseen = [facts if at == place else facts | new for at, facts in enumerate(unseen)]
        return every, inputs | every

    def delete(self, Δ: Facts) -> None:
        """The other rules have seen these facts."""
        if not self._plans:
            self.s.delete(Δ)
