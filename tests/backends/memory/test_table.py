"""Tables against a dict from fact to row id: hashing, growing, grids and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.backends.memory import arrays, kernels, membership
from holdfast.backends.memory.arrays import FULL, slots_for
from holdfast.backends.memory.membership import GriddedRows, HashedRows, suitable_grid
from holdfast.backends.memory.table import Table

from .building import Fact, always_two_threads, as_facts, rows

SMALL = st.integers(-3, 12)
ANY = st.one_of(SMALL, st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 2**32, 2**32 - 1]))
Batches = list[list[Fact]]


def batches(arity: int, values: st.SearchStrategy[int]) -> st.SearchStrategy[Batches]:
    return st.lists(st.lists(st.tuples(*[values] * arity), max_size=150), max_size=5)


def is_dense(ids: dict[Fact, int]) -> bool:
    return sorted(ids.values()) == list(range(len(ids)))


def check_against_model(table: Table, given_batches: Batches, strangers: list[Fact]) -> None:
    """Each fact gets one id and keeps it; ids are dense; what was never interned is not found."""
    known: dict[Fact, int] = {}
    for batch in given_batches:
        ids = table.intern(rows(batch, table.arity)).tolist()
        for fact, id in zip(batch, ids, strict=True):
            assert known.setdefault(fact, id) == id
        assert table.size == len(known)
        assert is_dense(known)
        assert {fact: i for i, fact in enumerate(as_facts(table.rows[: table.size]))} == known
        asked = [*strangers, *known, *batch]
        assert table.find(rows(asked, table.arity)).tolist() == [known.get(fact, -1) for fact in asked]
    assert not table.status.any()


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(0, 4), st.sampled_from([SMALL, ANY]), st.sampled_from([arrays._LARGE, 1]), st.booleans())
def test_hashed_table_is_a_dict(
    data: st.DataObject, arity: int, values: st.SearchStrategy[int], large: int, two_threads: bool
) -> None:
    strangers = data.draw(st.lists(st.tuples(*[values] * arity), max_size=20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_LARGE", large)  # slots from which on a hash table grows where it stands
        if two_threads:
            always_two_threads(patch, 1)  # they look for what is probably known
        check_against_model(Table("t", arity), data.draw(batches(arity, values)), strangers)


def test_first_seen_facts_get_the_next_ids() -> None:
    table = Table("t", 2)
    assert table.intern(rows([(5, 6), (1, 2), (5, 6)], 2)).tolist() == [0, 1, 0]
    assert table.intern(rows([(7, 7), (1, 2)], 2)).tolist() == [2, 1]


def coded(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    return pairs[:, 0] * np.int64(2**31) + pairs[:, 1]


def test_a_large_table_grows() -> None:
    random = np.random.default_rng(7)
    everything = random.integers(0, 2**31, (950_000, 2))
    table = Table("t", 2)
    first = table.intern(everything[:700_000])
    assert len(table.membership.slots) == 1 << 20
    again = everything[random.integers(0, len(everything), 450_000)]
    second = table.intern(again)
    assert len(table.membership.slots) == 1 << 21
    assert (table.rows[first] == everything[:700_000]).all()
    assert (table.rows[second] == again).all()
    distinct = np.unique(np.concatenate([coded(everything[:700_000]), coded(again)]))
    assert table.size == len(distinct)
    assert (np.sort(coded(table.rows[: table.size])) == distinct).all()
    assert (table.find(everything[:700_000]) == first).all()
    assert (table.find(everything[:1000] + np.array([2**31, 0])) == -1).all()


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 6), st.integers(1, 3), st.integers(0, 4))
def test_a_hash_table_grows_where_it_stands(data: st.DataObject, size: int, times: int, crowded: int) -> None:
    """All entries stay, and from its first slot to where it stands none is empty.  Crowded: most begin with zeros."""
    tags = st.integers(1, (2**64 - 1) >> crowded)
    entries = np.array(data.draw(st.lists(tags, max_size=2**size, unique=True)), np.uint64)
    room = np.zeros(2 ** (size + times), np.uint64)
    kernels.move_slots(entries, room[: 2**size])
    kernels.spread_slots(room, 2**size, np.empty(2**size, np.uint64))
    assert sorted(room[room != 0].tolist()) == sorted(entries.tolist())
    for entry in entries.tolist():
        slot = entry >> (64 - size - times)
        while room[slot] != entry:
            assert room[slot] != 0
            slot = (slot + 1) % len(room)


@pytest.mark.parametrize("count", [0, 1, 89, 90, 1000, 100_000])
def test_slots_are_a_power_of_two_and_not_too_full(count: int) -> None:
    slots = slots_for(count)
    assert slots & (slots - 1) == 0
    assert count <= FULL * slots
    assert HashedRows(np.zeros(slots, np.uint64)).has_capacity(count)


# --- grids -------------------------------------------------------------------------------------------


@pytest.fixture
def grids_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "_WORTH_A_SQUARE", 50)


def square(side: int) -> list[Fact]:
    return [(x, y) for x in range(side) for y in range(side)]


def table_with_a_grid() -> Table:
    table = Table("t", 2)
    facts = square(12)
    table.intern(rows(facts[::-1][:80], 2))
    table.intern(rows(facts[:64], 2))
    assert isinstance(table.membership, GriddedRows)
    return table


@pytest.mark.usefixtures("grids_early")
def test_pairs_that_fill_their_square_go_over_to_a_grid() -> None:
    table = table_with_a_grid()
    facts = square(12)
    assert sorted(as_facts(table.rows[: table.size])) == sorted(facts)
    found = table.find(rows(facts, 2))
    assert as_facts(table.rows[found]) == facts
    assert (table.intern(rows(facts, 2)) == found).all()
    assert table.size == 144


@pytest.mark.usefixtures("grids_early")
@pytest.mark.parametrize("stranger", [(-1, 0), (0, -1), (-12, -12), (0, 12), (2**62, 0), (2**62, 2**62), (-(2**63), 0)])
def test_a_value_outside_the_grid(stranger: Fact) -> None:
    table = table_with_a_grid()
    before = table.find(rows(square(12), 2))
    assert table.find(rows([stranger], 2)).tolist() == [-1]
    assert isinstance(table.membership, GriddedRows), "a question changes nothing"
    assert table.intern(rows([stranger, (3, 3)], 2)).tolist() == [144, table.find(rows([(3, 3)], 2))[0]]
    assert isinstance(table.membership, HashedRows)
    assert (table.find(rows(square(12), 2)) == before).all()
    table.intern(rows(square(30), 2))
    assert table.size == 900 + (stranger not in square(30))


@pytest.mark.usefixtures("grids_early")
@pytest.mark.parametrize("step", [1, 2, 9, 200])
@pytest.mark.parametrize("shape", ["grid", "line", "hashed", "wide"])
def test_a_table_keeps_some_rows_only(shape: str, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every so many; their ids are new, the others are unknown, and more rows may follow."""
    monkeypatch.setattr(membership, "_WORTH_A_LINE", 50)
    facts: list[Fact] = square(12)
    if shape in ("line", "wide"):
        facts = [(x,) if shape == "line" else (x, -x, 2 * x) for x in range(144)]
    table = table_with_a_grid() if shape == "grid" else Table("t", len(facts[0]))
    for begin in range(0, 144, 48):
        table.intern(rows(facts[begin : begin + 48], table.arity))
    if shape == "hashed":
        table.intern(rows([(-1, -1)], 2))
    assert isinstance(table.membership, GriddedRows if shape in ("grid", "line") else HashedRows)
    before = as_facts(table.rows[: table.size])
    table.nonrecursive[: table.size] = np.arange(table.size)
    table.keep_only(np.arange(0, table.size, step, dtype=np.int32))
    kept = before[::step]
    assert as_facts(table.rows[: table.size]) == kept
    assert table.nonrecursive[: table.size].tolist() == [*range(0, len(before), step)]
    ids = {fact: number for number, fact in enumerate(kept)}
    assert table.find(rows(before, table.arity)).tolist() == [ids.get(fact, -1) for fact in before]
    assert isinstance(table.membership, GriddedRows) == (shape in ("grid", "line") and step < 9)
    found = table.intern(rows(before[::-1], table.arity)).tolist()
    assert sorted(found) == [*range(len(before))]
    assert as_facts(table.rows[table.find(rows(before, table.arity))]) == before
    assert not table.status.any()


