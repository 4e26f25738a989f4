"""A join that counts its heads, and those of founded instances: it compares ranks as it joins."""

from __future__ import annotations

import numpy as np

from holdfast.backends.memory.kernels.arguments import (
    COLUMN,
    FROM_CONSTANT,
    FROM_FACT,
    Codes,
    HeadIndex,
    Ids,
    Index,
    Pattern,
    Rows,
    Slots,
    View,
)
from holdfast.backends.memory.kernels.emitting import gather, sees, within
from holdfast.backends.memory.kernels.hashing import BLOCK, HALF, LOW, ONE
from holdfast.backends.memory.kernels.indexes import agree, find_key, find_keys, run_of, touch_runs
from holdfast.backends.memory.kernels.joins import resumed
from holdfast.backends.memory.kernels.tallies import MANY
from holdfast.compilation import int32, int64, njit, types

Ranks = types.Tuple((Ids, Ids, Ids, Codes))
"""The highest rank in each binding; the ranks of the joined facts, empty if they have none; the ranks of heads; the
spans of ranks that count as their last, as pairs."""

Known = types.Tuple((Slots, Ids, Ids, Ids, Ids))
"""Heads whose row ids are known: their places by value, and for each its row id, its rank, and the numbers of its
instances and founded instances."""


@njit
def _open_group(bindings, i, constants, outputs, heads, ranks, known, here, n, row):
    """Enter the heads of a group that an index has; returns how many are known now, -1 if they do not fit."""
    places, head_ids, head_rank, weights, founded = known
    key, slots, entries, ids, values = heads
    _, _, rank_of, _ = ranks
    for k in range(len(key)):
        origin = outputs[key[k]]
        row[0, key[k]] = constants[origin & COLUMN] if origin >= FROM_CONSTANT else bindings[i, origin]
    number, _, _ = find_key(row, int64(0), key, entries, slots)
    if number < 0:
        return n
    first, last, _ = run_of(entries, number, len(key))
    if n + last + 1 - first > len(head_ids):
        return int64(-1)
    for place in range(first, last + 1):
        value = values[place, 0]
        if 0 <= value < len(places) - 1:
            head = ids[place]
            places[value] = here << HALF | np.uint64(n)
            head_ids[n] = head
            head_rank[n] = rank_of[head]
            weights[n] = 0
            founded[n] = 0
            n += 1
    return n


@njit
def _close_group(begin, n, known):
    """Drop the heads without an instance; returns how many are left."""
    _, head_ids, _, weights, founded = known
    kept = begin
    for k in range(begin, n):
        if weights[k]:
            head_ids[kept] = head_ids[k]
            weights[kept] = weights[k]
            founded[kept] = founded[k]
            kept += 1
    return kept


@njit
def _read_run(ids, place, length, status, visible, rank_of_fact, shown, joined):
    """Whether the facts at place, place - 1 … of an index are seen, and their ranks; the reads are independent."""
    if len(visible):
        for k in range(length):
            shown[k] = visible[status[ids[place - k]]]
    else:
        for k in range(length):
            shown[k] = 1
    if len(rank_of_fact):
        for k in range(length):
            joined[k] = rank_of_fact[ids[place - k]]


@njit(inline="always")
def late(rank, spans):
    """The rank to compare: one that a rule saw together with later ones counts as the last of them."""
    for k in range(0, len(spans), 2):
        if spans[k] <= rank <= spans[k + 1]:
            rank = int32(spans[k + 1])
    return rank


@njit(inline="always")
def _count(value, rank, here, known):
    """Count an instance, if its head is known and if it is founded."""
    places, _, head_rank, weights, founded = known
    if not 0 <= value < len(places) - 1:
        return False
    entry = places[value]
    if entry >> HALF != here:
        return False
    k = int64(entry & LOW)
    weights[k] += 1
    founded[k] += int32(rank < head_rank[k])  # branch-free: the branch would be unpredictable
    return True


@njit
def _write(bindings, i, value, rank, constants, outputs, out, highs, m):
    """Write an instance whose head is unknown."""
    for column in range(len(outputs)):
        origin = outputs[column]
        if origin >= FROM_CONSTANT:
            out[m, column] = constants[origin & COLUMN]
        elif origin >= FROM_FACT:
            out[m, column] = value
        else:
            out[m, column] = bindings[i, origin]
    highs[m] = rank


