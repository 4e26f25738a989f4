"""The hint at a name that was perhaps meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def similar(name: str, known: Iterable[str]) -> str | None:
    """`did you mean …?` for the nearest known name, if one is near."""
    by_folded = {candidate.lower(): candidate for candidate in known}
    near = get_close_matches(name.lower(), by_folded, 1, 0.6)
    return f"did you mean {by_folded[near[0]]}?" if near else None
