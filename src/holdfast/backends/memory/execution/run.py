"""A plan made ready to run over tables: bindings flow through its steps a batch at a time.

A batch of bindings is a C-contiguous `int64[:, :]`, one row a binding, one column for each live variable.  Each
step has one buffer for what it gives; a batch is driven to the end of the plan before the next one is made, so
memory does not grow with the number of instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arithmetic import Undefined
from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.execution import buffers
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.execution.compiling import compiled
from holdfast.backends.memory.execution.join import NO_IDS, JoinStep, LookupStep
from holdfast.backends.memory.execution.steps import ProjectStep, Runnable
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.truth import StatusTruth
from holdfast.backends.protocol import Watch
from holdfast.errors import Diagnostic, EvaluationError
from holdfast.plans.literals import step_variables
from holdfast.plans.model import GOAL, AntiJoin, Plan, Read, Scan
from holdfast.plans.profile import PlanFigures
from holdfast.program.model import AggregateRule, Rule, Var
from holdfast.values.dictionary import Dictionary

if TYPE_CHECKING:
    from holdfast.backends.memory.cascades import MemoryCascade
    from holdfast.backends.memory.execution.groups import GroupedPlan

_ONE_BINDING: Rows = np.empty((1, 0), np.int64)
_UNLIMITED = nullcontext()
SEEN = {Read.ALL: 0, Read.ABSENT: 0, Read.OLD: 1, Read.ABSENT_OLD: 2}
_PART = 1_024  # rows that are entered at once where they may pass a limit


class naming_the_rule:  # noqa: N801  it reads as a function; a generator takes longer to begin than a small rule to run
    """Turn a functor without a value into an error that names the rule."""

    def __init__(self, rule: Rule | AggregateRule) -> None:
        self._rule = rule

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Undefined):
            raise without_value(self._rule, error) from error


def without_value(rule: Rule | AggregateRule, error: Undefined) -> EvaluationError:
    """The error of a rule with a functor that has no value."""
    message = f"rule {rule.name} has no value for some facts: {error}"
    help = "exclude such facts with a comparison in the rule, or correct the data"
    return EvaluationError(Diagnostic("E0701", message, rule.span, help=help))


def entered(table: Table, rows: Rows, watch: Watch, coming: int = 0) -> Ids:
    """The ids of rows of a table, which takes in new ones; in small parts if these may pass a limit."""
    if len(rows) > _PART and len(rows) > watch.left()[0]:
        return np.concatenate([entered(table, rows[at : at + _PART], watch) for at in range(0, len(rows), _PART)])
    before = table.size
    ids = table.intern(rows, coming)
    watch.batch(table.size - before)
    return ids


class CompiledPlan:
    """One plan over some tables."""

    def __init__(
        self,
        plan: Plan,
        tables: Mapping[str, Table],
        dictionary: Dictionary,
        watch: Watch,
        before: tuple[Var, ...] = (),
    ) -> None:
        """It begins with one empty binding, or with bindings of the variables `before`."""
        self.plan = plan
        self._before = before
        self.tables = tables
        self.watch = watch
        self.steps = compiled(plan, tables, dictionary, before)
        last = plan.live[-1] if plan.steps else before
        self.projections = (
            [ProjectStep(last, terms, dictionary) for _, terms in plan.outputs] if len(plan.outputs) > 1 else []
        )
        self.tallying = self._tallying()
        self.may_group = self._may_group()
        self.cascade: MemoryCascade | None = None  # made when it is first asked for
        self.by_groups: GroupedPlan | None = None  # made when there are many facts to begin with
        self.figures: tuple[PlanFigures, Table] | None = None  # for a profile, with the table of heads
        self.counts: list[int] | None = None  # the bindings that each step gives, for a profile
        self.weights: NDArray[np.int64] | None = None  # of the groups that bindings stand for, by their last column
        self.walked = [(step.read, step.atom.predicate) for step in plan.steps if isinstance(step, Scan)]
        joins = [step for step in self.steps if isinstance(step, JoinStep | LookupStep)]
        self.joined = [step.place for step in joins if step.may_list]
        self.probed = [step.place for step in joins if not step.may_list]

    @cached_property
    def _few(self) -> Sequence[tuple[Callable[[Any, StatusTruth], Rows | None], int]]:
        """The steps for a few changed facts, and what each sees; none if it does not begin with changed facts, or walks
        through others."""
        steps = self.plan.steps
        if self.projections or not steps or not isinstance(steps[0], Scan) or self.walked != [self.plan.delta]:
            return ()
        places = [SEEN[step.place[0]] if isinstance(step, JoinStep | LookupStep) else 0 for step in self.steps]
        return [(step.few, place) for step, place in zip(self.steps, places, strict=True)]

    def few(self, ids: Ids, seen: Sequence[StatusTruth]) -> Rows | None:
        """The heads of a few changed facts at once, without preparation (an array of length 0, if there are none); None
        if that cannot be done.

        `seen` are the status bytes of the facts that are read, of those without what came, and of those with what went.
        """
        if not self._few:
            return None
        bindings: Any = ids
        given: list[int] | None = None if self.counts is None else []
        try:
            for step, place in self._few:
                bindings = step(bindings, seen[place])
                if bindings is None or not len(bindings):
                    break
                if given is not None:
                    given.append(len(bindings))
        except Undefined as error:
            raise without_value(self.plan.rule, error) from error
        found: Rows | None = bindings
        if given and found is not None and self.counts is not None:
            for number, rows in enumerate(given):
                self.counts[number] += rows
        return found

    def _tallying(self) -> JoinStep | None:
        """The last step, if it joins and writes heads, of which many may be alike."""
        step = self.steps[-1] if self.steps else None
        if self.projections or not isinstance(step, JoinStep) or step.rejects or not step.shape.can_tally:
            return None
        step.may_tally, step.heads = True, self.tables[self.plan.outputs[0][0]]
        return step

    def _may_group(self) -> bool:
        """Whether it begins with changed facts that may agree in all that later steps read, the last one a lookup."""
        steps, live = self.plan.steps, self.plan.live
        if len(steps) < 3 or not isinstance(steps[0], Scan) or steps[0].read is not Read.DELTA:
            return False
        read = set[Var]().union(*map(step_variables, steps[1:]))
        return isinstance(self.steps[-1], LookupStep) and not read.isdisjoint(live[0]) and not read.issuperset(live[0])

    def heads(self, views: ReadViews) -> Iterable[tuple[str, Ids, Weights]]:
        """Like `run`, for a plan that emits heads; at once, as a tuple, while each step gives at most one batch."""
        if self.projections:
            return self.run(views)
        for step in self.steps:
            step.prepare(views)
        try:
            batches = self._bindings()
        except Undefined as error:
            raise without_value(self.plan.rule, error) from error
        if not isinstance(batches, tuple):
            return self._emitted(batches)
        if not batches:
            return ()
        predicate = self.plan.outputs[0][0]
        table = self.tables[predicate]
        return ((predicate, entered(table, batches[0], self.watch), NO_WEIGHTS),)

    def run(self, views: ReadViews, quota: Ids = NO_IDS) -> Iterator[tuple[str, Ids, Weights]]:
        """What all instances emit: predicates, row ids and how many instances each stands for (none given: one).

        With a quota, at most this number of instances for each goal.
        """
        for step in self.steps:
            step.prepare(views)
        with self.limited(quota) if len(quota) else _UNLIMITED, naming_the_rule(self.plan.rule):
            yield from self._emitted(self._bindings())

    def _emitted(self, batches: Iterable[Rows]) -> Iterator[tuple[str, Ids, Weights]]:
        first: dict[str, int] = {}
        done = 0.0
        with naming_the_rule(self.plan.rule):
            for bindings in batches:
                for (predicate, _), rows in zip(self.plan.outputs, self._outputs(bindings), strict=True):
                    table = self.tables[predicate]
                    before = table.size
                    new = before - first.setdefault(predicate, before)
                    coming = (int(new / done) - new) // 2 if done else 0  # fewer in what is left than in what is done
                    if self.tallying is None:
                        yield predicate, entered(table, rows, self.watch, coming), NO_WEIGHTS
                    else:
                        if len(self.tallying.known[0]):
                            yield predicate, *self.tallying.known
                        yield predicate, entered(table, rows, self.watch, coming), self.tallying.weights
                done = self.steps[0].done

    def instances(self, views: ReadViews, wanted: Sequence[int] | None = None) -> Iterator[list[Rows]]:
        """For each batch of instances, the rows of all outputs, or of some that are wanted, side by side."""
        for step in self.steps:
            step.prepare(views)
        if self.tallying is None:
            yield from (self._outputs(bindings, wanted) for bindings in self._through(self.steps))
            return
        self.tallying.may_tally = False  # each instance by itself
        try:
            yield from map(self._outputs, self._through(self.steps))
        finally:
            self.tallying.may_tally = True

    def first(self, views: ReadViews) -> Iterable[Rows]:
        """The bindings that the first step gives, a batch at a time."""
        self.steps[0].prepare(views)
        self.watch.batch(0)
        return self.steps[0].run(_ONE_BINDING)

    def before_last(self, views: ReadViews) -> Iterable[Rows]:
        """The bindings that the last step is given, a batch at a time."""
        for step in self.steps:
            step.prepare(views)
        return self._through(self.steps[:-1])

    def last(self, bindings: Rows) -> Iterator[list[Rows]]:
        """The outputs of the last step, side by side, for some bindings."""
        return map(self._outputs, self.steps[-1].run(bindings))

    def continued(self, views: ReadViews, bindings: Rows, place: int = -1) -> Iterator[list[Rows]]:
        """Like `instances`, from some bindings on, which a step at a place gave."""
        for step in self.steps:
            step.prepare(views)
        batches = (bindings[begin : begin + buffers.BATCH] for begin in range(0, len(bindings), buffers.BATCH))
        yield from map(self._outputs, self._in_turn(batches, self.steps, place))

    @contextmanager
    def limited(self, quota: Ids) -> Iterator[None]:
        """Gives the quota to the last step, if that is one that can stop early; else all instances are met."""
        last = self.steps[-1]
        if not len(quota) or not isinstance(last, JoinStep | LookupStep) or isinstance(last.step, AntiJoin):
            yield
            return
        carried = self.plan.live[-2] if len(self.plan.live) > 1 else self._before
        last.quota, last.goal = quota, carried.index(GOAL) if GOAL in carried else -1
        try:
            yield
        finally:
            last.quota = NO_IDS

    def _outputs(self, bindings: Rows, wanted: Sequence[int] | None = None) -> list[Rows]:
        if not self.projections:
            return [bindings]
        projections = self.projections if wanted is None else [self.projections[place] for place in wanted]
        return [projection.run(bindings)[0] for projection in projections]

    def _bindings(self) -> Iterable[Rows]:
        if self.tallying is None:
            return self._through(self.steps)
        batches = self._through(self.steps[:-1])
        if isinstance(batches, tuple):
            return self.tallying.run(batches[0]) if batches else ()
        return self._tallied(self.tallying, batches)

    def _tallied(self, last: JoinStep, batches: Iterable[Rows]) -> Iterator[Rows]:
        for bindings in last.gathered(batches):
            yield from last.run(bindings)

    def _through(self, steps: Sequence[Runnable]) -> Iterable[Rows]:
        """The result of all steps; at once while each step gives at most one batch, as for a few facts."""
        batch, counts = _ONE_BINDING, self.counts
        self.watch.batch(0)  # a plan without results takes time too
        for place, step in enumerate(steps):
            batches = step.run(batch)
            if not isinstance(batches, tuple):
                return self._in_turn(iter(batches), steps[place + 1 :], place)
            if not batches:
                return ()
            batch = batches[0]
            if counts is not None:
                counts[place] += len(batch)
        return (batch,)

    def _in_turn(self, batches: Iterator[Rows], steps: Sequence[Runnable], place: int) -> Iterator[Rows]:
        """Pass each batch, which the step at a place gives, through all steps after it before the next; on an explicit
        stack, for rules of any length."""
        running, place = [batches], place - 1
        while running:
            batch = next(running[-1], None)
            if self.counts is not None and batch is not None:
                number = len(batch) if self.weights is None else int(self.weights[batch[:, -1]].sum())
                self.counts[place + len(running)] += number
            if batch is None:
                running.pop()
            elif len(running) > len(steps):
                yield batch
            else:
                self.watch.batch(0)
                running.append(iter(steps[len(running) - 1].run(batch)))
