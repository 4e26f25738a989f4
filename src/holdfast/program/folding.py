"""The value of a functor on constants, so that `-2^31` or `cat("a", "b")` in a fact is a value.

The engine computes the same functors on columns.  Functors that need its dictionary or RDF terms are left to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.program.constants import LARGEST, SMALLEST
from holdfast.values import Type, Value
from holdfast.values.dates import ON_DATES, DateError
from holdfast.values.number_text import NumberError, parse_float, parse_integer
from holdfast.values.term_text import plain_text

_MASK = 2**64 - 1
_LONG = 10**40  # an integer too long for a message


class NoValueError(Exception):
    """The expression has no value: division by zero, overflow, a string that is not a number."""


def fold(function: str, arguments: Sequence[Value], types: Sequence[Type], result: Type) -> Value:
    """The value of a functor; raises NoValueError if it has none."""
    try:
        value = FOLDED[function](types[0], *arguments)
    except ZeroDivisionError:
        raise NoValueError("division by zero") from None
    except NumberError as error:
        raise NoValueError(f'"{arguments[0]}" {error}') from None
    except OverflowError:
        raise NoValueError("the result is too large") from None
    except DateError as error:
        raise NoValueError(str(error)) from None
    except ValueError:
        raise NoValueError("it is not defined for these values") from None
    return fitted(value, result)


def fitted(value: Value, type: Type) -> Value:
    """The value as one of the type, if it is within the type's range."""
    if type in LARGEST and isinstance(value, int) and not SMALLEST[type] <= value <= LARGEST[type]:
        result = str(value) if abs(value) < _LONG else "the result"
        raise NoValueError(f"{result} does not fit into {type.value}")
    if type is Type.FLOAT and isinstance(value, float) and not math.isfinite(value):
        raise NoValueError("the result is not a finite float")
    return value


def _divide(type: Type, a: int, b: int) -> int | float:
    if type is Type.FLOAT:
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(type: Type, a: int, b: int) -> int:
    return a - b * int(_divide(type, a, b))


def _power(type: Type, a: int, b: int) -> int | float:
    if type is Type.FLOAT:
        return math.pow(a, b)
    if b < 0:
        if a == 0:
            raise ZeroDivisionError
        return int(a ** (b % 2)) if abs(a) == 1 else 0  # truncated towards zero
    if abs(a) > 1 and b > 64:
        raise NoValueError("the result does not fit into 64 bits")
    return int(a**b)


def _shift(bits: int) -> int:
    if not 0 <= bits < 64:
        raise NoValueError("a shift is by 0 to 63 bits")
    return bits


def _wrapped(type: Type, value: int) -> int:
    value &= _MASK
    return value - 2**64 if type is Type.NUMBER and value >= 2**63 else value


def _substring(_: Type, text: str, start: int, length: int) -> str:
    if start < 0 or length < 0:
        raise NoValueError("start and length must not be negative")
    return text[start : start + length]


def _extreme(pick: Callable[..., Value]) -> Callable[..., Value]:
    return lambda kind, *values: pick(values, key=str.encode) if kind is Type.SYMBOL else pick(values)


def _replaced(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def _part(text: str, separator: str, number: int) -> str:
    """The part at a position, counted from 0, or "".  Without a separator each character is a part."""
    parts = text.split(separator) if separator else text
    return parts[number] if 0 <= number < len(parts) else ""


# Functors of strings that always have a value, in time linear in the strings.
ON_STRINGS: Final[dict[str, Callable[..., str]]] = {
    "lower": str.lower,
    "upper": str.upper,
    "trim": str.strip,
    "replace": _replaced,
    "split": _part,
}


def _ignoring_the_type(function: Callable[..., Value]) -> Callable[..., Value]:
    return lambda _, *arguments: function(*arguments)


def _by_pattern(name: str) -> Callable[..., Value]:
    def folded(_: Type, *arguments: str | int) -> str:
        from holdfast.regular_expressions import BY_PATTERN, PatternError  # imported late: it loads Arrow

        try:
            return BY_PATTERN[name](*[[argument] for argument in arguments])[0]
        except PatternError as error:
            raise NoValueError(str(error)) from None

    return folded


FOLDED: dict[str, Callable[..., Value]] = {
    **{name: _ignoring_the_type(function) for name, function in (ON_STRINGS | ON_DATES).items()},
    **{name: _by_pattern(name) for name in ("regex_group", "regex_replace")},
    "+": lambda _, a, b: a + b,
    "-": lambda _, a, b: a - b,
    "*": lambda _, a, b: a * b,
    "/": _divide,
    "%": _remainder,
    "^": _power,
    "neg": lambda _, a: -a,
    "abs": lambda _, a: abs(a),
    "band": lambda _, a, b: a & b,
    "bor": lambda _, a, b: a | b,
    "bxor": lambda _, a, b: a ^ b,
    "bnot": lambda kind, a: _wrapped(kind, ~a),
    "bshl": lambda _, a, b: a << _shift(b),
    "bshr": lambda _, a, b: a >> _shift(b),
    "bshru": lambda kind, a, b: _wrapped(kind, (a & _MASK) >> _shift(b)),
    "land": lambda _, a, b: int(bool(a) and bool(b)),
    "lor": lambda _, a, b: int(bool(a) or bool(b)),
    "lxor": lambda _, a, b: int(bool(a) != bool(b)),
    "lnot": lambda _, a: int(not a),
    "min": _extreme(min),
    "max": _extreme(max),
    "cat": lambda _, *parts: "".join(parts),
    "strlen": lambda _, a: len(a),
    "substr": _substring,
    "to_number": lambda _, a: parse_integer(a, Type.NUMBER) if isinstance(a, str) else int(a),
    "to_unsigned": lambda _, a: parse_integer(a, Type.UNSIGNED) if isinstance(a, str) else int(a),
    "to_float": lambda _, a: parse_float(a) if isinstance(a, str) else float(a),
    "to_string": lambda _, a: plain_text(a),
    "ftoi": lambda _, a: int(a),
    "itof": lambda _, a: float(a),
    "utof": lambda _, a: float(a),
    "itou": lambda _, a: a,
    "utoi": lambda _, a: a,
    "ftou": lambda _, a: int(a),
}
