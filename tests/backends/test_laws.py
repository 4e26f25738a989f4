"""The laws of the protocol on the model, in memory and on shards; `spark_parted/test_laws.py` loses these."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.parted.store import PartedBackend
from holdfast.backends.protocol import Engine
from holdfast.program.model import Rule

from . import laws
from .definition import Sets, rules, some_sets
from .model import ModelBackend


def forced(parts: int, small: float, least: float, *given: Any) -> PartedBackend:
    """Shards with other thresholds: for copies on all of them, and for hubs."""
    backend = PartedBackend(parts, *given)
    backend.placement.small, backend._balance.least = small, least
    return backend


SHARDED = {f"{shards} shards": partial(PartedBackend, shards) for shards in (1, 2, 3)}
FORCED = {
    "copies": partial(forced, 3, inf, inf),
    "no copies": partial(forced, 3, 0, inf),
    "hubs": partial(forced, 3, 0, 0),
    "copies of hubs": partial(forced, 2, 3, 0),
}
MADE = {"model": ModelBackend, "memory": MemoryBackend, **SHARDED, **FORCED}
ENGINES = pytest.mark.parametrize("make", MADE.values(), ids=MADE.keys())
styles, pairs = st.integers(0, 2), st.frozensets(st.sampled_from(laws.PAIRS))


@ENGINES
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_sets(make: Engine, data: st.DataObject) -> None:
    laws.sets_obey(make, data)


@ENGINES
@settings(max_examples=100, deadline=None)
@given(rules(negated_wildcards=False), some_sets(), styles, st.integers(0, 23))
def test_every_instance_once(make: Engine, rule: Rule, sets: Sets, style: int, number: int) -> None:
    laws.plans_obey(make, rule, sets, style, number)


@ENGINES
@settings(max_examples=50, deadline=None)
@given(rules(negated_wildcards=True), some_sets(), st.integers(0, 23))
def test_every_instance_without_a_delta(make: Engine, rule: Rule, sets: Sets, number: int) -> None:
    laws.whole_plans_obey(make, rule, sets, number)


@ENGINES
@settings(max_examples=30, deadline=None)
@given(laws.meanings, laws.meanings)
def test_aggregates_of_touched_groups(make: Engine, all_: laws.Meaning, changed: laws.Meaning) -> None:
    laws.aggregates_obey(make, all_, changed)


@ENGINES
@settings(max_examples=50, deadline=None)
@given(pairs, pairs, st.integers(1, 3))
def test_expansion(make: Engine, closed: frozenset[laws.Fact], goals: frozenset[laws.Fact], most: int) -> None:
    laws.expansion_obeys(make, closed, goals, most)


@ENGINES
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_counters_and_undo(make: Engine, data: st.DataObject) -> None:
    laws.counters_obey(make, data)


@ENGINES
def test_sets_of_two_backends_do_not_mix(make: Engine) -> None:
    laws.backends_do_not_mix(make, MemoryBackend if make is ModelBackend else ModelBackend)


@ENGINES
def test_a_dropped_relation_begins_empty(make: Engine) -> None:
    laws.a_dropped_relation_begins_empty(make)
