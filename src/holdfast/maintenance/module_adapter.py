"""A module at work in a hyper-node: the paper's functions Add, Del and Red, made of the module's own answers.

Which facts are external, a set X in the paper, is not kept: a fact is external when Cn or Cr is not 0, for Cr counts
only the rules that no module serves.  So facts that become external while they are already derived are, and
nothing has to be undone when an update is rolled back.
"""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Any

import numpy as np

from holdfast.backends.abilities import ImplicitRelation
from holdfast.backends.protocol import Backend, Facts
from holdfast.modules import Rows, Service
from holdfast.program.model import Const
from holdfast.program.patterns import Slice


class ModuleAdapter:
    """A service on a backend."""

    def __init__(self, service: Service, backend: Backend) -> None:
        self.service = service
        self.backend = backend
        self.predicate = service.slice.predicate
        self.own: Facts | None = None  # Δi: what the module gave back in the last round

    # --- rows and facts --------------------------------------------------------------------------------

    def rows(self, facts: Facts, slice_: Slice | None = None) -> Rows:
        """The facts in a slice, by default the service's own, as the module sees them."""
        slice_ = slice_ or self.service.slice
        held = self.backend.rows(slice_.predicate, facts)
        rows = held if isinstance(held, np.ndarray) else held.codes()
        for column, constant in slice_.fixed:
            rows = rows[rows[:, column] == self._code(constant)]
        return rows if slice_.columns == tuple(range(rows.shape[1])) else rows[:, list(slice_.columns)]

    def facts(self, rows: Rows, *, known: bool = False) -> Facts:
        """What the module gives, as facts; with `known` only such as were seen before."""
        slice_ = self.service.slice
        if slice_.fixed:
            width = len(slice_.columns) + len(slice_.fixed)
            whole = np.empty((len(rows), width), np.int64)
            whole[:, list(slice_.columns)] = rows
            for column, constant in slice_.fixed:
                whole[:, column] = self._code(constant)
            rows = whole
        rows = np.ascontiguousarray(rows)
        return self.backend.facts({self.predicate: rows}, known=known)

    def _code(self, constant: Const) -> int:
        return self.backend.dictionary.encode_value(constant.value, constant.type)

    def external(self, facts: Facts) -> Facts:
        """Those of some facts that the module did not derive alone."""
        here = facts.of((self.predicate,))
        internal = self.backend.recursive.zero(self.backend.nonrecursive.zero(here))
        return here - internal

    # --- the paper's functions -------------------------------------------------------------------------

    def add(self, J: Facts, Δ: Facts) -> Facts:
        """Add: what follows from J by facts of Δ that the module did not give itself, closed."""
        Δ_rows = self.rows(self._given(Δ))
        if not len(Δ_rows):
            return self._gave(Δ - Δ)
        X = self.rows(self.external(J))
        return self._gave(self.facts(self.service.module.uses(self.service, X, Δ_rows)) - J)

    def delete(self, Ip: Facts, Δ: Facts) -> Facts:
        """Del: what has a derivation by facts of Δ that the module did not give itself."""
        given = self._given(Δ)
        Δ_rows = self.rows(given)
        if not len(Δ_rows):
            return self._gave(Δ - Δ)
        X = self.rows(self.external(Ip) | given.of((self.predicate,)))
        found = self.facts(self.service.module.uses(self.service, X, Δ_rows), known=True)
        return self._gave((found & Ip) - Δ)

    def rederive(self, J: Facts, overdeleted: Facts) -> Facts:
        """Red: what of the overdeleted follows from what is left, in any number of steps."""
        return self._gave(self.among(self.external(J), overdeleted))

    def among(self, X: Facts, goals: Facts) -> Facts:
        """Those of some goals that follow from external facts."""
        rows = self.rows(goals)
        if not len(rows):
            return goals - goals
        return self.facts(self.service.module.among(self.service, self.rows(X), rows), known=True)

    def supports(self, I: Facts, goals: Facts) -> Facts:
        """The external facts that derivations of some goals may use."""
        rows = self.rows(goals)
        if not len(rows):
            return goals - goals
        X = self.rows(self.external(I))
        return self.facts(self.service.module.supports(self.service, X, rows), known=True)

    def forget(self) -> None:
        """Another phase begins."""
        self.own = None

    def _given(self, Δ: Facts) -> Facts:
        """Δ \\ Δi."""
        return Δ if self.own is None else Δ - self.own

    def _gave(self, facts: Facts) -> Facts:
        self.own = facts
        return facts


class States:
    """What modules keep between updates.  What an update makes of it holds when the update is committed."""

    def __init__(self) -> None:
        self._kept: dict[Slice, tuple[Service, Any]] = {}
        self._next: dict[Slice, tuple[Service, Any] | None] = {}
        self.by_rules: dict[str, str] = {}  # why rules evaluated a predicate that a module could have served

    def get(self, slice_: Slice) -> Any:
        """What the module of a slice kept, None if it must begin anew."""
        found = self._next[slice_] if slice_ in self._next else self._kept.get(slice_)
        return None if found is None else found[1]

    def put(self, service: Service, state: Any) -> None:
        """Keep something if the update is committed."""
        self._next[service.slice] = None if state is None else (service, state)

    def compact(self, slice_: Slice, size: int) -> ImplicitRelation:
        """The facts of a slice by what its module kept, whatever an update makes of it: there are so many."""
        service, state = self._kept[slice_]
        module, columns = service.module, len(slice_.columns)
        return ImplicitRelation(
            size, columns, partial(module.listed, state), partial(module.matching, state), partial(module.has, state)
        )

    @property
    def nbytes(self) -> int:
        """The memory that is kept."""
        return sum(service.module.nbytes(state) for service, state in self._kept.values())

    def drop(self, predicates: Container[str]) -> None:
        """Something else changes the facts of some predicates: their modules begin anew if the update is committed."""
        self._next.update({slice_: None for slice_ in self._kept if slice_.predicate in predicates})

    def keep_only(self, predicates: Container[str]) -> None:
        """There are no other predicates any more."""
        self._kept = {slice_: kept for slice_, kept in self._kept.items() if slice_.predicate in predicates}

    def commit(self) -> None:
        """The update holds."""
        for slice_, kept in self._next.items():
            if kept is not None:
                self._kept[slice_] = kept
            else:
                self._kept.pop(slice_, None)
        self._next.clear()

    def roll_back(self) -> None:
        """It does not."""
        self._next.clear()
