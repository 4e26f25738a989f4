"""The table of records against a Python dict, whatever the sizes of the batches and of the ids."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.values.record_table import FieldIds, RecordTable

FIELDS = st.one_of(st.integers(0, 3), st.sampled_from([2**31 - 1, 2**31, 2**33]))


@st.composite
def batches(draw: st.DrawFn) -> tuple[int, list[list[tuple[int, ...]]]]:
    arity = draw(st.integers(0, 3))
    fields = draw(st.sampled_from([st.integers(0, 3), FIELDS]))
    return arity, draw(st.lists(st.lists(st.tuples(*[fields] * arity), max_size=12), max_size=5))


@given(batches(), st.integers(0, 2))
def test_equal_rows_have_one_id(drawn: tuple[int, list[list[tuple[int, ...]]]], gap: int) -> None:
    arity, parts = drawn
    table, model, following = RecordTable(arity), dict[tuple[int, ...], int](), 100

    def make(rows: FieldIds) -> None:
        nonlocal following
        made = list(map(tuple, rows.tolist()))
        assert len(set(made)) == len(made)
        assert not model.keys() & set(made)
        table.add(rows, following)
        model.update(zip(made, range(following, following + len(made)), strict=True))
        following += len(made) + gap  # ids of other values come between

    for rows in parts:
        ids = table.ids(np.array(rows, np.int64).reshape(len(rows), arity), make).tolist()
        assert ids == [model[row] for row in rows]
    asked = np.array([0, *range(99, following + 1)], np.int64)
    places, are = table.places(asked)
    assert set(asked[are].tolist()) == set(model.values())
    back = {id: row for row, id in model.items()}
    for number in range(arity if model else 0):
        fields = table.field(asked[are], number).tolist()
        assert fields == [back[id][number] for id in asked[are].tolist()]
    assert len(places) == len(asked)
