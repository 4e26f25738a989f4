"""The systems that are measured, one file each.

Each has `run(workload, variant, folder)`, called in a process of its own.  Nothing here imports the systems themselves:
what is not installed is a row of the table that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

from bench.engines.recursive_queries import QUERIES
from bench.tables import OURS as OURS
from bench.workloads import Workload


@dataclass(frozen=True)
class Engine:
    """A system, the module it comes in and the package that brings it."""

    name: str
    module: str
    package: str
    variants: Callable[[Workload], tuple[str, ...]] = lambda workload: ("",)
    """The ways in which it can be asked; of another system the quickest counts, of ours each."""

    @property
    def installed(self) -> bool:
        """Whether it can be run here."""
        return find_spec(self.module) is not None


def _duckdb(workload: Workload) -> tuple[str, ...]:
    return ("query", "loop") if workload.name in QUERIES else ("loop",)


def _ours(workload: Workload) -> tuple[str, ...]:
    return ("modules", "generic") if workload.closure else ("",)


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(OURS, "holdfast", "holdfast", _ours),
        Engine("duckdb", "duckdb", "duckdb", _duckdb),
        Engine("nemo", "nmo_python", "nemo-python"),
        Engine("clingo", "clingo", "clingo"),
        Engine("egglog", "egglog", "egglog"),
        Engine("polars", "polars", "polars"),
    )
}
