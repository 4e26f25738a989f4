"""Everything that can be measured, by key, in the order in which it is done and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.beside_papers import EVERY, absent
from bench.engines import ENGINES
from bench.papers import TABLES, Experiment
from bench.race import evaluation, unavailable
from bench.regret import NAMES, table_of
from bench.rounds import rounds
from bench.startup import waits
from bench.streaming_peers import updates_beside_pathway
from bench.update_sizes import update_sizes


def sections(engines: Sequence[str] = tuple(ENGINES)) -> Mapping[str, Experiment]:
    """The papers' tables, then our own; `evaluation/<workload>` is a row of the table `evaluation`."""
    return {
        **TABLES,
        **{f"evaluation/{name}": evaluation(workload, engines) for name, workload in EVERY.items()},
        **{f"evaluation/{name}": unavailable(name, reason) for name, reason in absent().items()},
        "waits": waits,
        "updates-beside-pathway": updates_beside_pathway,
        "update-sizes": update_sizes,
        "rounds": rounds,
        **{f"regret/{name}": table_of(name) for name in NAMES},
    }


def chosen(every: Sequence[str], only: Sequence[str] | None, without: Sequence[str]) -> list[str]:
    """The keys that are asked for; a name stands for itself and for what begins with it and a slash."""

    def named(key: str, names: Sequence[str]) -> bool:
        return any(key == name or key.startswith(f"{name}/") for name in names)

    return [key for key in every if (only is None or named(key, only)) and not named(key, without)]
