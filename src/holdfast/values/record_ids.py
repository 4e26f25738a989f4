"""The ids of records: a record is identified by its form and the ids of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from holdfast.values.model import Record, Value
from holdfast.values.record_table import RecordTable
from holdfast.values.single_values import Codes
from holdfast.values.structures import RecordForm

if TYPE_CHECKING:
    from holdfast.values.value_ids import ValueIds


class RecordIds:
    """The records among the values of a dictionary, in one table for each form."""

    def __init__(self, ids: ValueIds, each: int) -> None:
        self._ids, self._each = ids, each  # memory of a record besides its fields, in bytes
        self._tables: dict[RecordForm, RecordTable] = {}

    def find(self, record: Record) -> int | None:
        """The id of a record, if it has one."""
        return self._walk(record, self._ids.find, lambda _row, _form: None)

    def add(self, record: Record) -> int:
        """The id of a record, which is added together with all records in it."""
        with self._ids.lock:
            made = self._walk(record, self._ids.id_of_number, self._add_row)
        assert made is not None
        return made

    def make(self, form: RecordForm, rows: Codes) -> Codes:
        """The ids of the records whose fields have these ids."""
        with self._ids.lock:
            return self._table(form).ids(rows, lambda new: self._add_rows(new, form))

    def have_form(self, form: RecordForm, ids: Codes) -> npt.NDArray[np.bool_]:
        """Whether each id is a record of this form."""
        return self._table(form).places(ids)[1]

    def field(self, form: RecordForm, ids: Codes, number: int) -> Codes:
        """The ids of a field of records; arbitrary for ids of another form."""
        return self._table(form).field(ids, number)

    def listed(self) -> Iterator[tuple[int, RecordForm, list[int]]]:
        """Each record: its id, its form, and the ids of its fields."""
        for form, table in self._tables.items():
            for id, row in table.listed():
                yield id, form, row

    def restore(self, form: RecordForm, row: Sequence[int]) -> None:
        """Add a record that has the next id."""
        self._add_row(tuple(row), form)

    def _table(self, form: RecordForm) -> RecordTable:
        found = self._tables.get(form)
        return self._tables.setdefault(form, RecordTable(form.arity)) if found is None else found

    def _walk(
        self,
        record: Record,
        id_of: Callable[[Value], int | None],
        make: Callable[[tuple[int, ...], RecordForm], int | None],
    ) -> int | None:
        """The id of a record, computing those of the records in it first; None as soon as one has none."""
        done: dict[int, int] = {}
        begun: list[Record] = [record]
        while begun:
            top = begun[-1]
            inside = [f for f in top.fields if isinstance(f, Record) and id(f) not in done]
            if inside:
                begun += inside
                continue
            fields = [done[id(f)] if isinstance(f, Record) else id_of(f) for f in top.fields]
            row = tuple(field for field in fields if field is not None)
            form = RecordForm(top.branch, len(top.fields))
            found = self._table(form).find(row) if len(row) == len(fields) else None
            if found is None and len(row) == len(fields):
                found = make(row, form)
            if found is None:
                return None
            done[id(begun.pop())] = found
        return done[id(record)]

    def _add_row(self, row: tuple[int, ...], form: RecordForm) -> int:
        self._add_rows(np.array([row], np.int64).reshape(1, form.arity), form)
        return len(self._ids.values) - 1

    def _add_rows(self, rows: Codes, form: RecordForm) -> None:
        values, branch, first = self._ids.values, form.branch, len(self._ids.values)
        values.extend([Record(tuple([values[field] for field in row]), branch) for row in rows.tolist()])
        self._table(form).add(rows, first)  # last, so that an id that can be found has a value
        self._ids.grow((self._each + 16 * form.arity) * len(rows))
