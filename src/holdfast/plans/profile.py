"""Measures plans: a backend collects the figures while it runs them, if a profile is requested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Protocol, TypeAlias, TypeVar

from holdfast.plans.model import AggregatePlan, AnyPlan, Join, Plan, Read
from holdfast.plans.statistics import SizeStatistics

_T = TypeVar("_T")
Counted: TypeAlias = tuple[int, int]
"""Instances, and heads that were emitted for them."""


class PlanFigures:
    """The figures of one plan, over all its runs."""

    __slots__ = ("fanouts", "instances", "new", "plan", "repeated", "rows", "runs", "seconds")

    def __init__(self, plan: AnyPlan, statistics: SizeStatistics) -> None:
        self.plan = plan
        self.runs = self.instances = self.new = 0
        self.repeated = 0  # instances whose head was emitted for another one already
        self.seconds = 0.0
        steps = () if isinstance(plan, AggregatePlan) else plan.steps
        self.rows = [0] * (len(steps) + 1)
        """The bindings that each step emitted; last, the heads, where a separate step makes them."""
        self.fanouts = [_fanout(step, statistics) if isinstance(step, Join) else None for step in steps]
        """The number of facts that the planner expected a binding to match, when the plan was first used."""

    @property
    def heads(self) -> int:
        """The heads that were emitted."""
        return self.instances - self.repeated

    def record(self, begun: float, instances: int, new: int) -> None:
        """Adds a whole run that began at a time and ends now."""
        self.seconds += perf_counter() - begun
        self.runs += 1
        self.instances += instances
        self.new += new


def _fanout(step: Join, statistics: SizeStatistics) -> float | None:
    if step.read is Read.DELTA:
        return None  # depends on the changed facts, which differ from run to run
    return statistics.fanout(step.atom.predicate, step.key, len(step.atom.arguments))


class PlanProfile:
    """The figures of all plans that a backend has run."""

    def __init__(self, statistics: SizeStatistics) -> None:
        self._statistics = statistics
        self._plans: dict[int, PlanFigures] = {}

    @property
    def plans(self) -> list[PlanFigures]:
        """The plans that have run, slowest first."""
        return sorted(self._plans.values(), key=lambda figures: -figures.seconds)

    def of(self, plan: Plan | AggregatePlan) -> PlanFigures:
        """The figures of a plan.  Plans of an aggregate are made anew for each run, and its rule is not."""
        key = id(plan.rule if isinstance(plan, AggregatePlan) else plan)
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = PlanFigures(plan, self._statistics)  # keeps the plan, and so its id
        return found


class Sized(Protocol):
    """A table of heads."""

    size: int


def profiled(run: Iterable[_T], figures: PlanFigures, heads: Sized, count: Callable[[_T], Counted]) -> Iterator[_T]:
    """Yields the results of a run and measures it; the time between two results does not count."""
    figures.runs += 1
    before, begun = heads.size, perf_counter()
    for found in run:
        figures.seconds += perf_counter() - begun
        instances, emitted = count(found)
        figures.instances += instances
        figures.repeated += instances - emitted
        yield found
        begun = perf_counter()
    figures.seconds += perf_counter() - begun
    figures.new += heads.size - before
