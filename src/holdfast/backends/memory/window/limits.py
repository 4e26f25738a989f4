"""Limit relations without recursion, in a window.

A group in which anything changes is evaluated as a whole: all its offers, each with the states in which it is made, and
in each state the best of them.  Unchanged groups are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.aggregates import in_groups
from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.window.versions import HeadWords, Words, by_or, with_changes
from holdfast.plans import Read
from holdfast.program.model import Limit

if TYPE_CHECKING:
    from holdfast.backends.memory.window.stratum import WindowStratum


def best_in_each_state(s: WindowStratum) -> HeadWords:
    """The facts that hold in some state, of all groups in which something changes."""
    [(name, limit)] = s.planner.node.limits.items()
    return by_or(_Limited(s, name, limit).best())


class _Limited:
    """One limit relation in all states."""

    def __init__(self, s: WindowStratum, name: str, limit: Limit) -> None:
        self._s, self._name, self._limit = s, name, limit
        self._relation, self._table = s.backend.relations[name], s.backend.tables[name]
        self._columns = limit.group(self._relation.arity)
        self._groups = Table(name, len(self._columns))

    def best(self) -> Iterator[tuple[str, Ids, Words]]:
        """In each state, one fact of each group that has offers in that state."""
        goals = self._goals()
        if not len(goals):
            return
        parts = [*self._derived(goals), self._explicit()]
        rows, words = (np.concatenate(each) for each in zip(*parts, strict=True))
        self._s.figures.insertion += len(rows)
        groups, order = self._ordered(rows)
        rows, words = rows[order], words[order]
        for state in range(self._s.versions.last + 1):
            made = np.flatnonzero((words >> state) & 1)
            first = made[np.diff(groups[made], prepend=-1) != 0]
            yield (
                self._name,
                self._s.versions.intern(self._name, rows[first]),
                np.full(len(first), np.int64(1 << state)),
            )

    def _goals(self) -> Ids:
        """One offer of each group in which an offer appears or disappears; marks these groups as known."""
        s = self._s
        plans = s.planner.changed(s.planner.node.nonrecursive, s.P.sizes(), s.P.sizes())
        every, ids = s.versions.every, s.E[self._name][0] if self._name in s.E else np.empty(0, np.int32)
        found = [self._table.rows[ids]]
        for _, rows, words in s.versions.emitted(plans, s.sources()):
            s.figures.deletion += len(rows)
            found.append(rows[words != every])
        rows = np.concatenate(found)
        _, first = np.unique(self._group_of(rows), return_index=True)
        return s.versions.intern(self._name, rows[first])

    def _group_of(self, rows: Rows) -> Ids:
        return self._groups.intern(np.ascontiguousarray(rows[:, list(self._columns)]))

    def _derived(self, goals: Ids) -> Iterator[tuple[Rows, Words]]:
        """The offers of rules to these groups, with their states."""
        s, I = self._s, self._s.backend.materialisation
        plans = s.planner.by_group(s.planner.node.nonrecursive, {self._name: len(goals)})
        delta = Momentary(s.backend.tables, {self._name: goals})
        sources = {Read.ALL: I | s.backend.added, Read.DELTA: delta, Read.ABSENT: I - s.P}
        return ((rows, words) for _, rows, words in s.versions.emitted(plans, sources))

    def _explicit(self) -> tuple[Rows, Words]:
        """The offers of explicit facts to these groups."""
        s = self._s
        ids = in_groups(self._table, self._columns, self._groups.rows[: self._groups.size])
        words = np.where(self._table.status[ids] & s.backend.explicit.bit, s.versions.every, np.int64(0))
        if self._name in s.E:
            words = with_changes(words, ids, *s.E[self._name])
        return self._table.rows[ids], words

    def _ordered(self, rows: Rows) -> tuple[Ids, NDArray[np.intp]]:
        """Sorts rows by group with the best of each group first; returns the groups and the order."""
        column, groups = self._limit.column, self._group_of(rows)
        type = self._relation.types[column]
        keys = self._s.backend.dictionary.order_keys(np.ascontiguousarray(rows[:, column]), type)
        order = np.lexsort((~keys if self._limit.function == "max" else keys, groups))
        return groups[order], order
