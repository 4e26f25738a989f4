"""Joins that count their heads: equal output of neighbouring bindings is written once, with a weight."""

from __future__ import annotations

import numpy as np

from holdfast.backends.memory.kernels.arguments import (
    COLUMN,
    FROM_CONSTANT,
    FROM_FACT,
    FROM_PLACE,
    Codes,
    HeadIndex,
    Index,
    Pattern,
    Rows,
    Tally,
    View,
)
from holdfast.backends.memory.kernels.emitting import gather, sees, within
from holdfast.backends.memory.kernels.hashing import BLOCK, HALF, LOW, MULTIPLIER, ONE, mix
from holdfast.backends.memory.kernels.indexes import agree, find_key, find_keys, run_of, touch_runs
from holdfast.backends.memory.kernels.joins import resumed
from holdfast.compilation import int32, int64, njit, types

MANY = 1 << 22
FEW_OTHERS = 4  # known heads of a group for each counted one


@njit
def _count_in_place(facts, start, step, length, source, here, counts, column, out, n):
    """Count the values of one column in some facts, each in its own place, until one has none or `out` is full.

    A place has the group's number and the count; new values go into a column of `out`.  Returns how many facts were
    counted and how many rows there are now.
    """
    capacity = out.shape[0]
    for k in range(length):
        value = facts[start + step * k, source]
        if not 0 <= value < len(counts):
            return k, n
        entry = counts[value]
        if (entry >> HALF) == here:
            counts[value] = entry + ONE
        elif n < capacity:
            counts[value] = here << HALF | ONE
            out[n, column] = value
            n += 1
        else:
            return k, n
    return length, n


@njit
def _count_by_hash(facts, fact, here, varying, outputs, seen, weights, out, n):
    """Count a fact by the values that it gives the head; returns how many rows there are now, -1 if `out` is full."""
    mask = int64(len(seen) - 2)
    column = varying[0]
    value = facts[fact, outputs[column] & COLUMN]
    state = np.uint64(value) * MULTIPLIER
    for other in range(1, len(varying)):
        state = mix(state, facts[fact, outputs[varying[other]] & COLUMN]) * MULTIPLIER
    slot = int64(state >> HALF) & mask
    while (seen[slot] >> HALF) == here:
        earlier = int64(seen[slot] & LOW)
        same = out[earlier, column] == value
        for other in range(1, len(varying)):
            same &= out[earlier, varying[other]] == facts[fact, outputs[varying[other]] & COLUMN]
        if same:
            weights[earlier] += 1
            return n
        slot = (slot + 1) & mask
    if n == out.shape[0]:
        return int64(-1)
    seen[slot] = here << HALF | np.uint64(n)
    for other in range(len(varying)):
        out[n, varying[other]] = facts[fact, outputs[varying[other]] & COLUMN]
    weights[n] = 1
    return n + 1


@njit
def _copy_tail(row, view, others, following, settled, tail, tail_rows):
    """Copy the seen rows of a tail from a row on, to be read like a run; returns how many, and the next."""
    rows, status, visible, low, high = view
    length = int64(0)
    while row >= low and length < BLOCK:
        if sees(row, status, visible, low, high):
            for k in range(len(others)):
                tail[length, k] = rows[row, others[k]]
            tail_rows[length] = row
            length += 1
        row = int64(following[row - settled])
    return length, row


@njit
def _complete(bindings, i, constants, outputs, here, begin, end, tally, heads, out):
    """Write what all rows of a group have in common, and the weights of those that were counted in place.

    Heads that an index of the heads shows to be known go to `known` instead, if it has few others of the group: it is
    read in order, where looking up each head would cost a cache miss or two.  Returns how many rows there are now.
    """
    _, varying, _, counts, weights, _, _ = tally
    column = varying[0]
    for other in range(len(outputs)):
        origin = outputs[other]
        if origin < FROM_FACT or origin >= FROM_PLACE:
            value = constants[origin & COLUMN] if origin >= FROM_CONSTANT else bindings[i, origin]
            for k in range(begin, end):
                out[k, other] = value
    if len(counts):
        for k in range(begin, end):
            if 0 <= out[k, column] < len(counts):
                weights[k] = int32(counts[out[k, column]] & LOW)
        if begin < end and _move_known(here, begin, end, tally, heads, out):
            return _drop_known(begin, end, column, counts, weights, out)
    return end


@njit
def _move_known(here, begin, end, tally, heads, out):
    """Move the known heads of a group, by row id, to `known` and clear their counts; returns whether there are any."""
    _, _, _, counts, _, known, known_weights = tally
    key, slots, entries, ids, values = heads
    if not len(entries):
        return False
    number, _, _ = find_key(out, begin, key, entries, slots)
    if number < 0:
        return False
    first, last, _ = run_of(entries, number, len(key))
    if last + 1 - first > FEW_OTHERS * (end - begin):
        return False
    before = found = int64(known[len(known) - 1])
    for place in range(first, last + 1):
        value = values[place, 0]
        if 0 <= value < len(counts) and (counts[value] >> HALF) == here:
            known[found] = ids[place]
            known_weights[found] = int32(counts[value] & LOW)
            counts[value] = 0
            found += 1
    known[len(known) - 1] = found
    return found > before


