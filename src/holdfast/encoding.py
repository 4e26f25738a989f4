"""Values as 64-bit codes: a fact is a row of fixed-width integers.

A number is its own code, an unsigned number has the same 64 bits, a float the bits of the double (with -0.0
read as 0.0 and a single NaN, so that equal floats have equal codes).  Symbols and values of type `any` are
codes of a `Dictionary`, dense ids from 0 in the order of first sight.

In bulk, strings go through pyarrow, so that only distinct ones become Python objects.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import numpy.typing as npt

from holdfast.arrow_columns import checked_column, distinct, encode_distinct, is_numeric, is_text, numeric_codes
from holdfast.lazy import lazily
from holdfast.settings import UNLIMITED, Memory
from holdfast.single_values import (
    Codes,
    EncodingError,
    any_key,
    checked_integer,
    checked_string,
    float_code,
    float_codes,
    numeric_code,
    plain,
    wrong,
)
from holdfast.term_text import MAX_NUMBER, MIN_NUMBER, literal_value, parse_term, term_text
from holdfast.values import BlankNode, Iri, Literal, Row, Type, Value

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = lazily("pyarrow")

__all__ = ["Codes", "Dictionary", "EncodingError", "distinct", "encode_distinct", "float_codes"]

EACH = 160  # bytes of a value in the dictionary beside its characters: the object, its id, its places in the tables
_STEP = 1 << 18  # bytes between two looks at the limit
_SIGN = np.int64(MIN_NUMBER)
_is_none = partial(operator.is_, None)
_K = TypeVar("_K")


class Dictionary:
    """Values and their ids, both ways.

    Invariant: `_values[i]` is the value with id i, and each kind of value has its own table from value to id,
    because Python holds 1, 1.0 and True for the same key.
    """

    def __init__(self, memory: Memory = UNLIMITED) -> None:
        self.memory = memory
        self.longest = 0  # characters of the longest value
        self.nbytes = self._told = 0
        self._values: list[Value] = []
        self._strings: dict[str, int] = {}
        self._integers: dict[int, int] = {}
        self._floats: dict[int, int] = {}  # by code, which tells NaN equal to itself
        self._iris: dict[str, int] = {}
        self._terms: dict[BlankNode | Literal, int] = {}

    def __len__(self) -> int:
        return len(self._values)

    # --- one value -----------------------------------------------------------------------------------

    def id_of(self, value: Value) -> int:
        """The id of a value, given to it now if it is new."""
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
        raise wrong(value, Type.ANY)

    def value_of(self, id: int) -> Value:
        """The value with this id."""
        return self._values[id]

    def encode_value(self, value: Value, type: Type) -> int:
        """The code of a value in a column of a type; raises `EncodingError` where it does not fit."""
        if type.is_numeric:
            return numeric_code(value, type)
        if type is Type.SYMBOL and not isinstance(value, str):
            raise wrong(value, type)
        return self.id_of(plain(value))

    def find_value(self, value: Value, type: Type) -> int | None:
        """As `encode_value`; None if it is not a number and the dictionary has never seen it.  Nothing is added."""
        if type.is_numeric:
            return numeric_code(value, type)
        if type is Type.SYMBOL and not isinstance(value, str):
            raise wrong(value, type)
        return self.find(plain(value))

    def _add(self, value: Value) -> int:
        match value:
            case str():
                return self._put(self._strings, checked_string(value), value)
            case float():
                code = float_code(value)
                [one] = _with_one_nan(np.array([code], np.int64).view(np.float64))
                return self._put(self._floats, code, one)
            case int():
                return self._put(self._integers, checked_integer(value, Type.ANY, MIN_NUMBER, MAX_NUMBER), value)
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
        id = len(self._values)
        self._values.append(value)  # first: an id that can be found has a value
        table[key] = id
        self._count((_lexical(value),))
        return id

    def _count(self, texts: Sequence[str]) -> None:
        """Values were added that have these texts."""
        lengths = list(map(len, texts))
        wide = 1 if all(map(str.isascii, texts)) else 4
        self.longest = max(self.longest, *lengths)
        self.nbytes += wide * sum(lengths) + EACH * len(texts)
        if self.nbytes > self._told + _STEP:
            self._told = self.nbytes
            self.memory.grown("strings", self.nbytes)

    # --- columns -------------------------------------------------------------------------------------

    def encode_column(self, column: pa.Array | pa.ChunkedArray, type: Type) -> Codes:
        """The codes of an Arrow column; strings are strings here, whatever they look like."""
        column = checked_column(column)
        codes = numeric_codes(column, type)
        if codes is not None:
            return codes
        if type.in_dictionary and is_text(column.type):
            return encode_distinct(column, self.encode_distinct_strings, self._expect)
        if type is Type.ANY and is_numeric(column):
            return encode_distinct(column, self._encode_any, self._expect)
        if len(column) == 0:
            return np.empty(0, np.int64)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        raise EncodingError(f"values of Arrow type {kind} do not fit type {type.value}")

    def encode_texts(self, column: pa.Array | pa.ChunkedArray, parse: Callable[[str], Value] = parse_term) -> Codes:
        """The codes of a column of text, each distinct one read by `parse`: as a value of type `any` if not told."""
        return encode_distinct(column, lambda texts: self._encode_any([parse(text) for text in texts]), self._expect)

    def _expect(self, values: pa.Array) -> None:
        """Arrow's values are about to become Python's."""
        self.memory.room("values that are read", values.nbytes + EACH * len(values))

    def encode_strings(self, strings: Sequence[str]) -> Codes:
        """The ids of strings, in order; new ones are added together."""
        ids: list[int | None] = list(map(self._strings.get, strings))
        if None not in ids:
            return np.array(ids, np.int64)
        new = list(dict.fromkeys(string for string, id in zip(strings, ids, strict=True) if id is None))
        self._add_together(self._strings, new, new)
        return np.fromiter(map(self._strings.__getitem__, strings), np.int64, len(strings))

    def encode_distinct_strings(self, strings: Sequence[str]) -> Codes:
        """As `encode_strings` for strings without repetition: half the work, and loading is mostly this."""
        return self._encode_new(self._strings, strings, lambda new: new)

    def encode_distinct_iris(self, iris: Sequence[str]) -> Codes:
        """The ids of IRIs, given as their text, without repetition."""
        return self._encode_new(self._iris, iris, lambda new: list(map(Iri, new)))

    def _encode_new(
        self, table: dict[str, int], keys: Sequence[str], make: Callable[[list[str]], Sequence[Value]]
    ) -> Codes:
        ids: list[int | None] = list(map(table.get, keys))
        if None not in ids:
            return np.array(ids, np.int64)
        is_new = np.fromiter(map(_is_none, ids), np.bool_, len(ids))
        new = list(keys) if is_new.all() else [keys[place] for place in np.flatnonzero(is_new).tolist()]
        first = len(self._values)
        self._add_together(table, new, make(new))
        codes = np.empty(len(ids), np.int64)
        codes[is_new] = np.arange(first, first + len(new))
        codes[~is_new] = [id for id in ids if id is not None]
        return codes

    def _add_together(self, table: dict[str, int], keys: list[str], values: Sequence[Value]) -> None:
        if not all(map(str.isascii, keys)):
            for key in keys:
                checked_string(key)
        first = len(self._values)
        self._values.extend(values)  # first: an id that can be found has a value
        table.update(zip(keys, range(first, first + len(keys)), strict=True))
        if keys:
            self._count(keys)

    def _encode_integers(self, integers: list[int]) -> Codes:
        """The ids of integers, in order."""
        ids: list[int | None] = list(map(self._integers.get, integers))
        if None not in ids:
            return np.array(ids, np.int64)
        for integer in dict.fromkeys(i for i, id in zip(integers, ids, strict=True) if id is None):
            self._add(integer)
        return np.array(list(map(self._integers.get, integers)), np.int64)

    def _encode_any(self, values: Sequence[Value]) -> Codes:
        return np.fromiter(map(self.id_of, values), np.int64, len(values))

    def decode_column(self, codes: Codes, type: Type) -> pa.Array:
        """An Arrow column of the values; type `any` comes as text (see `holdfast.term_text`)."""
        match type:
            case Type.NUMBER:
                return pa.array(np.ascontiguousarray(codes))
            case Type.UNSIGNED:
                return pa.array(np.ascontiguousarray(codes).view(np.uint64))
            case Type.FLOAT:
                return pa.array(np.ascontiguousarray(codes).view(np.float64))
        ids, positions = distinct(codes, len(self))
        values = [self._values[id] for id in ids.tolist()]
        texts = values if type is Type.SYMBOL else list(map(term_text, values))
        return pa.array(texts, pa.string()).take(pa.array(positions))

    def decode_values(self, codes: Codes, type: Type) -> list[Value]:
        """The values of a column, as Python objects."""
        match type:
            case Type.NUMBER:
                return cast("list[Value]", codes.tolist())
            case Type.UNSIGNED:
                return cast("list[Value]", np.ascontiguousarray(codes).view(np.uint64).tolist())
            case Type.FLOAT:
                return _with_one_nan(np.ascontiguousarray(codes).view(np.float64))
        return [self._values[id] for id in codes.tolist()]

    # --- rows ----------------------------------------------------------------------------------------

    def encode_rows(self, rows: Iterable[Sequence[Value]], types: Sequence[Type]) -> Codes:
        """The codes of rows, one column for each type."""
        rows = rows if isinstance(rows, list) else list(rows)
        arity = len(types)
        if not {arity}.issuperset(map(len, rows)):
            number, row = next((number, row) for number, row in enumerate(rows) if len(row) != arity)
            raise EncodingError(f"{len(row)} values where {arity} are expected", row, number)
        codes = np.empty((len(rows), arity), np.int64)
        for column, type in enumerate(types):
            codes[:, column] = self.encode_values([row[column] for row in rows], type, column)
        return codes

    def encode_values(self, values: list[Value], type: Type, column: int | None = None) -> Codes:
        """The codes of a list of values; `column` is only for the error."""
        fast = self._encode_uniform(values, type)
        if fast is not None:
            return fast
        codes = np.empty(len(values), np.int64)
        for row, value in enumerate(values):
            try:
                codes[row] = self.encode_value(value, type)
            except EncodingError as error:
                raise EncodingError(error.reason, value, row, column) from None
        return codes

    def _encode_uniform(self, values: list[Value], type: Type) -> Codes | None:
        """The codes of values that are all of the column's own Python type, None where they are not."""
        kinds = set(map(_class, values))
        try:
            match type:
                case Type.NUMBER if kinds == {int}:
                    return np.array(values, np.int64)
                case Type.FLOAT if kinds == {float}:
                    return float_codes(np.array(values, np.float64))
                case Type.SYMBOL | Type.ANY if kinds == {str}:
                    return self.encode_strings(cast("list[str]", values))
                case Type.ANY if kinds == {int}:
                    return self._encode_integers(cast("list[int]", values))
        except (OverflowError, EncodingError):
            return None  # the slow way says which value it was
        return None

    def decode_rows(self, codes: Codes, types: Sequence[Type]) -> list[Row]:
        """The rows of a two-dimensional array of codes."""
        if not types:
            return [()] * len(codes)
        columns = [self.decode_values(codes[:, column], type) for column, type in enumerate(types)]
        return list(zip(*columns, strict=True))

    def lengths(self, codes: Codes, types: Sequence[Type]) -> npt.NDArray[np.int64]:
        """The number of characters of each row's values; numbers count as one."""
        total = np.full(len(codes), len(types), np.int64)
        for column, type in enumerate(types):
            if type.in_dictionary:
                ids, positions = distinct(codes[:, column], len(self))
                total += np.array([len(_lexical(self._values[id])) for id in ids.tolist()], np.int64)[positions]
        return total

    # --- order ---------------------------------------------------------------------------------------

    def order_keys(self, codes: Codes, type: Type = Type.SYMBOL) -> Codes:
        """Integers that compare as the values do: numbers by size, strings by their UTF-8 bytes.

        In a column of type `any`: first numbers, then strings, IRIs, blank nodes and literals.
        """
        match type:
            case Type.NUMBER:
                return codes
            case Type.UNSIGNED:
                return codes ^ _SIGN
            case Type.FLOAT:
                return np.where(codes < 0, codes ^ np.int64(MAX_NUMBER), codes)
        ids, positions = distinct(codes, len(self))
        values = [self._values[id] for id in ids.tolist()]
        keys = values if set(map(_class, values)) <= {str} else list(map(any_key, values))
        ranks = np.empty(len(ids), np.int64)
        # Python compares strings by code point, which is the order of their UTF-8 bytes
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(ids))
        return ranks[positions]


def _lexical(value: Value) -> str:
    match value:
        case str():
            return value
        case Iri(value=text) | BlankNode(label=text) | Literal(lexical=text):
            return text
    return ""


def _with_one_nan(floats: npt.NDArray[np.float64]) -> list[Value]:
    """Floats for Python, every NaN the same object: only so are rows with it equal, and found in sets and dicts."""
    values: list[Value] = floats.tolist()
    for place in np.flatnonzero(np.isnan(floats)).tolist():
        values[place] = math.nan
    return values


def _class(value: object) -> type[object]:
    return value.__class__