@pytest.mark.usefixtures("grids_early")
def test_no_second_grid_once_one_was_too_small() -> None:
    table = table_with_a_grid()
    table.intern(rows([(20, 20)], 2))
    facts = square(21)
    table.intern(rows(facts[::2], 2))
    assert suitable_grid(table.rows[: table.size], rows(facts, 2)) is not None, "it would suit"
    table.intern(rows(facts, 2))
    assert isinstance(table.membership, HashedRows)
    assert table.size == len(facts)


@pytest.mark.usefixtures("grids_early")
@pytest.mark.parametrize(
    ("facts", "suits"),
    [
        (square(12), True),
        (square(7), False),  # too few
        ([(x, 3 * y) for x, y in square(12)], True),
        ([(x, 9 * y) for x, y in square(12)], False),  # more than eight cells for a fact
        ([(x - 1, y) for x, y in square(12)], False),  # a negative number
        ([(x, x) for x in range(60)], False),
    ],
    ids=["full", "few", "thin", "thinner", "negative", "diagonal"],
)
def test_what_suits_a_grid(facts: list[Fact], suits: bool) -> None:
    known = rows(facts[::-1], 2)
    assert (suitable_grid(known, rows([], 2)) is not None) == suits
    assert suitable_grid(known, rows([(0, -1)], 2)) is None
    for largest in (2**63 - 1, 2**62):  # one more is no 64-bit number
        assert suitable_grid(np.concatenate([rows([(largest, 3)], 2), known]), rows([], 2)) is None