@njit
def _drop_known(begin, end, column, counts, weights, out):
    """Close the gaps that known heads leave; returns how many rows there are now."""
    kept = begin
    for k in range(begin, end):
        value = out[k, column]
        if 0 <= value < len(counts) and counts[value] == 0:
            continue
        for other in range(out.shape[1]):
            out[kept, other] = out[k, other]
        weights[kept] = weights[k]
        kept += 1
    return kept


@njit(
    types.UniTuple(int64, 3)(Rows, int64, int64, int64, Codes, View, Index, Pattern, Codes, Tally, HeadIndex, Rows),
    nogil=True,
    cache=True,
)
def tally(bindings, count, i, cursor, constants, view, index, pattern, outputs, counting, heads, out):
    """Like `expand`, but equal output of neighbouring bindings is written once, with its number of occurrences in
    `weights`.

    Bindings that agree in the columns `group`, all that the outputs take from them, are tallied together.  `varying`
    are the output columns that come from the joined fact, at least one.  `seen` is a hash table that needs no clearing:
    an entry is valid for the group whose number is in its upper half, and the last place counts the groups.  If there
    is only one varying column, values below the length of `counts` are counted there, in place; and if there is an
    index of the heads by all other columns, heads that it shows to be known are not written: `known` gets their row ids
    and in its last place their number, `known_weights` how often each was counted.  Stops also after very many
    instances, so that limits and Ctrl-C are noticed.
    """
    _, status, visible, low, high = view
    slots, direct, entries, ids, values, following, settled = index
    origins, others, _, _, _ = pattern
    group, varying, seen, counts, weights, known, _ = counting
    n = int64(0)
    width = len(origins)
    wanted = np.empty((BLOCK, width), np.int64)
    numbers = np.empty(BLOCK + 1, np.int64)
    tail = np.empty((BLOCK, len(others)), np.int64)
    tail_rows = np.empty(BLOCK, np.int64)
    all_runs_seen = low == 0 and high >= settled
    column = varying[0]
    source = outputs[column] & COLUMN
    here = seen[len(seen) - 1] + ONE
    first = i
    of_group = int64(0)  # where its rows begin
    instances = int64(0)
    while i < count and instances < MANY:
        begin_block = i
        block = min(BLOCK, count - i)
        gather(bindings, i, block, constants, origins, wanted)
        find_keys(wanted, block, entries, slots, direct, numbers)
        touch_runs(numbers, block, entries, width, values)
        while i < begin_block + block and instances < MANY:
            if i > first and not agree(bindings, i - 1, i, group):
                n = _complete(bindings, i - 1, constants, outputs, here, of_group, n, counting, heads, out)
                of_group = n
                if known[len(known) - 1] > out.shape[0]:
                    seen[len(seen) - 1] = here
                    return n, i, cursor
                here += ONE
            number = numbers[i - begin_block]
            begin, place, row = int64(0), int64(-1), int64(-1)
            if number >= 0:
                begin, place, row = run_of(entries, number, width)
                begin, place, row = resumed(begin, place, row, cursor)
                if not (all_runs_seen or len(visible)):
                    begin, place = within(ids, begin, place, low, high)
            while row >= low or place >= begin:
                facts, start, step, length = values, place, int64(-1), place - begin + 1
                in_tail = row >= low
                if in_tail:
                    facts, start, step = tail, int64(0), int64(1)
                    length, row = _copy_tail(row, view, others, following, settled, tail, tail_rows)
                else:
                    place = begin - 1
                instances += length
                by_status = len(visible) > 0 and not in_tail
                counted = int64(0)
                if len(counts) and not by_status:
                    counted, n = _count_in_place(facts, start, step, length, source, here, counts, column, out, n)
                for k in range(counted, length):
                    fact = start + step * k
                    if by_status and not visible[status[ids[fact]]]:
                        continue
                    if 0 <= facts[fact, source] < len(counts):
                        one, n = _count_in_place(facts, fact, step, int64(1), source, here, counts, column, out, n)
                        is_full = one == 0
                    else:
                        more = _count_by_hash(facts, fact, here, varying, outputs, seen, weights, out, n)
                        is_full = more < 0
                        n = n if is_full else more
                    if is_full:
                        seen[len(seen) - 1] = here
                        n = _complete(bindings, i, constants, outputs, here, of_group, n, counting, heads, out)
                        return n, i, -tail_rows[k] - 2 if in_tail else fact
            cursor = int64(-1)
            i += 1
    seen[len(seen) - 1] = here
    if of_group < n:
        n = _complete(bindings, i - 1, constants, outputs, here, of_group, n, counting, heads, out)
    return n, i, cursor
