"""Looking facts up on shards: each request takes long, and many lookups together take no longer than one.

While lookups are *gathered*, one whose facts are not known returns none and is noted; `fetch` requests all that were
noted.  Then the work that made the lookups is repeated, until nothing is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.abilities import FactRequest, Lookups, relation_size
from holdfast.backends.protocol import Backend
from holdfast.knowledge.fact_lookup import SMALL, FactLookup, with_one_of
from holdfast.program.model import Relation
from holdfast.quick_dataclass import dataclass
from holdfast.values.dictionary import Codes

_MANY = 10_000  # facts of one shard that are not fetched on a mere suggestion
_CodeRow: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class _LookupPlace:
    """Where facts are looked up: a relation, its columns, and whether only explicit facts count."""

    predicate: str
    arity: int
    key: tuple[int, ...]
    explicit: bool

    @property
    def is_whole(self) -> bool:
        """Whether all columns are given."""
        return len(self.key) == self.arity > 0


class FarLookup(FactLookup):
    """Looks facts of one version up in a backend that is elsewhere, and remembers them."""

    stays, is_far = False, True

    def __init__(self, backend: Backend, lookups: Lookups) -> None:
        self._backend, self._lookups = backend, lookups
        self._found: dict[_LookupPlace, dict[_CodeRow, Codes]] = {}
        self._is_explicit: dict[str, dict[_CodeRow, bool]] = {}  # of facts that were met
        self._missing: dict[_LookupPlace, dict[_CodeRow, None]] = {}
        self._suggested: dict[_LookupPlace, dict[_CodeRow, None]] = {}
        self._too_many: set[tuple[_LookupPlace, _CodeRow]] = set()
        self.is_gathering = False
        self.misses = 0
        """How many lookups gave nothing because they are only noted."""

    def size(self, relation: Relation, *, explicit: bool = False) -> int:
        """How many there are."""
        if explicit:
            return self._backend.explicit.size(relation.name)
        return relation_size(self._backend, relation.name)

    def all(self, relation: Relation, *, explicit: bool = False) -> Codes:
        """All of a relation."""
        place = _LookupPlace(relation.name, relation.arity, (), explicit)
        return self._answer(place, [()])

    def among(self, relation: Relation, rows: Codes, *, explicit: bool = False) -> Codes:
        """Those of some rows that are facts."""
        if self.size(relation, explicit=explicit) <= SMALL:
            return with_one_of(rows, range(relation.arity), self.all(relation, explicit=explicit))
        place = _LookupPlace(relation.name, relation.arity, tuple(range(relation.arity)), explicit)
        return self._answer(place, _tuples(rows))

    def matching(self, relation: Relation, key: tuple[int, ...], values: Codes, *, explicit: bool = False) -> Codes:
        """Those that have one of some distinct tuples of values in some columns."""
        if self.size(relation, explicit=explicit) <= SMALL:
            return with_one_of(self.all(relation, explicit=explicit), key, values)
        return self._answer(_LookupPlace(relation.name, relation.arity, key, explicit), _tuples(values))

    def suggest(self, relation: Relation, key: tuple[int, ...], values: Codes) -> bool:
        """Whether a lookup is answered already; if not, it is made with the next ones, unless it has too many facts."""
        is_small = self.size(relation) <= SMALL  # then all are fetched
        if not (key or is_small):
            return False
        place = _LookupPlace(relation.name, relation.arity, () if is_small else key, False)
        wanted: list[_CodeRow] = [()] if is_small else _tuples(values)
        known = self._found.get(place, {})
        new = [row for row in wanted if row not in known]
        if self.is_gathering:
            some = self._suggested.setdefault(place, {})
            some.update((row, None) for row in new if (place, row) not in self._too_many)
        return not new

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Inside a `with` lookups are noted."""
        self.is_gathering, self.misses = True, 0
        self._suggested.clear()
        try:
            yield
        finally:
            self.is_gathering = False

    def fetch(self) -> None:
        """Request what was noted."""
        wanted: list[tuple[_LookupPlace, list[_CodeRow], int | None]]
        wanted = [(place, [*rows], None) for place, rows in self._missing.items()]
        for place, suggested in self._suggested.items():
            more = [row for row in suggested if row not in self._missing.get(place, ())]
            wanted += [(place, more, _MANY)] if more else []
        self._missing, self._suggested = {}, {}
        asked = [
            FactRequest(p.predicate, p.key, _array(rows, len(p.key)), p.explicit, most) for p, rows, most in wanted
        ]
        for (place, rows, _), answer in zip(wanted, self._lookups.looked_up(asked), strict=True):
            if answer is None:
                self._too_many.update((place, row) for row in rows)
            else:
                self._note(place, rows, *answer)

    def close(self) -> None:
        """Nothing: there is nothing of it in the backend."""

    # --- what is known ---------------------------------------------------------------------------------

    def _answer(self, place: _LookupPlace, wanted: Iterable[_CodeRow]) -> Codes:
        rows = list(wanted)
        if place.is_whole:
            self._settle(place, rows)
        missing = [row for row in rows if row not in self._found.get(place, ())]
        if missing:
            self._missing.setdefault(place, {}).update(dict.fromkeys(missing))
            if self.is_gathering:
                self.misses += 1
            else:
                self.fetch()
        known = self._found.get(place, {})
        return np.concatenate([np.empty((0, place.arity), np.int64), *(known[row] for row in rows if row in known)])

    def _settle(self, place: _LookupPlace, rows: Iterable[_CodeRow]) -> None:
        """What is known of facts that were met answers for them."""
        met, known = self._is_explicit.get(place.predicate, {}), self._found.setdefault(place, {})
        for row in rows:
            if row not in known and row in met:
                known[row] = _array([row] if met[row] or not place.explicit else [], place.arity)

    def _note(self, place: _LookupPlace, wanted: Iterable[_CodeRow], rows: Codes, explicit: NDArray[np.bool_]) -> None:
        known = self._found.setdefault(place, {})
        if not place.key:
            known[()] = rows
        else:
            groups: dict[_CodeRow, list[int]] = {row: [] for row in wanted}
            for number, row in enumerate(_tuples(rows[:, list(place.key)])):
                groups[row].append(number)
            known.update((row, rows[numbers]) for row, numbers in groups.items())
        if not place.explicit and (place.key or len(rows) <= SMALL):
            met = self._is_explicit.setdefault(place.predicate, {})
            met.update(zip(_tuples(rows), explicit.tolist(), strict=True))


def _tuples(rows: Codes) -> list[_CodeRow]:
    return list(map(tuple, rows.tolist()))


def _array(rows: list[_CodeRow], width: int) -> Codes:
    return np.array(rows, np.int64).reshape(len(rows), width)
