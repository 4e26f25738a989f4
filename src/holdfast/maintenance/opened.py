"""What a materialisation begins with: hyper-nodes that rules evaluated though modules could serve them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.maintenance.algorithms import BY_RULES

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer

_NUMBERED = 5e-7  # seconds that a module takes for a step at least


def note_rules(maintainer: Maintainer) -> None:
    """Hyper-nodes that were evaluated by rules though modules could serve them are maintained by rules.

    Those that a cache has with their ranks were so when it was written.
    """
    for plan in maintainer.nodes if maintainer.states.by_rules or maintainer.ledger.has_ranks else ():
        why = maintainer.states.by_rules.get(plan.node.predicates[0], "")
        if why:
            maintainer.ledger.maintained(plan, BY_RULES["recompute"])
        elif plan.allotment.services and maintainer.ledger.ranks_are_right(plan):
            why = "they maintained it before"
        if why:
            steps = sum(map(maintainer.backend.statistics.size, plan.inputs - plan.predicates))
            maintainer.chooser.open_by_rules(plan, why, _NUMBERED * steps)
