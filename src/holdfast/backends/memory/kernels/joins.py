"""Joins of bindings with the facts of an index, and the bindings that meet none.

Cache misses are what these loops cost, so they run in stages over blocks: first all slots of a block are read, then
all candidate rows, then the block is resolved.  The reads of one stage do not depend on each other and overlap.
"""

from __future__ import annotations

import numpy as np

from holdfast.backends.memory.kernels.arguments import FEW, Codes, Ids, Index, Pattern, Rows, View
from holdfast.backends.memory.kernels.emitting import emit, emit_run, gather, repeats_agree, sees, within
from holdfast.backends.memory.kernels.hashing import BLOCK
from holdfast.backends.memory.kernels.indexes import find_keys, run_of, touch_runs
from holdfast.compilation import int64, njit, types, void

KEEPS_THE_LOCK = FEW


@njit(inline="always")
def resumed(begin, place, row, cursor):
    """Where to go on with a key: in its tail, in its run, or, with a cursor of -1, at its beginning."""
    if cursor < -1:
        return begin, place, -cursor - 2
    if cursor >= 0:
        return begin, cursor, int64(-1)
    return begin, place, row


@njit(
    types.UniTuple(int64, 3)(Rows, int64, int64, int64, Codes, View, Index, Pattern, Codes, int64, Ids, Rows),
    nogil=True,
    cache=True,
)
def expand(bindings, count, i, cursor, constants, view, index, pattern, outputs, goal, quota, out):
    """Join bindings i..count-1 with the facts of an index, newest first, until `out` is full.

    `cursor` is where an interrupted join goes on (-1: with a new binding; a place in the runs; or below -1 a row of the
    tail).  If the bindings' column `goal` is not -1, it numbers goals of which each is given at most its `quota` of
    rows.  Gives the number of rows written and where to go on.
    """
    rows, status, visible, low, high = view
    slots, direct, entries, ids, values, following, settled = index
    origins, others, straight, left, right = pattern
    n = int64(0)
    capacity = out.shape[0]
    width = len(origins)
    wanted = np.empty((BLOCK, width), np.int64)
    numbers = np.empty(BLOCK + 1, np.int64)
    all_runs_seen = low == 0 and high >= settled
    while i < count:
        begin_block = i
        block = min(BLOCK, count - i)
        gather(bindings, i, block, constants, origins, wanted)
        find_keys(wanted, block, entries, slots, direct, numbers)
        touch_runs(numbers, block, entries, width, values)
        while i < begin_block + block:
            number = numbers[i - begin_block]
            if number >= 0 and (goal < 0 or quota[bindings[i, goal]] > 0):
                begin, place, row = run_of(entries, number, width)
                begin, place, row = resumed(begin, place, row, cursor)
                while row >= low:
                    if sees(row, status, visible, low, high) and (
                        not len(left) or repeats_agree(rows, row, others, left, right)
                    ):
                        if n == capacity:
                            return n, i, -row - 2
                        emit(bindings, i, rows, row, others, constants, outputs, out, n)
                        n += 1
                        if goal >= 0:
                            quota[bindings[i, goal]] -= 1
                            if quota[bindings[i, goal]] == 0:
                                place = begin - 1
                                break
                    row = int64(following[row - settled])
                if len(visible) == 0:
                    if not all_runs_seen:
                        begin, place = within(ids, begin, place, low, high)
                    if goal < 0 and not len(left):
                        taken = min(place - begin + 1, capacity - n)
                        emit_run(bindings, i, values, place, taken, constants, outputs, out, n)
                        n += taken
                        place -= taken
                        if place >= begin:
                            return n, i, place
                while place >= begin:
                    if (not len(visible) or visible[status[ids[place]]]) and (
                        not len(left) or repeats_agree(values, place, straight, left, right)
                    ):
                        if n == capacity:
                            return n, i, place
                        emit(bindings, i, values, place, straight, constants, outputs, out, n)
                        n += 1
                        if goal >= 0:
                            quota[bindings[i, goal]] -= 1
                            if quota[bindings[i, goal]] == 0:
                                break
                    place -= 1
            cursor = int64(-1)
            i += 1
    return n, i, cursor


@njit(int64(Rows, int64, Codes, View, Index, Pattern, Codes, Rows), nogil=True, cache=True)
def reject(bindings, count, constants, view, index, pattern, outputs, out):
    """The bindings for which an index shows no fact; gives how many.  Arguments as for `expand`."""
    rows, status, visible, low, high = view
    slots, direct, entries, ids, values, following, settled = index
    origins, others, straight, left, right = pattern
    n = int64(0)
    width = len(origins)
    wanted = np.empty((BLOCK, width), np.int64)
    numbers = np.empty(BLOCK + 1, np.int64)
    for begin_block in range(0, count, BLOCK):
        block = min(BLOCK, count - begin_block)
        gather(bindings, begin_block, block, constants, origins, wanted)
        find_keys(wanted, block, entries, slots, direct, numbers)
        for k in range(block):
            number = numbers[k]
            found = False
            if number >= 0:
                begin, place, row = run_of(entries, number, width)
                while row >= low and not found:
                    found = sees(row, status, visible, low, high) and (
                        not len(left) or repeats_agree(rows, row, others, left, right)
                    )
                    row = int64(following[row - settled])
                while place >= begin and not found:
                    found = sees(ids[place], status, visible, low, high) and (
                        not len(left) or repeats_agree(values, place, straight, left, right)
                    )
                    place -= 1
            if not found:
                emit(bindings, begin_block + k, rows, int64(0), others, constants, outputs, out, n)
                n += 1
    return n


@njit(void(Rows, Codes, Codes, Rows, Codes, Ids, Ids, Rows, Ids), nogil=True, cache=True)
def spread_groups(results, starts, counts, changed, own, above, ranks, out, highest):
    """Write each result, whose last column is a group, once for each changed fact of the group, with some columns of
    the fact, and the higher of two ranks: of the rest of the result, and of the fact."""
    n, width = int64(0), results.shape[1] - 1
    for i in range(len(results)):
        group = results[i, width]
        for member in range(starts[group], starts[group] + counts[group]):
            for column in range(width):
                out[n, column] = results[i, column]
            for column in range(len(own)):
                out[n, width + column] = changed[member, own[column]]
            highest[n] = max(above[i], ranks[member])
            n += 1
