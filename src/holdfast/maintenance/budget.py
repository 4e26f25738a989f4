"""No update is much dearer than starting over: what evaluating a hyper-node anew would take, and when to give up.

A full evaluation looks at every rule instance once.  How many there are is known after each update: those before it,
less those it deleted, plus those it inserted; so is the time that an evaluation would take.  An algorithm that spends
more is abandoned, and the hyper-node is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.maintenance.seminaive import NodeFigures
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.watch import Stopwatch, Watch
from holdfast.quick_dataclass import dataclass

_SLACK = 0.05  # seconds that are not worth a change of mind
_SHARE = 0.9  # of the seconds that starting over takes: with as many again the update costs less than twice as much
_COMPARING = 1.2  # times an evaluation: starting over also compares the facts with those that were there
_FEW, _SECONDS = 10_000, 2e-7  # so few instances do not show what one takes; then it is this


class AbandonedError(Exception):
    """An update of a hyper-node has become dearer than evaluating it anew."""

    def __init__(self, figures: Figures, seconds: float, full: FullCost) -> None:
        looked = f"{figures.instances:,} instances and {seconds:.2f} s"
        super().__init__(f"{looked}; starting over takes {full.instances:,.0f} and {full.seconds:.2f} s")
        self.figures = figures


@dataclass(frozen=True)
class FullCost:
    """What evaluating a hyper-node from scratch takes: rule instances, and seconds of work."""

    instances: float
    seconds: float
    facts: float = 0.0  # that its rules read and derive; known where the cost goes by these

    def for_facts(self, facts: float) -> FullCost:
        """Of so many facts, each of which takes as long as before."""
        share = facts / self.facts if self.facts else 1.0
        return FullCost(self.instances * share, self.seconds * share, facts)

    def after(self, figures: Figures) -> FullCost:
        """After an update, or during one: what is met from then on."""
        instances = max(0.0, self.instances + figures.insertion - figures.deletion)
        if self.instances < _FEW:
            return FullCost(instances, self.seconds + _SECONDS * max(0.0, instances - self.instances))
        return FullCost(instances, self.seconds * instances / self.instances)


class FullCosts:
    """The cost of each hyper-node, by its predicates."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], FullCost] = {}

    def entries(self) -> Mapping[tuple[str, ...], FullCost]:
        """All that is known, to come back to."""
        return dict(self._known)

    def restore(self, entries: Mapping[tuple[str, ...], FullCost]) -> None:
        """Come back to what was known."""
        self._known = dict(entries)

    def forget(self) -> None:
        """Nothing is known of any hyper-node."""
        self._known = {}

    def materialised(self, nodes: Iterable[tuple[tuple[str, ...], NodeFigures]]) -> None:
        """Hyper-nodes were evaluated."""
        self._known |= {name: FullCost(found.instances, _COMPARING * found.work) for name, found in nodes}

    def taken(self, predicates: tuple[str, ...]) -> float:
        """The seconds of a hyper-node, which are not known from now on: it is evaluated in another way."""
        known = self._known.pop(predicates, None)
        return 0.0 if known is None else known.seconds

    def by_facts(self, predicates: tuple[str, ...], facts: float) -> None:
        """What a hyper-node takes goes by the facts that it reads and derives, which are so many.

        In a recursion through min or max an instance may be met more than once, so that updates do not tell.
        """
        if (known := self._known.get(predicates)) is not None:
            self._known[predicates] = FullCost(known.instances, known.seconds, facts)

    def maintained(self, predicates: tuple[str, ...], figures: Figures) -> None:
        """A hyper-node was brought up to date, perhaps from scratch."""
        if figures.is_anew:
            self._known[predicates] = FullCost(figures.insertion, figures.work - figures.work_abandoned)
        elif (known := self._known.get(predicates)) is not None:
            self._known[predicates] = known.after(figures)

    def of(self, predicates: tuple[str, ...]) -> FullCost | None:
        """What starting over takes, if that is known."""
        return self._known.get(predicates)


class Budget:
    """What one hyper-node may cost during one update, as a context: inside it, `watch` looks at this often."""

    def __init__(self, full: FullCost, figures: Figures, watch: Watch, *, in_jobs: bool = False) -> None:
        """If the backend works `in_jobs`, whose time says little of what they visit, only instances count.

        A cost that goes by facts is that of the facts after the update.
        """
        self._full, self._figures, self._watch, self._in_jobs = full, figures, watch, in_jobs

    def __enter__(self) -> None:
        self._stopwatch = Stopwatch()
        self._watch.budget = self.check

    def __exit__(self, *_: object) -> None:
        self._watch.budget = None

    def check(self) -> None:
        """Give up if starting over would have been cheaper."""
        seconds = self._stopwatch.work
        if seconds <= _SLACK and not self._in_jobs:
            return
        full = self._full if self._full.facts else self._full.after(self._figures)
        looked = self._figures.instances
        if looked > max(_FEW, full.instances) if self._in_jobs else seconds > _SLACK + _SHARE * full.seconds:
            raise AbandonedError(self._figures, seconds, full)
