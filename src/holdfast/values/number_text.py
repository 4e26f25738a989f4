"""Parses numbers as Soufflé's facts files and `to_number` write them: decimal, `0x1F`, `0b101`, floats."""

from __future__ import annotations

import math
import re

from holdfast.values.model import Type

_INTEGER = re.compile(r"\s*([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|([0-9]+))\s*", re.ASCII)
_FLOAT = re.compile(
    r"\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|nan|inf(?:inity)?)\s*", re.ASCII | re.IGNORECASE
)
_LONGEST = 400  # no 64-bit integer needs as many digits; Python refuses to convert thousands of digits
_RANGES = {Type.NUMBER: (-(2**63), 2**63 - 1), Type.UNSIGNED: (0, 2**64 - 1)}


class NumberError(ValueError):
    """A text that is not a number of the type; the message follows the value and gives the reason."""


def parse_integer(text: str, type: Type) -> int:
    """The integer that a text stands for, checked against the range of NUMBER or UNSIGNED."""
    found = _INTEGER.fullmatch(text)
    if found is None or len(text) > _LONGEST:
        if len(text) <= _LONGEST and _FLOAT.fullmatch(text):
            raise NumberError("is not an integer")
        raise NumberError("is not a number" if type is Type.NUMBER else "is not an unsigned number")
    sign, hexadecimal, binary, decimal = found.groups()
    size = int(hexadecimal, 16) if hexadecimal else int(binary, 2) if binary else int(decimal)
    number = -size if sign == "-" else size
    low, high = _RANGES[type]
    if not low <= number <= high:
        kind = "a 64-bit number" if type is Type.NUMBER else "an unsigned 64-bit number"
        raise NumberError(f"is out of range for {kind}, {low} to {high}")
    return number


def parse_float(text: str) -> float:
    """The float that a text stands for."""
    if not _FLOAT.fullmatch(text):
        raise NumberError("is not a float")
    value = float(text)
    if math.isinf(value) and "n" not in text.lower():  # `inf` is infinite on purpose
        raise NumberError("is too large for a float")
    return value
