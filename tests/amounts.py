"""How much a test does that could go on for as long as one likes: on Spark, where a step takes a second, much less."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
ON_SPARK = False  # `pytest --engine spark` sets it


def amount(in_memory: T, on_spark: T) -> T:
    """Steps, scripts or rounds, on the engine of this run."""
    return on_spark if ON_SPARK else in_memory
