"""What operators and functors mean, on exact Python values; an integer result outside 64 bits is `UndefinedError`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

INT64 = range(-(2**63), 2**63)
WORD = 2**64


class UndefinedError(Exception):
    """The operation has no value: division by zero, or a result that does not fit 64 bits."""


def fit(value: Any) -> Any:
    """The value itself when 64 bits can hold it; -0.0 is 0.0."""
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, int) and value not in INT64:
        raise UndefinedError(f"{value} is outside 64 bits")
    return value


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return left / right
    if right == 0:
        raise UndefinedError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo(left: Any, right: Any) -> Any:
    return left - right * _divide(left, right)


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and right < 0:
        if left == 0:
            raise UndefinedError("a negative power of 0")
        return int(Fraction(left) ** right)
    return left**right


def _shift(bits: int) -> int:
    if bits not in range(64):
        raise UndefinedError("a shift by less than 0 or more than 63 bits")
    return bits


def _signed(word: int) -> int:
    word %= WORD
    return word - WORD if word >= WORD // 2 else word


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": _modulo,
    "^": _power,
    "band": lambda a, b: a & b,
    "bor": lambda a, b: a | b,
    "bxor": lambda a, b: a ^ b,
    "bshl": lambda a, b: a << _shift(b),
    "bshr": lambda a, b: a >> _shift(b),
    "bshru": lambda a, b: _signed((a % WORD) >> _shift(b)),
    "land": lambda a, b: int(a != 0 and b != 0),
    "lor": lambda a, b: int(a != 0 or b != 0),
    "lxor": lambda a, b: int((a != 0) != (b != 0)),
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": lambda a: -a,
    "bnot": lambda a: ~a,
    "lnot": lambda a: int(a == 0),
}
CALLS: dict[str, Callable[..., Any]] = {
    "cat": lambda *parts: "".join(parts),
    "strlen": len,
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "trim": lambda text: text.strip(),
    "substr": lambda text, start, length: text[start : start + length],
    "to_number": int,
    "to_unsigned": int,
    "to_float": float,
    "to_string": str,
    "min": min,
    "max": max,
    "abs": abs,
    "itof": float,
    "ftoi": int,
    "itou": int,
    "utoi": int,
    "utof": float,
    "ftou": int,
}
CONSTRAINTS: dict[str, Callable[[str, str], bool]] = {
    "match": lambda pattern, text: re.fullmatch(pattern, text) is not None,
    "contains": lambda part, text: part in text,
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _mean(values: list[Any]) -> float:
    return float(sum(values)) / len(values)


def _median(values: list[Any]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return float(ordered[half]) if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": sum,
    "min": min,
    "max": max,
    "mean": _mean,
    "median": _median,
}
DEFINED_ON_NOTHING = ("count", "sum")


def span(start: Any, stop: Any, step: Any = None) -> list[Any]:
    """The values of `range(start, stop[, step])`, which counts down by itself when stop is below start."""
    if step is None:
        step = 1 if start <= stop else -1
    values: list[Any] = []
    if step != 0 and abs(stop - start) / abs(step) > 10**5:
        raise UndefinedError("a range that takes too long here")
    while start < stop if step > 0 else start > stop:
        values.append(start)
        start += step
    return values
