"""Converts values of kinds that the language does not have (booleans, decimals, dates and times) to its own.

The conversion is exact: different values of a kind stay different, or the value is refused.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Final, TypeAlias

import numpy as np

from holdfast.values.dates import date_text, days, microseconds, time_text
from holdfast.values.model import Literal, Type, Value

Foreign: TypeAlias = bool | np.bool_ | Decimal | date | datetime
FOREIGN: Final = frozenset({bool, np.bool_, Decimal, date, datetime})
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"


class ForeignError(ValueError):
    """A value that a column's type cannot hold; the message says what to do."""


def adapted(value: Foreign, type: Type) -> Value:
    """The value of a column's type that stands for one of another kind; raises `ForeignError` if no value does."""
    match type:
        case Type.NUMBER | Type.UNSIGNED:
            return _integer(value)
        case Type.FLOAT:
            return _float(value)
    text, datatype = _text(value)
    return text if type is Type.SYMBOL else Literal(text, _XSD + datatype)


def _integer(value: Foreign) -> int:
    match value:
        case Decimal():
            if not value.is_finite() or value != value.to_integral_value():
                raise ForeignError(f"{value} is not an integer; a column of type symbol keeps decimals exactly")
            return int(value)
        case datetime():
            return microseconds(value)
        case date():
            return days(value)
    return int(value)


def _float(value: Foreign) -> float:
    if not isinstance(value, Decimal):
        raise ForeignError(f"{_text(value)[0]} is not a float; declare the column as number or symbol")
    if not fits_float(value):
        raise ForeignError(f"no float is written {value:f}; declare the column as symbol, or round to 15 digits")
    return float(value)


def fits_float(value: Decimal) -> bool:
    """Whether a float is written as this decimal, so that different decimals stay different; true up to 15 digits."""
    return not value.is_finite() or Decimal(repr(float(value))) == value


def _text(value: Foreign) -> tuple[str, str]:
    """The text of a value and its datatype in RDF."""
    match value:
        case Decimal():
            return f"{value:f}", "decimal"
        case datetime():
            return time_text(microseconds(value)), "dateTime"
        case date():
            return date_text(days(value)), "date"
    return "true" if value else "false", "boolean"
