"""Decides whether a hyper-node that modules serve is maintained by them or by its rules alone.

Both are exact, and either can follow the other at any update.  A closure module walks from every node that a change may
affect, before and after it, and next to other rules it gets all edges in each round; rules visit only what changes.  So
modules win where most pairs are reached, and rules where sources are few and many edges change at once, or where little
changes.

Switching has a price: facts that only a module knows must be written as rows, and all of them counted and ranked; on
the way back, the module numbers and sorts its edges.  `auto` switches when the current side has lost that much to the
other since the last switch.  So it takes at most about twice as long as the better side, whatever the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from holdfast.maintenance.node_plans import NodePlan
from holdfast.maintenance.rates import Rates
from holdfast.plans import Planner
from holdfast.quick_dataclass import dataclass

_UPDATE = 1e-3  # seconds that any update by rules takes
_VISIT = 1.5e-7  # seconds per fact that a join reads during an update
_OVERDELETED = 8  # facts that a deletion visits for each fact deleted
_ROW = 3e-7  # seconds per fact that becomes a row
_DERIVE = 6e-8  # seconds per fact that a join reads during an evaluation
_LEAST_PRICE = 0.05  # seconds; a smaller loss is not worth a switch
_MOST_FACTS = 4_000_000  # rows take memory that modules do not need


@dataclass(frozen=True)
class ServedUpdate:
    """The input of an update to a hyper-node, and its effect."""

    kind: str
    given: int  # changed facts that the hyper-node reads or has as explicit facts
    read: Mapping[str, int]  # changed facts of other hyper-nodes, by relation
    removed: int
    added: int


def rule_seconds(planner: Planner, moved: ServedUpdate) -> float:
    """The estimated time of an update by rules: from its changes, and the number of instances that sizes suggest."""
    changed = _OVERDELETED * moved.removed + moved.added
    own = planner.node.predicates
    each = dict.fromkeys(own, max(1, changed // len(own)))
    return _UPDATE + _VISIT * planner.work(each if changed else {}, moved.read)


def price_of_rules(planner: Planner) -> float | None:
    """The seconds to write, count and rank all facts of a hyper-node; None if they are too many."""
    sizes = {name: int(planner.statistics.size(name)) for name in planner.node.predicates}
    facts = sum(sizes.values())
    return None if facts > _MOST_FACTS else _ROW * facts + _DERIVE * planner.work(sizes, {})


@dataclass
class Rivals:
    """The modules of a hyper-node versus its rules: the current side, and how much time it has lost to the other."""

    by_rules: bool = False
    lost: float = 0.0  # seconds since the last switch
    changes: int = 0
    evaluation: float = 0.0  # seconds of a full evaluation by the modules
    why: str = ""
    took: dict[tuple[bool, str], Rates] = field(default_factory=dict)  # by side and kind of update

    def note(self, plan: NodePlan, moved: ServedUpdate, seconds: float) -> None:
        """Record the time of an update on the current side and compare it with the other's, measured or estimated."""
        self.took.setdefault((self.by_rules, moved.kind), Rates()).took(moved.given, seconds)
        if not self.by_rules and seconds < 2 * _UPDATE:
            return
        other = self.took.get((not self.by_rules, moved.kind), Rates()).expected(moved.given)
        if self.by_rules:
            self.compare(seconds, other or self.evaluation or seconds, self.evaluation)
        elif (price := price_of_rules(plan.planner)) is not None:
            self.compare(seconds, other or rule_seconds(plan.planner, moved), price)

    def compare(self, seconds: float, other: float, price: float) -> None:
        """Compare the time of an update with that of the other side, given the price of switching.

        One update alone does not decide: it may be the first that loads something.  Each switch doubles the next price.
        """
        price = max(_LEAST_PRICE, price) * 2**self.changes
        self.lost = max(0.0, self.lost + min(seconds - other, 0.6 * price))
        if self.lost > price:
            took, instead = ("the rules", "it") if self.by_rules else ("it", "the rules")
            self.why = f"{took} took {seconds:.3f} s where {instead} should take {other:.3f} s"
            self.by_rules, self.lost, self.changes = not self.by_rules, 0.0, self.changes + 1