@pytest.mark.usefixtures("grids_early")
def test_no_grid_while_the_numbers_of_both_columns_grow() -> None:
    assert suitable_grid(rows(sorted(square(12), key=max), 2), rows([], 2)) is None
    assert suitable_grid(rows(square(12), 2), rows([(3, 12)], 2)) is None


@pytest.mark.usefixtures("grids_early")
@pytest.mark.parametrize("growing", [0, 1])
def test_a_grid_grows_with_the_numbers_of_one_column(growing: int) -> None:
    """As the lengths of paths do: each round brings larger ones."""
    reported = list[int]()
    table, facts = Table("t", 2, reported.append), list[Fact]()
    for x in range(60):
        plane = [(x, y) for y in range(12)] if growing == 0 else [(y, x) for y in range(12)]
        facts += plane
        given = [*plane[::-1], *facts[-40:]]
        ids = table.intern(rows(given, 2))
        assert as_facts(table.rows[ids]) == given
        assert table.size == len(facts)
    found = table.membership
    assert isinstance(found, GriddedRows)
    assert (found.growing, found.largest) == (growing, 59)
    assert found.nbytes == 60 * 12 * 4 <= found.cells.nbytes
    assert reported[-1] > table.nbytes - 13 * (2 * 8 + 9), "a grid that grows is reported: limits count it"
    assert as_facts(table.rows[table.find(rows(facts, 2))]) == facts
    assert (table.find(rows([(x + 60, y) if growing == 0 else (x, y + 60) for x, y in facts], 2)) == -1).all()
    far = (2000, 3) if growing == 0 else (3, 2000)
    assert table.intern(rows([far], 2)).tolist() == [720]
    assert isinstance(table.membership, HashedRows), "most of a grid would be empty"
    assert as_facts(table.rows[table.find(rows([*facts, far], 2))]) == [*facts, far]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 9)), min_size=60, max_size=150), max_size=5),
    batches(2, SMALL),
    st.lists(st.tuples(ANY, ANY), max_size=20),
)
def test_gridded_table_is_a_dict(inside: Batches, after: Batches, strangers: list[Fact]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "_WORTH_A_SQUARE", 20)
        check_against_model(Table("t", 2), [square(9)[::-1], *inside, *after], strangers)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 300)), min_size=20, max_size=150), max_size=5),
    batches(1, SMALL),
    st.lists(st.tuples(ANY), max_size=20),
)
def test_table_with_a_line_of_cells_is_a_dict(inside: Batches, after: Batches, strangers: list[Fact]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "_WORTH_A_LINE", 20)
        table = Table("t", 1)
        check_against_model(table, [[(x,) for x in range(99, -1, -1)]], [])
        assert isinstance(table.membership, GriddedRows)
        check_against_model(Table("t", 1), [[(x,) for x in range(99, -1, -1)], *inside, *after], strangers)


def test_far_numbers_get_no_line_of_cells() -> None:
    few, many = rows([(x,) for x in range(1000)], 1), rows([(x,) for x in range(5000)], 1)
    assert suitable_grid(few, rows([], 1)) is None
    assert suitable_grid(rows([], 1), many) is not None
    assert suitable_grid(many, rows([(-1,)], 1)) is None
    assert suitable_grid(many, rows([(8 * 5001,)], 1)) is None
    assert suitable_grid(many, rows([(8 * 5001 - 1,)], 1)) is not None


# --- what it says of itself --------------------------------------------------------------------------


def test_memory_grows_with_facts_and_indexes() -> None:
    reported: list[int] = []
    table = Table("t", 2, reported.append)
    random = np.random.default_rng(1)
    sizes = [table.nbytes]
    for _ in range(4):
        table.intern(random.integers(0, 10**9, (5_000, 2)))
        sizes.append(table.nbytes)
    table.index((0,))
    sizes.append(table.nbytes)
    assert sizes == sorted(set(sizes))
    assert table.nbytes >= table.size * 2 * 8
    assert reported
    assert max(reported) <= table.nbytes


def test_too_many_rows_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.backends.memory.table._MOST_ROWS", 1_000)
    table = Table("wide", 1)
    table.intern(np.arange(400).reshape(-1, 1))
    with pytest.raises(MemoryError, match="wide"):
        table.intern(np.arange(400, 1_001).reshape(-1, 1))
