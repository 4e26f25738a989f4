"""Sets of facts over tables: expressions that cost nothing to make and are evaluated on demand.

A kept set (E, I, D, A …) is a bit of every row's status byte.  A momentary set (Δ, N) is a list of row ids.  A
combination such as `I - Δ` is only a formula.  To probe it, the formula becomes 256 truth values, one for each status
byte, the momentary sets in it marked by scratch bits meanwhile; to walk through it, the rows of a part that includes it
are looked up among these.

Facts that are new together have consecutive row ids, and while nothing was deleted a kept set is a prefix of its
table.  Sets know when they are such a *run* of rows; to be in one is then a comparison of numbers, with no look at
the status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.index import ListIndex, list_index
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.truth import (
    ALWAYS,
    ANY_STATUS,
    NO_BITS,
    NO_IDS,
    Run,
    TruthTable,
    as_bytes,
    distinct,
    has_bit,
    run_of,
)
from holdfast.backends.protocol import Facts

Tables = Mapping[str, Table]
_OTHER_BACKEND = "fact sets of two backends cannot be combined"
SCRATCH = (np.uint8(64), np.uint8(32), np.uint8(16))


class FactSet:
    """A set of facts of some tables.

    No abstract base class: an update of ten facts asks some thousand times what kind of set this is.
    """

    is_momentary = False
    is_nothing = False
    """Whether it is seen to be empty, and stays so."""
    leaves: tuple[Momentary, ...] = ()
    """The momentary sets that the formula mentions."""
    is_lasting = False
    """Whether it is a kept set or a formula of such only."""
    columns = 0
    """The bytes beside each row that the formula speaks of: 1 for `status`, 2 for `proof`."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def predicates(self) -> Iterable[str]:
        """The predicates that may have facts in it."""
        raise NotImplementedError

    def candidates(self, predicate: str) -> Ids:
        """A superset of the row ids of the set, possibly with duplicates."""
        raise NotImplementedError

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> TruthTable:
        """For each status byte, whether a fact with it is in the set."""
        raise NotImplementedError

    def run(self, predicate: str) -> Run | None:
        """The first row and the one after the last, if the set's rows of a predicate are known to be consecutive."""
        return None

    def __or__(self, other: Facts) -> FactSet:
        if not isinstance(other, FactSet):
            raise TypeError(_OTHER_BACKEND)
        if self.is_momentary and other.is_momentary:  # evaluated, even if one is empty: it is read more than once
            if self.is_nothing or other.is_nothing:
                return (other if self.is_nothing else self).snapshot()
            return formulas.union(self, other)
        if other.is_nothing:
            return self
        return other if self.is_nothing else formulas.combined(self, other, or_)

    def __and__(self, other: Facts) -> FactSet:
        if not isinstance(other, FactSet):
            raise TypeError(_OTHER_BACKEND)
        if self.is_momentary or other.is_momentary:
            return formulas.filtered(self, other, True) if self.is_momentary else formulas.filtered(other, self, True)
        return formulas.combined(self, other, and_)

    def __sub__(self, other: Facts) -> FactSet:
        if not isinstance(other, FactSet):
            raise TypeError(_OTHER_BACKEND)
        if self.is_momentary:
            return formulas.filtered(self, other, False)
        return self if other.is_nothing else formulas.combined(self, other, formulas.without)

    def of(self, predicates: Iterable[str]) -> FactSet:
        """The facts of some predicates only."""
        wanted = predicates if isinstance(predicates, frozenset) else set(predicates)
        found = {}
        for predicate in self.predicates():
            if predicate in wanted and len(ids := self.ids(predicate)):
                found[predicate] = ids
        return Momentary(self.tables, found)

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
            return distinct(column, candidates, as_bytes(formula.truth({})))
        with marked((formula,), predicate) as bits:
            return distinct(column, candidates, as_bytes(formula.truth(bits)))

    def formula(self, predicate: str) -> FactSet:
        """What the set is for one predicate."""
        return self

    def sizes(self) -> Mapping[str, int]:
        """How many facts of each predicate there are."""
        return {predicate: len(ids) for predicate, ids in self.snapshot().rows.items()}

    def snapshot(self) -> Momentary:
        """The same set as lists of row ids."""
        found = {}
        for predicate in self.predicates():
            if len(ids := self.ids(predicate)):
                found[predicate] = ids
        return Momentary(self.tables, found)

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
    _sizes: Mapping[str, int] | None = None
    _runs: dict[str, Run | None] | None = None
    _indexes: dict[tuple[str, tuple[int, ...]], ListIndex] | None = None

    def __init__(self, tables: Tables, rows: Mapping[str, Ids]) -> None:
        self.tables, self.rows, self.is_nothing = tables, rows, not rows

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
        return self.rows.get(predicate, NO_IDS)

    def ids(self, predicate: str) -> Ids:
        return self.rows.get(predicate, NO_IDS)

    def __len__(self) -> int:
        return 0 if self.is_nothing else sum(map(len, self.rows.values()))

    def __bool__(self) -> bool:
        return not self.is_nothing and any(map(len, self.rows.values()))

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> TruthTable:
        return has_bit(int(bits[self]))

    def run(self, predicate: str) -> Run | None:
        """Consecutive rows, in whatever order; looked up once."""
        if self._runs is None:
            self._runs = {}
        if predicate not in self._runs:
            self._runs[predicate] = run_of(self.ids(predicate))
        return self._runs[predicate]

    def indexed(self, predicate: str, key: tuple[int, ...]) -> ListIndex:
        """Its facts of a predicate by the values of some columns; made once."""
        if self._indexes is None:
            self._indexes = {}
        if (predicate, key) not in self._indexes:
            self._indexes[predicate, key] = list_index(self.ids(predicate), self.tables[predicate].rows, key)
        return self._indexes[predicate, key]

    def snapshot(self) -> Momentary:
        return self

    def restatus(self, clear: np.uint8, set: np.uint8, column: str, predicate: str | None = None) -> None:
        """Clear and set bits of the byte beside the set's rows, of one predicate or of all."""
        for name, ids in self.rows.items():
            if predicate is None or predicate == name:
                kernels.restatus(ids, getattr(self.tables[name], column), clear, set)


