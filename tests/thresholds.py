"""Thresholds at which code takes another path, lowered for a while: random programs of few facts meet both sides.

What is chosen by time, and by how much there is beside it, `tests/clocks.py` leaves to chance.  What kernels decide is
compiled and stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from random import Random
from typing import Any

_MEMORY = "holdfast.backends.memory"
LOWER: dict[tuple[str, ...], tuple[Any, ...]] = {
    # few changed facts, and many
    (f"{_MEMORY}.counting._FEW",): (0, 1, 3),
    ("holdfast.plans.planner.FEW", f"{_MEMORY}.counting.FEW"): (1, 3),
    ("holdfast.plans.planner._UPDATES",): (1, 2),
    ("holdfast.plans.planner._TUPLES",): (1,),
    # tables, their hash tables and indexes
    (f"{_MEMORY}.store._FEW",): (0, 2),
    (f"{_MEMORY}.membership.FULL",): (0.02, 0.05),
    (f"{_MEMORY}.membership._WORTH_A_SQUARE",): (1, 5),
    (f"{_MEMORY}.membership._WORTH_A_LINE",): (1, 5),
    (f"{_MEMORY}.membership._FEW",): (0, 2),
    (f"{_MEMORY}.membership._NEWS",): (2.0,),
    (f"{_MEMORY}.threads._WORTH_IT",): (2, 5),
    (f"{_MEMORY}.table._GLANCE",): (1, 3),
    (f"{_MEMORY}.table._PART",): (2, 5),
    (f"{_MEMORY}.index._FIRST_CAPACITY",): (2, 8),
    (f"{_MEMORY}.index._SOME",): (1,),
    (f"{_MEMORY}.formulas._SMALL",): (0,),
    (f"{_MEMORY}.formulas._SPARSE",): (0, 1),
    (f"{_MEMORY}.reading._MOST_FLIPS",): (0, 1),
    (f"{_MEMORY}.reading._FEW_PINNED",): (0, 1),
    (f"{_MEMORY}.limits._FEW",): (1, 2),
    # joins
    (f"{_MEMORY}.execution.buffers.BATCH",): (4, 16),
    (f"{_MEMORY}.execution.join._WORTH_A_TALLY",): (1, 3),
    (f"{_MEMORY}.execution.join._FEW",): (0, 2),
    (f"{_MEMORY}.execution.join._SOME",): (1, 4),
    (f"{_MEMORY}.execution.join._SOME_EACH",): (0, 1),
    (f"{_MEMORY}.execution.join._GATHERED",): (2,),
    (f"{_MEMORY}.execution.join._FAN_OUT",): (0, 1),
    (f"{_MEMORY}.execution.join._ALIKE",): (2.0,),
    (f"{_MEMORY}.execution.ranked_join.WORTH",): (1, 2),
    (f"{_MEMORY}.execution.ranked_join.FAN_OUT",): (0, 1),
    (f"{_MEMORY}.execution.ranked_join._OTHERS",): (0, 1e9),
    (f"{_MEMORY}.execution.ranked_join._CAPACITY",): (2,),
    (f"{_MEMORY}.execution.ranked_join._PLACES",): (0, 3),
    # deletion
    (f"{_MEMORY}.cascades._FAN_OUT",): (0.0, 1e9),
    (f"{_MEMORY}.cascades._BINDINGS",): (2, 3),
    (f"{_MEMORY}.cascades._HEADS", f"{_MEMORY}.cascades._FIRST"): (3, 4),  # heads of a batch have to fit
    (f"{_MEMORY}.cascades._GROWTH",): (1,),
    ("holdfast.maintenance.backward_forward._FIRST",): (1,),
    ("holdfast.maintenance.backward_forward._GROWTH",): (2,),
    # modules
    ("holdfast.maintenance.few_sources._STEPS",): (0,),
    ("holdfast.maintenance.few_sources._VISITS",): (0, 99),
    ("holdfast.modules.edges._SHORT",): (1, 2),
    ("holdfast.modules.reachability._PATIENCE",): (0,),
    ("holdfast.modules.reachability._FEW",): (0, 1),
    ("holdfast.modules.reachability._EACH_EDGE",): (0, 1),
    ("holdfast.modules.reachability._CAPACITY",): (7,),
    ("holdfast.modules.graph.MOST_BITS",): (0,),
    ("holdfast.modules.graph._SOME_EDGES",): (1,),
    ("holdfast.modules.closure_state._SPARE",): (0, 1),
    # shards
    ("holdfast.backends.parted.placement.SMALL",): (0, 5),
    ("holdfast.backends.parted.hubs.LEAST",): (1, 4),
    ("holdfast.backends.parted.rounds.AT_ONCE",): (2, 7),
    ("holdfast.backends.parted.rounds._SAMPLE",): (2,),
    ("holdfast.backends.parted.rounds.SUMMED",): (0, 3),
    ("holdfast.backends.parted.driver._MANY",): (1,),
    # lookups, explanations, stores
    ("holdfast.knowledge.fact_lookup.SMALL",): (0, 2),
    ("holdfast.knowledge.far_lookup._MANY",): (0, 2),
    ("holdfast.knowledge.explaining._FEW",): (0, 2),
    ("holdfast.knowledge.derived_cache._FEW",): (0,),
    ("holdfast.explanations.search._AT_ONCE",): (1, 2),
    ("holdfast.explanations.search._FEW",): (0, 1),
    ("holdfast.explanations.chains.LARGE",): (0, 3),
    ("holdfast.store.contents._FEW",): (0,),
}
"""Names that have the same value, and lower ones."""


@contextmanager
def lowered(random: Random) -> Iterator[dict[str, Any]]:
    """Some of them are lower inside a `with`; gives these."""
    share = random.choice((0.1, 0.5, 0.9))
    drawn = {name: value for names, values in LOWER.items() for value in [random.choice(values)] for name in names}
    chosen = {name for names in LOWER if random.random() < share for name in names}
    found = {name: value for name, value in drawn.items() if name in chosen}
    batch, few = f"{_MEMORY}.execution.buffers.BATCH", f"{_MEMORY}.counting._FEW"
    if batch in found:  # a few facts fit in a batch
        found[few] = min(found.get(few, found[batch]), found[batch])
    before: list[tuple[Any, str, Any]] = []
    try:
        for name, value in found.items():
            path, _, attribute = name.rpartition(".")
            module = import_module(path)
            before.append((module, attribute, getattr(module, attribute)))
            setattr(module, attribute, value)
        yield found
    finally:
        for module, attribute, value in before:
            setattr(module, attribute, value)
