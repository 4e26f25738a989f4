"""Suggests similar names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import takewhile
from typing import Final

_SHORTEST: Final = 4


def similar(name: str, known: Iterable[str]) -> str | None:
    """`did you mean …?` with the nearest known name, if one is near."""
    by_folded = {candidate.lower(): candidate for candidate in known}
    near = get_close_matches(name.lower(), by_folded, 1, 0.6)
    return f"did you mean {by_folded[near[0]]}?" if near else None


def can_slip(name: str) -> bool:
    """Whether a name could be a slip for another: it is long enough and has no digits."""
    return len(name) >= _SHORTEST and not any(c.isdigit() for c in name)


def slips(name: str) -> Iterator[str]:
    """The name, and each variant with one letter left out; a slip shares one of these with the intended name."""
    yield name
    yield from (name[:place] + name[place + 1 :] for place in range(len(name)))


def slip(name: str, other: str) -> bool:
    """Whether two names differ by one letter added, missing or changed, by two letters swapped, or by case alone.

    Digits, other capitals, single letters (`part_a`) and the letters of short names distinguish names on purpose.
    """
    if name == other or not can_slip(name) or not can_slip(other):
        return False
    if name.lower() == other.lower():
        return True
    start = _common(name, other)
    rests = name[start:], other[start:]
    end = _common(*(rest[::-1] for rest in rests))
    one, two = (rest[: len(rest) - end] for rest in rests)
    swapped = len(one) == 2 and one == two[::-1]
    alone = {*name.split("_")} & {one} or {*other.split("_")} & {two}
    return (one + two).islower() and not alone and (swapped or max(len(one), len(two)) == 1)


def _common(one: str, two: str) -> int:
    """The length of the common prefix."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False))))
