"""The steps of a plan that read no facts, and what all steps have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Rows
from holdfast.backends.memory.execution import buffers
from holdfast.backends.memory.execution.buffers import Buffer
from holdfast.backends.memory.execution.shapes import ColumnSources, codes
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.functors import Bindings, evaluate, holds, spread
from holdfast.backends.memory.truth import StatusTruth
from holdfast.plans.model import Compute, Filter, Unnest
from holdfast.program.model import Term, Var
from holdfast.values.dictionary import Dictionary


class Runnable(ABC):
    """A step ready to run."""

    done = 1.0  # the facts that the first step scanned

    def prepare(self, views: ReadViews) -> None:  # noqa: B027  most steps read no facts
        """Read the facts as they are now; the step does not see facts added during the run."""

    @abstractmethod
    def run(self, bindings: Rows) -> Iterable[Rows]:
        """The next bindings in batches, each valid until the next one is requested.  A tuple has at most one."""

    def few(self, bindings: Any, visible: StatusTruth) -> Rows | None:
        """Like `run` without `prepare`, for a few bindings, or, in the first step, row ids; None if it gives many.  A
        read sees the facts with a `visible` status."""
        found = self.run(bindings)
        if not isinstance(found, tuple):
            return None
        rows: Rows = found[0] if found else bindings[:0]
        return rows


class CompareStep(Runnable):
    """A test whether two values are equal, by their codes."""

    def __init__(self, left: Term, right: Term, equal: bool, after: Sequence[Term], columns: ColumnSources) -> None:
        self.sides, self.equal = codes([columns.origin(left), columns.origin(right)]), equal
        self.outputs = codes([columns.origin(term) for term in after])
        self.constants = codes(columns.constants)
        self.buffer = Buffer(len(after))

    def run(self, bindings: Rows) -> Iterable[Rows]:
        out = self.buffer.of(len(bindings))
        count = kernels.compare(bindings, len(bindings), self.constants, self.sides, self.equal, self.outputs, out)
        return (out[:count],) if count else ()


class FilterStep(Runnable):
    """Keeps the bindings that pass a comparison or a test."""

    def __init__(self, step: Filter, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.condition = step.condition
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows) -> Iterable[Rows]:
        given = Bindings.of(bindings, self.before, self.dictionary)
        passed = np.flatnonzero(holds(self.condition, given))
        return (_project(given.at(passed, len(passed)), self.after),) if len(passed) else ()


class ComputeStep(Runnable):
    """Binds a variable to the value of a term."""

    def __init__(self, step: Compute, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.assignment = step.assignment
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows) -> Iterable[Rows]:
        given = Bindings.of(bindings, self.before, self.dictionary)
        value = evaluate(self.assignment.term, given)
        return (_project(given.extended(self.assignment.variable, value), self.after),)


class UnnestStep(Runnable):
    """Binds a variable to each value of a range."""

    def __init__(self, step: Unnest, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.range = step.range
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows) -> Iterator[Rows]:
        for given in spread(self.range, Bindings.of(bindings, self.before, self.dictionary), buffers.BATCH):
            yield _project(given, self.after)


class ProjectStep(Runnable):
    """Computes the head's arguments from the last bindings, where no kernel could write them directly."""

    def __init__(self, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows) -> tuple[Rows]:
        return (_project(Bindings.of(bindings, self.before, self.dictionary), self.after),)


def _project(bindings: Bindings, terms: Sequence[Term]) -> Rows:
    out = np.empty((len(bindings), len(terms)), np.int64)
    for column, term in enumerate(terms):
        out[:, column] = evaluate(term, bindings)
    return out
