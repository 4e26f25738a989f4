"""Values as 64-bit codes: a fact is a row of fixed-width integers.

A number is its own code, an unsigned number has the same 64 bits, a float the bits of the double (with -0.0
read as 0.0 and a single NaN, so that equal floats have equal codes).  Symbols and values of type `any` are
codes of a `Dictionary`, dense ids from 0 in the order of first sight.

In bulk, strings go through pyarrow, so that only distinct ones become Python objects.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.term_text import MAX_NUMBER, MIN_NUMBER, literal_value, parse_term, term_text
from holdfast.values import BlankNode, Iri, Literal, Row, Type, Value, quote

Codes: TypeAlias = npt.NDArray[np.int64]

MAX_UNSIGNED: Final = 2**64 - 1
_SIGN = np.int64(MIN_NUMBER)
_TERMS = (Iri, BlankNode, Literal)


class EncodingError(ValueError):
    """A value that does not fit its column; `row` and `column` count from 0 where they are known.

    Internal: whoever knows where the value came from turns it into a `DataError` that says so.
    """

    def __init__(self, reason: str, value: object = None, row: int | None = None, column: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.value = value
        self.row = row
        self.column = column


class Dictionary:
    """Values and their ids, both ways.

    Invariant: `_values[i]` is the value with id i, and each kind of value has its own table from value to id,
    because Python holds 1, 1.0 and True for the same key.
    """

    def __init__(self) -> None:
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
                raise _wrong(value, Type.ANY)
            case int():
                return self._integers.get(value)
            case float():
                return self._floats.get(_float_code(value))
            case Literal():
                plain = literal_value(value.lexical, value.datatype, value.language)
                return self._terms.get(value) if isinstance(plain, Literal) else self.find(plain)
            case Iri():
                return self._iris.get(value.value)
            case BlankNode():
                return self._terms.get(value)
        raise _wrong(value, Type.ANY)

    def value_of(self, id: int) -> Value:
        """The value with this id."""
        return self._values[id]

    def encode_value(self, value: Value, type: Type) -> int:
        """The code of a value in a column of a type; raises `EncodingError` where it does not fit."""
        match type:
            case Type.NUMBER:
                return _checked_integer(value, type, MIN_NUMBER, MAX_NUMBER)
            case Type.UNSIGNED:
                number = _checked_integer(value, type, 0, MAX_UNSIGNED)
                return number if number <= MAX_NUMBER else number - 2**64
            case Type.FLOAT:
                return _float_code(_checked_float(value))
            case Type.SYMBOL if not isinstance(value, str):
                raise _wrong(value, type)
        return self.id_of(_plain(value))

    def _add(self, value: Value) -> int:
        id = len(self._values)
        match value:
            case str():
                value = _checked_string(value)
                self._strings[value] = id
            case float():
                code = _float_code(value)
                value = float(np.int64(code).view(np.float64))
                self._floats[code] = id
            case int():
                self._integers[_checked_integer(value, Type.ANY, MIN_NUMBER, MAX_NUMBER)] = id
            case Literal():
                plain = literal_value(value.lexical, value.datatype, value.language)
                if not isinstance(plain, Literal):
                    return self._add(plain)
                self._terms[value] = id
            case Iri():
                self._iris[_checked_string(value.value)] = id
            case BlankNode():
                self._terms[value] = id
        self._values.append(value)
        return id

    # --- columns -------------------------------------------------------------------------------------

    def encode_column(self, column: pa.Array | pa.ChunkedArray, type: Type) -> Codes:
        """The codes of an Arrow column; strings are strings here, whatever they look like."""
        _refuse_nulls(column)
        column = _plain_layout(column)
        kind = column.type
        match type:
            case Type.NUMBER if pa.types.is_integer(kind):
                return _to_numpy(_cast(column, pa.int64(), type))
            case Type.UNSIGNED if pa.types.is_integer(kind):
                return _to_numpy(_cast(column, pa.uint64(), type)).view(np.int64)
            case Type.FLOAT if pa.types.is_integer(kind) or pa.types.is_floating(kind):
                return float_codes(_to_numpy(_cast(column, pa.float64(), type)))
            case Type.SYMBOL | Type.ANY if _is_text(kind):
                return encode_distinct(column, self.encode_distinct_strings)
            case Type.ANY if pa.types.is_integer(kind) or pa.types.is_floating(kind):
                return encode_distinct(column, self._encode_any)
        if len(column) == 0:
            return np.empty(0, np.int64)
        raise EncodingError(f"values of Arrow type {kind} do not fit type {type.value}")

    def encode_texts(self, column: pa.Array | pa.ChunkedArray, parse: Callable[[str], Value] = parse_term) -> Codes:
        """The codes of a column of text, each distinct one read by `parse`: as a value of type `any` if not told."""
        return encode_distinct(column, lambda texts: self._encode_any([parse(text) for text in texts]))

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

    def _encode_new(self, table: dict[str, int], keys: Sequence[str], make: Callable[[list[str]], Sequence[Value]]
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
                _checked_string(key)
        first = len(self._values)
        table.update(zip(keys, range(first, first + len(keys)), strict=True))
        self._values.extend(values)

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
                return cast("list[Value]", np.ascontiguousarray(codes).view(np.float64).tolist())
        return [self._values[id] for id in codes.tolist()]

    # --- rows ----------------------------------------------------------------------------------------

    def encode_rows(self, rows: Iterable[Sequence[Value]], types: Sequence[Type]) -> Codes:
        """The codes of rows, one column for each type."""
        rows = rows if isinstance(rows, list) else list(rows)
        arity = len(types)
        for number, row in enumerate(rows):
            if len(row) != arity:
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
        except (OverflowError, EncodingError):
            return None  # the slow way says which value it was
        return None

    def decode_rows(self, codes: Codes, types: Sequence[Type]) -> list[Row]:
        """The rows of a two-dimensional array of codes."""
        if not types:
            return [()] * len(codes)
        columns = [self.decode_values(codes[:, column], type) for column, type in enumerate(types)]
        return list(zip(*columns, strict=True))

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
        keys = values if set(map(_class, values)) <= {str} else list(map(_any_key, values))
        ranks = np.empty(len(ids), np.int64)
        # Python compares strings by code point, which is the order of their UTF-8 bytes
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(ids))
        return ranks[positions]


def encode_distinct(column: pa.Array | pa.ChunkedArray, encode: Callable[[list[Any]], Codes]) -> Codes:
    """The codes of a column, given the codes of its distinct values, so that each crosses into Python once."""
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    chunks = encoded.unify_dictionaries().chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
    if not chunks:
        return np.empty(0, np.int64)
    codes = encode(chunks[0].dictionary.to_numpy(zero_copy_only=False).tolist())
    parts = [codes[chunk.indices.to_numpy(zero_copy_only=False)] for chunk in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def float_codes(values: npt.NDArray[np.float64]) -> Codes:
    """The codes of floats."""
    values = values + 0.0  # also a copy; -0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.int64)


def distinct(codes: Codes, bound: int) -> tuple[Codes, Codes]:
    """The distinct ids among codes below `bound`, ascending, and for each code its place among them."""
    if bound > 8 * len(codes) + 1024:
        ids, positions = np.unique(codes, return_inverse=True)
        return ids, positions
    seen = np.zeros(bound, np.bool_)
    seen[codes] = True
    ids = np.flatnonzero(seen)
    places = np.empty(bound, np.int64)
    places[ids] = np.arange(len(ids))
    return ids, places[codes]


# --- checks of single values -------------------------------------------------------------------------


_is_none = partial(operator.is_, None)


def _class(value: object) -> type[object]:
    return value.__class__


def _any_key(value: Value) -> tuple[int, float | int | str, str]:
    match value:
        case int():
            return 0, value, ""
        case float():
            return (0, value, "f") if value == value else (1, 0, "")
        case str():
            return 2, value, ""
        case Iri():
            return 3, value.value, ""
        case BlankNode():
            return 4, value.label, ""
        case Literal():
            return 5, value.lexical, f"{value.datatype or ''}@{value.language or ''}"


def _plain(value: Value) -> Value:
    """NumPy's scalars and subclasses of str as the plain Python value."""
    match value:
        case np.integer():
            return int(value)
        case np.floating():
            return float(value)
        case str() if value.__class__ is not str:
            return str(value)
    return value


