"""Single values and their codes: which value fits which type of column, and the order of values."""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from holdfast.values.model import BlankNode, Iri, Literal, Record, Type, Value, quote
from holdfast.values.term_text import MAX_NUMBER, MIN_NUMBER

Codes: TypeAlias = npt.NDArray[np.int64]

MAX_UNSIGNED: Final = 2**64 - 1
_TERMS = (Iri, BlankNode, Literal, Record)
_NOUNS = {
    Type.NUMBER: "a number",
    Type.UNSIGNED: "an unsigned number",
    Type.FLOAT: "a float",
    Type.SYMBOL: "a string",
    Type.ANY: "a value",
    Type.RECORD: "a record",
}


class EncodingError(ValueError):
    """A value that does not fit its column; `row` and `column` count from 0 where they are known.

    Internal: the caller that knows the place of the value turns it into a `DataError`.
    """

    def __init__(self, reason: str, value: object = None, row: int | None = None, column: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.value = value
        self.row = row
        self.column = column


def numeric_code(value: object, type: Type) -> int:
    """The code of a value in a column of numbers; raises `EncodingError` if it does not fit."""
    match type:
        case Type.NUMBER:
            return checked_integer(value, type, MIN_NUMBER, MAX_NUMBER)
        case Type.UNSIGNED:
            number = checked_integer(value, type, 0, MAX_UNSIGNED)
            return number if number <= MAX_NUMBER else number - 2**64
    return float_code(checked_float(value))


def checked_integer(value: object, type: Type, low: int, high: int) -> int:
    """The value if it is an integer within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise wrong(value, type)
    if not low <= value <= high:
        raise EncodingError(f"{_shown(value)} is not between {low} and {high}", value)
    return int(value)


def checked_float(value: object) -> float:
    """The value if it is a float, or an integer that is exactly one."""
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise wrong(value, Type.FLOAT)
    try:
        if float(value) == int(value):
            return float(value)
    except OverflowError:
        pass
    raise EncodingError(f"{_shown(value)} is not exactly a float", value)


def checked_string(value: str) -> str:
    """The value if it can be written as UTF-8."""
    try:
        if not value.isascii():
            value.encode()
    except UnicodeEncodeError:
        raise EncodingError(f"{value!a} is not Unicode text (a lone surrogate)", value) from None
    return str(value)


def float_code(value: float) -> int:
    """The code of a float."""
    return int(float_codes(np.array([value], np.float64))[0])


def float_codes(values: npt.NDArray[np.float64]) -> Codes:
    """The codes of floats."""
    values = values + 0.0  # this also copies; -0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan
    return values.view(np.int64)


def plain(value: Value) -> Value:
    """Converts NumPy's scalars and subclasses of str to the plain Python value."""
    match value:
        case np.integer():
            return int(value)
        case np.floating():
            return float(value)
        case str() if value.__class__ is not str:
            return str(value)
    return value


def any_key(value: Value) -> tuple[int, float | int | str, str]:
    """The sort key of values of different kinds: numbers, strings, IRIs, blank nodes, literals."""
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
        case Record():
            return 6, str(value), ""


def wrong(value: object, type: Type) -> EncodingError:
    """The error for a value that is not of a type."""
    wanted = "an integer" if isinstance(value, float) and type.is_numeric else _NOUNS[type]
    return EncodingError(f"{_shown(value)} is not {wanted}", value)


def _shown(value: object) -> str:
    return quote(value) if isinstance(value, str) else str(value) if isinstance(value, _TERMS) else shown_repr(value)


def shown_repr(value: object) -> str:
    """The text that a Python user would write for a value, for messages."""
    try:
        return repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return "an integer of thousands of digits" if isinstance(value, int) else f"a {type(value).__name__}"


def lexical_form(value: Value) -> str:
    """The characters of a value that the dictionary keeps; empty for a number or a record."""
    match value:
        case str():
            return value
        case Iri(value=text) | BlankNode(label=text) | Literal(lexical=text):
            return text
    return ""


def with_one_nan(floats: npt.NDArray[np.float64]) -> list[Value]:
    """Floats for Python, every NaN the same object: otherwise rows with it are not equal, nor found in sets."""
    values: list[Value] = floats.tolist()
    for place in np.flatnonzero(np.isnan(floats)).tolist():
        values[place] = math.nan
    return values
