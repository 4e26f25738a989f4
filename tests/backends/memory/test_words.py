"""The kernels of windows, each against the states that its words stand for, written out one by one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids

from ..plain_kernels import WORD_MUTANTS, KernelMutant, plain

pytestmark = pytest.mark.only_in_memory("words are this backend's")

ROWS, BIT = 30, np.uint8(2)


class Table:
    """Some facts and the states in which each holds: row by row, and as words."""

    def __init__(self, random: Random) -> None:
        self.last = random.choice([1, 2, 7, 62])
        self.every = np.int64((2 << self.last) - 1)
        self.status = np.array([random.choice([0, 1, 2, 3]) for _ in range(ROWS)], np.uint8)
        self.states = [{bool(state & BIT)} for state in self.status]
        self.words = np.array([self.every if state & BIT else 0 for state in self.status], np.int64)
        self.beside = np.zeros(random.choice([0, ROWS // 2, ROWS]), np.int64)
        changed = random.sample(range(ROWS), 10)
        for row in changed:
            self.words[row] = random.getrandbits(self.last + 1) if row < len(self.beside) else self.words[row]
        some = ids_of([row for row in changed if row < len(self.beside)])
        before = self.words.copy()
        before[some] = [self.every if self.status[row] & BIT else 0 for row in some]
        out = np.empty(len(some), np.int32)
        count = kernels.put_words(some, self.words[some], self.status, BIT, self.every, self.beside, out)
        assert out[:count].tolist() == [row for row in some if before[row] != self.words[row]]


def ids_of(rows: list[int]) -> Ids:
    return np.array(rows, np.int32)


def held(words: NDArray[np.int64], state: int) -> list[bool]:
    return [bool(int(word) >> state & 1) for word in words]


def meet(random: Random) -> None:
    """Words meet those of facts, which may be negated or never seen."""
    table = Table(random)
    ids = ids_of([random.randrange(-1, ROWS) for _ in range(20)])
    given = np.array([random.getrandbits(table.last + 1) for _ in ids], np.int64)
    for negated in (False, True):
        words = given.copy()
        kernels.meet_words(ids, table.status, BIT, table.every, table.beside, negated, words)
        for state in range(table.last + 1):
            there = [row >= 0 and is_held for row, is_held in zip(ids, held(table.words[ids], state), strict=True)]
            expected = [a and b != negated for a, b in zip(held(given, state), there, strict=True)]
            assert held(words, state) == expected


def follow_explicit(random: Random) -> None:
    """Updates delete and insert facts, one after the other."""
    table = Table(random)
    parts = [random.choices(range(ROWS), k=random.randrange(6)) for _ in range(2 * table.last)]
    facts = {row for row in range(ROWS) if table.status[row] & BIT}
    states, effects = [facts], []
    for deleted, inserted in zip(parts[::2], parts[1::2], strict=True):
        facts = (facts - {*deleted}) | {*inserted}
        effects.append(len(facts ^ states[-1]))
        states.append(facts)
    ids = ids_of([row for part in parts for row in part])
    number = np.arange(len(parts), dtype=np.int32).repeat(list(map(len, parts)))
    later = table.every & ~((np.int64(2) << np.arange(table.last).repeat(2)) - 1)
    found, words, counted = np.empty_like(ids), np.empty(len(ids), np.int64), np.zeros(table.last, np.int64)
    order, state = ids.argsort(kind="stable"), (table.status, BIT, table.every)
    count = kernels.explicit_words(ids, order, number, later, *state, found, words, counted)
    assert counted.tolist() == effects
    changed = [row for row in range(ROWS) if len({row in facts for facts in states}) > 1]
    assert found[:count].tolist() == changed
    for n, facts in enumerate(states):
        assert held(words[:count], n) == [row in facts for row in changed]


def follow_counts(random: Random) -> None:
    """Instances hold in some states; the counters say how many did in the first."""
    table = Table(random)
    heads = ids_of(random.choices(range(ROWS), k=random.choice([0, 1, 60])))
    words = np.array([random.getrandbits(table.last + 1) for _ in heads], np.int64)
    always = {row: random.randrange(2) for row in range(ROWS)}  # instances in which nothing changes
    states = [
        Counter(always) + Counter(row for row, holds in zip(heads.tolist(), held(words, n), strict=True) if holds)
        for n in range(table.last + 1)
    ]
    counters = np.array([states[0][row] for row in range(ROWS)], np.int32)
    found, positive, scratch = np.empty_like(heads), np.empty_like(words), np.empty(table.last + 1, np.int64)
    count = kernels.count_words(heads, heads.argsort(kind="stable"), words, counters, 1, scratch, found, positive)
    assert found[:count].tolist() == sorted({*heads.tolist()})
    for n, state in enumerate(states):
        assert held(positive[:count], n) == [state[row] > 0 for row in found[:count].tolist()]
    before = counters[found[:count]]
    for n in random.sample(range(table.last + 1), 2):
        kernels.recount(heads, words, 1, n, found[:count], before, counters)
        assert counters.tolist() == [states[n][row] for row in range(ROWS)]


def follow_moves(random: Random) -> None:
    """What each step removes and adds."""
    table = Table(random)
    ids, borders = ids_of(random.sample(range(ROWS), ROWS)), np.zeros(2 * table.last + 1, np.int64)
    words = table.words[ids]
    moved = np.empty(kernels.count_moves(words, borders), np.int32)
    kernels.list_moves(ids, words, borders[:-1].copy(), moved)
    lists = [moved[begin:end].tolist() for begin, end in pairwise(borders)]
    for step, (removed, added) in enumerate(zip(lists[::2], lists[1::2], strict=True)):
        before, after = ({*ids[held(words, n)].tolist()} for n in (step, step + 1))
        assert (sorted(removed), sorted(added)) == (sorted(before - after), sorted(after - before))


def agree(seeds: range) -> None:
    for seed in seeds:
        for check in (meet, follow_explicit, follow_counts, follow_moves):
            check(Random(seed))


def test_words_stand_for_states() -> None:
    agree(range(100))


def test_whole_kernels_in_plain_python_agree() -> None:
    with plain():
        agree(range(3))


@pytest.mark.parametrize("mutant", WORD_MUTANTS, ids=str)
def test_broken_kernel_is_caught(mutant: KernelMutant) -> None:
    with plain(mutant), pytest.raises((AssertionError, IndexError)):
        agree(range(20))