def _checked_integer(value: object, type: Type, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise _wrong(value, type)
    if not low <= value <= high:
        raise EncodingError(f"{value} is not between {low} and {high}", value)
    return int(value)


def _checked_float(value: object) -> float:
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise _wrong(value, Type.FLOAT)
    try:
        if float(value) == int(value):
            return float(value)
    except OverflowError:
        pass
    raise EncodingError(f"{value} is not exactly a float", value)


def _checked_string(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise EncodingError(f"{value!a} is not Unicode text (a lone surrogate)", value) from None
    return str(value)


def _float_code(value: float) -> int:
    return int(float_codes(np.array([value], np.float64))[0])


_NOUNS = {Type.NUMBER: "a number", Type.UNSIGNED: "an unsigned number", Type.FLOAT: "a float",
          Type.SYMBOL: "a string", Type.ANY: "a value"}


def _wrong(value: object, type: Type) -> EncodingError:
    shown = quote(value) if isinstance(value, str) else str(value) if isinstance(value, _TERMS) else repr(value)
    return EncodingError(f"{shown} is not {_NOUNS[type]}", value)


# --- helpers for Arrow columns -----------------------------------------------------------------------


def _refuse_nulls(column: pa.Array | pa.ChunkedArray) -> None:
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise EncodingError("a value is missing", None, row)


def _plain_layout(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Dictionaries of anything but text and run-end encoded columns as plain ones."""
    if pa.types.is_run_end_encoded(column.type):
        return _plain_layout(pc.run_end_decode(column))
    if pa.types.is_dictionary(column.type) and not _is_text(column.type):
        return column.cast(column.type.value_type)
    return column


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _cast(column: pa.Array | pa.ChunkedArray, kind: pa.DataType, type: Type) -> pa.Array | pa.ChunkedArray:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        row, value = next((row, value) for row, value in enumerate(column.to_pylist()) if not _fits(value, type))
        raise EncodingError(f"{value} does not fit type {type.value}", value, row) from None


def _fits(value: int, type: Type) -> bool:
    try:
        Dictionary().encode_value(value, type)
    except EncodingError:
        return False
    return True


def _to_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    array = column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(zero_copy_only=False)
    return cast("npt.NDArray[Any]", array)
