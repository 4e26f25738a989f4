"""Regular expressions matched in linear time by RE2, which Arrow includes.

Patterns may come from data, so none may take exponential time, as in a backtracking engine.  What RE2 cannot match in
linear time (backreferences, look-around) is refused.  See https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from holdfast.deadline import look_at_the_clock
from holdfast.lazy import lazily
from holdfast.values import quote

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    pa = lazily("pyarrow")
    pc = lazily("pyarrow.compute")

_ENDLESS = re.compile(r"(?<!\\)\{[0-9]{5}")
_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_PART = 256  # texts matched between two checks of the deadline
_MOST_GROUPS = 9  # RE2's replacements cannot name more


class PatternError(ValueError):
    """A malformed regular expression; the message quotes the pattern and gives the reason."""


@lru_cache(maxsize=256)
def anchored(pattern: str) -> str:
    """The pattern anchored at both ends; raises PatternError if it is malformed."""
    if _BYTE.search(pattern):
        raise PatternError(f"{quote(pattern)} is not a regular expression of characters: \\C is a byte")
    if _ENDLESS.search(pattern):  # RE2 would match the digits literally
        raise PatternError(f"{quote(pattern)} is not a regular expression: the repetition number is too large")
    whole = rf"\A(?:{pattern})\z"
    try:
        for text in (pattern, whole):  # `a)(b` is malformed, but valid inside parentheses
            pc.match_substring_regex(
                pa.array([""], pa.large_string()), text
            )  # Arrow does not check a pattern without a text
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ").replace(whole, pattern)
        raise PatternError(f"{quote(pattern)} is not a regular expression: {reason}") from None
    return whole


def all_match(patterns: Sequence[object], texts: Sequence[object]) -> NDArray[np.bool_]:
    """For each pair, whether both are strings and the pattern matches the whole text."""
    found = np.zeros(len(texts), np.bool_)
    for (pattern,), places in _parts((patterns,), texts):
        column = _column(texts, places)
        found[places] = pc.match_substring_regex(column, anchored(pattern)).to_numpy(zero_copy_only=False)
    return found


Check = Callable[[int], None]
"""Called with the total size in bytes before texts are built; raises if it is too large."""


def groups(
    texts: Sequence[object], patterns: Sequence[object], numbers: Sequence[object], check: Check = lambda _: None
) -> list[str]:
    """The text of a group in the first match; group 0 is the whole match, and no match gives ""."""
    found = [""] * len(texts)
    for (pattern, number), places in _parts((patterns, numbers), texts):
        column, search = _column(texts, places), _search(pattern, number)
        matched = pc.match_substring_regex(column, _bare(pattern))
        check(column.nbytes)
        picked = pc.if_else(matched, pc.replace_substring_regex(column, search, rf"\{max(number, 1)}"), "")
        for place, text in zip(places, picked.to_pylist(), strict=True):
            found[place] = text
    return found


def _search(pattern: str, number: int) -> str:
    """A pattern for the whole text in which the given one matches the leftmost part."""
    inside = _bare(pattern)
    count = _group_count(pattern)
    if not 0 <= number <= min(count, _MOST_GROUPS):
        has = "no group" if not count else "one group, number 1" if count == 1 else f"the groups 1 to {count}"
        most = f", of which those up to {_MOST_GROUPS} are available" if count > _MOST_GROUPS else ""
        raise PatternError(f"{quote(pattern)} has no group {number}: it has {has}{most}")
    return rf"\A(?s:.*?){f'({inside})' if number == 0 else f'(?:{inside})'}(?s:.*)\z"


@lru_cache(maxsize=256)
def _group_count(pattern: str) -> int:
    """The number of groups, at most nine: the largest that RE2 accepts in a replacement."""
    text = pa.array([""], pa.large_string())
    for number in range(_MOST_GROUPS, -1, -1):
        try:
            pc.replace_substring_regex(text, rf"\A(?:{pattern})?\z", rf"\{number}")
        except pa.ArrowInvalid:
            continue
        return number
    return 0


def replaced(
    texts: Sequence[object], patterns: Sequence[object], news: Sequence[object], check: Check = lambda _: None
) -> list[str]:
    """The texts with each match replaced by `new`, in which `\\1` is the text of the first group."""
    found = [""] * len(texts)
    for (pattern, new), places in _parts((patterns, news), texts):
        column, bare = _column(texts, places), _bare(pattern)
        matches = pc.sum(pc.count_substring_regex(column, bare)).as_py() or 0
        check((1 + new.count("\\")) * column.nbytes + (matches + len(column)) * len(new.encode()))
        try:
            made = pc.replace_substring_regex(column, bare, new)
        except pa.ArrowInvalid as error:
            reason = str(error).removeprefix("Invalid replacement string: ")
            raise PatternError(f"{quote(new)} cannot replace {quote(pattern)}: {reason}") from None
        for place, text in zip(places, made.to_pylist(), strict=True):
            found[place] = text
    return found


BY_PATTERN: Final[dict[str, Callable[..., list[str]]]] = {"regex_group": groups, "regex_replace": replaced}
"""The functors that use regular expressions, applied to columns of arguments."""


def _bare(pattern: str) -> str:
    """The pattern itself, once checked."""
    anchored(pattern)
    return pattern


def _column(texts: Sequence[object], places: Sequence[int]) -> pa.Array:
    return pa.array([texts[place] for place in places], pa.large_string())


def _parts(keys: Sequence[Sequence[object]], texts: Sequence[object]) -> Iterator[tuple[tuple[Any, ...], list[int]]]:
    """Places with equal keys, in batches; texts that are not strings are left out."""
    places: dict[tuple[object, ...], list[int]] = {}
    for place, (text, *key) in enumerate(zip(texts, *keys, strict=True)):
        if isinstance(text, str) and all(isinstance(part, str | int) for part in key):
            places.setdefault(tuple(key), []).append(place)
    for found, at in places.items():
        for first in range(0, len(at), _PART):
            look_at_the_clock()
            yield found, at[first : first + _PART]
