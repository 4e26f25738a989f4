"""Virtual relations: facts that a module knows and that become rows when they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from holdfast.backends.abilities import ImplicitRelation, VirtualFacts
from holdfast.backends.memory.arrays import Rows
from holdfast.backends.memory.execution.views import OF_THE_PAST
from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.kept import Kept
from holdfast.backends.memory.table import Table
from holdfast.plans.model import AggregatePlan, AntiJoin, AnyPlan, Join, Scan
from holdfast.program.model import Const
from holdfast.values.dictionary import Dictionary

_NO_VALUES = np.empty(0, np.int64)


class VirtualTables:
    """The relations with facts that are not rows yet, and the rows made from them on demand."""

    def __init__(self, tables: Mapping[str, Table], materialisation: Kept, dictionary: Dictionary) -> None:
        self._tables, self._materialisation, self._dictionary = tables, materialisation, dictionary
        self.facts: dict[str, VirtualFacts] = {}

    def materialise_rows(self, predicates: Iterable[str]) -> None:
        """Give a row to each fact of these predicates that has none yet."""
        for name in [name for name in dict.fromkeys(predicates) if name in self.facts] if self.facts else ():
            self._write(name, self.facts[name].now().parts())
            self._tables[name].fetch = None
            del self.facts[name]  # only now: a limit may stop the writing

    def defer(self, name: str, size: int, known: Callable[[int], ImplicitRelation]) -> None:
        """Make a relation virtual: it has `size` facts, which a module knows and which need no rows."""
        self.facts[name] = VirtualFacts(size, known)
        self._tables[name].fetch = partial(self._fetch, name)

    def _write(self, name: str, parts: Iterable[Rows]) -> int:
        """Make rows of parts of the materialisation; returns how many are new."""
        table, before = self._tables[name], self._tables[name].size
        for part in parts:
            ids = table.intern(np.ascontiguousarray(part))
            new = ids[table.status[ids] & self._materialisation.bit == 0]
            self._materialisation |= Momentary(self._tables, {name: new})  # no formula: status may hold marks
        return table.size - before

    def _fetch(self, name: str, key: tuple[int, ...], values: Rows) -> None:
        """Make rows of the facts whose key columns hold one of the given values."""
        virtual, table = self.facts[name], self._tables[name]
        if len(key) == table.arity:
            ids = table.find(values)
            lacking = values[(ids < 0) | (table.status[ids] & self._materialisation.bit == 0)]
            if len(lacking):
                lacking = np.unique(lacking, axis=0)
                virtual.written += self._write(name, (lacking[virtual.now().has(lacking)],))
        elif len(key) == 1:
            known = virtual.covered.get(key[0], _NO_VALUES)
            lacking = np.setdiff1d(values[:, 0], known)
            if len(lacking):
                virtual.written += self._write(name, virtual.now().matching(key[0], lacking))
                virtual.covered[key[0]] = np.union1d(known, lacking)
        else:
            self.materialise_rows((name,))
        if virtual.written > virtual.size // 2:
            self.materialise_rows((name,))

    def prepare(self, plan: AnyPlan) -> None:
        """Make rows of all facts that a plan scans or reads by one index in two places: an index must not grow during a
        join.

        Of other relations it makes only the rows that match the plan's first constants; lookups fetch their own facts.
        """
        if isinstance(plan, AggregatePlan):
            self.materialise_rows((plan.rule.source,))
            return
        reads = [
            step
            for step in plan.steps
            if isinstance(step, Scan | Join | AntiJoin)
            and step.atom.predicate in self.facts
            and step.read in OF_THE_PAST
        ]
        indexed = Counter(
            (step.atom.predicate, step.key)
            for step in reads
            if not isinstance(step, Scan) and len(step.key) < len(step.atom.arguments)
        )
        for step in reads:
            name, arguments = step.atom.predicate, step.atom.arguments
            if not step.key or indexed[name, step.key] > 1:
                self.materialise_rows((name,))
            elif isinstance(step, Scan) and name in self.facts:
                constants = [argument for argument in arguments if isinstance(argument, Const)]
                self._fetch(name, step.key, np.array([list(map(self._code, constants))]))

    def _code(self, constant: Const) -> int:
        return self._dictionary.encode_value(constant.value, constant.type)
