"""Facts as JSON lines: each line is an array of values, or an object with column names as keys.

Numbers and strings are written as such.  In a column of type `any` RDF terms are objects as in JSON-LD:
`{"@id": "http://a/b"}`, `{"@id": "_:b"}`, `{"@value": "chat", "@language": "fr"}`, `{"@value": …, "@type": …}`.
JSON has no infinities and no NaN: they are literals of type `xsd:double`, in a column of type `float` as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from holdfast.errors import DataError, Diagnostic
from holdfast.formats.files import BOM, as_text, reading_of, text_size
from holdfast.formats.json_places import not_json, value_places
from holdfast.formats.places import Problems, other_columns
from holdfast.program.model import Relation
from holdfast.settings import UNLIMITED, Memory
from holdfast.values import BlankNode, Iri, Literal, Record, Row, Type, Value, quote
from holdfast.values.column_types import sniff_rows
from holdfast.values.dictionary import Codes, Dictionary, EncodingError
from holdfast.values.term_text import as_json, literal_value

_CHUNK = 20_000


class NotFiniteError(ValueError):
    """JSON text that is not a number, or a number too large for a float."""

    def __init__(self, message: str, number: str) -> None:
        super().__init__(message)
        self._number = number

    def column(self, line: str) -> int:
        """Its column in the line; 1 if unknown."""
        return line.find(self._number) + 1 if line.count(self._number) == 1 else 1


class RepeatedKeyError(ValueError):
    """An object has a key twice; Python's reader would silently keep the last value."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {quote(key)} occurs twice in one object")
        self._written = json.dumps(key)

    def place(self, line: str) -> tuple[int, int]:
        """The column and length of the repeated key; 1 and 1 if unknown."""
        again = line.find(self._written, line.find(self._written) + 1)
        return (again + 1, len(self._written)) if again > 0 else (1, 1)


class _LineError(ValueError):
    def __init__(self, code: str, message: str, column: int = 1, width: int = 1) -> None:
        super().__init__(message)
        self.code, self.column, self.width = code, column, width


def read_json_lines(path: Path, data: bytes, relation: Relation, dictionary: Dictionary) -> Codes:
    """The facts in a file's contents."""

    data = data.removeprefix(BOM)
    with dictionary.memory.holding(reading_of(path), json_size(data)):
        return _read_lines(path, data, relation, dictionary)


def json_size(data: bytes) -> int:
    """The bytes that reading takes besides the data: its text, Arrow's copy and columns, or Python objects."""
    return 2 * text_size(data) + len(data) + 24 * data.count(b",") + 200 * data.count(b"\n")


def _read_lines(path: Path, data: bytes, relation: Relation, dictionary: Dictionary) -> Codes:
    text = as_text(path, data)
    from holdfast.formats.json_blocks import plain_columns

    columns = plain_columns(data, [column.name for column in relation.columns], relation.types)
    if columns is not None:
        encoded = [dictionary.encode_column(values, type) for values, type in zip(columns, relation.types, strict=True)]
        return np.column_stack(encoded)
    try:
        parts = [_encode_facts(facts, relation, dictionary) for facts in _load_together(text)]
    except (ValueError, LookupError, RecursionError):
        return _read_each(path, text, relation, dictionary)  # locates errors, and reads valid but unusual lines
    return np.concatenate(parts) if parts else np.empty((0, relation.arity), np.int64)


def _load_together(text: str) -> Iterator[list[Any]]:
    """Parse many lines at a time as one JSON array, which is much faster than line by line."""
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    for start in range(0, len(lines), _CHUNK):
        chunk = lines[start : start + _CHUNK]
        if not all(line[0] in "[{" and line.rstrip()[-1] in "]}" for line in chunk):
            raise ValueError("a line is neither an array nor an object")
        facts = load_json("[" + ",".join(chunk) + "]", _object)
        if len(facts) != len(chunk):
            raise ValueError("a line does not hold exactly one fact")
        yield facts


