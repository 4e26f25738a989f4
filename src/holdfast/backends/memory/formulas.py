"""Formulas: sets of facts under a connective, and the momentary sets that they evaluate to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from operator import and_, or_

import numpy as np

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.facts import SCRATCH, FactSet, Momentary, Support, Tables
from holdfast.backends.memory.truth import ALWAYS, ANY_STATUS, Run, StatusTruth, TruthTable, as_bytes, distinct
from holdfast.backends.protocol import Facts

Connective = Callable[[TruthTable, TruthTable], TruthTable]
_SMALL = 2_048  # comparisons of row ids that are quicker than marking rows
_SPARSE = 16  # rows for each id that is met among them; with more, marking them all does not pay


class Lasting(FactSet):
    """A kept set, or a formula of kept sets only: what it means changes, but not what it says.  So it is made once."""

    is_lasting = True
    _truth: TruthTable
    _column: str

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.made: dict[tuple[Connective, Lasting], Lasting] = {}

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> TruthTable:
        return self._truth

    def column(self, predicate: str) -> str:
        return self._column

    def __or__(self, other: Facts) -> FactSet:
        made = self.made.get((or_, other)) if isinstance(other, Lasting) else None  # most are made already
        return FactSet.__or__(self, other) if made is None else made

    def __sub__(self, other: Facts) -> FactSet:
        made = self.made.get((without, other)) if isinstance(other, Lasting) else None
        return FactSet.__sub__(self, other) if made is None else made

    def passing(self, predicate: str, candidates: Ids, wanted: bool) -> Ids:
        """Those of some row ids that are, or are not, in the set, each once."""
        return distinct(getattr(self.tables[predicate], self._column), candidates, self.selects[wanted])

    @cached_property
    def selects(self) -> tuple[StatusTruth, StatusTruth]:
        """Which status bytes are not in the set, and which are."""
        return as_bytes(ALWAYS & ~self._truth), as_bytes(self._truth)


class _Combined(FactSet):
    """Two sets under a connective."""

    def __init__(self, tables: Tables, left: FactSet, right: FactSet, connective: Connective) -> None:
        super().__init__(tables)
        # a bag's support cannot be marked, so only one that also gives the candidates may stay as it is
        keeps_support = connective is not or_
        self.left = left.snapshot() if isinstance(left, Support) and not keeps_support else left
        self.right = right.snapshot() if isinstance(right, Support) else right
        self.connective = connective
        self.leaves, self.columns = self.left.leaves + self.right.leaves, left.columns | right.columns

    def predicates(self) -> Iterable[str]:
        if self.connective is or_:
            return {*self.left.predicates(), *self.right.predicates()}
        return self.left.predicates()

    def candidates(self, predicate: str) -> Ids:
        if self.connective is or_:
            return np.concatenate([self.left.candidates(predicate), self.right.candidates(predicate)])
        return self.left.candidates(predicate)

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> TruthTable:
        return self.connective(self.left.truth(bits), self.right.truth(bits))

    def column(self, predicate: str) -> str:
        return self.right.column(predicate) if self.left.is_momentary else self.left.column(predicate)

    def formula(self, predicate: str) -> FactSet:
        left, right = self.left.formula(predicate), self.right.formula(predicate)
        if left is self.left and right is self.right:
            return self
        return _Combined(self.tables, left, right, self.connective)

    def run(self, predicate: str) -> Run | None:
        """`I - Δ` is a run when I is one and Δ its end."""
        if self.connective is not without:
            return None
        left, right = self.left.run(predicate), self.right.run(predicate)
        if left is None or right is None:
            return None
        if right[0] >= right[1]:
            return left
        return (left[0], min(left[1], right[0])) if right[1] >= left[1] else None


class _Formula(_Combined, Lasting):
    """One of kept sets only: its truth values stay the same."""

    def __init__(self, tables: Tables, left: FactSet, right: FactSet, connective: Connective) -> None:
        Lasting.__init__(self, tables)
        self.left, self.right, self.connective, self.columns = left, right, connective, left.columns
        self._truth, self._column = connective(left.truth({}), right.truth({})), left.column("")

    truth, column = Lasting.truth, Lasting.column

    def ids(self, predicate: str) -> Ids:
        candidates = self.candidates(predicate)
        return self.passing(predicate, candidates, True) if len(candidates) else candidates

    def formula(self, predicate: str) -> FactSet:
        return self


def combined(left: FactSet, right: FactSet, connective: Connective) -> FactSet:
    """Two sets under a connective, as a formula if one can say it."""
    if not (left.is_lasting and right.is_lasting):
        # seldom both speak of bytes or both have leaves; a call that says so costs more than the formula
        if ((left.columns and right.columns) or (left.leaves and right.leaves)) and not _fit(left, right):
            return _at_once(left, right, connective)
        return _Combined(left.tables, left, right, connective)
    assert isinstance(left, Lasting)
    assert isinstance(right, Lasting)
    made = left.made.get((connective, right))
    if made is None:
        if not _fit(left, right):
            return _at_once(left, right, connective)
        made = left.made[connective, right] = _Formula(left.tables, left, right, connective)
    return made


def _fit(left: FactSet, right: FactSet) -> bool:
    """Whether one formula can mean both: it speaks of one byte of a row and has a scratch bit for each leaf."""
    if left.columns and right.columns and left.columns | right.columns == 3:
        return False
    most = len(SCRATCH)
    return len(left.leaves) + len(right.leaves) <= most or len({*left.leaves, *right.leaves}) <= most


def _at_once(left: FactSet, right: FactSet, connective: Connective) -> FactSet:
    """Two sets under a connective, as rows."""
    if connective is or_:
        return union(left.snapshot(), right.snapshot())
    return filtered(left.snapshot(), right, connective is and_)


def without(left: TruthTable, right: TruthTable) -> TruthTable:
    """The connective of a difference."""
    return left & ~right


def union(left: FactSet, right: FactSet) -> Momentary:
    """All facts of two momentary sets."""
    first, second = left.snapshot(), right.snapshot()
    both = dict(first.rows)
    for predicate, ids in second.rows.items():
        known = both.get(predicate)
        if known is None or not len(known):
            both[predicate] = ids
        elif _apart(first.run(predicate), second.run(predicate)):
            both[predicate] = np.concatenate([known, ids])
        else:
            both[predicate] = distinct(left.tables[predicate].status, np.concatenate([known, ids]), ANY_STATUS)
    return Momentary(left.tables, both)


def _apart(left: Run | None, right: Run | None) -> bool:
    return left is not None and right is not None and (left[1] <= right[0] or right[1] <= left[0])


def filtered(facts: FactSet, condition: FactSet, wanted: bool) -> Momentary:
    """Those of a momentary set's facts that are, or are not, in another set."""
    if condition.is_nothing and not wanted:
        return facts.snapshot()
    found = {}
    for predicate in facts.predicates():
        ids = _passing(facts, condition, predicate, wanted)
        if len(ids):
            found[predicate] = ids
    return Momentary(facts.tables, found)


