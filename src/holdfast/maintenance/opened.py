"""What is known when maintenance begins: counters, ranks and costs, as the evaluation left them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.maintenance import limits
from holdfast.maintenance.algorithms import BY_RULES
from holdfast.maintenance.seminaive import NodeFigures
from holdfast.maintenance.walk import facts_around

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer

_NUMBERED = 5e-7  # seconds that a module takes for a step at least


def note_evaluation(maintainer: Maintainer, figures: Sequence[NodeFigures]) -> None:
    """Limit relations have no counters.  Evaluation sets the ranks of hyper-nodes that no module serves."""
    program, ledger, costs = maintainer.program, maintainer.ledger, maintainer.chooser.costs
    ledger.lose_all(name for plan in maintainer.nodes if plan.node.limits for name in plan.predicates)
    if len(figures) == len(program.nodes):
        costs.materialised(zip((node.predicates for node in program.nodes), figures, strict=True))
    for plan in maintainer.nodes:
        ledger.note_ranks(plan, right=not plan.allotment.services and limits.are_ranked(plan.planner))
        if plan.node.limits:
            costs.by_facts(plan.node.predicates, facts_around(plan))
    note_rules(maintainer)


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