def _encode_facts(facts: list[Any], relation: Relation, dictionary: Dictionary) -> Codes:
    """The codes of facts that are all arrays or all objects; raises if they are mixed."""
    kinds = {fact.__class__ for fact in facts}
    if len(kinds) != 1 or set(map(len, facts)) != {relation.arity}:
        raise ValueError("rows of different kinds or lengths")
    codes = np.empty((len(facts), relation.arity), np.int64)
    for number, column in enumerate(relation.columns):
        key = number if kinds == {list} else column.name
        values = [fact[key] for fact in facts]
        if column.type in (Type.ANY, Type.FLOAT):
            values = [from_json(value) if value.__class__ is dict else value for value in values]
        codes[:, number] = dictionary.encode_values(values, column.kind)
    return codes


def _read_each(path: Path, text: str, relation: Relation, dictionary: Dictionary) -> Codes:
    problems = Problems(path)
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.isspace():
            continue
        try:
            rows.append(_encode_line(line, relation, dictionary))
        except _LineError as error:
            problems.add(error.code, str(error), number, error.column, error.width, line.rstrip("\r"))
    problems.raise_any()
    return np.concatenate(rows) if rows else np.empty((0, relation.arity), np.int64)


def _encode_line(line: str, relation: Relation, dictionary: Dictionary) -> Codes:
    try:
        fact = load_json(line, _object)
    except NotFiniteError as error:
        raise _LineError("E0613", str(error), error.column(line)) from None
    except RepeatedKeyError as error:
        raise _LineError("E0615", str(error), *error.place(line)) from None
    except json.JSONDecodeError as error:
        raise _LineError("E0613", not_json(error), error.colno) from None
    except (ValueError, RecursionError):
        raise _LineError("E0613", "the line has a number or a nesting that is too long to be a fact") from None
    row = _row(fact, relation)
    if len(row) != relation.arity:
        raise _LineError(
            "E0605",
            f"the line has {len(row)} value{'s' if len(row) != 1 else ''}, but relation "
            f"{relation.display} has {relation.arity} column{'s' if relation.arity != 1 else ''}",
        )
    try:
        return dictionary.encode_rows([row], relation.kinds)
    except EncodingError as error:
        assert error.column is not None, "the length was checked above"
        name = relation.columns[error.column].name
        place = value_places(line)[name if isinstance(fact, dict) else error.column]
        raise _LineError(
            "E0606", f"column {error.column + 1} ({name}) of relation {relation.display}: {_in_json(error)}", *place
        ) from None


def _in_json(error: EncodingError) -> str:
    """Why a value does not fit, quoting it in JSON: true and null, not True and None."""
    if not isinstance(error.value, bool | list | dict | None):
        return error.reason
    return error.reason.replace(repr(error.value), to_json(error.value), 1)


def _row(fact: object, relation: Relation) -> Sequence[Value]:
    match fact:
        case list():
            return list(map(from_json, fact))
        case dict():
            return list(map(from_json, _by_name(fact, relation)))
    raise _LineError("E0613", "the line is neither an array nor an object")


def _by_name(fact: dict[str, Any], relation: Relation) -> list[Any]:
    wanted = [column.name for column in relation.columns]
    if set(wanted) != fact.keys():
        raise _LineError(
            "E0615", f"the object {other_columns(fact, wanted)}; relation {relation.display} has {', '.join(wanted)}"
        )
    return [fact[name] for name in wanted]


def load_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Parse JSON strictly; Python's own reader accepts `NaN`, `Infinity` and `1e999`."""
    return json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse_constant, parse_float=_finite)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKeyError(next(key for key in keys if keys.count(key) > 1))
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise NotFiniteError(f"the line is not JSON, which has no {text}", text)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise NotFiniteError("the line has a number that is too large for a float", text)
    return value


