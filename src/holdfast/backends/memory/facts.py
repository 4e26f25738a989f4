"""Sets of facts over tables: expressions that cost nothing to make and are worked out when they are needed.

A kept set (E, I, D, A …) is a bit of every row's status byte.  A momentary set (Δ, N) is a list of row ids.  A
combination such as `I - Δ` is only a formula.  To probe it, the formula becomes 256 truth values, one for each status
byte, the momentary sets in it marked by scratch bits meanwhile; to walk through it, the rows of a part that includes it
are looked up among these.

Facts that are new together have consecutive row ids, and while nothing was deleted a kept set is a prefix of its
table.  Sets know when they are such a *run* of rows; to be in one is then a comparison of numbers, with no look at
the status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.table import Table
from holdfast.backends.protocol import Facts

Tables = Mapping[str, Table]
Truth = int
"""256 truth values: bit s says whether a fact with the status byte s is meant.  Connectives are those of integers."""

Run = tuple[int, int]
_Connective = Callable[[Truth, Truth], Truth]

_ALWAYS: Truth = (1 << 256) - 1
_SMALL = 2_048  # comparisons of row ids that are quicker than marking rows
_SPARSE = 16  # rows for each id that is met among them; with more, marking them all does not pay
_SEEN = np.uint8(128)
_NOTHING = np.uint8(0)
_SCRATCH = (np.uint8(64), np.uint8(32), np.uint8(16))
_NO_IDS: Ids = np.empty(0, np.int32)


class FactSet:
    """A set of facts of some tables.

    No abstract base class: an update of ten facts asks some thousand times what kind of set this is.
    """

    is_momentary = False
    is_nothing = False
    """Whether it is seen to be empty, and stays so."""
    leaves: tuple[Momentary, ...] = ()
    """The momentary sets that the formula mentions."""
    columns = 0
    """The bytes beside each row that the formula speaks of: 1 for `status`, 2 for `proof`."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def predicates(self) -> Iterable[str]:
        """The predicates that may have facts in it."""
        raise NotImplementedError

    def candidates(self, predicate: str) -> Ids:
        """Row ids that include all of the set's, perhaps more, perhaps repeated."""
        raise NotImplementedError

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> Truth:
        """For each status byte, whether a fact with it is in the set."""
        raise NotImplementedError

    def run(self, predicate: str) -> Run | None:
        """The first row and the one after the last, if the set's rows of a predicate are known to be consecutive."""
        return None

    def __or__(self, other: Facts) -> FactSet:
        other = _own(other)
        if self.is_momentary and other.is_momentary:
            return _union(self, other)  # worked out, even if one is empty: it is looked at more than once
        if other.is_nothing:
            return self
        return other if self.is_nothing else _combined(self, other, or_)

    def __and__(self, other: Facts) -> FactSet:
        other = _own(other)
        if self.is_momentary or other.is_momentary:
            return _filtered(self, other, True) if self.is_momentary else _filtered(other, self, True)
        return _combined(self, other, and_)

    def __sub__(self, other: Facts) -> FactSet:
        other = _own(other)
        if self.is_momentary:
            return _filtered(self, other, False)
        return self if other.is_nothing else _combined(self, other, _without)

    def of(self, predicates: Iterable[str]) -> FactSet:
        """The facts of some predicates only."""
        wanted = set(predicates)
        found = {p: self.ids(p) for p in self.predicates() if p in wanted}
        return Momentary(self.tables, {p: ids for p, ids in found.items() if len(ids)})

    def column(self, predicate: str) -> str:
        """The byte beside each row that the set's formula for a predicate speaks of: `status` or `proof`."""
        return "status"

    def ids(self, predicate: str) -> Ids:
        """The row ids of the set's facts of one predicate, each once."""
        candidates = self.candidates(predicate)
        if not len(candidates):
            return candidates
        column: NDArray[np.uint8] = getattr(self.tables[predicate], self.column(predicate))
        formula = self.formula(predicate)
        if not formula.leaves:
            return _distinct(column, candidates, formula.truth({}))
        with marked((formula,), predicate) as bits:
            return _distinct(column, candidates, formula.truth(bits))

    def formula(self, predicate: str) -> FactSet:
        """What the set is for one predicate."""
        return self

    def sizes(self) -> Mapping[str, int]:
        """How many facts of each predicate there are."""
        return {predicate: len(ids) for predicate, ids in self.snapshot().rows.items()}

    def snapshot(self) -> Momentary:
        """The same set as lists of row ids."""
        found = {predicate: self.ids(predicate) for predicate in self.predicates()}
        return Momentary(self.tables, {predicate: ids for predicate, ids in found.items() if len(ids)})

    def size(self, predicate: str) -> int:
        """How many facts of one predicate there are."""
        return len(self.ids(predicate))

    def __len__(self) -> int:
        return sum(map(self.size, self.predicates()))

    def __bool__(self) -> bool:
        return any(map(self.size, self.predicates()))


