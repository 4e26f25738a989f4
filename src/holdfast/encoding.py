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

from holdfast.arrow_columns import (
    checked_column,
    distinct,
    encode_distinct,
    is_foreign,
    is_numeric,
    is_text,
    numeric_codes,
    with_microseconds,
)
from holdfast.dates import DateError
from holdfast.foreign_values import FOREIGN, Foreign, ForeignError, adapted
from holdfast.lazy import lazily
from holdfast.record_table import RecordTable
from holdfast.records import as_record
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
from holdfast.structures import Form, Kind, Structure
from holdfast.term_text import MAX_NUMBER, MIN_NUMBER, literal_value, parse_term, term_text
from holdfast.values import BlankNode, Iri, Literal, Record, Row, Type, Value

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
_Id = TypeVar("_Id", int, int | None)


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
        self._records: dict[Form, RecordTable] = {}

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
            case Record():
                return self._record(value, lambda inside: self.find(inside), lambda _row, _form: None)
        raise wrong(value, Type.ANY)

    def value_of(self, id: int) -> Value:
        """The value with this id."""
        return self._values[id]

    def encode_value(self, value: Value, type: Kind) -> int:
        """The code of a value in a column of a type; raises `EncodingError` where it does not fit."""
        return self._code(value, type, self.id_of)

    def find_value(self, value: Value, type: Kind) -> int | None:
        """As `encode_value`; None if it is not a number and the dictionary has never seen it.  Nothing is added."""
        return self._code(value, type, self.find)

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
            case Record():
                made = self._record(value, self._id_of_number, self._add_record)
                assert made is not None
                return made
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
        self._grow(wide * sum(lengths) + EACH * len(texts))

    def _grow(self, nbytes: int) -> None:
        self.nbytes += nbytes
        if self.nbytes > self._told + _STEP:
            self._told = self.nbytes
            self.memory.grown("strings", self.nbytes)

    # --- records -------------------------------------------------------------------------------------

    def _table(self, form: Form) -> RecordTable:
        if form not in self._records:
            self._records[form] = RecordTable(form.arity)
        return self._records[form]

    def _record(
        self,
        record: Record,
        id_of: Callable[[Value], int | None],
        make: Callable[[tuple[int, ...], Form], int | None],
    ) -> int | None:
        """The id of a record, that of each record in it first; None as soon as one has none."""
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
            form = Form(top.branch, len(top.fields))
            found = self._table(form).find(row) if len(row) == len(fields) else None
            if found is None and len(row) == len(fields):
                found = make(row, form)
            if found is None:
                return None
            done[id(begun.pop())] = found
        return done[id(record)]

    def _add_record(self, row: tuple[int, ...], form: Form) -> int:
        self._add_records(np.array([row], np.int64).reshape(1, form.arity), form)
        return len(self._values) - 1

    def _add_records(self, rows: Codes, form: Form) -> None:
        values, branch, first = self._values, form.branch, len(self._values)
        values.extend([Record(tuple([values[field] for field in row]), branch) for row in rows.tolist()])
        self._table(form).add(rows, first)  # last: an id that can be found has a value
        self._grow((EACH + 16 * form.arity) * len(rows))

    def make_records(self, form: Form, columns: Sequence[Codes], types: Sequence[Type], size: int) -> Codes:
        """The ids of the records with these fields, given as columns of codes."""
        rows = np.empty((size, form.arity), np.int64)
        for number, (codes, type) in enumerate(zip(columns, types, strict=True)):
            rows[:, number] = codes if type.in_dictionary else self._ids_of_numbers(codes, type)
        return self._table(form).ids(rows, lambda new: self._add_records(new, form))

    def have_form(self, form: Form, ids: Codes) -> npt.NDArray[np.bool_]:
        """Which ids are records of this form."""
        return self._table(form).places(ids)[1]

    def take_field(self, form: Form, ids: Codes, number: int, type: Type) -> Codes:
        """The codes of a field of records; of what has another form, codes that mean nothing."""
        fields = self._table(form).field(ids, number)
        return fields if type.in_dictionary else self._numbers_of_ids(fields, type)

    def _ids_of_numbers(self, codes: Codes, type: Type) -> Codes:
        distinct, places = np.unique(codes, return_inverse=True)
        values = self.decode_values(distinct, type)
        return np.fromiter((self._id_of_number(value) for value in values), np.int64, len(values))[places]

    def _id_of_number(self, value: Value) -> int:
        """As `id_of`; an unsigned number in a record may be larger than one in a column of type `any`."""
        if isinstance(value, int) and value > MAX_NUMBER:
            known = self._integers.get(value)
            return self._put(self._integers, value, value) if known is None else known
        return self.id_of(value)

    def _numbers_of_ids(self, ids: Codes, type: Type) -> Codes:
        distinct, places = np.unique(ids, return_inverse=True)
        values = (self._values[id] if id < len(self._values) else 0 for id in distinct.tolist())
        return np.fromiter((_code_or_zero(value, type) for value in values), np.int64, len(distinct))[places]

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
        if is_foreign(column.type):
            distinct_codes = partial(self._encode_each, type=type)
            return encode_distinct(with_microseconds(column), distinct_codes, self._expect)
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

    def _encode_each(self, values: Sequence[Value], type: Type) -> Codes:
        return np.fromiter((self.encode_value(value, type) for value in values), np.int64, len(values))

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
        texts = values if type is Type.SYMBOL else list(map(str if type is Type.RECORD else term_text, values))
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

    def encode_rows(self, rows: Iterable[Sequence[Value]], types: Sequence[Kind]) -> Codes:
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