def from_json(item: Any) -> Value:
    """The value of decoded JSON: an object is an RDF term, an array or an object with one array a record.

    Anything that is not a value is left for the encoder to refuse.
    """
    if item.__class__ not in (dict, list):
        return cast("Value", item)
    whole = [item]
    copies: list[Any] = [whole]  # whose items are still to be read; records may be nested too deeply for recursion
    while copies:
        copy = copies.pop()
        for key, inside in copy.items() if copy.__class__ is dict else enumerate(copy):
            if isinstance(inside, list | dict):
                copy[key] = read = inside.copy() if isinstance(inside, list) else _term_or_branch(inside)
                if isinstance(read, list | dict):
                    copies.append(read)
    return cast("Value", whole[0])


def _term_or_branch(item: dict[str, Any]) -> Any:
    match item:
        case {"@id": str(name)} if len(item) == 1:
            return BlankNode(name[2:]) if name.startswith("_:") else Iri(name)
        case {"@value": str(lexical), "@language": str(language)} if len(item) == 2:
            return literal_value(lexical, None, language)
        case {"@value": str(lexical), "@type": str(datatype)} if len(item) == 2:
            return literal_value(lexical, datatype)
    return item.copy()


def sniff_json_lines(path: Path, data: bytes, names: Sequence[str], memory: Memory = UNLIMITED) -> tuple[Type, ...]:
    """The narrowest types that fit every value of each column; objects are matched by column name."""

    data = data.removeprefix(BOM)
    with memory.holding(reading_of(path), json_size(data)):
        return _sniff_lines(path, data, names)


def _sniff_lines(path: Path, data: bytes, names: Sequence[str]) -> tuple[Type, ...]:
    text = as_text(path, data)
    from holdfast.formats.json_blocks import plain_types

    types = plain_types(data, names)
    if types is not None:
        return types
    try:
        parts = [
            sniff_rows([list(map(from_json, _values(fact, names))) for fact in facts]) for facts in _load_together(text)
        ]
    except (ValueError, LookupError, RecursionError):
        return ()  # malformed; the reader reports where
    if len(set(map(len, parts))) != 1:
        return ()
    return tuple(reduce(_wider, types) for types in zip(*parts, strict=True))


def _values(fact: Any, names: Sequence[str]) -> Sequence[Any]:
    return [fact[name] for name in names] if isinstance(fact, dict) else cast("list[Any]", fact)


def _wider(one: Type, other: Type) -> Type:
    """The narrowest type for the values of both."""
    if one is other:
        return one
    return {
        frozenset((Type.NUMBER, Type.FLOAT)): Type.FLOAT,
        frozenset((Type.NUMBER, Type.UNSIGNED)): Type.UNSIGNED,
    }.get(frozenset((one, other)), Type.ANY)


def json_lines(relation: Relation, parts: Iterable[list[Row]], headers: bool) -> Iterator[bytes]:
    """The lines of facts, in batches: arrays, or objects if headers are requested."""
    names = [column.name for column in relation.columns]
    for chunk in parts:
        facts = (dict(zip(names, row, strict=True)) for row in chunk) if headers else chunk
        yield "".join(to_json(fact) + "\n" for fact in facts).encode()


def to_json(data: object) -> str:
    """Lists and dicts of values on one line; `from_json` reverses it for each value."""
    try:
        return _ENCODER.encode(data)
    except ValueError:  # a float that JSON cannot represent
        with refusing_deep_records():
            return _ENCODER.encode(_writable(data))
    except RecursionError:
        raise _too_deep() from None


@contextmanager
def refusing_deep_records() -> Iterator[None]:
    """Refuse values that JSON cannot hold: Python reads and writes only so many brackets inside each other."""
    try:
        yield
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> DataError:
    help = "files of other formats and Parquet can hold it"
    return DataError(Diagnostic("E0612", "a record is nested too deeply for JSON", help=help))


def _writable(data: object) -> object:
    """The same data with literals in place of infinities and NaN."""
    match data:
        case float() if not math.isfinite(data):
            return as_json(data)
        case dict():
            return {key: _writable(item) for key, item in data.items()}
        case list() | tuple():
            return list(map(_writable, data))
    return data


def _term(value: Value) -> object:
    if isinstance(value, Iri | BlankNode | Literal | Record):
        return as_json(value)
    raise TypeError(f"{value!r} is not a value")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_term)