class Momentary(FactSet):
    """A set given by row ids, each once."""

    is_momentary = True

    def __init__(self, tables: Tables, rows: Mapping[str, Ids]) -> None:
        super().__init__(tables)
        self.rows = rows
        self.is_nothing = not rows
        self._runs: dict[str, Run | None] = {}
        self._sizes: Mapping[str, int] | None = None

    @property
    def leaves(self) -> tuple[Momentary, ...]:  # type: ignore[override]  # as an attribute it would be a circle
        return (self,)

    def predicates(self) -> Iterable[str]:
        return self.rows.keys()

    def of(self, predicates: Iterable[str]) -> Momentary:
        wanted = predicates if isinstance(predicates, frozenset) else set(predicates)
        if self.rows.keys() <= wanted:
            return self
        return Momentary(self.tables, {p: ids for p, ids in self.rows.items() if p in wanted})

    def sizes(self) -> Mapping[str, int]:
        if self._sizes is None:
            self._sizes = {predicate: len(ids) for predicate, ids in self.rows.items() if len(ids)}
        return self._sizes

    def candidates(self, predicate: str) -> Ids:
        return self.rows.get(predicate, _NO_IDS)

    def ids(self, predicate: str) -> Ids:
        return self.rows.get(predicate, _NO_IDS)

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    def __bool__(self) -> bool:
        return any(map(len, self.rows.values()))

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> Truth:
        return _has(int(bits[self]))

    def run(self, predicate: str) -> Run | None:
        """Consecutive rows, in whatever order; looked up once."""
        if predicate not in self._runs:
            self._runs[predicate] = _run_of(self.ids(predicate))
        return self._runs[predicate]

    def snapshot(self) -> Momentary:
        return self

    def restatus(self, clear: np.uint8, set: np.uint8, column: str, predicate: str | None = None) -> None:
        """Clear and set bits of the byte beside the set's rows, of one predicate or of all."""
        for name, ids in self.rows.items():
            if predicate is None or predicate == name:
                kernels.restatus(ids, getattr(self.tables[name], column), clear, set)