class Support(FactSet):
    """The distinct facts of a bag; duplicates are dropped only when the set is evaluated."""

    is_momentary = True

    def __init__(self, tables: Tables, rows: Mapping[str, Ids]) -> None:
        self.tables, self.rows, self.is_nothing = tables, rows, not rows

    def predicates(self) -> Iterable[str]:
        return self.rows.keys()

    def candidates(self, predicate: str) -> Ids:
        return self.rows.get(predicate, NO_IDS)

    def ids(self, predicate: str) -> Ids:
        candidates = self.rows.get(predicate, NO_IDS)
        return distinct(self.tables[predicate].status, candidates, ANY_STATUS) if len(candidates) else candidates

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> TruthTable:
        return ALWAYS  # only ever asked about its own candidates


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

    def truth(self, bits: Mapping[Momentary, np.uint8]) -> TruthTable:
        raise AssertionError("ask the formula of a predicate")


def marked(formulas: Iterable[FactSet], predicate: str | None = None) -> _Marks:
    """Give each momentary set of some formulas a scratch bit in the status of its rows, for a while.

    With a predicate, only in that one's rows.
    """
    leaves = dict.fromkeys(leaf for formula in formulas for leaf in formula.leaves)
    if len(leaves) > len(SCRATCH):
        raise AssertionError("a formula with more than three momentary sets")
    return _Marks(dict(zip(leaves, SCRATCH, strict=False)), predicate)


class _Marks:
    """Scratch bits that are set inside a `with`.  A class: a generator takes longer to begin than they do."""

    def __init__(self, bits: Mapping[Momentary, np.uint8], predicate: str | None) -> None:
        self._bits, self._predicate = bits, predicate

    def __enter__(self) -> Mapping[Momentary, np.uint8]:
        for leaf, bit in self._bits.items():
            self._set(leaf, NO_BITS, bit)
        return self._bits

    def __exit__(self, *_: object) -> None:
        for leaf, bit in self._bits.items():
            self._set(leaf, bit, NO_BITS)

    def _set(self, leaf: Momentary, clear: np.uint8, set: np.uint8) -> None:
        for name, ids in leaf.rows.items():
            if self._predicate is None or self._predicate == name:
                table = leaf.tables[name]
                kernels.restatus_both(ids, table.status, table.proof, clear, set)  # a formula may speak of either


NO_MARKS = _Marks({}, None)


def own(facts: Facts) -> FactSet:
    """A fact set of this backend; another backend's cannot be combined with it."""
    if not isinstance(facts, FactSet):
        raise TypeError(_OTHER_BACKEND)
    return facts


from holdfast.backends.memory import formulas  # noqa: E402  sets combine to formulas, which are sets
