"""Whether a hyper-node that a module can serve alone is maintained by the module or by its rules.

Both are exact, and either can follow the other at any update.  A closure module walks from every node that a change may
affect, before and after it; the rules visit only what changes.  So the module wins where most pairs are reached, and
the rules where sources are few and many edges change at once.

Changing sides has a price: facts that the module only knows must be written as rows, counted and ranked; on the way
back, the module numbers and sorts its edges.  `auto` changes when the side at hand has lost that much to the other
since the last change.  So it loses at most about twice what the better side takes, whatever the data do.
"""

from __future__ import annotations

from holdfast.maintenance.stratum import Figures
from holdfast.modules import Service
from holdfast.plans import SizeStatistics
from holdfast.quick_dataclass import dataclass

_UPDATE = 1e-3  # seconds that an update by rules takes, however small it is
_VISIT = 1.5e-7  # seconds for a rule instance during an update
_OVERDELETED = 8  # facts that a deletion visits for each one that goes
_ROW = 3e-7  # seconds for a fact that becomes a row
_DERIVE = 6e-8  # seconds for a rule instance during an evaluation
_LEAST_PRICE = 0.05  # seconds; less is not worth a change
_MOST_FACTS = 4_000_000  # rows take memory that a module does not need


@dataclass(frozen=True)
class RuleWork:
    """What the rules of a closure should take, by sizes: nothing has to be tried."""

    facts: float  # of the closure
    steps: float  # facts that a fact of the closure joins, on average
    nodes: float

    def update(self, figures: Figures) -> float:
        """The seconds for an update that a module made: what changed is known."""
        visited = (_OVERDELETED * figures.overdeleted + figures.added) * (1 + self.steps)
        return _UPDATE + _VISIT * (visited + figures.given * self.facts / self.nodes)

    @property
    def price(self) -> float:
        """The seconds to write all facts as rows, with counters and ranks."""
        return self.facts * (_ROW + (1 + self.steps) * _DERIVE)


def rule_work(service: Service, statistics: SizeStatistics) -> RuleWork | None:
    """By the sizes of the closure and of the relations that its steps read; None if the rules are no rival.

    A transitive rule joins the closure with itself, and the rules cannot win.  Of a part of a relation
    the sizes are not known.
    """
    is_plain = service.alone and service.reads and not any(part.fixed for part in (service.slice, *service.reads))
    facts = statistics.size(service.slice.predicate)
    if not is_plain or len(service.rules) > len(service.reads) or facts > _MOST_FACTS:
        return None
    steps = nodes = 1.0
    for part in service.reads:
        arity = len(part.columns)
        fan_out = max(statistics.fanout(part.predicate, (column,), arity) for column in range(arity))
        steps, nodes = steps + fan_out, max(nodes, statistics.size(part.predicate) / max(1.0, fan_out))
    return RuleWork(facts, steps, nodes)


@dataclass
class Rivals:
    """A module and the rules that it serves: which of them maintains the hyper-node, and what that has lost."""

    by_rules: bool = False
    lost: float = 0.0  # seconds, since the last change
    changes: int = 0
    way_back: float = 0.0  # seconds that the module takes to evaluate the hyper-node
    why: str = ""

    def compare(self, seconds: float, other: float, price: float) -> None:
        """An update took so long, and would have taken the other side so long; changing sides has a price.

        One update alone does not decide: it may be the first that loads something.  Each change doubles the next price.
        """
        price = max(_LEAST_PRICE, price) * 2**self.changes
        self.lost = max(0.0, self.lost + min(seconds - other, 0.6 * price))
        if self.lost > price:
            took, instead = ("the rules", "it") if self.by_rules else ("it", "the rules")
            self.why = f"{took} took {seconds:.3f} s where {instead} should take {other:.3f} s"
            self.by_rules, self.lost, self.changes = not self.by_rules, 0.0, self.changes + 1