class Lasting(FactSet):
    """A kept set, or a formula of kept sets only: what it means changes, but not what it says.  So it is made once."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.made: dict[tuple[_Connective, Lasting], Lasting] = {}


class Kept(Lasting):
    """A set that stays: a bit of a byte beside each row."""

    def __init__(self, tables: Tables, bit: int, column: str = "status") -> None:
        super().__init__(tables)
        self.bit = np.uint8(bit)
        self._truth = _has(bit)
        self._column, self.columns = column, 1 if column == "status" else 2
        self._prefixes: dict[str, int | None] = {}  # None: no prefix of the table any more

    def predicates(self) -> Iterable[str]:
        return [name for name, table in self.tables.items() if table.size]

    def candidates(self, predicate: str) -> Ids:
        table, prefix = self.tables[predicate], self._prefixes.get(predicate)
        if prefix is not None:
            return np.arange(prefix, dtype=np.int32)
        return np.flatnonzero(getattr(table, self._column)[: table.size] & self.bit).astype(np.int32)

    def ids(self, predicate: str) -> Ids:
        return self.candidates(predicate)

    def size(self, predicate: str) -> int:
        prefix = self._prefixes.get(predicate)
        return len(self.ids(predicate)) if prefix is None else prefix

    def sizes(self) -> Mapping[str, int]:
        return {predicate: size for predicate in self.predicates() if (size := self.size(predicate))}

    def column(self, predicate: str) -> str:
        return self._column

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> Truth:
        return self._truth

    def run(self, predicate: str) -> Run | None:
        """The prefix of the table that the set is, while it is one."""
        prefix = self._prefixes.get(predicate, 0)
        return None if prefix is None else (0, prefix)

    def forget(self, predicate: str) -> None:
        """A table is gone; another may take its name."""
        self._prefixes.pop(predicate, None)

    def mend(self) -> None:
        """A change was cut short: only the bits are believed."""
        self._prefixes = dict.fromkeys(self.tables)

    def __ior__(self, more: Facts) -> Kept:
        added = _own(more).snapshot()
        added.restatus(_NOTHING, self.bit, self._column)
        for predicate in added.rows:
            prefix = self._prefixes.get(predicate, 0)
            if prefix is not None:
                run = added.run(predicate)
                self._prefixes[predicate] = None if run is None or run[0] > prefix else max(prefix, run[1])
        return self

    def __isub__(self, fewer: Facts) -> Kept:
        removed = _own(fewer).snapshot()
        removed.restatus(self.bit, _NOTHING, self._column)
        self._prefixes.update(dict.fromkeys((p for p, ids in removed.rows.items() if len(ids)), None))
        return self


class Listed(Kept):
    """A kept set whose facts are also on a list: small, walked through often, emptied at the end (D, A, C, P, Y)."""

    def __init__(self, tables: Tables, bit: int, column: str = "status") -> None:
        super().__init__(tables, bit, column)
        self._lists: dict[str, list[Ids]] = {}

    def predicates(self) -> Iterable[str]:
        return self._lists.keys()

    def candidates(self, predicate: str) -> Ids:
        parts = self._lists.get(predicate)
        if not parts:
            return _NO_IDS
        if len(parts) > 1:
            self._lists[predicate] = parts = [np.concatenate(parts)]
        return parts[0]

    def ids(self, predicate: str) -> Ids:
        return FactSet.ids(self, predicate)  # what was taken out again is still on the list

    def size(self, predicate: str) -> int:
        return len(self.ids(predicate))

    def run(self, predicate: str) -> Run | None:
        return None if self._lists.get(predicate) else (0, 0)

    def __ior__(self, more: Facts) -> Listed:
        for predicate, ids in _listed(more).items():
            new = np.empty(len(ids), np.int32)
            count = kernels.enter(ids, getattr(self.tables[predicate], self._column), self.bit, new)
            if count:
                self._lists.setdefault(predicate, []).append(new[:count])
        return self

    def __isub__(self, fewer: Facts) -> Listed:
        _own(fewer).snapshot().restatus(self.bit, _NOTHING, self._column)
        return self

    def mend(self) -> None:
        """A change was cut short; the bits are cleared already."""
        self._lists = {}

    def clear(self) -> None:
        """Take all facts out."""
        for predicate in self._lists:
            column = getattr(self.tables[predicate], self._column)
            kernels.restatus(self.candidates(predicate), column, self.bit, _NOTHING)
        self._lists = {}


class ByPredicate(FactSet):
    """One set for some predicates, another for the rest."""

    def __init__(self, predicates: Iterable[str], here: FactSet, elsewhere: FactSet) -> None:
        super().__init__(here.tables)
        self._here = frozenset(predicates)
        self.here = here
        self.elsewhere = elsewhere
        self.leaves, self.columns = here.leaves + elsewhere.leaves, here.columns | elsewhere.columns

    def formula(self, predicate: str) -> FactSet:
        return self.here if predicate in self._here else self.elsewhere

    def predicates(self) -> Iterable[str]:
        rest = [p for p in self.elsewhere.predicates() if p not in self._here]
        return [*(p for p in self.here.predicates() if p in self._here), *rest]

    def candidates(self, predicate: str) -> Ids:
        return self.formula(predicate).candidates(predicate)

    def column(self, predicate: str) -> str:
        return self.formula(predicate).column(predicate)

    def run(self, predicate: str) -> Run | None:
        return self.formula(predicate).run(predicate)

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> Truth:
        raise AssertionError("ask the formula of a predicate")


class Support(FactSet):
    """The facts of a bag, taken once each; the bag's repetitions are dropped only when the set is worked out."""

    is_momentary = True

    def __init__(self, tables: Tables, rows: Mapping[str, Ids]) -> None:
        super().__init__(tables)
        self.rows = rows
        self.is_nothing = not rows

    def predicates(self) -> Iterable[str]:
        return self.rows.keys()

    def candidates(self, predicate: str) -> Ids:
        return self.rows.get(predicate, _NO_IDS)

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> Truth:
        return _ALWAYS  # only ever asked about its own candidates