@njit(
    types.UniTuple(int64, 5)(
        Rows, int64, int64, int64, Codes, View, Index, Pattern, Codes, Codes, int64, HeadIndex, Ranks, Known, Rows, Ids
    ),
    nogil=True,
    cache=True,
)
def tally_ranked(
    bindings,
    count,
    i,
    cursor,
    constants,
    view,
    index,
    pattern,
    outputs,
    group,
    column,
    heads,
    ranks,
    known,
    out,
    highs,
):
    """Like `tally`, and each head gets the number of its founded instances: those with ranks below its own.

    One output column comes from the joined fact.  Heads that the index `heads` has are counted; the instances of others
    go to `out`, each with the highest rank of its body in `highs`.  Stops when either is full, or after very many
    instances.  Returns the numbers of known heads and of other instances, where to go on, and 1 if the known heads of a
    single group do not fit.
    """
    rows, status, visible, low, high = view
    slots, direct, entries, ids, values, following, settled = index
    origins, others, _, _, _ = pattern
    highest, rank_of_fact, _, spans = ranks
    places = known[0]
    source = outputs[column] & COLUMN
    here = places[len(places) - 1] + ONE
    width = len(origins)
    wanted = np.empty((BLOCK, width), np.int64)
    numbers = np.empty(BLOCK + 1, np.int64)
    row_of_group = np.empty((1, len(outputs)), np.int64)
    shown = np.empty(BLOCK, np.uint8)
    joined = np.zeros(BLOCK, np.int32)
    all_runs_seen = low == 0 and high >= settled
    n, m, begin_group, instances = int64(0), int64(0), int64(0), int64(0)
    opened = False
    while i < count:
        begin_block = i
        block = min(BLOCK, count - i)
        gather(bindings, i, block, constants, origins, wanted)
        find_keys(wanted, block, entries, slots, direct, numbers)
        touch_runs(numbers, block, entries, width, values)
        while i < begin_block + block:
            if instances > MANY:
                places[len(places) - 1] = here
                return _close_group(begin_group, n, known), m, i, cursor, int64(0)
            if not opened or not agree(bindings, i - 1, i, group):
                n = begin_group = _close_group(begin_group, n, known)
                here += ONE
                more = _open_group(bindings, i, constants, outputs, heads, ranks, known, here, n, row_of_group)
                if more < 0:
                    places[len(places) - 1] = here
                    return n, m, i, cursor, int64(n == 0)
                n = more
                opened = True
            number = numbers[i - begin_block]
            if number >= 0:
                begin, place, row = run_of(entries, number, width)
                begin, place, row = resumed(begin, place, row, cursor)
                if not (all_runs_seen or len(visible)):
                    begin, place = within(ids, begin, place, low, high)
                while row >= low:
                    if sees(row, status, visible, low, high):
                        rank = highest[i]
                        if len(rank_of_fact):
                            rank = max(rank, rank_of_fact[row])
                        value = rows[row, others[source]]
                        rank = late(rank, spans)
                        if not _count(value, rank, here, known):
                            if m == out.shape[0]:
                                places[len(places) - 1] = here
                                return _close_group(begin_group, n, known), m, i, -row - 2, int64(0)
                            _write(bindings, i, value, rank, constants, outputs, out, highs, m)
                            m += 1
                        instances += 1
                    row = int64(following[row - settled])
                while place >= begin:
                    length = min(BLOCK, place - begin + 1)
                    _read_run(ids, place, length, status, visible, rank_of_fact, shown, joined)
                    for k in range(length):
                        if shown[k]:
                            rank = late(max(highest[i], joined[k]), spans)
                            value = values[place - k, source]
                            if not _count(value, rank, here, known):
                                if m == out.shape[0]:
                                    places[len(places) - 1] = here
                                    return _close_group(begin_group, n, known), m, i, place - k, int64(0)
                                _write(bindings, i, value, rank, constants, outputs, out, highs, m)
                                m += 1
                    instances += length
                    place -= length
            cursor = int64(-1)
            i += 1
    places[len(places) - 1] = here
    n = _close_group(begin_group, n, known)
    return n, m, i, cursor, int64(0)
