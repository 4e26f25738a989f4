"""Regular expressions, matched in time linear in the text: by RE2, which comes with Arrow.

Patterns may come from data, so none may take exponential time as a backtracking engine can.  What RE2 cannot match in
linear time (backreferences, look-around) is refused.  See https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

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
_PART = 256  # texts that are matched before the clock is looked at


class PatternError(ValueError):
    """A text that is not a regular expression; the message, after the pattern, has the reason."""


@lru_cache(maxsize=256)
def anchored(pattern: str) -> str:
    """The pattern for all of a text; raises PatternError where there is no such pattern."""
    if _ENDLESS.search(pattern):  # which RE2 would take for the digits themselves
        raise PatternError(f"{quote(pattern)} is not a regular expression: the repetition number is too large")
    whole = rf"\A(?:{pattern})\z"
    try:
        for text in (pattern, whole):  # `a)(b` is wrong, though it would be right between parentheses
            pc.match_substring_regex(pa.array([""], pa.large_string()), text)  # of no text it is not looked at
    except pa.ArrowInvalid as error:
        reason = str(error).removeprefix("Invalid regular expression: ").replace(whole, pattern)
        raise PatternError(f"{quote(pattern)} is not a regular expression: {reason}") from None
    return whole


def all_match(patterns: Sequence[object], texts: Sequence[object]) -> NDArray[np.bool_]:
    """For each pair, whether both are strings and the pattern matches all of the text."""
    places: dict[str, list[int]] = {}
    for place, (pattern, text) in enumerate(zip(patterns, texts, strict=True)):
        if isinstance(pattern, str) and isinstance(text, str):
            places.setdefault(pattern, []).append(place)
    found = np.zeros(len(texts), np.bool_)
    for pattern, at in places.items():
        for first in range(0, len(at), _PART):
            part = at[first : first + _PART]
            found[part] = _matches(pattern, [texts[place] for place in part])
    return found


def _matches(pattern: str, texts: Sequence[object]) -> NDArray[np.bool_]:
    look_at_the_clock()
    found = pc.match_substring_regex(pa.array(texts, pa.large_string()), anchored(pattern))
    result: NDArray[np.bool_] = found.to_numpy(zero_copy_only=False)
    return result
