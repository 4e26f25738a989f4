"""The dictionary of a shard in another process: a replica of the driver's, as far as the shard needs it.

The driver gives the codes.  Its values have dense ids in the order of first sight, so a replica that has the first n of
them is right, and lacks only those from n on.  It asks for these when it meets a value that it does not know, or when
it must decode a code that may be newer.  A program that never makes or compares strings never asks.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from holdfast.backends.spark_parted.links import Link
from holdfast.settings import UNLIMITED, Memory
from holdfast.values import Type, Value
from holdfast.values.dictionary import Codes, Dictionary
from holdfast.values.record_ids import RecordIds
from holdfast.values.saved_values import restore_values, saved_values
from holdfast.values.structures import RecordForm
from holdfast.values.value_ids import EACH, ValueIds

_K = TypeVar("_K")
_VALUES, _RECORDS, _CODES = "values", "records", "codes"  # what is asked for
_DECODING = (
    "value_of",
    "make_records",
    "have_form",
    "take_field",
    "decode_column",
    "decode_values",
    "decode_rows",
    "longest_of",
    "lengths",
    "order_keys",
)
"""What reads values by their codes."""
_BY_TYPE = frozenset({"decode_column", "decode_values", "order_keys"})  # of those, what does not if the type is numeric


# --- on the driver -------------------------------------------------------------------------------------


def serve_values(connection: Link, dictionary: Dictionary) -> None:
    """Give codes to the values that a replica does not know, until it is gone."""
    while True:
        try:
            connection.send_bytes(answered(dictionary, connection.recv_bytes()))
        except (EOFError, OSError):
            return


def answered(dictionary: Dictionary, request: bytes) -> bytes:
    """The answer to what a replica asks for."""
    return pickle.dumps(_answer(dictionary, *pickle.loads(request)))


def _answer(dictionary: Dictionary, what: str, known: int, given: Any) -> tuple[str, Any]:
    """The values from an id on, when those that are given have theirs."""
    ids = dictionary.ids
    try:
        with ids.lock:
            if what == _CODES:
                return "ok", _codes(ids, given)
            if what == _RECORDS:
                ids.records.make(*given)
            else:
                _codes(ids, given)
            return "ok", saved_values(dictionary, known)
    except Exception as error:
        return "failed", error


def _codes(ids: ValueIds, values: Sequence[Any]) -> Codes:
    if set(map(type, values)) == {str}:
        return ids.encode_strings(values)
    return np.fromiter(map(ids.id_of_number, values), np.int64, len(values))


def encoded_values(dictionary: Dictionary, values: Sequence[Value]) -> Codes:
    """The codes of some values."""
    with dictionary.ids.lock:
        return _codes(dictionary.ids, values)


def codes_by(connection: Link, values: Sequence[Value]) -> Codes:
    """The codes of some values, for a task that needs nothing else of the dictionary."""
    answer: Codes = _asked(connection, (_CODES, 0, list(values)))
    return answer


def _asked(connection: Link, request: tuple[str, int, Any]) -> Any:
    connection.send_bytes(pickle.dumps(request))
    kind, answer = pickle.loads(connection.recv_bytes())
    if kind == "failed":
        raise answer
    return answer


# --- in a shard ----------------------------------------------------------------------------------------


class ReplicaDictionary(Dictionary):
    """The values of the driver's dictionary up to some id."""

    def __init__(self, memory: Memory = UNLIMITED) -> None:
        super().__init__(memory)
        self._ids: ReplicaIds = ReplicaIds(self._ask)
        self.connection: Link | None = None  # of the current job
        self.newest = 0
        """There may be codes below this in the facts of the shard."""

    def catch_up(self) -> None:
        """Have all values whose codes may be in the facts."""
        if self.newest > len(self):
            self._ask(_VALUES, [])

    def _ask(self, what: str, given: Any) -> None:
        assert self.connection is not None, "a shard works in a job"
        answer = _asked(self.connection, (what, len(self), given))
        with self._ids.lock:
            self._ids.is_given = True
            try:
                restore_values(self, answer)
            finally:
                self._ids.is_given = False
        self.newest = max(self.newest, len(self))


class ReplicaIds(ValueIds):
    """Ids that the driver gives."""

    def __init__(self, ask: Callable[[str, Any], None]) -> None:
        super().__init__()
        self._ask = ask
        self.is_given = False  # what is added now has come from the driver
        self.records: RecordIds = _ReplicaRecords(self, EACH, ask)

    def _add(self, value: Value) -> int:
        if self.is_given:
            return super()._add(value)
        self._ask(_VALUES, [value])
        found = self.find(value)
        assert found is not None
        return found

    def _put(self, table: dict[_K, int], key: _K, value: Value) -> int:
        if self.is_given:
            return super()._put(table, key, value)
        self._ask(_VALUES, [value])
        return table[key]

    def _add_together(self, table: dict[str, int], keys: list[str], values: Sequence[Value]) -> None:
        if self.is_given:
            super()._add_together(table, keys, values)
        elif keys:
            self._ask(_VALUES, list(values))

    def _encode_locked(
        self, table: dict[str, int], keys: Sequence[str], make: Callable[[list[str]], Sequence[Value]]
    ) -> Codes:
        if self.is_given:
            return super()._encode_locked(table, keys, make)
        new = [key for key in keys if key not in table]
        self._add_together(table, new, make(new))
        return np.fromiter(map(table.__getitem__, keys), np.int64, len(keys))

    def encode_integers(self, integers: list[int]) -> Codes:
        """The ids of integers, in order; the driver is asked once."""
        new = [integer for integer in dict.fromkeys(integers) if integer not in self._integers]
        if new and not self.is_given:
            self._ask(_VALUES, new)
        return super().encode_integers(integers)


class _ReplicaRecords(RecordIds):
    """Records that the driver makes."""

    def __init__(self, ids: ReplicaIds, each: int, ask: Callable[[str, Any], None]) -> None:
        super().__init__(ids, each)
        self._replica, self._ask = ids, ask

    def _add_rows(self, rows: Codes, form: RecordForm) -> None:
        if self._replica.is_given:
            super()._add_rows(rows, form)
        else:
            self._ask(_RECORDS, (form, rows))

    def _add_row(self, row: tuple[int, ...], form: RecordForm) -> int:
        super()._add_row(row, form)
        found = self._table(form).find(row)
        assert found is not None
        return found


def _caught_up(name: str) -> Any:
    method = getattr(Dictionary, name)

    @wraps(method)
    def call(self: ReplicaDictionary, *arguments: Any, **named: Any) -> Any:
        given = (*arguments, *named.values()) if name in _BY_TYPE else ()
        if not any(isinstance(each, Type) and each.is_numeric for each in given):
            self.catch_up()
        return method(self, *arguments, **named)

    return call


for _name in _DECODING:
    setattr(ReplicaDictionary, _name, _caught_up(_name))
