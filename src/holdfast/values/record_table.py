"""The records of a dictionary, by form: the branch and the number of fields.

A record's fields are ids of the dictionary themselves, so equal records have equal rows and one id.  Both directions
work on columns: from rows of fields to ids, and from ids to a field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
import numpy.typing as npt

FieldIds = npt.NDArray[np.int64]


class RecordTable:
    """The records of one form.

    Invariant: `_ids[row]` is the id of the record with these fields; ids ascend, so that bisection finds the row of an
    id.
    """

    def __init__(self, arity: int) -> None:
        self._ids: dict[bytes, int] = {}
        self._rows: FieldIds = np.empty((16, arity), np.int64)
        self._numbers: FieldIds = np.empty(16, np.int64)
        self._packed: FieldIds = np.empty(0, np.int64)  # the fields of the first records as one number each, sorted
        self._packed_ids: FieldIds = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self._ids)

    def find(self, row: tuple[int, ...]) -> int | None:
        """The id of a record, if there is one."""
        return self._ids.get(np.array(row, np.int64).tobytes())

    def add(self, rows: FieldIds, first: int) -> None:
        """Add new records; their ids are `first` and the following ones, larger than all others."""
        size, more = len(self._ids), len(rows)
        while size + more > len(self._numbers):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._numbers = np.concatenate([self._numbers, np.empty_like(self._numbers)])
        self._rows[size : size + more] = rows
        self._numbers[size : size + more] = np.arange(first, first + more)
        self._ids.update(zip(_keys(rows), range(first, first + more), strict=True))

    def ids(self, rows: FieldIds, make: Callable[[FieldIds], None]) -> FieldIds:
        """The ids of records, one for each row; `make` adds new ones."""
        packed = _packed(rows) if 8 * len(rows) >= len(self) else None  # sorting all of them pays for many
        if packed is None or not self._pack():
            return self._ids_by_hash(rows, make)
        found = self._find_packed(packed)
        new = np.flatnonzero(found < 0)
        if len(new):
            make(rows[new[np.unique(packed[new], return_index=True)[1]]])
            found[new] = self._find_packed(packed[new]) if self._pack() else self._ids_by_hash(rows[new], make)
        return found

    def _pack(self) -> bool:
        """Bring the packed fields up to date; False if they do not fit."""
        done, size = len(self._packed), len(self)
        if done == size:
            return True
        packed = _packed(self._rows[done:size])
        if packed is None:
            return False
        order = np.argsort(packed)
        places = np.searchsorted(self._packed, packed[order])
        self._packed = np.insert(self._packed, places, packed[order])
        self._packed_ids = np.insert(self._packed_ids, places, self._numbers[done:size][order])
        return True

    def _find_packed(self, packed: FieldIds) -> FieldIds:
        """The ids of records with these fields, -1 for unknown ones: most records that rules make are known."""
        if not len(self._packed):
            return np.full(len(packed), -1, np.int64)
        places = np.minimum(np.searchsorted(self._packed, packed), len(self._packed) - 1)
        return np.where(self._packed[places] == packed, self._packed_ids[places], -1)

    def _ids_by_hash(self, rows: FieldIds, make: Callable[[FieldIds], None]) -> FieldIds:
        distinct, places = _distinct(rows)
        keys = _keys(distinct)
        found = list(map(self._ids.get, keys))
        if None in found:
            make(distinct[[place for place, id in enumerate(found) if id is None]])
            found = list(map(self._ids.get, keys))
        return np.array(found, np.int64)[places]

    def listed(self) -> Iterator[tuple[int, list[int]]]:
        """The id and the fields of each record."""
        return zip(self._numbers[: len(self)].tolist(), self._rows[: len(self)].tolist(), strict=True)

    def places(self, ids: FieldIds) -> tuple[FieldIds, npt.NDArray[np.bool_]]:
        """The places of the records with some ids, and whether each id is such a record."""
        size = len(self._ids)
        if not size:
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        first, last = self._numbers[0], self._numbers[size - 1]
        if last - first == size - 1:  # all were made together, as those of the only record type are
            places = np.clip(ids - first, 0, size - 1)
        else:
            places = np.minimum(np.searchsorted(self._numbers[:size], ids), size - 1)
        return places, self._numbers[places] == ids

    def field(self, ids: FieldIds, number: int) -> FieldIds:
        """A field of each record; an arbitrary id for what is not such a record."""
        if not len(self._ids):
            return np.zeros(len(ids), np.int64)
        fields: FieldIds = self._rows[self.places(ids)[0], number]
        return fields


def _keys(rows: FieldIds) -> list[bytes]:
    """Each row as one object that hashes fast."""
    arity = rows.shape[1]
    if not arity:
        return [b""] * len(rows)
    return cast("list[bytes]", np.ascontiguousarray(rows).view(np.dtype((np.void, 8 * arity))).reshape(-1).tolist())


def _packed(rows: FieldIds) -> FieldIds | None:
    """Rows of one or two fields as one number each; None if they do not fit."""
    if rows.shape[1] == 1:
        return rows[:, 0].copy()
    if rows.shape[1] == 2 and (not len(rows) or (rows.min() >= 0 and rows.max() < 2**31)):
        return (rows[:, 0] << 32) | rows[:, 1]
    return None


def _distinct(rows: FieldIds) -> tuple[FieldIds, FieldIds]:
    """The distinct rows, and for each row the number of its distinct row."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), np.int64)
    values, places = np.unique(rows, axis=0, return_inverse=True)
    return values, places.reshape(-1)
