"""Values as 64-bit codes: a fact is a row of fixed-width integers.

A number is its own code, an unsigned number has the same 64 bits, a float the bits of the double (with -0.0
read as 0.0 and a single NaN, so that equal floats have equal codes).  Symbols and values of type `any` are
codes of a `Dictionary`, dense ids from 0 in the order of first sight.

In bulk, strings go through pyarrow, so that only distinct ones become Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from holdfast.lazy import lazily
from holdfast.settings import UNLIMITED, Memory
from holdfast.values.arrow_columns import (
    checked_column,
    distinct,
    encode_distinct,
    is_foreign,
    is_numeric,
    is_text,
    numeric_codes,
    with_microseconds,
)
from holdfast.values.dates import DateError
from holdfast.values.foreign_values import FOREIGN, Foreign, ForeignError, adapted
from holdfast.values.model import Record, Row, Type, Value
from holdfast.values.records import as_record, record_text
from holdfast.values.single_values import (
    Codes,
    EncodingError,
    any_key,
    float_codes,
    lexical_form,
    numeric_code,
    plain,
    with_one_nan,
    wrong,
)
from holdfast.values.structures import Kind, RecordForm, Structure
from holdfast.values.term_text import MAX_NUMBER, MIN_NUMBER, parse_term, term_text
from holdfast.values.value_ids import EACH, ValueIds

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = lazily("pyarrow")

__all__ = ["Codes", "Dictionary", "EncodingError", "distinct", "encode_distinct", "float_codes"]

_ALONE = nullcontext()
_SIGN = np.int64(MIN_NUMBER)
_Id = TypeVar("_Id", int, int | None)


class Dictionary:
    """The codes of values, rows and columns, and back; strings, terms and records have the ids of `ValueIds`."""

    def __init__(self, memory: Memory = UNLIMITED) -> None:
        self.memory = memory
        self._ids = ValueIds(memory)

    def __len__(self) -> int:
        return len(self._ids.values)

    def one_thread(self) -> AbstractContextManager[Any]:
        """Inside a `with`, no other thread that shares the dictionary uses it: for functions of users."""
        return _ALONE

    @property
    def longest(self) -> int:
        """The characters of the longest value."""
        return self._ids.longest

    @property
    def nbytes(self) -> int:
        """The bytes that the values take."""
        return self._ids.nbytes

    @property
    def ids(self) -> ValueIds:
        """The values and their ids."""
        return self._ids

    # --- one value -----------------------------------------------------------------------------------

    def id_of(self, value: Value) -> int:
        """The id of a value, given to it now if it is new."""
        return self._ids.id_of(value)

    def find(self, value: Value) -> int | None:
        """The id of a value, or None if the dictionary has never seen it."""
        return self._ids.find(value)

    def value_of(self, id: int) -> Value:
        """The value with this id."""
        return self._ids.values[id]

    def encode_value(self, value: Value, type: Kind) -> int:
        """The code of a value in a column of a type; raises `EncodingError` where it does not fit."""
        return self._code(value, type, self._ids.id_of)

    def find_value(self, value: Value, type: Kind) -> int | None:
        """Like `encode_value`; None if it is not a number and the dictionary has never seen it.  Nothing is added."""
        return self._code(value, type, self._ids.find)

    def _code(self, value: Value, type: Kind, id_of: Callable[[Value], _Id]) -> int | _Id:
        if isinstance(type, Structure):
            return id_of(as_record(value, type))
        if value.__class__ in FOREIGN:
            value = _adapted(value, type)
        if type.is_numeric:
            return numeric_code(value, type)
        if isinstance(value, Record) != (type is Type.RECORD) or (type is Type.SYMBOL and not isinstance(value, str)):
            raise wrong(value, type)
        return id_of(plain(value))

    # --- records -------------------------------------------------------------------------------------

    def make_records(self, form: RecordForm, columns: Sequence[Codes], types: Sequence[Type], size: int) -> Codes:
        """The ids of the records with these fields, given as columns of codes."""
        rows = np.empty((size, form.arity), np.int64)
        for number, (codes, type) in enumerate(zip(columns, types, strict=True)):
            rows[:, number] = codes if type.in_dictionary else self._ids_of_numbers(codes, type)
        return self._ids.records.make(form, rows)

    def have_form(self, form: RecordForm, ids: Codes) -> npt.NDArray[np.bool_]:
        """Which ids are records of this form."""
        return self._ids.records.have_form(form, ids)

    def take_field(self, form: RecordForm, ids: Codes, number: int, type: Type) -> Codes:
        """The codes of a field of records; of what has another form, codes that mean nothing."""
        fields = self._ids.records.field(form, ids, number)
        return fields if type.in_dictionary else self._numbers_of_ids(fields, type)

    def _ids_of_numbers(self, codes: Codes, type: Type) -> Codes:
        distinct, places = np.unique(codes, return_inverse=True)
        values = self.decode_values(distinct, type)
        return np.fromiter(map(self._ids.id_of_number, values), np.int64, len(values))[places]

    def _numbers_of_ids(self, ids: Codes, type: Type) -> Codes:
        distinct, places = np.unique(ids, return_inverse=True)
        known = self._ids.values
        values = (known[id] if id < len(known) else 0 for id in distinct.tolist())
        return np.fromiter((_code_or_zero(value, type) for value in values), np.int64, len(distinct))[places]

    # --- columns -------------------------------------------------------------------------------------

    def encode_column(self, column: pa.Array | pa.ChunkedArray, type: Type) -> Codes:
        """The codes of an Arrow column; strings are strings here, whatever they look like."""
        column = checked_column(column)
        codes = numeric_codes(column, type)
        if codes is not None:
            return codes
        if type.in_dictionary and is_text(column.type):
            return encode_distinct(column, self._ids.encode_distinct_strings, self._expect)
        if type is Type.ANY and is_numeric(column):
            return encode_distinct(column, self._encode_any, self._expect)
        if len(column) == 0:
            return np.empty(0, np.int64)
        if is_foreign(column.type):
            return encode_distinct(with_microseconds(column), partial(self._encode_each, type=type), self._expect)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        raise EncodingError(f"values of Arrow type {kind} do not fit type {type.value}")

    def _encode_each(self, values: Sequence[Value], type: Type) -> Codes:
        return np.fromiter((self.encode_value(value, type) for value in values), np.int64, len(values))

    def encode_texts(self, column: pa.Array | pa.ChunkedArray, parse: Callable[[str], Value] = parse_term) -> Codes:
        """The codes of a column of text, each distinct one read by `parse`: by default as a value of type `any`."""
        return encode_distinct(column, lambda texts: self._encode_any([parse(text) for text in texts]), self._expect)

    def _expect(self, values: pa.Array) -> None:
        """Arrow's values are about to become Python's."""
        self._ids.memory.check("values that are read", values.nbytes + EACH * len(values))

    def encode_strings(self, strings: Sequence[str]) -> Codes:
        """The ids of strings, in order; new ones are added together."""
        return self._ids.encode_strings(strings)

    def encode_distinct_strings(self, strings: Sequence[str]) -> Codes:
        """Like `encode_strings` for strings without repetition."""
        return self._ids.encode_distinct_strings(strings)

    def encode_distinct_iris(self, iris: Sequence[str]) -> Codes:
        """The ids of IRIs, given as their text, without repetition."""
        return self._ids.encode_distinct_iris(iris)

    def _encode_any(self, values: Sequence[Value]) -> Codes:
        return np.fromiter(map(self._ids.id_of, values), np.int64, len(values))

    def decode_column(self, codes: Codes, kind: Kind) -> pa.Array:
        """An Arrow column of the values; type `any` is text (see `holdfast.values.term_text`), and so are records."""
        match kind:
            case Type.NUMBER:
                return pa.array(np.ascontiguousarray(codes))
            case Type.UNSIGNED:
                return pa.array(np.ascontiguousarray(codes).view(np.uint64))
            case Type.FLOAT:
                return pa.array(np.ascontiguousarray(codes).view(np.float64))
        ids, positions = distinct(codes, len(self))
        values = [self._ids.values[id] for id in ids.tolist()]
        text = partial(record_text, kind=kind) if isinstance(kind, Structure) else term_text
        texts = values if kind is Type.SYMBOL else list(map(text, values))
        return pa.array(texts, pa.string()).take(pa.array(positions))

    def decode_values(self, codes: Codes, type: Type) -> list[Value]:
        """The values of a column, as Python objects."""
        match type:
            case Type.NUMBER:
                return cast("list[Value]", codes.tolist())
            case Type.UNSIGNED:
                return cast("list[Value]", np.ascontiguousarray(codes).view(np.uint64).tolist())
            case Type.FLOAT:
                return with_one_nan(np.ascontiguousarray(codes).view(np.float64))
        return [self._ids.values[id] for id in codes.tolist()]

    # --- rows ----------------------------------------------------------------------------------------

    def encode_rows(self, rows: Iterable[Sequence[Value]], types: Sequence[Kind]) -> Codes:
        """The codes of rows, one column for each type."""
        rows = rows if isinstance(rows, list) else list(rows)
        arity = len(types)
        self.memory.check("facts that are given", len(rows) * (8 * arity + 24))  # codes, and a column at a time
        if not {arity}.issuperset(map(len, rows)):
            number, row = next((number, row) for number, row in enumerate(rows) if len(row) != arity)
            raise EncodingError(f"{len(row)} values where {arity} are expected", row, number)
        if len(rows) <= _FEW and types.count(Type.NUMBER) == arity:  # all columns at once
            fast = self._encode_uniform(list(chain.from_iterable(rows)), Type.NUMBER)
            if fast is not None:
                return fast.reshape(-1, arity)
        codes = np.empty((len(rows), arity), np.int64)
        for column, type in enumerate(types):
            codes[:, column] = self.encode_values([row[column] for row in rows], type, column)
        return codes

    def encode_values(self, values: list[Value], type: Kind, column: int | None = None) -> Codes:
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

    def _encode_uniform(self, values: list[Value], type: Kind) -> Codes | None:
        """The codes of values that are all of the column's own Python type, None where they are not."""
        kinds = set(map(_class, values))
        try:
            match type:
                case Type.NUMBER if kinds == {int}:
                    return np.array(values, np.int64)
                case Type.FLOAT if kinds == {float}:
                    return float_codes(np.array(values, np.float64))
                case Type.SYMBOL | Type.ANY if kinds == {str}:
                    return self._ids.encode_strings(cast("list[str]", values))
                case Type.ANY if kinds == {int}:
                    return self._ids.encode_integers(cast("list[int]", values))
        except (OverflowError, EncodingError):
            return None  # the slow way says which value it was
        return None

    def decode_rows(self, codes: Codes, types: Sequence[Type]) -> list[Row]:
        """The rows of a two-dimensional array of codes."""
        if not types:
            return [()] * len(codes)
        columns = [self.decode_values(codes[:, column], type) for column, type in enumerate(types)]
        return list(zip(*columns, strict=True))

    def longest_of(self, codes: Codes, types: Sequence[Type]) -> int:
        """The number of characters of the longest value in some rows."""
        columns = [codes[:, place] for place, type in enumerate(types) if type.in_dictionary]
        ids = np.unique(np.concatenate(columns)).tolist() if columns else []
        return max((len(lexical_form(self._ids.values[id])) for id in ids), default=0)

    def lengths(self, codes: Codes, types: Sequence[Type]) -> npt.NDArray[np.int64]:
        """The number of characters of each row's values; numbers count as one."""
        total = np.full(len(codes), len(types), np.int64)
        for column, type in enumerate(types):
            if type.in_dictionary:
                ids, positions = distinct(codes[:, column], len(self))
                total += np.array([len(lexical_form(self._ids.values[id])) for id in ids.tolist()], np.int64)[positions]
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
        values = [self._ids.values[id] for id in ids.tolist()]
        keys = values if set(map(_class, values)) <= {str} else list(map(any_key, values))
        ranks = np.empty(len(ids), np.int64)
        # Python compares strings by code point, which is the order of their UTF-8 bytes
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(ids))
        return ranks[positions]


def _adapted(value: Value, type: Type) -> Value:
    try:
        return adapted(cast("Foreign", value), type)
    except (ForeignError, DateError) as error:
        raise EncodingError(str(error), value) from None


def _code_or_zero(value: Value, type: Type) -> int:
    """The code of a number that a field holds; 0 for what another form of record has there."""
    try:
        return numeric_code(value, type)
    except EncodingError:
        return 0


_class = attrgetter("__class__")
_FEW = 1_024  # rows, for which a list of all their values takes no memory to speak of