class _Combined(FactSet):
    """Two sets under a connective."""

    def __init__(self, tables: Tables, left: FactSet, right: FactSet, connective: _Connective) -> None:
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

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> Truth:
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
        left, right = self.left.run(predicate), self.right.run(predicate)
        if self.connective is not _without or left is None or right is None:
            return None
        if right[0] >= right[1]:
            return left
        return (left[0], min(left[1], right[0])) if right[1] >= left[1] else None


class _Formula(_Combined, Lasting):
    """One of kept sets only: its truth values stay the same."""

    def __init__(self, tables: Tables, left: FactSet, right: FactSet, connective: _Connective) -> None:
        Lasting.__init__(self, tables)
        self.left, self.right, self.connective, self.columns = left, right, connective, left.columns
        self._truth = connective(left.truth({}), right.truth({}))

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> Truth:
        return self._truth

    def formula(self, predicate: str) -> FactSet:
        return self


def _combined(left: FactSet, right: FactSet, connective: _Connective) -> FactSet:
    if not (isinstance(left, Lasting) and isinstance(right, Lasting)):
        # seldom both speak of bytes or both have leaves; a call that says so costs more than the formula
        if ((left.columns and right.columns) or (left.leaves and right.leaves)) and not _fit(left, right):
            return _at_once(left, right, connective)
        return _Combined(left.tables, left, right, connective)
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
    most = len(_SCRATCH)
    return len(left.leaves) + len(right.leaves) <= most or len({*left.leaves, *right.leaves}) <= most


def _at_once(left: FactSet, right: FactSet, connective: _Connective) -> FactSet:
    """Two sets under a connective, as rows."""
    if connective is or_:
        return _union(left.snapshot(), right.snapshot())
    return _filtered(left.snapshot(), right, connective is and_)


def marked(formulas: Iterable[FactSet], predicate: str | None = None) -> _Marks:
    """Give each momentary set of some formulas a scratch bit in the status of its rows, for a while.

    With a predicate, only in that one's rows.
    """
    leaves = dict.fromkeys(leaf for formula in formulas for leaf in formula.leaves)
    if len(leaves) > len(_SCRATCH):
        raise AssertionError("a formula with more than three momentary sets")
    return _Marks(dict(zip(leaves, _SCRATCH, strict=False)), predicate)


