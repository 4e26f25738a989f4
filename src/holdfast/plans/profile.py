"""Measures plans: a backend collects the figures while it runs them, if a profile is requested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TypeVar

from holdfast.plans.model import AggregatePlan, AnyPlan, Join, Plan, Read
from holdfast.plans.statistics import SizeStatistics

_T = TypeVar("_T")


class PlanFigures:
    """The figures of one plan, over all its runs."""

    __slots__ = ("fanouts", "heads", "instances", "new", "plan", "rows", "runs", "seconds")

    def __init__(self, plan: AnyPlan, statistics: SizeStatistics) -> None:
        self.plan = plan
        self.runs = self.instances = self.heads = self.new = 0
        self.seconds = 0.0
        steps = () if isinstance(plan, AggregatePlan) else plan.steps
        self.rows = [0] * (len(steps) + 1)
        """The bindings that each step emitted; last, the heads, where a separate step makes them."""
        self.fanouts = [_fanout(step, statistics) if isinstance(step, Join) else None for step in steps]
        """The number of facts that the planner expected a binding to match, when the plan was first used."""


def _fanout(step: Join, statistics: SizeStatistics) -> float | None:
    if step.read is Read.DELTA:
        return None  # depends on the changed facts, which differ from run to run
    return statistics.fanout(step.atom.predicate, step.key, len(step.atom.arguments))


class PlanProfile:
    """The figures of all plans that a backend has run."""

    def __init__(self, statistics: SizeStatistics) -> None:
        self._statistics = statistics
        self._plans: dict[AnyPlan, PlanFigures] = {}

    @property
    def plans(self) -> list[PlanFigures]:
        """The plans that have run, slowest first."""
        return sorted(self._plans.values(), key=lambda figures: -figures.seconds)

    def of(self, plan: Plan | AggregatePlan) -> PlanFigures:
        """The figures of a plan; counts one more run."""
        found = self._plans.get(plan)
        if found is None:
            found = self._plans[plan] = PlanFigures(plan, self._statistics)
        found.runs += 1
        return found


def timed(run: Iterator[_T], figures: PlanFigures, note: Callable[[PlanFigures, _T], None]) -> Iterator[_T]:
    """Yields the results of a run and measures its time; the time between two results does not count."""
    following = iter(run)
    while True:
        begun = perf_counter()
        found = next(following, None)
        figures.seconds += perf_counter() - begun
        if found is None:
            return
        note(figures, found)
        yield found
