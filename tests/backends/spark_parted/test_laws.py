"""The laws of the protocol on shards in threads, with workers that die now and then."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.backends.spark_parted import crew
from holdfast.program.model import Rule

from .. import laws
from ..definition import Sets, rules, some_sets
from .threads import Workers, slowly

pytestmark = pytest.mark.only_in_memory("has its own engine")
few = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def mortal(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_TRIES", 100)
    workers.risk = 0.003


@slowly
@few
@given(data=st.data())
def test_sets(workers: Workers, data: st.DataObject) -> None:
    laws.sets_obey(workers.engine(2), data)


@slowly
@few
@given(rule=rules(negated_wildcards=False), sets=some_sets(), style=st.integers(0, 2), number=st.integers(0, 23))
def test_every_instance_once(workers: Workers, rule: Rule, sets: Sets, style: int, number: int) -> None:
    laws.plans_obey(workers.engine(3), rule, sets, style, number)


@slowly
@few
@given(data=st.data())
def test_counters_and_undo(workers: Workers, data: st.DataObject) -> None:
    laws.counters_obey(workers.engine(2), data)


def test_a_dropped_relation_begins_empty(workers: Workers) -> None:
    laws.a_dropped_relation_begins_empty(workers.engine(2))
