"""Bounds the cost of an update: it is abandoned when evaluating the hyper-node from scratch would be cheaper.

A full evaluation looks at every rule instance once.  Their number is known after each update: the instances before it,
minus those it deleted, plus those it inserted; so is the time that an evaluation would take.  An algorithm that spends
more is abandoned, and the hyper-node is recomputed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from holdfast.backends.abilities import Tuning
from holdfast.maintenance.seminaive import NodeFigures
from holdfast.maintenance.stratum import Figures
from holdfast.maintenance.watch import Stopwatch, Watch

_SLACK = 0.02  # seconds; less is not worth abandoning an update
_SHARE = 0.8  # of the seconds of an evaluation: an abandoned update then takes less than twice as long as that
_INDEXES = 1.0  # of the seconds of an evaluation: what indexes may take on top of that, since later updates use them
_SOONER = 0.1  # of the seconds that are left, until they are looked at again
_COMPARING = 1.1  # times an evaluation: recomputing also compares the new facts with the old ones
_INSTANCE = 5e-8  # seconds that others take for an instance, if two of them work
_FEW_REQUESTS = 50  # an update of a few facts takes some, however small it is
_FEW, _SECONDS = 10_000, 2e-7  # fewer instances do not show the cost of one; then assume this


class AbandonedError(Exception):
    """An update of a hyper-node has become more expensive than evaluating it from scratch."""

    def __init__(self, figures: Figures, seconds: float, full: FullCost) -> None:
        asked = f", {figures.requests:,} requests" if figures.requests else ""
        looked = f"{figures.instances:,} instances{asked} and {seconds:.2f} s"
        asked = f", {full.requests:,.0f}" if figures.requests else ""
        super().__init__(f"{looked}; starting over takes {full.instances:,.0f}{asked} and {full.seconds:.2f} s")
        self.figures = figures


def work_of(seconds: float, instances: int, requests: int, tuning: Tuning) -> float:
    """Seconds of work: of this process, or what others should have taken for instances and requests, if that is more.

    Counts are compared with counts: how long others wait for each other or for cores says nothing of an algorithm.
    """
    if not tuning.is_elsewhere:
        return seconds
    return max(seconds, _INSTANCE * (instances + tuning.request_cost * requests))


class FullCost(NamedTuple):
    """The cost of evaluating a hyper-node from scratch: rule instances, and seconds of work."""

    instances: float
    seconds: float
    facts: float = 0.0  # facts that its rules read and derive; only set where the cost is proportional to them
    measured: tuple[float, float] | None = None  # instances and seconds of the last evaluation; None if these are
    requests: float = 0.0  # messages or jobs of the last evaluation, if others did the work
    largest: tuple[float, float] | None = None  # instances and seconds of the evaluation that visited most, if known

    def for_facts(self, facts: float) -> FullCost:
        """The cost with this number of facts, each of which takes as long as before."""
        share = facts / self.facts if self.facts else 1.0
        return FullCost(self.instances * share, self.seconds * share, facts, requests=self.requests)

    def after(self, figures: Figures) -> FullCost:
        """The cost after an update, or during one.

        It follows from what was measured, so it does not drift with the number of updates.
        """
        instances = max(0.0, self.instances + figures.insertion - figures.deletion)
        seconds = self._expected(instances)
        return FullCost(instances, seconds, measured=self.last, requests=self.requests, largest=self.largest)

    @property
    def last(self) -> tuple[float, float]:
        """Instances and seconds of the last evaluation."""
        return self.measured or (self.instances, self.seconds)

    def _expected(self, instances: float) -> float:
        """The seconds of an evaluation that visits some instances.

        A small evaluation mostly takes what its rounds take, so where a larger one is known, that says more.
        """
        then, took = self.last
        if self.largest is not None and instances > then and self.largest[0] > then:
            most, longest = self.largest
            longest = max(took, longest)
            if instances <= most:
                return took + (longest - took) * (instances - then) / (most - then)
            then, took = most, longest
        return took + _SECONDS * max(0.0, instances - then) if then < _FEW else took * instances / then

    def then(self, other: FullCost) -> FullCost:
        """Another cost, which was measured later; what the largest evaluation took is not forgotten."""
        known = (self.last, other.last) if self.largest is None else (self.largest, self.last, other.last)
        return other._replace(largest=max(known))


class FullCosts:
    """The cost of each hyper-node, by its predicates."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], FullCost] = {}

    def entries(self) -> Mapping[tuple[str, ...], FullCost]:
        """A copy of all known costs, for `restore`."""
        return dict(self._known)

    def restore(self, entries: Mapping[tuple[str, ...], FullCost]) -> None:
        """Restore the costs that `entries` returned."""
        self._known = dict(entries)

    def forget(self) -> None:
        """Forget the costs of all hyper-nodes."""
        self._known = {}

    def materialised(self, nodes: Iterable[tuple[tuple[str, ...], NodeFigures]]) -> None:
        """Record the evaluation of hyper-nodes."""
        self._known |= {
            name: FullCost(found.instances, _COMPARING * found.work, requests=found.requests) for name, found in nodes
        }

    def taken(self, predicates: tuple[str, ...]) -> float:
        """The seconds of a hyper-node; forgets them, since it will be evaluated in another way."""
        known = self._known.pop(predicates, None)
        return 0.0 if known is None else known.seconds

    def by_facts(self, predicates: tuple[str, ...], facts: float) -> None:
        """Make the cost of a hyper-node proportional to the facts that it reads and derives, now this number.

        In a recursion through min or max an instance may be visited more than once, so updates do not show the cost.
        """
        if (known := self._known.get(predicates)) is not None:
            self._known[predicates] = FullCost(known.instances, known.seconds, facts, requests=known.requests)

    def maintained(self, predicates: tuple[str, ...], figures: Figures) -> None:
        """Record that a hyper-node was brought up to date, perhaps from scratch."""
        if figures.is_anew:
            seconds = figures.work - figures.work_abandoned
            cost, known = FullCost(figures.insertion, seconds, requests=figures.requests), self._known.get(predicates)
            self._known[predicates] = cost if known is None else known.then(cost)
        elif (known := self._known.get(predicates)) is not None:
            after = known.after(figures)
            if figures.insertion > known.instances + figures.deletion:  # it took no less than an evaluation of these
                seconds = min(after.seconds, known.seconds + figures.work)
                after = known.then(FullCost(after.instances, seconds, requests=known.requests))
            self._known[predicates] = after

    def of(self, predicates: tuple[str, ...]) -> FullCost | None:
        """The cost of evaluating a hyper-node from scratch, if known."""
        return self._known.get(predicates)


