"""Number and string literals: their values, and their mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from holdfast.language import mistakes, tree
from holdfast.language.mistakes import Mistake

LARGEST: Final = 2**63 - 1
_LARGEST_UNSIGNED: Final = 2**64 - 1
_MOST_DIGITS: Final = 20  # of an unsigned number; Python refuses to convert thousands of digits
_BEYOND: Final = 10**_MOST_DIGITS
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "b": "\b", "f": "\f"}
_escape = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")


def number_kind(text: str) -> tuple[tree.NumberKind, str]:
    """The kind of a literal, and its digits as the tree keeps them: without the u of an unsigned one."""
    if text.endswith("u"):
        return tree.NumberKind.UNSIGNED, _without_zeros(text[:-1])
    if text[:2].lower() not in ("0x", "0b") and any(c in text for c in ".eE"):
        return tree.NumberKind.FLOAT, str(text)
    return tree.NumberKind.NUMBER, _without_zeros(text)


def _without_zeros(text: str) -> str:
    """Decimal digits without leading zeros, which Python rejects."""
    return (text.lstrip("0") or "0") if text.isdigit() else str(text)


def integer(text: str) -> int:
    """The value of an integer literal; if it has too many digits for 64 bits, some number out of range."""
    return _BEYOND if text.isdigit() and len(text) > _MOST_DIGITS else int(text, 0)


def range_mistake(number: tree.Number) -> Mistake | None:
    """What is wrong with a literal that is too large for its type."""
    match number.kind:
        case tree.NumberKind.FLOAT if float(number.text) == float("inf"):
            return mistakes.number_too_large(number.text, "a float is at most about 1.8e308", None)
        case tree.NumberKind.UNSIGNED if integer(number.text) > _LARGEST_UNSIGNED:
            limit = f"an unsigned number is at most {_LARGEST_UNSIGNED}u"
            return mistakes.number_too_large(number.text + "u", limit, None)
        case tree.NumberKind.NUMBER if integer(number.text) > LARGEST:
            fits = integer(number.text) <= _LARGEST_UNSIGNED
            return mistakes.number_too_large(
                number.text,
                f"a number is at most {LARGEST}",
                f"as an unsigned number it is written {number.text}u" if fits else None,
            )
    return None


def unescape(text: str, report: Callable[[Mistake, int, int], None]) -> str:
    """Resolve the escapes of a string; `report` is called with the position and length of each bad one."""

    def one(found: re.Match[str]) -> str:
        value = _escaped(found.group())
        if value is None:
            report(mistakes.bad_escape(found.group()), found.start(), len(found.group()))
        return value or ""

    return _escape.sub(one, text)


def _escaped(escape: str) -> str | None:
    if len(escape) == 2:
        return _ESCAPES.get(escape[1])
    code = int(escape[2:], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else None
