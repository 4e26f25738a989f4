"""Maps values to ids and back."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from holdfast.settings import UNLIMITED, Memory
from holdfast.values.model import BlankNode, Iri, Literal, Record, Type, Value
from holdfast.values.record_ids import RecordIds
from holdfast.values.single_values import (
    Codes,
    checked_integer,
    checked_string,
    float_code,
    lexical_form,
    with_one_nan,
    wrong,
)
from holdfast.values.term_text import MAX_NUMBER, MIN_NUMBER, literal_value

EACH = 160  # bytes of a value in the dictionary besides its characters: the object, its id, its places in the tables
_TOGETHER = 1 << 16  # strings added at a time, between checks of the memory limit
_STEP = 1 << 18  # bytes between two checks of the limit
_is_none = partial(operator.is_, None)
_K = TypeVar("_K")


class ValueIds:
    """Dense ids from 0, in the order of first occurrence.

    Invariant: `values[i]` is the value with id i, and each kind of value has its own table from value to id, because
    Python treats 1, 1.0 and True as the same key.

    Any thread may look values up.  Only one at a time adds values, under the lock: it checks again whether they are
    new, and an id can be found only when it has a value.
    """

    def __init__(self, memory: Memory = UNLIMITED) -> None:
        self.memory = memory
        self.lock = threading.RLock()
        self.longest = 0  # length of the longest value
        self.nbytes = self._reported = 0
        self.values: list[Value] = []
        self._strings: dict[str, int] = {}
        self._integers: dict[int, int] = {}
        self._floats: dict[int, int] = {}  # by code, by which NaN equals itself
        self._iris: dict[str, int] = {}
        self._terms: dict[BlankNode | Literal, int] = {}
        self.records = RecordIds(self, EACH)

    # --- one value -----------------------------------------------------------------------------------

    def id_of(self, value: Value) -> int:
        """The id of a value, assigned now if it is new."""
        id = self.find(value)
        if id is not None:
            return id
        with self.lock:
            id = self.find(value)
            return self._add(value) if id is None else id

    def find(self, value: Value) -> int | None:
        """The id of a value, or None if the dictionary has never seen it."""
        match value:
            case str():
                return self._strings.get(value)
            case bool():
                raise wrong(value, Type.ANY)
            case int():
                return self._integers.get(value)
            case float():
                return self._floats.get(float_code(value))
            case Literal():
                plain = literal_value(value.lexical, value.datatype, value.language)
                return self._terms.get(value) if isinstance(plain, Literal) else self.find(plain)
            case Iri():
                return self._iris.get(value.value)
            case BlankNode():
                return self._terms.get(value)
            case Record():
                return self.records.find(value)
        raise wrong(value, Type.ANY)

    def id_of_number(self, value: Value) -> int:
        """Like `id_of`; an unsigned number in a record may be larger than one in a column of type `any`."""
        if isinstance(value, int) and value > MAX_NUMBER:
            with self.lock:
                known = self._integers.get(value)
                return self._put(self._integers, value, value) if known is None else known
        return self.id_of(value)

    def _add(self, value: Value) -> int:
        match value:
            case str():
                return self._put(self._strings, checked_string(value), value)
            case float():
                code = float_code(value)
                [one] = with_one_nan(np.array([code], np.int64).view(np.float64))
                return self._put(self._floats, code, one)
            case int():
                return self._put(self._integers, checked_integer(value, Type.ANY, MIN_NUMBER, MAX_NUMBER), value)
            case Record():
                return self.records.add(value)
            case Literal():
                plain = literal_value(value.lexical, value.datatype, value.language)
                if not isinstance(plain, Literal):
                    return self._add(plain)
                checked_string(f"{value.lexical}{value.datatype or ''}{value.language or ''}")
                return self._put(self._terms, value, value)
            case Iri():
                return self._put(self._iris, checked_string(value.value), value)
            case BlankNode():
                checked_string(value.label)
                return self._put(self._terms, value, value)

    def _put(self, table: dict[_K, int], key: _K, value: Value) -> int:
        id = len(self.values)
        self.values.append(value)  # first, so that an id that can be found has a value
        table[key] = id
        self._count((lexical_form(value),))
        return id

    def _count(self, texts: Sequence[str]) -> None:
        """Account for added values with these texts."""
        lengths = list(map(len, texts))
        wide = 1 if all(map(str.isascii, texts)) else 4
        self.longest = max(self.longest, *lengths)
        self.grow(wide * sum(lengths) + EACH * len(texts))

    def grow(self, nbytes: int) -> None:
        """Account for this number of additional bytes."""
        self.nbytes += nbytes
        if self.nbytes > self._reported + _STEP:
            self._reported = self.nbytes
            self.memory.grown("strings", self.nbytes)

    # --- many values ---------------------------------------------------------------------------------

    def encode_strings(self, strings: Sequence[str]) -> Codes:
        """The ids of strings, in order; new ones are added together."""
        if len(strings) > _TOGETHER:
            parts = range(0, len(strings), _TOGETHER)
            return np.concatenate([self.encode_strings(strings[start : start + _TOGETHER]) for start in parts])
        ids: list[int | None] = list(map(self._strings.get, strings))
        if None not in ids:
            return np.array(ids, np.int64)
        with self.lock:
            unknown = (string for string, id in zip(strings, ids, strict=True) if id is None)
            new = [string for string in dict.fromkeys(unknown) if string not in self._strings]
            self._add_together(self._strings, new, new)
        return np.fromiter(map(self._strings.__getitem__, strings), np.int64, len(strings))

    def encode_distinct_strings(self, strings: Sequence[str]) -> Codes:
        """Like `encode_strings` for distinct strings: half the work, and most of the work of loading."""
        return self._encode_new(self._strings, strings, lambda new: new)

    def encode_distinct_iris(self, iris: Sequence[str]) -> Codes:
        """The ids of IRIs, given as their text, without repetition."""
        return self._encode_new(self._iris, iris, lambda new: list(map(Iri, new)))

    def _encode_new(
        self, table: dict[str, int], keys: Sequence[str], make: Callable[[list[str]], Sequence[Value]]
    ) -> Codes:
        with self.lock:
            return self._encode_locked(table, keys, make)

    def _encode_locked(
        self, table: dict[str, int], keys: Sequence[str], make: Callable[[list[str]], Sequence[Value]]
    ) -> Codes:
        ids: list[int | None] = list(map(table.get, keys))
        if None not in ids:
            return np.array(ids, np.int64)
        is_new = np.fromiter(map(_is_none, ids), np.bool_, len(ids))
        new = list(keys) if is_new.all() else [keys[place] for place in np.flatnonzero(is_new).tolist()]
        first = len(self.values)
        self._add_together(table, new, make(new))
        codes = np.empty(len(ids), np.int64)
        codes[is_new] = np.arange(first, first + len(new))
        codes[~is_new] = [id for id in ids if id is not None]
        return codes

    def _add_together(self, table: dict[str, int], keys: list[str], values: Sequence[Value]) -> None:
        if not all(map(str.isascii, keys)):
            for key in keys:
                checked_string(key)
        first = len(self.values)
        self.values.extend(values)  # first, so that an id that can be found has a value
        table.update(zip(keys, range(first, first + len(keys)), strict=True))
        if keys:
            self._count(keys)

    def encode_integers(self, integers: list[int]) -> Codes:
        """The ids of integers, in order."""
        ids: list[int | None] = list(map(self._integers.get, integers))
        if None not in ids:
            return np.array(ids, np.int64)
        for integer, id in zip(integers, ids, strict=True):
            if id is None:
                self.id_of(integer)
        return np.array(list(map(self._integers.get, integers)), np.int64)
