"""Kept sets of facts (E, I, D, A …): bits beside the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.facts import Momentary, Support, Tables, own
from holdfast.backends.memory.formulas import Lasting
from holdfast.backends.memory.truth import NO_BITS, NO_IDS, Run, has_bit
from holdfast.backends.protocol import Facts


class Kept(Lasting):
    """A set that stays: a bit of a byte beside each row."""

    changing: Callable[[Mapping[str, Ids], np.uint8, bool], None] | None = None
    """Called before rows enter the set (True) or leave it (False), with its bit."""

    def __init__(self, tables: Tables, bit: int, column: str = "status") -> None:
        super().__init__(tables)
        self.bit = np.uint8(bit)
        self._truth = has_bit(bit)
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

    def run(self, predicate: str) -> Run | None:
        """The prefix of the table that the set is, while it is one."""
        prefix = self._prefixes.get(predicate, 0)
        return None if prefix is None else (0, prefix)

    def prefix(self, predicate: str) -> int | None:
        """How many rows of a table are in the set, if they are the first ones."""
        return self._prefixes.get(predicate, 0)

    def take_over(self, predicate: str, prefix: int | None) -> None:
        """A table was put in the place of another, with its bits."""
        self._prefixes[predicate] = prefix

    def forget(self, predicate: str) -> None:
        """A table was dropped; another may take its name."""
        self._prefixes.pop(predicate, None)

    def mend(self) -> None:
        """A change was interrupted: trust the bits only."""
        self._prefixes = dict.fromkeys(self.tables)

    def __ior__(self, more: Facts) -> Kept:
        added = own(more).snapshot()
        if added.is_nothing:
            return self
        if self.changing is not None:
            self.changing(added.rows, self.bit, True)
        added.restatus(NO_BITS, self.bit, self._column)
        for predicate in added.rows:
            prefix = self._prefixes.get(predicate, 0)
            if prefix is not None:
                run = added.run(predicate)
                self._prefixes[predicate] = None if run is None or run[0] > prefix else max(prefix, run[1])
        return self

    def __isub__(self, fewer: Facts) -> Kept:
        removed = own(fewer).snapshot()
        if removed.is_nothing:
            return self
        if self.changing is not None:
            self.changing(removed.rows, self.bit, False)
        removed.restatus(self.bit, NO_BITS, self._column)
        for predicate, ids in removed.rows.items():
            if len(ids):
                self._prefixes[predicate] = None
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
            return NO_IDS
        if len(parts) > 1:
            self._lists[predicate] = parts = [np.concatenate(parts)]
        return parts[0]

    def ids(self, predicate: str) -> Ids:
        """What was taken out again is still on the list."""
        candidates = self.candidates(predicate)
        return self.passing(predicate, candidates, True) if len(candidates) else candidates

    def size(self, predicate: str) -> int:
        return len(self.ids(predicate))

    def run(self, predicate: str) -> Run | None:
        return None if self._lists.get(predicate) else (0, 0)

    def __ior__(self, more: Facts) -> Listed:
        for predicate, ids in _listed(more).items():
            self.enter(predicate, ids)
        return self

    def enter(self, predicate: str, ids: Ids) -> Ids:
        """Take in rows; gives those that were not in the set, each once."""
        new = np.empty(len(ids), np.int32)
        new = new[: kernels.enter(ids, getattr(self.tables[predicate], self._column), self.bit, new)]
        self.listed(predicate, new)
        return new

    def listed(self, predicate: str, new: Ids) -> None:
        """A kernel has set the bit of these rows, which had it not."""
        if len(new):
            self._lists.setdefault(predicate, []).append(new)

    def __isub__(self, fewer: Facts) -> Listed:
        own(fewer).snapshot().restatus(self.bit, NO_BITS, self._column)
        return self

    def forget(self, predicate: str) -> None:
        """A table was dropped, perhaps in the middle of an update; another may take its name."""
        super().forget(predicate)
        self._lists.pop(predicate, None)

    def mend(self) -> None:
        """A change was interrupted; the bits are already cleared."""
        self._lists = {}

    def clear(self) -> None:
        """Take all facts out."""
        for predicate in self._lists:
            column = getattr(self.tables[predicate], self._column)
            kernels.restatus(self.candidates(predicate), column, self.bit, NO_BITS)
        self._lists = {}


def _listed(facts: Facts) -> Mapping[str, Ids]:
    """Row ids of all facts, possibly with duplicates."""
    found = own(facts)
    return found.rows if isinstance(found, Momentary | Support) else found.snapshot().rows
