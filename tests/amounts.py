"""How much a test does that could go on for as long as one likes.

On Spark, where a step takes a second, that is much less.  `pytest --cases all`, which `make test-slow` runs, tries all
cases of random tests; by default they try a third of them.
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
ENGINE = "memory"  # `pytest --engine` sets it
CASES = "few"  # `pytest --cases` sets it
_PART = 3


def amount(in_memory: T, on_spark: T) -> T:
    """Steps, scripts or rounds, on the engine of this run."""
    return in_memory if ENGINE == "memory" else on_spark


def some(number: int) -> int:
    """Of so many random cases, those that this run tries."""
    return number if CASES == "all" else max(1, number // _PART)
