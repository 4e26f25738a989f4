"""How tightly the operators of terms bind, loosest first, as in Soufflé: `-2 ^ 31` is `-(2 ^ 31)`."""

from __future__ import annotations

from typing import Final

LEVELS: Final = {
    "lor": 1,
    "lxor": 2,
    "land": 3,
    "bor": 4,
    "bxor": 5,
    "band": 6,
    "bshl": 7,
    "bshr": 7,
    "bshru": 7,
    "+": 8,
    "-": 8,
    "*": 9,
    "/": 9,
    "%": 9,
    "^": 11,
}
UNARY: Final = 10
PRIMARY: Final = 12


def right_level(operator: str) -> int:
    """How tightly the right operand must bind: `^` is right-associative, all others left-associative."""
    return LEVELS[operator] + (operator != "^")
