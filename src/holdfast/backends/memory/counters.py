"""Counters: two numbers beside each row, the papers' Cn and Cr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.bags import MemoryBag
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.facts import FactSet, Momentary
from holdfast.backends.memory.table import Table
from holdfast.backends.protocol import Bag, Facts
from holdfast.errors import Diagnostic, LimitReached

_NO_WEIGHTS: Mapping[str, Weights] = {}


class MemoryCounters:
    """One of the two counters beside each row."""

    def __init__(self, tables: Mapping[str, Table], column: str) -> None:
        self.tables = tables
        self.column = column
        self.remembers = False  # during an update, so that it can be rolled back
        self._undo: list[Callable[[], None]] = []

    def of(self, predicate: str) -> NDArray[np.int32]:
        """The numbers of a table's rows."""
        numbers: NDArray[np.int32] = getattr(self.tables[predicate], self.column)
        return numbers

    def add(self, facts: Bag | Facts, step: int = 1) -> None:
        """Count each occurrence once more."""
        if isinstance(facts, MemoryBag):
            rows, given = facts.rows, facts.weights
        else:
            rows, given = _snapshot(facts).rows, _NO_WEIGHTS
        for predicate, ids in rows.items():
            self.count(predicate, ids, given.get(predicate, NO_WEIGHTS), step)

    def count(self, predicate: str, ids: Ids, weights: Weights, step: int) -> None:
        """Move the numbers of some rows by `step`, times their weights if they have any."""
        if self.remembers:  # before: too many derivations are counted as well, with a carry that is lost
            self._undo.append(partial(self._count, predicate, ids, weights, -step))
        self._count(predicate, ids, weights, step)

    def subtract(self, facts: Bag | Facts) -> None:
        """Count each occurrence once less."""
        self.add(facts, -1)

    def zero(self, facts: Facts) -> FactSet:
        """Those of some facts whose number is 0."""
        assert isinstance(facts, FactSet)
        found = {}
        for predicate, ids in facts.snapshot().rows.items():
            out = np.empty(len(ids), np.int32)
            if count := kernels.zero(ids, self.of(predicate), out):
                found[predicate] = out[:count]
        return Momentary(self.tables, found)

    def forget(self, predicates: Iterable[str]) -> None:
        """Set the numbers of some predicates to 0."""
        for predicate in predicates:
            numbers = self.of(predicate)
            if self.remembers:
                self._undo.append(partial(self._restore, predicate, numbers[: self.tables[predicate].size].copy()))
            numbers[: self.tables[predicate].size] = 0  # what was never touched stays untouched

    def remember(self, undo: Callable[[], None]) -> None:
        """Something that `roll_back` undoes with the numbers."""
        if self.remembers:
            self._undo.append(undo)

    def roll_back(self) -> None:
        """Undo everything since `clear_undo`."""
        for undo in reversed(self._undo):
            undo()
        self.clear_undo()

    def clear_undo(self) -> None:
        """Changes before this are no longer rolled back."""
        self._undo.clear()

    def _restore(self, predicate: str, numbers: NDArray[np.int32]) -> None:
        self.of(predicate)[: len(numbers)] = numbers

    def _count(self, predicate: str, ids: Ids, weights: Weights, step: int) -> None:
        if not kernels.count(ids, weights, self.of(predicate), step):
            message = f"a fact of {predicate} has more than {2**31 - 1:,} derivations, more than a counter holds"
            help = "`_` or an unused variable in a rule's body may multiply them: project it out in a separate rule"
            raise LimitReached(Diagnostic("E0805", message, help=help))


def _snapshot(facts: Bag | Facts) -> Momentary:
    assert isinstance(facts, FactSet)
    return facts.snapshot()