class _Marks:
    """Scratch bits that are set inside a `with`.  A class: a generator takes longer to begin than they do."""

    def __init__(self, bits: Mapping[Momentary, np.uint8], predicate: str | None) -> None:
        self._bits, self._predicate = bits, predicate

    def __enter__(self) -> Mapping[Momentary, np.uint8]:
        for leaf, bit in self._bits.items():
            self._set(leaf, _NOTHING, bit)
        return self._bits

    def __exit__(self, *_: object) -> None:
        for leaf, bit in self._bits.items():
            self._set(leaf, bit, _NOTHING)

    def _set(self, leaf: Momentary, clear: np.uint8, set: np.uint8) -> None:
        for name, ids in leaf.rows.items():
            if self._predicate is None or self._predicate == name:
                table = leaf.tables[name]
                kernels.restatus_both(ids, table.status, table.proof, clear, set)  # a formula may speak of either


@cache
def as_bytes(truth: Truth) -> NDArray[np.uint8]:
    """Truth values as the kernels take them."""
    return np.unpackbits(np.frombuffer(truth.to_bytes(32, "little"), np.uint8), bitorder="little")


def _distinct(column: NDArray[np.uint8], candidates: Ids, visible: Truth) -> Ids:
    out = np.empty(len(candidates), np.int32)
    return out[: kernels.distinct(candidates, column, as_bytes(visible), _SEEN, out)]


@cache
def _has(bit: int) -> Truth:
    """For each status byte, whether it has a bit."""
    return sum(1 << status for status in range(256) if status & bit)


def _run_of(ids: Ids) -> Run | None:
    if not len(ids):
        return (0, 0)
    first, last = kernels.ends(ids)  # in whatever order they stand
    return (first, last + 1) if last - first == len(ids) - 1 else None


def _union(left: FactSet, right: FactSet) -> Momentary:
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
            both[predicate] = _distinct(left.tables[predicate].status, np.concatenate([known, ids]), _ALWAYS)
    return Momentary(left.tables, both)


def _apart(left: Run | None, right: Run | None) -> bool:
    return left is not None and right is not None and (left[1] <= right[0] or right[1] <= left[0])


def _listed(facts: Facts) -> Mapping[str, Ids]:
    """Row ids of all facts, perhaps repeated."""
    own = _own(facts)
    return own.rows if isinstance(own, Momentary | Support) else own.snapshot().rows


def _filtered(facts: FactSet, condition: FactSet, wanted: bool) -> Momentary:
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
    formula = condition.formula(predicate)
    if not formula.is_momentary and not formula.leaves:
        column = getattr(facts.tables[predicate], condition.column(predicate))
        return _distinct(column, candidates, formula.truth({}) if wanted else _ALWAYS & ~formula.truth({}))
    if formula.is_momentary:
        ids, others = facts.ids(predicate), formula.ids(predicate)
        if len(ids) * len(others) <= _SMALL:
            out = np.empty(len(ids), np.int32)
            return out[: kernels.among(ids, others, wanted, out)]
    unmarked = Support(facts.tables, {predicate: candidates})  # nobody asks whether a fact is in it
    return _Combined(facts.tables, unmarked, condition, and_ if wanted else _without).ids(predicate)


def _once_behind(facts: FactSet, predicate: str, ids: Ids, first: int) -> Ids:
    """Those of some row ids that are not below a first one, each once; in ascending order, where that is quicker."""
    table = facts.tables[predicate]
    if table.size - first > _SPARSE * len(ids):
        return _distinct(table.status, ids[ids >= first], _ALWAYS)
    met = np.zeros(table.size - first, np.bool_)
    if kernels.meet(ids, first, met) == len(met):  # as it is when all facts are new that were never seen
        return np.arange(first, table.size, dtype=np.int32)
    return (np.flatnonzero(met) + first).astype(np.int32)


def _without(left: Truth, right: Truth) -> Truth:
    return left & ~right


def _own(facts: Facts) -> FactSet:
    """A fact set of this backend; another backend's cannot be combined with it."""
    if not isinstance(facts, FactSet):
        raise TypeError("fact sets of two backends cannot be combined")
    return facts
