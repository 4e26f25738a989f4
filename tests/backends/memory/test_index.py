"""Joins through indexes, lookups and rejections against nested loops: runs, tails, views, interruptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from unittest.mock import patch

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast.backends.memory.execution import buffers, join
from holdfast.backends.memory.execution.compiling import runnable as made_ready
from holdfast.backends.memory.execution.views import Probe, ReadViews
from holdfast.backends.memory.index import Index
from holdfast.backends.memory.table import Table
from holdfast.plans.model import AntiJoin, Join, Read
from holdfast.program.model import Argument, Atom, Const, Negated, Var, Wildcard
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

from .building import Fact, as_facts, rows, small_batches, var

NO_STATUS = np.empty(0, np.uint8)
BOUND = (var("u"), var("v"))
FREE = tuple(map(var, "wxyz"))


@dataclass(frozen=True)
class Case:
    """A table filled in steps, some bindings of u and v, an atom, and a view of the table."""

    table: Table
    bindings: list[Fact]
    arguments: tuple[Argument, ...]
    probe: Probe

    @property
    def key(self) -> tuple[int, ...]:
        return tuple(i for i, a in enumerate(self.arguments) if isinstance(a, Const) or a in BOUND)

    def seen(self) -> list[Fact]:
        probe, table = self.probe, self.table
        facts = as_facts(table.rows[: table.size])
        if len(probe.visible):
            return [fact for i, fact in enumerate(facts) if probe.visible[table.status[i]]]
        return facts[probe.low : probe.high]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    arity = draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    high = draw(st.sampled_from([2, 4, 10]))
    terms = st.sampled_from([*BOUND, *BOUND, *FREE, *FREE, Wildcard(), Const(1, Type.NUMBER)])
    arguments = draw(st.tuples(*[terms] * arity))
    table = Table("t", arity)
    key = tuple(i for i, a in enumerate(arguments) if isinstance(a, Const) or a in BOUND)
    for size in draw(st.lists(st.sampled_from([0, 1, 5, 40, 90, 300]), min_size=1, max_size=5)):
        table.intern(random.integers(-1, high, (size, arity)))
        if len(key) < arity and draw(st.booleans()):
            table.index(key)
    bindings = as_facts(random.integers(-1, high, (draw(st.sampled_from([0, 1, 9, 140])), 2)))
    return Case(table, bindings, arguments, draw(probes(table, random)))


@st.composite
def probes(draw: st.DrawFn, table: Table, random: np.random.Generator) -> Probe:
    match draw(st.integers(0, 2)):
        case 0:
            return Probe(0, table.size, NO_STATUS)
        case 1:
            low = draw(st.integers(0, table.size))
            return Probe(low, draw(st.integers(low, table.size)), NO_STATUS)
    table.status[: table.size] = random.integers(0, 16, table.size)
    return Probe(0, 0, random.integers(0, 2, 256).astype(np.uint8))


def matches(arguments: tuple[Argument, ...], fact: Fact, binding: dict[Var, int]) -> dict[Var, int] | None:
    extended = dict(binding)
    for argument, value in zip(arguments, fact, strict=True):
        if isinstance(argument, Wildcard):
            continue
        if (argument.value if isinstance(argument, Const) else extended.setdefault(argument, value)) != value:
            return None
    return extended


def nested_loop(case: Case) -> Iterator[tuple[int, dict[Var, int]]]:
    for number, binding in enumerate(case.bindings):
        for fact in case.seen():
            extended = matches(case.arguments, fact, dict(zip(BOUND, binding, strict=True)))
            if extended is not None:
                yield number, extended


def ran(case: Case, step: Join | AntiJoin, after: Iterable[Var | Const]) -> list[Fact]:
    runnable = made_ready(step, BOUND, tuple(after), {"t": case.table}, Dictionary())
    runnable.prepare(ReadViews({}, {(step.read, "t"): case.probe}, {}))
    most = len(case.bindings) * max(1, case.table.size)  # a join that goes round in circles should fail, not hang
    found = (fact for batch in runnable.run(rows(case.bindings, 2)) for fact in as_facts(batch))
    return list(islice(found, most + 1))


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from([1, 2, 7, 1000]), st.sampled_from([1, 10**6]))
def test_join_is_a_nested_loop(case: Case, batch: int, worth_splitting: int) -> None:
    after = [*BOUND, *dict.fromkeys(a for a in case.arguments if a in FREE), Const(77, Type.NUMBER)]
    if len(case.key) == len(case.arguments):
        batch = 1000  # a lookup gives at most one row for each binding: its batch is its input's
    with small_batches(batch, worth_splitting):
        found = ran(case, Join(Atom("t", case.arguments), Read.ALL, case.key), after)
    expected = [tuple(77 if isinstance(v, Const) else extended[v] for v in after) for _, extended in nested_loop(case)]
    assert Counter(found) == Counter(expected)


@settings(max_examples=200, deadline=None)
@given(
    cases(),
    st.sets(st.sampled_from([*BOUND, *FREE]), min_size=1),
    st.sampled_from([1, 2, 7, 1000]),
    st.sampled_from([1, 10**6]),
    st.sampled_from([0, 2, 1 << 12]),
    st.sampled_from([0, 1 << 31]),
    st.sampled_from([None, 0.0, 0.5, 1.0]),
    st.integers(0, 20),
)
def test_a_tally_counts_what_a_nested_loop_meets(
    case: Case, wanted: set[Var], batch: int, splits: int, in_place: int, groups: int, part: float | None, others: int
) -> None:
    """Heads that are alike are written once, or in parts, with weights; only then are bindings put in order.

    Values below `in_place` are counted in their own place, others by hashing; after so many `groups` all begins anew.
    A `part` of the heads and some `others` stand in an index already.
    """
    head = [v for v in (*BOUND, *FREE) if v in wanted and (v in BOUND or v in case.arguments)]
    step = Join(Atom("t", case.arguments), Read.ALL, case.key)
    assume(len(case.key) < len(case.arguments))
    with (
        small_batches(batch, splits),
        patch.object(join, "_WORTH_A_TALLY", 0),
        patch.object(join, "_COUNTED_IN_PLACE", in_place),
        patch.object(buffers, "_MOST_GROUPS", groups),
    ):
        runnable = made_ready(step, BOUND, head, {"t": case.table}, Dictionary())
        assert isinstance(runnable, join.JoinStep)
        assume(runnable.shape.can_tally)
        runnable.may_tally, runnable.fan_out = True, 10.0
        runnable.prepare(ReadViews({}, {(step.read, "t"): case.probe}, {}))
        expected = Counter(tuple(extended[v] for v in head) for _, extended in nested_loop(case))
        if part is not None:
            runnable.heads = _heads(expected, part, others, [column for column, v in enumerate(head) if v in BOUND])
        found, alone, known = Counter[Fact](), 0, 0
        for emitted in runnable.run(rows(case.bindings, 2)):
            weights = runnable.weights.tolist()
            assert len(weights) == len(emitted) <= batch
            for fact, weight in zip(as_facts(emitted), weights, strict=True):
                found[fact] += weight
                alone += 1
            for row, weight in zip(*map(np.ndarray.tolist, runnable.known), strict=True):
                assert runnable.heads is not None
                found[tuple(runnable.heads.rows[row].tolist())] += weight
                alone += 1
                known += 1
    assert found == expected
    if batch == 1000 and splits > 1 and len(expected) < 1000 and _one_group(case, head):
        assert alone == len(expected)
        reported = [column for column, v in enumerate(head) if v in FREE]
        if part == 1.0 and not others and len(head) > len(reported) == 1 and not len(case.probe.visible):
            assert known == sum(0 <= fact[reported[0]] < in_place for fact in expected)


def _heads(reported: Counter[Fact], part: float, others: int, key: list[int]) -> Table:
    """A table with some of the heads that are emitted and some that are not, and an index of them."""
    heads = Table("h", len(next(iter(reported), (0,))))
    known = [fact for place, fact in enumerate(reported) if place < part * len(reported)]
    heads.intern(
        rows([*known, *((*fact[:-1], fact[-1] + place) for place in range(others) for fact in known)], heads.arity)
    )
    if 0 < len(key) < heads.arity:
        heads.index(tuple(key))._settle(heads.rows)
    return heads


def _one_group(case: Case, head: list[Var]) -> bool:
    return len({tuple(b[BOUND.index(v)] for v in head if v in BOUND) for b in case.bindings}) <= 1


@settings(max_examples=200, deadline=None)
@given(cases())
def test_keep_leaves_what_meets_nothing(case: Case) -> None:
    met = {number for number, _ in nested_loop(case)}
    found = ran(case, AntiJoin(Negated("t", case.arguments), Read.ABSENT, case.key), BOUND)
    assert found == [binding for number, binding in enumerate(case.bindings) if number not in met]


def by_key(index: Index, size: int) -> dict[Fact, list[int]]:
    """All rows of an index: each key's run, oldest first, then its tail, newest first, turned round."""
    found = {}
    for number in range(index.keys):
        *key, run, newest = index.entries[number].tolist()
        tail = []
        while newest >= 0:
            tail.append(newest)
            newest = int(index.following[newest - index.settled])
        found[tuple(key)] = index.ids[run >> 32 : run & 0xFFFFFFFF].tolist() + tail[::-1]
    assert sum(map(len, found.values())) == size
    return found


