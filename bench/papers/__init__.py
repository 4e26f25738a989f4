"""The papers' experiments, by the key of the table that each makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from bench.papers import backends, closures, deletions, marking, modular, one_fact, zodiacedge
from bench.processes import Limits
from bench.race import Tell
from bench.tables import PaperTable
from bench.workloads import Size

Experiment: TypeAlias = Callable[[Size, int, Limits, Tell], PaperTable]

TABLES: Mapping[str, Experiment] = {
    study.key: study
    for part in (deletions, modular, marking, zodiacedge, closures, one_fact, backends)
    for study in part.TABLES
}
