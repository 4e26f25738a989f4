"""How much a test does that could go on for as long as one likes: on Spark, where a step takes a second, much less."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")
ENGINE = "memory"  # `pytest --engine` sets it


def amount(in_memory: T, on_spark: T) -> T:
    """Steps, scripts or rounds, on the engine of this run."""
    return in_memory if ENGINE == "memory" else on_spark