def _passing(facts: FactSet, condition: FactSet, predicate: str, wanted: bool) -> Ids:
    candidates = facts.candidates(predicate)
    if len(candidates) > _SMALL:
        run = condition.run(predicate)
        if run is not None and run[0] == 0 and not wanted:  # what lies behind I's rows is new
            return _once_behind(facts, predicate, candidates, run[1])
    if isinstance(condition, Lasting):
        return condition.passing(predicate, candidates, wanted)
    formula = condition.formula(predicate)
    if not formula.is_momentary and not formula.leaves:
        column = getattr(facts.tables[predicate], condition.column(predicate))
        return distinct(column, candidates, as_bytes(formula.truth({}) if wanted else ALWAYS & ~formula.truth({})))
    if formula.is_momentary:
        ids, others = facts.ids(predicate), formula.ids(predicate)
        if len(ids) * len(others) <= _SMALL:
            out = np.empty(len(ids), np.int32)
            return out[: kernels.among(ids, others, wanted, out)]
    unmarked = Support(facts.tables, {predicate: candidates})  # never used for membership tests
    return _Combined(facts.tables, unmarked, condition, and_ if wanted else without).ids(predicate)


def _once_behind(facts: FactSet, predicate: str, ids: Ids, first: int) -> Ids:
    """Those of some row ids that are not below a first one, each once; in ascending order, where that is quicker."""
    table = facts.tables[predicate]
    if table.size - first > _SPARSE * len(ids):
        return distinct(table.status, ids[ids >= first], ANY_STATUS)
    met = np.zeros(table.size - first, np.bool_)
    if kernels.meet(ids, first, met) == len(met):  # as it is when all facts are new that were never seen
        return np.arange(first, table.size, dtype=np.int32)
    return (np.flatnonzero(met) + first).astype(np.int32)