def grouped(facts: NDArray[np.int64], key: tuple[int, ...]) -> dict[Fact, list[int]]:
    groups: dict[Fact, list[int]] = {}
    for row, fact in enumerate(as_facts(facts)):
        groups.setdefault(tuple(fact[column] for column in key), []).append(row)
    return groups


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([(), (0,), (1,), (0, 2), (1, 2)]),
    st.sampled_from([3, 50, 10**9]),
    st.lists(st.sampled_from([0, 1, 30, 100, 700]), min_size=1, max_size=6),
)
def test_index_groups_rows_by_key(seed: int, key: tuple[int, ...], high: int, steps: list[int]) -> None:
    random = np.random.default_rng(seed)
    table = Table("t", 3)
    for size in steps:
        table.intern(random.integers(-high, high, (size, 3)))
        index = table.index(key)
        assert index.covered == table.size
        assert index.settled <= table.size
        assert by_key(index, table.size) == grouped(table.rows[: table.size], key)
        known = table.keys(key)
        assert known is None or known == index.keys
        runs = table.rows[index.ids[: index.settled]][:, index.others]
        assert (index.values[: index.settled] == runs).all()


def test_many_rows_settle_and_few_wait_in_tails() -> None:
    table = Table("t", 2)
    table.intern(np.arange(200).reshape(-1, 2))
    assert table.index((0,)).settled == 100
    table.intern(np.arange(200, 240).reshape(-1, 2))
    assert table.index((0,)).settled == 100
    table.intern(np.arange(240, 400).reshape(-1, 2))
    assert table.index((0,)).settled == 200


def test_a_join_does_not_see_facts_that_come_during_its_run() -> None:
    table = Table("t", 2)
    table.intern(rows([(1, 2), (1, 3), (1, 4)], 2))
    step = Join(Atom("t", (BOUND[0], FREE[0])), Read.ALL, (0,))
    with small_batches(1):
        runnable = made_ready(step, BOUND, FREE[:1], {"t": table}, Dictionary())
        runnable.prepare(ReadViews({}, {(Read.ALL, "t"): Probe(0, 3, NO_STATUS)}, {}))
        found = []
        for batch in runnable.run(rows([(1, 0), (1, 1)], 2)):
            found += as_facts(batch)
            table.intern(rows([(1, 10 + len(found) + i) for i in range(100)], 2))
    assert Counter(found) == Counter({(2,): 2, (3,): 2, (4,): 2})
