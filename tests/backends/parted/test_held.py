"""What one shard holds for the driver, and what it knows, whatever rows its tables have."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.backends.memory import store
from holdfast.backends.parted.exchange import ThreadExchange
from holdfast.backends.parted.partition import Copy
from holdfast.backends.parted.shard import Shard
from holdfast.maintenance.watch import Watch
from holdfast.values.dictionary import Dictionary

from ..memory.building import numbers

pytestmark = pytest.mark.only_in_memory("has its own shard")
ROWS = np.array([(n, n + 1) for n in range(6)], np.int64)


@pytest.fixture
def shard() -> Shard:
    """A shard whose I has six facts of p."""
    made = Shard(0, 1, ThreadExchange(1), Dictionary(), Watch())
    made.do_add(numbers("p", 2))
    made.do_given(0, {"p": [ROWS]}, False)
    made.do_put("materialisation", 0)
    return made


def held(shard: Shard, number: int) -> list[list[int]]:
    return sorted(shard.rows("p", shard.held(number)).tolist())


def test_a_held_set_keeps_its_facts_when_a_table_is_packed(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_FEW", 0)
    shard.do_given(1, {"p": [ROWS[:5]]}, False)
    shard.do_given(2, {"p": [ROWS[3:]]}, False)
    shard.do_take("materialisation", 1)
    shard.do_tidy(1)
    assert shard.tables["p"].size == 1
    assert held(shard, 2) == [[5, 6]]  # those that are still there
    assert held(shard, 1) == []


def test_a_held_set_has_no_facts_of_a_dropped_relation(shard: Shard) -> None:
    shard.do_drop("p")
    assert not shard.held(0).rows


def test_a_set_of_an_update_has_no_facts_of_a_dropped_relation(shard: Shard) -> None:
    """An update that is rolled back may drop what it has deleted facts of."""
    shard.do_put("deleted", 0)
    shard.do_drop("p")
    shard.do_clear("deleted")
    shard.do_add(numbers("p", 2))
    shard.do_given(1, {"p": [ROWS]}, False)
    assert shard.do_sizes(("kept", "deleted")) == {}


def test_a_fact_is_known_while_a_set_has_it(shard: Shard) -> None:
    new = np.array([(7, 7)], np.int64)
    assert shard.do_given(1, {"p": [new]}, True) == {}
    shard.do_given(2, {"p": [new]}, False)
    assert shard.do_given(3, {"p": [new]}, True) == {"p": 1}
    shard.do_free([2, 3])
    assert shard.do_given(4, {"p": [new]}, True) == {}  # the row is there
    assert shard.do_given(5, {"p": [ROWS[:2]]}, True) == {"p": 2}
    shard.do_given(6, {"p": [new]}, False)
    shard.do_tidy(0)  # at the end of an update
    assert shard.do_given(7, {"p": [new]}, True) == {}


def test_the_size_of_a_copy_is_that_of_its_facts(shard: Shard) -> None:
    hubs = np.array([1, 2, 7], np.int64)
    shard.hubs = hubs
    copy = Copy("p", "hubs", 0)
    shard.do_copy(copy, hubs)
    shard.do_given(1, {"p": [np.array([(7, 7), (7, 8), (3, 3)], np.int64)]}, False)
    assert shard.do_spread([(1, [copy.name])]) == {copy.name: 4}
    shard.do_free([1])  # it was rolled back
    shard.do_given(2, {"p": [ROWS[1:2]]}, False)
    assert shard.do_spread([(2, [copy.name])]) == {copy.name: 2}