class Budget:
    """A context that limits the cost of one hyper-node during one update; inside it, `watch` calls `check` often."""

    def __init__(self, full: FullCost, figures: Figures, watch: Watch, tuning: Tuning) -> None:
        """If the work is elsewhere, processor time of this process says little about it: instances and requests count.

        A cost that is proportional to facts is that of the facts after the update.
        """
        self._full, self._figures, self._watch, self._tuning = full, figures, watch, tuning
        self._is_elsewhere, self._asked, self._indexed = tuning.is_elsewhere, tuning.requests, tuning.indexing
        self._next = -inf  # by the clock: when it is worth looking again

    def __enter__(self) -> None:
        self._stopwatch = Stopwatch()
        self._watch.budget = self.check

    def __exit__(self, *_: object) -> None:
        self._watch.budget = None

    def check(self) -> None:
        """Raise if evaluating from scratch would have been cheaper.

        To read processor time takes as long as a tenth of a small round.  Work is never more than the clock shows, so
        that is looked at first.
        """
        clock = Stopwatch.clock()
        if clock < self._next and not self._is_elsewhere:
            return
        seconds = self._stopwatch.work
        if seconds <= _SLACK and not self._is_elsewhere:
            self._next = clock + _SLACK - seconds
            return
        full = self._full if self._full.facts else self._full.after(self._figures)
        if self._is_elsewhere:
            self._check_elsewhere(seconds, full)
            return
        most = _SHARE * full.seconds
        if self._figures.has_deleted:  # what is left are insertions, which visit nothing that starting over does not
            most = max(full.seconds, self._full.seconds)
        most += min(self._tuning.indexing - self._indexed, _INDEXES * full.seconds)
        left = _SLACK + most - seconds
        if left < 0:
            raise AbandonedError(self._figures, seconds, full)
        self._next = clock + _SOONER * left  # deletions make `most` less meanwhile

    def _check_elsewhere(self, seconds: float, full: FullCost) -> None:
        """The same where others do the work: they take long for instances, and for being asked."""
        figures, each = self._figures, self._tuning.request_cost
        figures.requests = self._tuning.requests - self._asked
        asked, anew = (max(0.0, requests - _FEW_REQUESTS) for requests in (figures.requests, full.requests))
        if figures.instances + each * asked > max(_FEW, full.instances) + each * anew:
            raise AbandonedError(figures, seconds, full)
